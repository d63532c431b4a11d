// Left singular vectors, by the eigenvectors of Gram matrices.
#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/linalg/linalg_internal.h"
#include "lib/linalg/reflectors.h"

// The eigenvectors of A A^T, or with `transposed` of A^T A, as rows of `left`, and the roots of the eigenvalues.
static dq_status by_gram(const dq_matrix *a, bool transposed, double *left, double *values, dq_error *error) {
  const int64_t size = transposed ? a->columns : a->rows;
  const dq_matrix gram = dq_matrix_tight(size, size, left);
  DQ_TRY(dq_matrix_gram(a, transposed, &gram, error));
  DQ_TRY(dq_symmetric_eigen(size, left, values, true, error));
  for (int64_t k = 0; k < size; k++) values[k] = values[k] > 0 ? sqrt(values[k]) : 0;
  return DQ_OK;
}

// Replaces a wide matrix B = L Q by L, which is tight, and the vectors of the reflectors of Q = H_last ... H_1 H_0, in
// the rows of B.
static dq_status factor_rows(const dq_reflectors *h, const dq_matrix *lower, dq_error *error) {
  enum { TOGETHER = DQ_REFLECTORS_TOGETHER };
  const dq_matrix *b = &h->rows;
  for (int64_t first = 0; first < b->rows; first += TOGETHER) {
    const int64_t end = dq_min_i64(b->rows, first + TOGETHER);
    for (int64_t k = first; k < end; k++) {
      double *row = b->data + k * b->stride;
      memcpy(lower->data + k * lower->stride, row, (size_t)k * sizeof(double));
      lower->data[k * lower->stride + k] = dq_reflector(b->columns - k, row + k, &h->tau[k]);
      const dq_matrix others = dq_matrix_part(b, k + 1, end - k - 1, 0, b->columns);
      if (others.rows) DQ_TRY(dq_reflect(h, k, 1, false, &others, error));
    }
    const dq_matrix rest = dq_matrix_part(b, end, b->rows - end, 0, b->columns);
    if (rest.rows) DQ_TRY(dq_reflect(h, first, end - first, false, &rest, error));
  }
  return DQ_OK;
}

// Finds the left singular vectors of a matrix with more rows than columns: its transpose is L Q, and its left vectors
// are those of L^T L, of length `columns`, times Q.
static dq_status left_of_tall(const dq_matrix *a, double *left, double *values, dq_arena *arena, dq_error *error) {
  const int64_t count = a->columns;
  double *b = DQ_NEW_ARRAY(arena, count * a->rows, double), *l = DQ_NEW_ARRAY(arena, count * count, double);
  double *small = DQ_NEW_ARRAY(arena, count * count, double), *tau = DQ_NEW_ARRAY(arena, count, double);
  if (!b || !l || !small || !tau) return dq_fail_memory(error, (size_t)(count * a->rows) * sizeof(double));
  const dq_reflectors h = {dq_matrix_tight(count, a->rows, b), 0, tau};
  const dq_matrix lower = dq_matrix_tight(count, count, l), vectors = dq_matrix_tight(count, a->rows, left);
  dq_matrix_transpose(a, &h.rows);
  DQ_TRY(factor_rows(&h, &lower, error));
  DQ_TRY(by_gram(&lower, true, small, values, error));
  memset(left, 0, (size_t)(count * a->rows) * sizeof(double));
  const dq_matrix from = dq_matrix_tight(count, count, small), to = dq_matrix_part(&vectors, 0, count, 0, count);
  dq_matrix_copy(&from, &to);
  DQ_TRY(dq_reflect_back(&h, &vectors, error));
  dq_fix_signs(count, a->rows, left);
  return DQ_OK;
}

dq_status dq_left_singular(int64_t rows, int64_t columns, const double *a, double *left, double *values,
                           dq_error *error) {
  DQ_TRY(dq_check_matrix(rows, columns, a, error));
  const dq_matrix matrix = dq_matrix_tight(rows, columns, a);
  if (rows <= columns) return by_gram(&matrix, false, left, values, error);
  dq_arena *arena = dq_arena_new(NULL);
  if (!arena) return dq_fail_memory(error, sizeof(double));
  dq_status status = left_of_tall(&matrix, left, values, arena, error);
  dq_arena_free(arena);
  return status;
}
