// How far two outputs are from each other, against values worked out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/sizes.h"
#include "lib/eval/eval.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static void comparison(void **state) {
  (void)state;
  dq_comparison it = {0};
  float a[4] = {3, 4, 0, NAN}, b[4] = {3, 3, 0, 1}; // the reference is no number: left out
  dq_tensor x = {DQ_F32, 2, {1, 4}, a}, y = {DQ_F32, 2, {1, 4}, b}, z = {DQ_F32, 2, {1, 3}, b};
  assert_int_equal(dq_comparison_add(&it, &x, &y, 0, NULL), DQ_OK);
  NEAR(dq_comparison_sqnr(&it), 10 * log10(25.0 / 1));
  NEAR(dq_comparison_cosine(&it), (9 + 12) / (5 * sqrt(18)));
  NEAR(it.largest, 1);
  assert_true(it.nonfinite == 0 && it.left_out == 1 && it.values == 3);
  NEAR(dq_comparison_agreement(&it), 0); // 4 is largest here, the first 3 there
  assert_int_equal(dq_comparison_add(&it, &x, &z, 0, NULL), DQ_BAD_INPUT);
  dq_comparison same = {0};
  dq_comparison_add_values(&same, b, b, 4);
  assert_true(isinf(dq_comparison_sqnr(&same)));
  NEAR(dq_comparison_cosine(&same), 1);
}

// Where the reference is a number and the other is not the error is infinite, and the picture does not agree, though
// its largest score has the same place.
static void broken_elements(void **state) {
  (void)state;
  const float bad[3] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 3; i++) {
    dq_comparison it = {0};
    float a[3] = {3, 4, 0}, b[3] = {3, 9, bad[i]};
    dq_tensor x = {DQ_F32, 2, {1, 3}, a}, y = {DQ_F32, 2, {1, 3}, b};
    assert_int_equal(dq_comparison_add(&it, &x, &y, 0, NULL), DQ_OK);
    assert_true(it.nonfinite == 1 && it.left_out == 0 && it.values == 3);
    assert_true(dq_comparison_sqnr(&it) == -INFINITY);
    assert_true(it.largest == INFINITY && isnan(dq_comparison_cosine(&it)));
    NEAR(dq_comparison_agreement(&it), 0);
    dq_comparison turned = {0}; // the other way round there is nothing to come close to
    assert_int_equal(dq_comparison_add(&turned, &y, &x, 0, NULL), DQ_OK);
    NEAR(dq_comparison_sqnr(&turned), 10 * log10((9.0 + 81) / 25));
    assert_true(turned.nonfinite == 0 && turned.left_out == 1);
  }
  dq_comparison none = {0};
  float all[2] = {NAN, NAN};
  dq_tensor x = {DQ_F32, 2, {1, 2}, all};
  assert_int_equal(dq_comparison_add(&none, &x, &x, 0, NULL), DQ_OK);
  assert_true(isnan(dq_comparison_sqnr(&none)) && none.left_out == 2);
  NEAR(dq_comparison_agreement(&none), 0);
}

// Pictures with whole numbers, whose sums are exact, added one after the other and merged: one as it should be, one
// with a broken element, one with an element that the reference does not have.
static void merged_pictures(void **state) {
  (void)state;
  float a[3][3] = {{3, 4, 0}, {1, 2, 3}, {5, NAN, 1}}, b[3][3] = {{3, 9, 1}, {1, NAN, 3}, {2, 1, 1}};
  dq_comparison all = {0}, merged = {0};
  for (int p = 0; p < 3; p++) {
    const dq_tensor x = {DQ_F32, 2, {1, 3}, a[p]}, y = {DQ_F32, 2, {1, 3}, b[p]};
    dq_comparison one = {0};
    assert_int_equal(dq_comparison_add(&one, &x, &y, 0, NULL), DQ_OK);
    assert_int_equal(dq_comparison_add(&all, &x, &y, 0, NULL), DQ_OK);
    dq_comparison_merge(&merged, &one);
    assert_memory_equal(&merged, &all, sizeof all);
  }
  assert_true(all.pictures == 3 && all.agree == 2 && all.values == 8 && all.nonfinite == 1 && all.left_out == 1);
  assert_true(all.signal == 25 + 14 + 26 && all.largest == INFINITY);
}

// In float16 as well, which is read element by element.
static void broken_half(void **state) {
  (void)state;
  dq_comparison it = {0};
  float a[2] = {1, 2};
  uint16_t b[2] = {0x7c00, 0x4000}; // infinity, 2
  dq_tensor x = {DQ_F32, 2, {1, 2}, a}, y = {DQ_F16, 2, {1, 2}, b};
  assert_int_equal(dq_comparison_add(&it, &x, &y, 0, NULL), DQ_OK);
  assert_true(it.nonfinite == 1 && dq_comparison_sqnr(&it) == -INFINITY);
  NEAR(dq_comparison_agreement(&it), 0);
}

// Outputs around the lengths that are taken at once: element i is 1 to 7, the other one that less 1 at every third, and
// by 5 at one place. All sums are whole numbers, which are exact in any order.
static void lengths_around_blocks(void **state) {
  (void)state;
  static const int64_t lengths[] = {1,    3,    4,     5,     7,     4095,  4096,  4097,  4099,
                                    8192, 8193, 65535, 65536, 65537, 65541, 69632, 131073};
  enum { MOST = 131073 };
  float *a = malloc(MOST * sizeof *a), *b = malloc(MOST * sizeof *b);
  assert_true(a && b);
  for (size_t l = 0; l < DQ_COUNT(lengths); l++)
    for (int64_t place = 0; place < 8 && place < lengths[l]; place++) {
      const int64_t count = lengths[l], far = place < 4 ? place : count + 3 - place; // first or last elements
      double signal = 0, noise = 0, product = 0, other = 0, squares[2] = {0};
      for (int64_t i = 0; i < count; i++) {
        a[i] = (float)(1 + i % 7), b[i] = a[i] - (float)(i == far ? 5 : i % 3 == 0);
        signal += (double)(a[i] * a[i]), noise += (double)((a[i] - b[i]) * (a[i] - b[i]));
        product += (double)(a[i] * b[i]), other += (double)(b[i] * b[i]);
      }
      dq_comparison it = {0};
      dq_comparison_add_values(&it, a, b, count);
      assert_true(it.values == count && it.signal == signal && it.noise == noise);
      assert_true(it.product == product && it.other == other && it.largest == 5);
      dq_add_squares(a, b, count, NULL, &squares[0], &squares[1]);
      assert_true(squares[0] == signal && squares[1] == noise);
    }
  free(a), free(b);
}

// One item of a batch is compared alone, the first one as well.
static void items_of_a_batch(void **state) {
  (void)state;
  float a[4] = {3, 4, 6, 8}, b[4] = {3, 3, 8, 8};
  const dq_tensor x = {DQ_F32, 2, {2, 2}, a}, y = {DQ_F32, 2, {2, 2}, b};
  static const double noise[3] = {5, 1, 4}, signal[3] = {125, 25, 100};
  for (int item = -1; item < 2; item++) {
    dq_comparison it = {0};
    assert_int_equal(dq_comparison_add(&it, &x, &y, item, NULL), DQ_OK);
    assert_true(it.noise == noise[item + 1] && it.signal == signal[item + 1]);
  }
}

// The first of equal scores is the answer; an answer at place 0 counts as any other one.
static void first_of_equal_scores(void **state) {
  (void)state;
  static float rows[4][3] = {{5, 5, 1}, {5, 4, 1}, {4, 5, 5}, {1, 5, 2}};
  static const bool agree[4][4] = {{1, 1, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 1}, {0, 0, 1, 1}};
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 4; k++) {
      dq_comparison it = {0};
      const dq_tensor x = {DQ_F32, 2, {1, 3}, rows[i]}, y = {DQ_F32, 2, {1, 3}, rows[k]};
      assert_int_equal(dq_comparison_add(&it, &x, &y, 0, NULL), DQ_OK);
      NEAR(dq_comparison_agreement(&it), agree[i][k] ? 100 : 0);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(comparison),       cmocka_unit_test(broken_elements),
                                     cmocka_unit_test(broken_half),      cmocka_unit_test(lengths_around_blocks),
                                     cmocka_unit_test(items_of_a_batch), cmocka_unit_test(first_of_equal_scores),
                                     cmocka_unit_test(merged_pictures)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
