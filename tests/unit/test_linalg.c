// Singular value decompositions and products: hand-worked values, shapes of every kind, bad input.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <xxhash.h>

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
  double left[4], values[2], vectors[4] = {2, 1, 1, 2}, eigenvalues[2];
  assert_int_equal(dq_left_singular(2, 2, a, left, values, NULL), DQ_OK);
  assert_int_equal(dq_symmetric_eigen(2, vectors, eigenvalues, true, NULL), DQ_OK);
  for (int k = 0; k < 2; k++) {
    assert_true(fabs(values[k] - (k == 0 ? 3 : 1)) < 1e-14);
    assert_true(fabs(eigenvalues[k] - (k == 0 ? 3 : 1)) < 1e-14);
  }
  assert_true(fabs(left[0] - M_SQRT1_2) < 1e-14 && fabs(left[1] - M_SQRT1_2) < 1e-14);
  assert_true(fabs(vectors[0] - M_SQRT1_2) < 1e-14 && fabs(vectors[1] - M_SQRT1_2) < 1e-14);
  assert_true(fabs(dot(2, left, left + 2)) < 1e-14 && fabs(dot(2, vectors, vectors + 2)) < 1e-14);
}

// A = sum of left_k (left_k^T A), and left_k^T A has the length of the k-th value and is orthogonal to the others.
static void check_shape(int64_t rows, int64_t columns) {
  const int64_t count = rows < columns ? rows : columns;
  double *a = random_matrix(rows, columns, (uint64_t)(rows * 1000 + columns));
  double *left = malloc((size_t)(count * rows) * 8), *values = malloc((size_t)count * 8);
  double *right = malloc((size_t)(count * columns) * 8);
  assert_int_equal(dq_left_singular(rows, columns, a, left, values, NULL), DQ_OK);
  assert_orthonormal(count, rows, left);
  assert_int_equal(dq_multiply(dq_matrix_tight(count, rows, left), dq_matrix_tight(rows, columns, a), right, NULL),
                   DQ_OK);
  for (int64_t j = 0; j < count; j++)
    for (int64_t k = 0; k <= j; k++) {
      const double product = dot(columns, right + j * columns, right + k * columns);
      assert_true(fabs(product - (j == k ? values[k] * values[k] : 0)) < 1e-11 * values[0] * values[0]);
      assert_true(values[j] <= values[k]);
    }
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c++) {
      double sum = 0;
      for (int64_t k = 0; k < count; k++) sum += left[k * rows + r] * right[k * columns + c];
      assert_true(fabs(sum - a[r * columns + c]) < 1e-11);
    }
  free(a), free(left), free(right), free(values);
}

static void every_kind_of_shape(void **state) {
  (void)state;
  const int64_t shapes[][2] = {{1, 1},   {1, 7},   {7, 1},    {5, 5},   {8, 72},    {72, 8},
                               {33, 35}, {60, 20}, {100, 40}, {65, 65}, {130, 200}, {150, 70}};
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
  const double expected[][4] = {{4, 5, 10, 11}, {104, 205, 310, 411}, {96, 195, 290, 389}};
  for (int way = 0; way < 4; way++)
    for (int use = DQ_PRODUCT_STORE; use <= DQ_PRODUCT_SUBTRACT; use++) {
      double c[] = {100, 200, 300, 400};
      dq_matrix left = way & 1 ? dq_matrix_tight(3, 2, at) : dq_matrix_tight(2, 3, a);
      dq_matrix right = way & 2 ? dq_matrix_tight(2, 3, bt) : dq_matrix_tight(3, 2, b);
      dq_matrix product = dq_matrix_tight(2, 2, c);
      assert_int_equal(dq_matrix_multiply(way & 1, &left, way & 2, &right, (dq_product_use)use, &product, NULL), DQ_OK);
      assert_memory_equal(c, expected[use], sizeof c);
      if (!way && !use) assert_int_equal(dq_multiply(left, right, c, NULL), DQ_OK);
      assert_memory_equal(c, expected[use], sizeof c);
    }
}

// Sizes around those of blocks, parts of larger matrices: every element is one chain of fma.
static void products_are_chains(void **state) {
  (void)state;
  const int64_t sizes[][3] = {{1, 1, 1}, {14, 16, 256}, {15, 17, 257}, {5, 129, 600}, {70, 300, 3}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int way = 0; way < 8; way++) {
      const int64_t rows = sizes[i][0], columns = sizes[i][1], depth = sizes[i][2], gap = 3;
      const bool transpose_a = way & 1, transpose_b = way & 2, subtract = way & 4;
      const dq_matrix a = {transpose_a ? depth : rows, transpose_a ? rows : depth, 700,
                           random_matrix(transpose_a ? depth : rows, 700, 1)};
      const dq_matrix b = {transpose_b ? columns : depth, transpose_b ? depth : columns, 700,
                           random_matrix(transpose_b ? columns : depth, 700, 2)};
      const dq_matrix c = {rows, columns, columns + gap, random_matrix(rows, columns + gap, 3)};
      double *expected = random_matrix(rows, columns + gap, 3);
      for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < columns; j++) {
          double *sum = &expected[r * c.stride + j];
          if (!subtract) *sum = 0;
          for (int64_t k = 0; k < depth; k++) {
            const double left = a.data[transpose_a ? k * 700 + r : r * 700 + k];
            *sum = fma(subtract ? -left : left, b.data[transpose_b ? j * 700 + k : k * 700 + j], *sum);
          }
        }
      const dq_product_use use = subtract ? DQ_PRODUCT_SUBTRACT : DQ_PRODUCT_STORE;
      assert_int_equal(dq_matrix_multiply(transpose_a, &a, transpose_b, &b, use, &c, NULL), DQ_OK);
      assert_memory_equal(c.data, expected, (size_t)(rows * c.stride) * sizeof(double));
      free(a.data), free(b.data), free(c.data), free(expected);
    }
}

// (1 2 3 / 4 5 6) (1 0 / 0 1 / 1 1), both as they are and transposed.
static void products_of_float32(void **state) {
  (void)state;
  float a[] = {1, 2, 3, 4, 5, 6}, at[] = {1, 4, 2, 5, 3, 6}, b[] = {1, 0, 0, 1, 1, 1}, bt[] = {1, 0, 1, 0, 1, 1};
  for (int way = 0; way < 4; way++) {
    float c[] = {9, 9, 9, 9};
    const dq_matrix_f32 left = way & 1 ? (dq_matrix_f32){3, 2, 2, at} : (dq_matrix_f32){2, 3, 3, a};
    const dq_matrix_f32 right = way & 2 ? (dq_matrix_f32){2, 3, 3, bt} : (dq_matrix_f32){3, 2, 2, b};
    const dq_matrix_f32 product = {2, 2, 2, c};
    assert_int_equal(dq_matrix_multiply_f32(way & 1, &left, way & 2, &right, &product, NULL), DQ_OK);
    assert_true(c[0] == 4 && c[1] == 5 && c[2] == 10 && c[3] == 11);
  }
}

static void gram_matrices(void **state) {
  (void)state;
  enum { ROWS = 150, COLUMNS = 140 };
  double *data = random_matrix(ROWS, COLUMNS, 5), *gram = malloc(ROWS * ROWS * 8), *product = malloc(ROWS * ROWS * 8);
  const dq_matrix a = dq_matrix_tight(ROWS, COLUMNS, data);
  for (int transposed = 0; transposed < 2; transposed++) {
    const int64_t size = transposed ? COLUMNS : ROWS;
    const dq_matrix g = dq_matrix_tight(size, size, gram), p = dq_matrix_tight(size, size, product);
    assert_int_equal(dq_matrix_gram(&a, transposed, &g, NULL), DQ_OK);
    assert_int_equal(dq_matrix_multiply(transposed, &a, !transposed, &a, DQ_PRODUCT_STORE, &p, NULL), DQ_OK);
    assert_memory_equal(gram, product, (size_t)(size * size) * 8);
  }
  free(data), free(gram), free(product);
}

// [[4,2],[2,5]] = L L^T with L = [[2,0],[1,2]]; L y = (2, 5) gives (1, 2), L^T x = (1, 2) gives (0, 1).
static void triangular_systems_by_hand(void **state) {
  (void)state;
  double a[] = {4, 7, 2, 5}, b[] = {2, 5}; // what is above the diagonal is not read
  const dq_matrix lower = dq_matrix_tight(2, 2, a), right = dq_matrix_tight(2, 1, b);
  assert_int_equal(dq_cholesky(&lower, NULL), DQ_OK);
  assert_true(a[0] == 2 && a[2] == 1 && a[3] == 2);
  assert_int_equal(dq_solve_triangular(&lower, false, &right, NULL), DQ_OK);
  assert_true(b[0] == 1 && b[1] == 2);
  assert_int_equal(dq_solve_triangular(&lower, true, &right, NULL), DQ_OK);
  assert_true(b[0] == 0 && b[1] == 1);
}

// Of several blocks: A = L L^T, and the systems of L and L^T together give back what A makes of a matrix.
static void triangular_systems(void **state) {
  (void)state;
  enum { COLUMNS = 70 };
  const int64_t sizes[] = {1, 63, 64, 65, 200, 400};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int64_t size = sizes[i];
    double *root = random_matrix(size, size + 5, 7), *x = random_matrix(size, COLUMNS, 8);
    double *data = malloc((size_t)(size * size) * 8), *right = malloc((size_t)(size * COLUMNS) * 8);
    const dq_matrix factor = dq_matrix_tight(size, size + 5, root), a = dq_matrix_tight(size, size, data);
    const dq_matrix b = dq_matrix_tight(size, COLUMNS, right);
    assert_int_equal(dq_matrix_gram(&factor, false, &a, NULL), DQ_OK);
    for (int64_t k = 0; k < size; k++) data[k * size + k] += 1;
    assert_int_equal(dq_multiply(a, dq_matrix_tight(size, COLUMNS, x), right, NULL), DQ_OK);
    double before = data[0], last = data[size * size - 1];
    assert_int_equal(dq_cholesky(&a, NULL), DQ_OK);
    assert_true(fabs(data[0] * data[0] - before) < 1e-12 * before);
    const double *row = data + (size - 1) * size;
    assert_true(fabs(dot(size, row, row) - last) < 1e-10 * last);
    assert_int_equal(dq_solve_triangular(&a, false, &b, NULL), DQ_OK);
    assert_int_equal(dq_solve_triangular(&a, true, &b, NULL), DQ_OK);
    for (int64_t k = 0; k < size * COLUMNS; k++) assert_true(fabs(right[k] - x[k]) < 1e-8);
    free(root), free(x), free(data), free(right);
  }
}

static void not_positive_definite(void **state) {
  (void)state;
  enum { SIZE = 100 };
  dq_error error;
  double *a = calloc(SIZE * SIZE, 8);
  for (int i = 0; i < SIZE; i++) a[i * SIZE + i] = i == 80 ? -1 : 1;
  const dq_matrix matrix = dq_matrix_tight(SIZE, SIZE, a);
  assert_int_equal(dq_cholesky(&matrix, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "matrix of 100x100 is not positive definite");
  free(a);
}

// Values known beforehand: 2 - 2 cos(pi k / (n + 1)) of the matrix with 2 on the diagonal and -1 beside it.
static void known_eigenvalues(void **state) {
  (void)state;
  const int64_t sizes[] = {1, 2, 31, 32, 33, 34, 100, 257};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int64_t n = sizes[i];
    double *a = calloc((size_t)(n * n), 8), *values = malloc((size_t)n * 8), *only = malloc((size_t)n * 8);
    for (int vectors = 0; vectors < 2; vectors++) {
      for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < n; c++) a[r * n + c] = r == c ? 2e-100 : r - c == 1 || c - r == 1 ? -1e-100 : 0;
      assert_int_equal(dq_symmetric_eigen(n, a, vectors ? values : only, vectors, NULL), DQ_OK);
    }
    assert_orthonormal(n, n, a);
    assert_memory_equal(values, only, (size_t)n * 8);
    for (int64_t k = 0; k < n; k++)
      assert_true(fabs(values[k] * 1e100 - (2 + 2 * cos(M_PI * (double)(k + 1) / (double)(n + 1)))) < 1e-13);
    free(a), free(values), free(only);
  }
}

// Beyond what dq computes itself.
static void large_matrices_by_lapack(void **state) {
  (void)state;
  enum { SIZE = 1030 };
  double *a = calloc((size_t)SIZE * SIZE, 8), *values = malloc(SIZE * 8);
  for (int i = 0; i < SIZE; i++) a[i * SIZE + i] = i;
  assert_int_equal(dq_symmetric_eigen(SIZE, a, values, true, NULL), DQ_OK);
  for (int k = 0; k < SIZE; k++) {
    assert_true(fabs(values[k] - (SIZE - 1 - k)) < 1e-9);
    assert_true(a[k * SIZE + SIZE - 1 - k] == 1);
  }
  free(a), free(values);
}

// The same sums on every machine: no release of a library and no instruction set has a part in them.
static void bits_do_not_depend_on_the_machine(void **state) {
  (void)state;
  enum { ROWS = 90, COLUMNS = 130 };
  static double a[ROWS * COLUMNS], left[ROWS * ROWS], values[ROWS], tall[ROWS * COLUMNS], gram[ROWS * ROWS];
  dq_random random = {9};
  for (int i = 0; i < ROWS * COLUMNS; i++) a[i] = (double)dq_random_float(&random) - 0.5;
  const dq_matrix wide = dq_matrix_tight(ROWS, COLUMNS, a), square = dq_matrix_tight(ROWS, ROWS, gram);
  assert_int_equal(dq_left_singular(ROWS, COLUMNS, a, left, values, NULL), DQ_OK);
  assert_int_equal(dq_left_singular(COLUMNS, ROWS, a, tall, values, NULL), DQ_OK);
  assert_int_equal(dq_matrix_gram(&wide, false, &square, NULL), DQ_OK);
  assert_int_equal(dq_cholesky(&square, NULL), DQ_OK);
  assert_int_equal(dq_solve_triangular(&square, true, &wide, NULL), DQ_OK);
  const uint64_t sum = XXH64(left, sizeof left, 0) ^ XXH64(tall, sizeof tall, 1) ^ XXH64(values, sizeof values, 2) ^
                       XXH64(a, sizeof a, 3);
  assert_int_equal(sum, 0xc598647e63bc9d49);
}

static void bad_input(void **state) {
  (void)state;
  double a[] = {1, 2, NAN, 4}, left[4], values[2];
  dq_error error;
  assert_int_equal(dq_left_singular(2, 2, a, left, values, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "row 1, column 0"));
  a[2] = INFINITY;
  assert_int_equal(dq_symmetric_eigen(2, a, values, true, &error), DQ_BAD_INPUT);
  assert_int_equal(dq_left_singular(0, 2, a, left, values, &error), DQ_BAD_INPUT);
  assert_int_equal(dq_left_singular(20000, 20000, a, left, values, &error), DQ_UNSUPPORTED);
  assert_int_equal(dq_multiply(dq_matrix_tight(0, 1, a), dq_matrix_tight(1, 1, a), a, &error), DQ_UNSUPPORTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_by_two_by_hand),
      cmocka_unit_test(every_kind_of_shape),
      cmocka_unit_test(same_bytes_again),
      cmocka_unit_test(rank_one_and_zero),
      cmocka_unit_test(products),
      cmocka_unit_test(products_are_chains),
      cmocka_unit_test(products_of_float32),
      cmocka_unit_test(gram_matrices),
      cmocka_unit_test(triangular_systems_by_hand),
      cmocka_unit_test(triangular_systems),
      cmocka_unit_test(not_positive_definite),
      cmocka_unit_test(known_eigenvalues),
      cmocka_unit_test(large_matrices_by_lapack),
      cmocka_unit_test(bits_do_not_depend_on_the_machine),
      cmocka_unit_test(bad_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
