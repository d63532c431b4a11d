#include "lib/linalg/reflectors.h"

#include <math.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/sizes.h"
#include "lib/kernels/table/kernel_table.h"

double dq_dot(int64_t count, const double *a, const double *b) {
  double sum;
  dq_f64_dots_c(&(dq_f64_dots){a, b, &sum, 1, count, count});
  return sum;
}

double dq_reflector(int64_t count, double *x, double *tau) {
  const double first = x[0], rest = dq_dot(count - 1, x + 1, x + 1);
  *tau = 0;
  x[0] = 1;
  if (!(rest > 0)) return first;
  const double result = -copysign(sqrt(first * first + rest), first);
  for (int64_t i = 1; i < count; i++) x[i] /= first - result;
  *tau = (result - first) / result;
  return result;
}

// The vectors without gaps, from the column of the first one on, with the zeros before them.
static void gather(const dq_reflectors *h, int64_t first, const dq_matrix *v) {
  for (int64_t k = 0; k < v->rows; k++) {
    const double *from = h->rows.data + (first + k) * h->rows.stride + first + h->shift;
    memset(v->data + k * v->stride, 0, (size_t)k * sizeof(double));
    memcpy(v->data + k * v->stride + k, from + k, (size_t)(v->columns - k) * sizeof(double));
  }
}

// T from the products of the vectors with each other, in place of their upper triangle; zeros below.
static void triangle(const double *tau, const dq_matrix *t) {
  for (int64_t i = 0; i < t->rows; i++) {
    for (int64_t r = 0; r < i; r++) {
      double sum = 0;
      for (int64_t s = r; s < i; s++) sum += t->data[r * t->stride + s] * t->data[s * t->stride + i];
      t->data[r * t->stride + i] = -tau[i] * sum;
      t->data[i * t->stride + r] = 0;
    }
    t->data[i * t->stride + i] = tau[i];
  }
}

static dq_status reflect(const dq_reflectors *h, int64_t first, int64_t count, bool backward, const dq_matrix *z,
                         dq_arena *arena, dq_error *error) {
  const int64_t width = z->columns - first - h->shift;
  double *data = DQ_NEW_ARRAY(arena, count * (width + count + 2 * z->rows), double);
  if (!data) return dq_fail_memory(error, (size_t)(count * (width + count + 2 * z->rows)) * sizeof(double));
  const dq_matrix v = dq_matrix_tight(count, width, data), t = dq_matrix_tight(count, count, data + count * width);
  const dq_matrix once = dq_matrix_tight(z->rows, count, t.data + count * count);
  const dq_matrix twice = dq_matrix_tight(z->rows, count, once.data + z->rows * count);
  const dq_matrix part = dq_matrix_part(z, 0, z->rows, first + h->shift, width);
  gather(h, first, &v);
  DQ_TRY(dq_matrix_multiply(false, &v, true, &v, DQ_PRODUCT_STORE, &t, error));
  triangle(h->tau + first, &t);
  DQ_TRY(dq_matrix_multiply(false, &part, true, &v, DQ_PRODUCT_STORE, &once, error));
  DQ_TRY(dq_matrix_multiply(false, &once, backward, &t, DQ_PRODUCT_STORE, &twice, error));
  return dq_matrix_multiply(false, &twice, false, &v, DQ_PRODUCT_SUBTRACT, &part, error);
}

dq_status dq_reflect(const dq_reflectors *h, int64_t first, int64_t count, bool backward, const dq_matrix *z,
                     dq_error *error) {
  dq_arena *arena = dq_arena_new(NULL);
  dq_status status =
      arena ? reflect(h, first, count, backward, z, arena, error) : dq_fail_memory(error, sizeof(double));
  dq_arena_free(arena);
  return status;
}

dq_status dq_reflect_back(const dq_reflectors *h, const dq_matrix *z, dq_error *error) {
  enum { TOGETHER = DQ_REFLECTORS_TOGETHER };
  for (int64_t block = (h->rows.rows + TOGETHER - 1) / TOGETHER - 1; block >= 0; block--) {
    const int64_t first = block * TOGETHER;
    DQ_TRY(dq_reflect(h, first, dq_min_i64(TOGETHER, h->rows.rows - first), true, z, error));
  }
  return DQ_OK;
}
