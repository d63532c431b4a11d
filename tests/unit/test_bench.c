// Statistics of times against values worked out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/eval/bench.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-12)

static dq_spread spread_of(const double *values, int64_t count) {
  dq_spread spread;
  dq_error error = {0};
  assert_int_equal(dq_spread_of(&spread, values, count, &error), DQ_OK);
  return spread;
}

static void quantiles_interpolate(void **state) {
  (void)state;
  const double sorted[4] = {1, 2, 4, 8};
  NEAR(dq_quantile(sorted, 4, 0), 1);
  NEAR(dq_quantile(sorted, 4, 0.5), 3);    // position 1.5
  NEAR(dq_quantile(sorted, 4, 0.95), 7.4); // position 2.85: 4 + 0.85 * 4
  NEAR(dq_quantile(sorted, 4, 1), 8);
  NEAR(dq_quantile(sorted, 1, 0.95), 1);
}

static void spread_of_five(void **state) {
  (void)state;
  const double times[5] = {3, 1, 2, 5, 4};
  dq_spread spread = spread_of(times, 5);
  assert_int_equal(spread.count, 5);
  NEAR(spread.minimum, 1);
  NEAR(spread.median, 3);
  NEAR(spread.mean, 3);
  NEAR(spread.p95, 4.8);             // position 3.8
  NEAR(spread.deviation, sqrt(2.5)); // (4 + 1 + 0 + 1 + 4) / 4
  NEAR(spread.drift, 2.25);          // medians of {5, 4} and {3, 1}: 4.5 / 2
}

static void one_value_has_no_deviation(void **state) {
  (void)state;
  const double time = 0.25;
  dq_spread spread = spread_of(&time, 1);
  NEAR(spread.median, 0.25);
  NEAR(spread.p95, 0.25);
  NEAR(spread.deviation, 0);
  NEAR(spread.drift, 1);
}

static void doubts_are_said(void **state) {
  (void)state;
  const double steady[6] = {1, 1.01, 0.99, 1, 1.01, 0.99};
  const double tail[6] = {1, 2, 1, 1, 2, 1};
  const double drifting[6] = {1, 1, 1, 1.15, 1.15, 1.15};
  dq_spread spread = spread_of(steady, 6);
  assert_null(dq_spread_doubt(&spread));
  spread = spread_of(tail, 6);
  assert_non_null(dq_spread_doubt(&spread));
  spread = spread_of(drifting, 6);
  assert_true(spread.p95 < 1.25 * spread.median);
  assert_non_null(dq_spread_doubt(&spread));
  spread = spread_of(steady, 3); // too few
  assert_non_null(dq_spread_doubt(&spread));
}

// What slows both models of a turn leaves their ratio alone.
static void ratios_are_taken_turn_by_turn(void **state) {
  (void)state;
  const double reference[5] = {1, 10, 2, 4, 8}, times[5] = {0.5, 5, 1, 2, 4};
  dq_time_ratio ratio;
  dq_error error = {0};
  assert_int_equal(dq_time_ratio_of(&ratio, times, reference, 5, &error), DQ_OK);
  NEAR(ratio.median, 0.5);
  NEAR(ratio.low, 0.5);
  NEAR(ratio.high, 0.5);
}

static void interval_of_sixteen(void **state) {
  (void)state;
  double reference[16], times[16];
  for (int i = 0; i < 16; i++) reference[i] = 1, times[i] = 16 - i; // ratios 16 ... 1
  dq_time_ratio ratio;
  dq_error error = {0};
  assert_int_equal(dq_time_ratio_of(&ratio, times, reference, 16, &error), DQ_OK);
  NEAR(ratio.median, 8.5);
  NEAR(ratio.low, 5); // (16 - 1.96 * 4) / 2 = 4.08: four values lie outside on either side
  NEAR(ratio.high, 12);
  assert_int_equal(dq_time_ratio_of(&ratio, times, reference, 3, &error), DQ_OK);
  NEAR(ratio.low, 14); // too few for an interval: the extremes
  NEAR(ratio.high, 16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantiles_interpolate),         cmocka_unit_test(spread_of_five),
      cmocka_unit_test(one_value_has_no_deviation),    cmocka_unit_test(doubts_are_said),
      cmocka_unit_test(ratios_are_taken_turn_by_turn), cmocka_unit_test(interval_of_sixteen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
