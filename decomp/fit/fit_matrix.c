// Matrices for the fit.
#include "decomp/fit/fit_internal.h"
#include "lib/base/sizes.h"

dq_matrix dq_fit_matrix(int64_t rows, int64_t columns, double *data) {
  return (dq_matrix){rows, columns, columns, data};
}

dq_status dq_fit_new_matrix(dq_matrix *m, int64_t rows, int64_t columns, dq_arena *arena, dq_error *error) {
  *m = dq_fit_matrix(rows, columns, DQ_NEW_ARRAY(arena, rows * columns, double));
  return m->data ? DQ_OK : dq_fail_memory(error, (size_t)(rows * columns) * sizeof(double));
}

dq_status dq_fit_beside(const dq_fit_problem *p, dq_fit_step *step, void *argument, dq_error *error) {
  dq_fit_problem beside = *p;
  beside.arena = dq_arena_beside(p->arena);
  if (!beside.arena) return dq_fail_memory(error, sizeof(double));
  dq_status status = step(&beside, argument, error);
  dq_arena_free(beside.arena);
  return status;
}

void dq_fit_widen(const dq_matrix_f32 *from, const dq_matrix *to) {
  for (int64_t r = 0; r < from->rows; r++)
    for (int64_t c = 0; c < from->columns; c++) to->data[r * to->stride + c] = (double)from->data[r * from->stride + c];
}

void dq_fit_narrow(const dq_matrix *from, const dq_matrix_f32 *to) {
  for (int64_t r = 0; r < from->rows; r++)
    for (int64_t c = 0; c < from->columns; c++) to->data[r * to->stride + c] = (float)from->data[r * from->stride + c];
}

double dq_fit_trace(const dq_matrix *m) {
  double sum = 0;
  for (int64_t i = 0; i < m->rows; i++) sum += m->data[i * m->stride + i];
  return sum;
}
