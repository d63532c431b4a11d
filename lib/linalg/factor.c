// Cholesky factors whose bits do not depend on the machine: plain loops, every sum in one order.
// For matrices that decide what is written to a file; LAPACK is faster where that does not matter.
#include <math.h>

#include "lib/linalg/linalg.h"

// row -= factor * other, elements from..size-1
static void subtract(int64_t from, int64_t size, double factor, const double *other, double *row) {
  for (int64_t j = from; j < size; j++) row[j] -= factor * other[j];
}

typedef struct elimination {
  int64_t size, pivot;
  double *a;
} elimination;

static void eliminate_row(void *argument, int64_t i, int thread) {
  (void)thread;
  const elimination *step = argument;
  const double *pivot = step->a + step->pivot * step->size;
  int64_t row = step->pivot + 1 + i;
  subtract(row, step->size, pivot[row], pivot, step->a + row * step->size);
}

dq_status dq_factor_symmetric(int64_t size, double *a, dq_pool *pool, dq_error *error) {
  enum { WORTH_THREADS = 256 };
  for (int64_t k = 0; k < size; k++) {
    double *row = a + k * size;
    if (!(row[k] > 0) || !isfinite(row[k]))
      return dq_fail(error, DQ_BAD_INPUT, "matrix is not positive definite: pivot %lld is %g", (long long)k, row[k]);
    double root = sqrt(row[k]);
    for (int64_t j = k; j < size; j++) row[j] /= root;
    elimination step = {size, k, a};
    dq_pool_run(size - k > WORTH_THREADS ? pool : NULL, size - k - 1, eliminate_row, &step);
  }
  for (int64_t i = 0; i < size; i++)
    for (int64_t j = 0; j < i; j++) a[i * size + j] = a[j * size + i];
  return DQ_OK;
}

void dq_solve_factored(int64_t size, const double *factor, double *x) {
  for (int64_t k = 0; k < size; k++) { // R^T z = x
    const double *row = factor + k * size;
    x[k] /= row[k];
    subtract(k + 1, size, x[k], row, x);
  }
  for (int64_t k = size - 1; k >= 0; k--) { // R x = z, by the mirrored columns
    const double *row = factor + k * size;
    x[k] /= row[k];
    subtract(0, k, x[k], row, x);
  }
}
