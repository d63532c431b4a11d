// Statistics of times against values worked out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/measure/bench.h"
#include "lib/report/chart/roofline.h"

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

// The halves that the drift compares have two values each at least; the value in the middle of an odd number is in
// neither half.
static void drift_needs_four_values(void **state) {
  (void)state;
  const double times[6] = {1, 2, 3, 6, 7, 5};
  const double expected[7] = {0, 1, 1, 1, 3, 6.5 / 1.5, 3}; // medians of 3 6 over 1 2; 6 7 over 1 2; 6 7 5 over 1 2 3
  for (int count = 1; count <= 6; count++) NEAR(spread_of(times, count).drift, expected[count]);
  const double zeros[4] = {0, 0, 1, 1};
  NEAR(spread_of(zeros, 4).drift, 1); // times below the resolution of the clock have no ratio
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

static dq_time_ratio ratio_of_first(int count) {
  enum { MOST = 5000 };
  static double reference[MOST], times[MOST];
  assert_true(count <= MOST);
  for (int i = 0; i < count; i++) reference[i] = 1, times[i] = count - i; // ratios count ... 1
  dq_time_ratio ratio;
  dq_error error = {0};
  assert_int_equal(dq_time_ratio_of(&ratio, times, reference, count, &error), DQ_OK);
  return ratio;
}

// P(3 or fewer of 16) = (1 + 16 + 120 + 560) / 65536 = 0.0106; of 4 or fewer, with 1820 more, 0.0384.
static void interval_of_sixteen(void **state) {
  (void)state;
  dq_time_ratio ratio = ratio_of_first(16);
  NEAR(ratio.median, 8.5);
  NEAR(ratio.low, 4); // three values outside on either side
  NEAR(ratio.high, 13);
  NEAR(ratio.level, 1 - 2 * 697.0 / 65536);
}

static void interval_of_few(void **state) {
  (void)state;
  const double levels[] = {0, 0.5, 0.75, 0.875, 0.9375, 0.96875};
  for (int n = 1; n <= 6; n++) {
    dq_time_ratio ratio = ratio_of_first(n);
    NEAR(ratio.low, 1); // the extremes
    NEAR(ratio.high, n);
    NEAR(ratio.level, levels[n - 1]);
  }
}

// By Pascal's triangle: as many outside as may be for 95 %, and no more.
static void intervals_are_exact(void **state) {
  (void)state;
  enum { MOST = 200 };
  long double chances[MOST + 1] = {1}; // of i of n
  for (int n = 1; n <= MOST; n++) {
    for (int i = n; i > 0; i--) chances[i] = (chances[i] + chances[i - 1]) / 2;
    chances[0] /= 2;
    dq_time_ratio ratio = ratio_of_first(n);
    int outside = (int)ratio.low - 1;
    NEAR(ratio.high, n - outside);
    long double missed = 0;
    for (int i = 0; i <= outside; i++) missed += 2 * chances[i];
    assert_true(fabsl(1 - missed - (long double)ratio.level) < 1e-9L);
    assert_true(ratio.level >= 0.95 || outside == 0);
    assert_true(1 - missed - 2 * chances[outside + 1] < 0.95L); // one more on either side were too many
  }
}

// Where 2^-n is no double any more: n/2 +- 1.96 sqrt(n)/2 is right to a run or two.
static void interval_of_many(void **state) {
  (void)state;
  dq_time_ratio ratio = ratio_of_first(5000);
  assert_true(fabs(ratio.low - (5000 - 1.96 * sqrt(5000)) / 2) < 2);
  assert_true(ratio.level >= 0.95 && ratio.level < 0.952);
}

// The picture of three steps below a peak of 100 GMAC/s (8 bits: 400) and 20 GB/s.
static char *roofline_of(const double points[3][2]) {
  static char text[8000];
  char path[] = "/tmp/test_bench_XXXXXX";
  int file = mkstemp(path);
  dq_peaks peaks = {.float32 = 100e9, .int8 = 400e9, .bandwidth = 20e9};
  dq_roofline_point steps[3];
  for (int i = 0; i < 3; i++) steps[i] = (dq_roofline_point){"a<b", points[i][0], points[i][1] * 1e9, i == 2};
  dq_error error = {0};
  assert_int_equal(dq_roofline_write(path, "Roofline: 3 steps of <a>.onnx", &peaks, steps, 3, &error), DQ_OK);
  FILE *stream = fopen(path, "r");
  text[fread(text, 1, sizeof text - 1, stream)] = 0;
  fclose(stream);
  close(file);
  unlink(path);
  return text;
}

static void rooflines_explain_what_is_above(void **state) {
  (void)state;
  // At 1 MAC per byte the roof is 20 GMAC/s, at 10 it is 100, and 200 for 8 bits.
  const char *text = roofline_of((const double[3][2]){{1, 19}, {10, 99}, {10, 199}});
  assert_non_null(strstr(text, ">Roofline: 3 steps of &lt;a&gt;.onnx</text>"));
  assert_non_null(strstr(text, "(MAC/B)</text>"));
  assert_non_null(strstr(text, ">speed (GMAC/s)</text>"));
  assert_null(strstr(text, "steps lie above"));
  assert_non_null(strstr(text, "viewBox='0 0 800 500'")); // and 18 for each explanation
  // The grid is of powers of ten, 0.01 to 10000 MAC/B and 0.01 to 10000 GMAC/s: lines at the ends, with their numbers.
  static const char *const grid[] = {"<path d='M70.0 44V450'/>",  "<path d='M188.3 44V450'/>",
                                     "<path d='M780.0 44V450'/>", "<path d='M70 450.0H780'/>",
                                     "<path d='M70 382.3H780'/>", "<path d='M70 44.0H780'/>"};
  for (size_t i = 0; i < sizeof grid / sizeof *grid; i++)
    if (!strstr(text, grid[i])) fail_msg("no %s", grid[i]);
  static const char *const ends[] = {
      "<text x='70.0' y='468' text-anchor='middle'>0.01<", "<text x='780.0' y='468' text-anchor='middle'>10000<",
      "<text x='64' y='454.0' text-anchor='end'>0.01<", "<text x='64' y='48.0' text-anchor='end'>10000<"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (!strstr(text, ends[i])) fail_msg("no %s", ends[i]);
  text = roofline_of((const double[3][2]){{1, 21}, {10, 99}, {10, 201}});
  assert_non_null(strstr(text, ">2 of 3 steps lie above the slope: their values were in caches"));
  assert_non_null(strstr(text, "viewBox='0 0 800 518'"));
  assert_null(strstr(text, "Winograd"));
  text = roofline_of((const double[3][2]){{1, 19}, {10, 101}, {1, 21}});
  assert_non_null(
      strstr(text, ">1 of 3 steps lie above their peak: Winograd computes fewer products than the MACs counted"));
  assert_non_null(strstr(text, ">1 of 3 steps lie above the slope"));
  assert_non_null(strstr(text, "viewBox='0 0 800 536'"));
}

static void timeline_keeps_what_fits(void **state) {
  (void)state;
  dq_timeline_track workers[2] = {{.count = DQ_TIMELINE_MOST}, {.count = DQ_TIMELINE_MOST + 7}};
  dq_timeline timeline = {.threads = 2, .steps = {.count = DQ_TIMELINE_MOST + 5}, .workers = workers};
  assert_int_equal(dq_timeline_lost(&timeline), 12);
  timeline.threads = 1, timeline.steps.count = 3;
  assert_int_equal(dq_timeline_lost(&timeline), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantiles_interpolate),
      cmocka_unit_test(spread_of_five),
      cmocka_unit_test(one_value_has_no_deviation),
      cmocka_unit_test(drift_needs_four_values),
      cmocka_unit_test(doubts_are_said),
      cmocka_unit_test(ratios_are_taken_turn_by_turn),
      cmocka_unit_test(interval_of_sixteen),
      cmocka_unit_test(interval_of_few),
      cmocka_unit_test(intervals_are_exact),
      cmocka_unit_test(interval_of_many),
      cmocka_unit_test(rooflines_explain_what_is_above),
      cmocka_unit_test(timeline_keeps_what_fits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
