// Matrices and their parts, what decompositions refuse, and signs of vectors.
#include <limits.h>
#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/linalg/linalg_internal.h"

dq_matrix dq_matrix_tight(int64_t rows, int64_t columns, const double *data) {
  return (dq_matrix){rows, columns, columns, (double *)(uintptr_t)data};
}

void dq_matrix_copy(const dq_matrix *from, const dq_matrix *to) {
  for (int64_t r = 0; r < from->rows; r++)
    memcpy(to->data + r * to->stride, from->data + r * from->stride, (size_t)from->columns * sizeof(double));
}

dq_matrix dq_matrix_part(const dq_matrix *m, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  return (dq_matrix){rows, columns, m->stride, m->data + row * m->stride + column};
}

void dq_matrix_transpose(const dq_matrix *from, const dq_matrix *to) {
  enum { BLOCK = 32 };
  for (int64_t top = 0; top < from->rows; top += BLOCK)
    for (int64_t left = 0; left < from->columns; left += BLOCK)
      for (int64_t r = top; r < dq_min_i64(top + BLOCK, from->rows); r++)
        for (int64_t c = left; c < dq_min_i64(left + BLOCK, from->columns); c++)
          to->data[c * to->stride + r] = from->data[r * from->stride + c];
}

// The short side is bounded so that the workspaces (at most 7 n^2 + 14 n elements) count in int.
enum { SHORT_SIDE_LIMIT = 16000 };

dq_status dq_check_matrix(int64_t rows, int64_t columns, const double *a, dq_error *error) {
  if (rows < 1 || columns < 1)
    return dq_fail(error, DQ_BAD_INPUT, "matrix is %lldx%lld, expected at least 1x1", (long long)rows,
                   (long long)columns);
  if (rows > INT_MAX || columns > INT_MAX || dq_min_i64(rows, columns) > SHORT_SIDE_LIMIT)
    return dq_fail(error, DQ_UNSUPPORTED, "matrix of %lldx%lld is too large to decompose", (long long)rows,
                   (long long)columns);
  for (int64_t i = 0; i < rows * columns; i++)
    if (!isfinite(a[i]))
      return dq_fail(error, DQ_BAD_INPUT, "matrix has %g at row %lld, column %lld", a[i], (long long)(i / columns),
                     (long long)(i % columns));
  return DQ_OK;
}

// Eigenvectors are unique up to their sign: choose one.
void dq_fix_signs(int64_t rows, int64_t columns, double *vectors) {
  for (int64_t k = 0; k < rows; k++) {
    double *vector = vectors + k * columns;
    int64_t largest = 0;
    for (int64_t i = 1; i < columns; i++)
      if (fabs(vector[i]) > fabs(vector[largest])) largest = i;
    const bool negative = vector[largest] < 0;
    for (int64_t i = 0; negative && i < columns; i++) vector[i] = -vector[i];
  }
}
