// Singular value decompositions and products: hand-worked values, shapes of every kind, bad input.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/linalg/linalg.h"

static double *random_matrix(int64_t rows, int64_t columns, uint64_t seed) {
  dq_random random = {seed};
  double *a = malloc((size_t)(rows * columns) * sizeof(double));
  for (int64_t i = 0; i < rows * columns; i++) a[i] = dq_random_normal(&random);
  return a;
}

static double dot(int64_t count, const double *a, const double *b) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += a[i] * b[i];
  return sum;
}

static void assert_orthonormal(int64_t count, int64_t size, const double *vectors) {
  for (int64_t j = 0; j < count; j++)
    for (int64_t k = 0; k <= j; k++)
      assert_true(fabs(dot(size, vectors + j * size, vectors + k * size) - (j == k)) < 1e-12);
}

// [[2,1],[1,2]] = 3 u u^T + 1 v v^T with u = (1,1)/sqrt 2, v = (1,-1)/sqrt 2
static void two_by_two_by_hand(void **state) {
  (void)state;
  const double a[] = {2, 1, 1, 2};
  double left[4], right[4], values[2], gram_left[4], gram_values[2];
  assert_int_equal(dq_svd(2, 2, a, left, values, right, NULL), DQ_OK);
  assert_int_equal(dq_left_singular(2, 2, a, gram_left, gram_values, NULL), DQ_OK);
  for (int k = 0; k < 2; k++) {
    assert_true(fabs(values[k] - (k == 0 ? 3 : 1)) < 1e-14);
    assert_true(fabs(gram_values[k] - (k == 0 ? 3 : 1)) < 1e-14);
  }
  assert_true(fabs(left[0] - M_SQRT1_2) < 1e-14 && fabs(left[1] - M_SQRT1_2) < 1e-14);
  assert_true(fabs(gram_left[0] - M_SQRT1_2) < 1e-14 && fabs(gram_left[1] - M_SQRT1_2) < 1e-14);
  assert_true(fabs(dot(2, left, left + 2)) < 1e-14 && fabs(dot(2, right, right + 2)) < 1e-14);
}

static void check_shape(int64_t rows, int64_t columns) {
  int64_t count = rows < columns ? rows : columns;
  double *a = random_matrix(rows, columns, (uint64_t)(rows * 1000 + columns));
  double *left = malloc((size_t)(count * rows) * 8), *right = malloc((size_t)(count * columns) * 8);
  double *values = malloc((size_t)count * 8);
  double *again = malloc((size_t)(count * rows) * 8), *again_values = malloc((size_t)count * 8);
  assert_int_equal(dq_svd(rows, columns, a, left, values, right, NULL), DQ_OK);
  assert_orthonormal(count, rows, left);
  assert_orthonormal(count, columns, right);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c++) {
      double sum = 0;
      for (int64_t k = 0; k < count; k++) sum += values[k] * left[k * rows + r] * right[k * columns + c];
      assert_true(fabs(sum - a[r * columns + c]) < 1e-11);
    }
  assert_int_equal(dq_left_singular(rows, columns, a, again, again_values, NULL), DQ_OK);
  assert_orthonormal(count, rows, again);
  for (int64_t k = 0; k < count; k++) {
    assert_true(fabs(values[k] - again_values[k]) < 1e-6 * values[0]);
    if (k > 0) assert_true(values[k] <= values[k - 1] && again_values[k] <= again_values[k - 1]);
  }
  // Sign and order are the same both ways for separated values.
  if (count > 1 && values[0] - values[1] > 1e-3)
    for (int64_t i = 0; i < rows; i++) assert_true(fabs(left[i] - again[i]) < 1e-8);
  free(a), free(left), free(right), free(values), free(again), free(again_values);
}

static void every_kind_of_shape(void **state) {
  (void)state;
  const int64_t shapes[][2] = {{1, 1}, {1, 7}, {7, 1}, {5, 5}, {8, 72}, {72, 8}, {33, 35}, {60, 20}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) check_shape(shapes[i][0], shapes[i][1]);
}

static void same_bytes_again(void **state) {
  (void)state;
  double *a = random_matrix(24, 100, 1);
  double first[24 * 24], second[24 * 24], values[24];
  assert_int_equal(dq_left_singular(24, 100, a, first, values, NULL), DQ_OK);
  assert_int_equal(dq_left_singular(24, 100, a, second, values, NULL), DQ_OK);
  assert_memory_equal(first, second, sizeof first);
  for (int k = 0; k < 24; k++) {
    double largest = 0;
    for (int i = 0; i < 24; i++)
      if (fabs(first[k * 24 + i]) > fabs(largest)) largest = first[k * 24 + i];
    assert_true(largest > 0);
  }
  free(a);
}

static void rank_one_and_zero(void **state) {
  (void)state;
  const double one[] = {1, 2, 3, 2, 4, 6};
  double left[4], values[2];
  assert_int_equal(dq_left_singular(2, 3, one, left, values, NULL), DQ_OK);
  assert_true(fabs(values[0] - sqrt(70)) < 1e-13 && values[1] < 1e-6 && values[1] >= 0);
  const double zero[6] = {0};
  assert_int_equal(dq_left_singular(2, 3, zero, left, values, NULL), DQ_OK);
  assert_true(values[0] == 0 && values[1] == 0);
  assert_orthonormal(2, 2, left);
}

static void products(void **state) {
  (void)state;
  const double a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1}; // 2x3, 3x2
  const double at[] = {1, 4, 2, 5, 3, 6}, bt[] = {1, 0, 1, 0, 1, 1};
  const double expected[] = {4, 5, 10, 11};
  for (int way = 0; way < 4; way++) {
    double c[4];
    dq_matrix left = way & 1 ? dq_matrix_tight(3, 2, at) : dq_matrix_tight(2, 3, a);
    dq_matrix right = way & 2 ? dq_matrix_tight(2, 3, bt) : dq_matrix_tight(3, 2, b),
              product = dq_matrix_tight(2, 2, c);
    assert_int_equal(dq_matrix_multiply(way & 1, &left, way & 2, &right, 0, &product, NULL), DQ_OK);
    if (!way) assert_int_equal(dq_multiply(left, right, c, NULL), DQ_OK);
    assert_memory_equal(c, expected, sizeof c);
  }
}

static void bad_input(void **state) {
  (void)state;
  double a[] = {1, 2, NAN, 4}, left[4], values[2];
  dq_error error;
  assert_int_equal(dq_left_singular(2, 2, a, left, values, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "row 1, column 0"));
  a[2] = INFINITY;
  assert_int_equal(dq_svd(2, 2, a, left, values, NULL, &error), DQ_BAD_INPUT);
  assert_int_equal(dq_svd(0, 2, a, left, values, NULL, &error), DQ_BAD_INPUT);
  assert_int_equal(dq_svd(20000, 20000, a, left, values, NULL, &error), DQ_UNSUPPORTED);
  assert_int_equal(dq_multiply(dq_matrix_tight(0, 1, a), dq_matrix_tight(1, 1, a), a, &error), DQ_UNSUPPORTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(two_by_two_by_hand), cmocka_unit_test(every_kind_of_shape),
                                     cmocka_unit_test(same_bytes_again),   cmocka_unit_test(rank_one_and_zero),
                                     cmocka_unit_test(products),           cmocka_unit_test(bad_input)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
