// Cholesky factors and triangular systems: blocks on the diagonal by plain loops, the rest by matrix products, every
// sum in one order.
#include <math.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/sizes.h"
#include "lib/linalg/linalg.h"

enum { BLOCK = 64, STRIP = 64, COLUMNS = 256 }; // of the diagonal; of columns in the cache; of a product below it

// row -= factor * other
static void subtract(int64_t count, double factor, const double *other, double *row) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) row[i] -= factor * other[i];
}

// The factor of a block on the diagonal, in place. False: it is not positive definite.
static bool factor_block(const dq_matrix *a) {
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t j = 0; j <= i; j++) {
      double *row = a->data + i * a->stride, sum = row[j];
      const double *other = a->data + j * a->stride;
      for (int64_t k = 0; k < j; k++) sum -= row[k] * other[k];
      if (j < i) row[j] = sum / other[j];
      else if (sum > 0 && isfinite(sum)) row[j] = sqrt(sum);
      else return false;
    }
  return true;
}

// Columns `first`...`first + count - 1` of the solution of a block's system, row by row.
static void solve_strip(const dq_matrix *lower, bool transposed, const dq_matrix *b, int64_t first, int64_t count) {
  const int64_t size = lower->rows;
  for (int64_t step = 0; step < size; step++) {
    const int64_t j = transposed ? size - 1 - step : step;
    double *row = b->data + j * b->stride + first, pivot = lower->data[j * lower->stride + j];
    for (int64_t done = 0; done < step; done++) {
      const int64_t k = transposed ? size - 1 - done : done;
      const double factor = lower->data[transposed ? k * lower->stride + j : j * lower->stride + k];
      subtract(count, factor, b->data + k * b->stride + first, row);
    }
    for (int64_t i = 0; i < count; i++) row[i] /= pivot;
  }
}

static void solve_block(const dq_matrix *lower, bool transposed, const dq_matrix *b) {
  for (int64_t first = 0; first < b->columns; first += STRIP)
    solve_strip(lower, transposed, b, first, dq_min_i64(STRIP, b->columns - first));
}

// The lower triangle of the matrix behind a factored block less the products of the rows of L, whose transpose is
// `panel`.
static dq_status update_rest(const dq_matrix *rest, const dq_matrix *panel, dq_error *error) {
  for (int64_t first = 0; first < rest->columns; first += COLUMNS) {
    const int64_t count = dq_min_i64(COLUMNS, rest->columns - first), rows = rest->rows - first;
    const dq_matrix left = dq_matrix_part(panel, 0, panel->rows, first, rows);
    const dq_matrix right = dq_matrix_part(panel, 0, panel->rows, first, count);
    const dq_matrix part = dq_matrix_part(rest, first, rows, first, count);
    DQ_TRY(dq_matrix_multiply(true, &left, false, &right, DQ_PRODUCT_SUBTRACT, &part, error));
  }
  return DQ_OK;
}

static dq_status factor(const dq_matrix *a, double *scratch, dq_error *error) {
  const int64_t size = a->rows;
  for (int64_t at = 0; at < size; at += BLOCK) {
    const int64_t count = dq_min_i64(BLOCK, size - at), end = at + count;
    const dq_matrix block = dq_matrix_part(a, at, count, at, count);
    if (!factor_block(&block))
      return dq_fail(error, DQ_BAD_INPUT, "matrix of %lldx%lld is not positive definite", (long long)size,
                     (long long)size);
    if (end == size) break;
    const dq_matrix below = dq_matrix_part(a, end, size - end, at, count);
    const dq_matrix panel = dq_matrix_tight(count, size - end, scratch);
    dq_matrix_transpose(&below, &panel);
    solve_block(&block, false, &panel);
    dq_matrix_transpose(&panel, &below);
    const dq_matrix rest = dq_matrix_part(a, end, size - end, end, size - end);
    DQ_TRY(update_rest(&rest, &panel, error));
  }
  return DQ_OK;
}

dq_status dq_cholesky(const dq_matrix *a, dq_error *error) {
  if (a->rows < 1 || a->rows != a->columns)
    return dq_fail(error, DQ_UNSUPPORTED, "Cholesky factor of a %lldx%lld matrix, expected a square one",
                   (long long)a->rows, (long long)a->columns);
  dq_arena *arena = dq_arena_new(NULL);
  double *scratch = arena ? DQ_NEW_ARRAY(arena, BLOCK * a->rows, double) : NULL;
  dq_status status =
      scratch ? factor(a, scratch, error) : dq_fail_memory(error, BLOCK * (size_t)a->rows * sizeof(double));
  dq_arena_free(arena);
  return status;
}

// The rows of B that a block of the system solves, once the rows before it (behind it, transposed) are solved.
static dq_status solve_rows(const dq_matrix *lower, bool transposed, const dq_matrix *b, int64_t at, dq_error *error) {
  const int64_t count = dq_min_i64(BLOCK, b->rows - at), end = at + count;
  const int64_t from = transposed ? end : 0, others = transposed ? b->rows - end : at;
  const dq_matrix rows = dq_matrix_part(b, at, count, 0, b->columns);
  if (others) {
    const dq_matrix solved = dq_matrix_part(b, from, others, 0, b->columns);
    const dq_matrix factors =
        transposed ? dq_matrix_part(lower, from, others, at, count) : dq_matrix_part(lower, at, count, from, others);
    DQ_TRY(dq_matrix_multiply(transposed, &factors, false, &solved, DQ_PRODUCT_SUBTRACT, &rows, error));
  }
  const dq_matrix block = dq_matrix_part(lower, at, count, at, count);
  solve_block(&block, transposed, &rows);
  return DQ_OK;
}

dq_status dq_solve_triangular(const dq_matrix *lower, bool transposed, const dq_matrix *b, dq_error *error) {
  if (b->rows < 1 || b->columns < 1 || lower->rows != b->rows)
    return dq_fail(error, DQ_UNSUPPORTED, "triangular %lldx%lld system of %lldx%lld, expected equal numbers of rows",
                   (long long)lower->rows, (long long)lower->columns, (long long)b->rows, (long long)b->columns);
  const int64_t blocks = (b->rows + BLOCK - 1) / BLOCK;
  for (int64_t i = 0; i < blocks; i++)
    DQ_TRY(solve_rows(lower, transposed, b, (transposed ? blocks - 1 - i : i) * BLOCK, error));
  return DQ_OK;
}

dq_status dq_factor_symmetric(int64_t size, double *a, dq_error *error) {
  const dq_matrix matrix = dq_matrix_tight(size, size, a);
  for (int64_t i = 0; i < size; i++)
    for (int64_t j = 0; j < i; j++) a[i * size + j] = a[j * size + i];
  DQ_TRY(dq_cholesky(&matrix, error));
  for (int64_t i = 0; i < size; i++)
    for (int64_t j = 0; j < i; j++) a[j * size + i] = a[i * size + j];
  return DQ_OK;
}

void dq_solve_factored(int64_t size, const double *factor, double *x) {
  for (int64_t k = 0; k < size; k++) { // R^T z = x
    const double *row = factor + k * size;
    x[k] /= row[k];
    subtract(size - k - 1, x[k], row + k + 1, x + k + 1);
  }
  for (int64_t k = size - 1; k >= 0; k--) { // R x = z, by the mirrored columns
    const double *row = factor + k * size;
    x[k] /= row[k];
    subtract(k, x[k], row, x);
  }
}
