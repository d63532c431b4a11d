// Requantization by integers: against results by hand, and against the float definition for every sum.
#include "lib/ops/common/fixed_point.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

// 0.5 is 2^30 / 2^31: (3 * 2^30 + 2^30) >> 31 = 2, while the definition rounds the tie 1.5 to the even 2, and 2.5 to 2
// where the fixed-point form gives 3: an exception at 5.
static void ties_by_hand(void **state) {
  const dq_float_requantization half = {0.5f, 0, 0, 4};
  dq_fixed_point form;
  (void)state;
  assert_true(dq_fixed_point_find(&form, &half, -3, 9, DQ_FIXED_MOST_SHIFT));
  assert_int_equal(dq_requantize_float(&half, 3), 2);
  assert_int_equal(dq_requantize_float(&half, 5), 2);
  assert_int_equal(dq_requantize_fixed(&form, &half, 3), 2);
  assert_int_equal(dq_requantize_fixed(&form, &half, 5), 2);
  assert_int_equal(dq_requantize_fixed(&form, &half, -3), 0);
  assert_int_equal(dq_requantize_fixed(&form, &half, 9), 4);
  assert_true(form.exception_count > 0);
}

// The sums at which the form of a shift up to `most_shift` differs from the definition; -1: there is none.
static int count_with_shift(const dq_float_requantization *d, int64_t least, int64_t most, int most_shift) {
  dq_fixed_point form;
  int different = 0;
  if (!dq_fixed_point_find(&form, d, least, most, most_shift)) return -1;
  assert_true(form.shift <= most_shift);
  for (int64_t sum = least; sum <= most; sum++)
    different += dq_requantize_float(d, sum) != dq_requantize_fixed(&form, d, sum);
  return different;
}

static int count_differences(const dq_float_requantization *d, int64_t least, int64_t most) {
  assert_true(count_with_shift(d, least, most, 35) <= 0);
  return count_with_shift(d, least, most, DQ_FIXED_MOST_SHIFT);
}

// Of 200 channels, those with exceptions: a multiplier that is some 2^-23 larger or smaller than the nearest mostly has
// none.
static void few_channels_have_exceptions(void **state) {
  int exceptions = 0;
  (void)state;
  for (int i = 0; i < 200; i++) {
    dq_fixed_point form;
    const dq_float_requantization d = {0.002f + (float)i * 1.37e-6f, 0, 0, 255};
    assert_true(dq_fixed_point_find(&form, &d, -60000, 150000, DQ_FIXED_MOST_SHIFT));
    exceptions += form.exception_count > 0;
  }
  assert_in_range(exceptions, 0, 40); // 76 with the nearest multipliers, within 16 of the quotient
}

// Every sum of ranges like those of networks, with multipliers at random and such that many products are ties (3/7000).
static void every_sum_is_equal(void **state) {
  static const float multipliers[] = {0.00113305275f, 0.000428571424f, 0.00160403305f, 0.25f,   0.0078125f, 1.0f,
                                      3.7f,           1e-7f,           0.0f,           0x1p-40f};
  (void)state;
  for (size_t i = 0; i < sizeof multipliers / sizeof *multipliers; i++)
    for (int zero = 0; zero <= 255; zero += 85) {
      const dq_float_requantization bytes = {multipliers[i], zero, 0, 255};
      const dq_float_requantization relu = {multipliers[i], zero - 128, zero - 128, 127};
      assert_int_equal(count_differences(&bytes, -300000, 280000), 0);
      assert_int_equal(count_differences(&relu, -70000, 90000), 0);
    }
}

// Sums beyond 2^24, which float32 rounds: the bias of a channel without weights.
static void sums_that_float_rounds(void **state) {
  const dq_float_requantization d = {1.74439e-09f, 0, 0, 255};
  (void)state;
  assert_int_equal(count_differences(&d, 1073741824 - 24225, 1073741824 + 104550), 0);
}

// The random multipliers of many channels; the share without a fixed-point form is small.
static void random_multipliers(void **state) {
  uint32_t random = 1;
  int without = 0;
  (void)state;
  for (int i = 0; i < 300; i++) {
    random = random * 1664525u + 1013904223u;
    const dq_float_requantization d = {(float)ldexp(0.5 + (double)(random >> 8) * 0x1p-25, -(int)(random % 8) - 6),
                                       (int32_t)(random >> 20) % 256, 0, 255};
    int different = count_differences(&d, -60000, 60000);
    assert_true(different <= 0);
    without += different < 0;
  }
  assert_true(without <= 3);
}

static void what_has_no_form(void **state) {
  dq_fixed_point form;
  (void)state;
  assert_false(dq_fixed_point_find(&form, &(dq_float_requantization){NAN, 0, 0, 255}, -9, 9, DQ_FIXED_MOST_SHIFT));
  assert_false(dq_fixed_point_find(&form, &(dq_float_requantization){INFINITY, 0, 0, 255}, -9, 9, DQ_FIXED_MOST_SHIFT));
  assert_false(dq_fixed_point_find(&form, &(dq_float_requantization){-0.5f, 0, 0, 255}, -9, 9, DQ_FIXED_MOST_SHIFT));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ties_by_hand),           cmocka_unit_test(every_sum_is_equal),
      cmocka_unit_test(sums_that_float_rounds), cmocka_unit_test(random_multipliers),
      cmocka_unit_test(what_has_no_form),       cmocka_unit_test(few_channels_have_exceptions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
