// Extremes, sums and powers of tensors, at every count around the widths of vectors and blocks.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "calib/elements.h"

enum { MOST = 9000 };
static const int64_t counts[] = {0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 4095, 4096, 4097, 5000, 8191, 8192, 8193};
static float values[MOST];

static int64_t count_at(int i) { return i < (int)(sizeof counts / sizeof *counts) ? counts[i] : -1; }

// Whole numbers, whose sums are exact in any order; behind the first `count` of them what must not be read.
static void fill(int64_t count) {
  for (int64_t i = 0; i < MOST; i++) values[i] = i < count ? (float)((i * 37) % 101 - 50) : NAN;
}

static void every_element_counts_and_no_other(void **state) {
  (void)state;
  for (int i = 0; count_at(i) >= 0; i++) {
    int64_t count = count_at(i);
    double sum = 0, power = 0, low = INFINITY, high = -INFINITY;
    fill(count);
    for (int64_t k = 0; k < count; k++) {
      double x = (double)values[k];
      sum += x, power += x * x;
      low = x < low ? x : low, high = x > high ? x : high;
    }
    dq_extremes found = dq_extremes_of(values, count, 0);
    assert_true((double)found.low == low && (double)found.high == high && found.not_finite == 0);
    assert_true(dq_element_sums_of(values, count, 0).sum == sum);
    assert_true(dq_element_sums_of(values, count, 0).power == power);
  }
}

// The extreme, or what is not finite, stands at the first, at the last and at some places between.
static void no_place_is_left_out(void **state) {
  (void)state;
  for (int i = 0; count_at(i) >= 0; i++) {
    int64_t count = count_at(i);
    for (int64_t at = 0; at < count; at += at < 70 || at > count - 70 ? 1 : 61) {
      fill(count);
      values[at] = 1000;
      assert_true(dq_extremes_of(values, count, 0).high == 1000);
      values[at] = -1000;
      assert_true(dq_extremes_of(values, count, 0).low == -1000);
      values[at] = at % 2 ? NAN : -INFINITY;
      dq_extremes found = dq_extremes_of(values, count, 0);
      assert_int_equal(found.not_finite, 1);
      if (count > 100) assert_true(found.low == -50 && found.high == 50);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_element_counts_and_no_other),
      cmocka_unit_test(no_place_is_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
