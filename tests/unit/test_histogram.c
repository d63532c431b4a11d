// Histograms: bins by hand, merging, order, quantiles, values that are no numbers.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "calib/calib.h"
#include "lib/base/random.h"
#include "tests/unit/picture_counts.h"

enum { HALF = DQ_HISTOGRAM_BINS / 2 };

static dq_histogram of(const float *values, int64_t count) {
  dq_histogram histogram;
  dq_histogram_init(&histogram, NULL);
  add_values(&histogram, values, count);
  return histogram;
}

static void same(const dq_histogram *a, const dq_histogram *b) {
  assert_int_equal(a->exponent, b->exponent);
  assert_int_equal(a->count, b->count);
  assert_int_equal(a->not_finite, b->not_finite);
  assert_true(a->minimum == b->minimum && a->maximum == b->maximum);
  assert_same_bins(a, b);
}

static void by_hand(void **state) {
  (void)state;
  // 3.5 < 4 = 4096 * 2^-10: bins are 1/1024 wide.
  dq_histogram h = of((float[]){-1, 0, 0.5f, 3.5f, NAN, INFINITY}, 6);
  assert_int_equal(h.exponent, -10);
  assert_int_equal(h.count, 4);
  assert_int_equal(h.not_finite, 2);
  assert_true(h.minimum == -1 && h.maximum == 3.5f);
  assert_int_equal(count_in(&h, HALF - 1024), 1);
  assert_int_equal(count_in(&h, HALF), 1);
  assert_int_equal(count_in(&h, HALF + 512), 1);
  assert_int_equal(count_in(&h, HALF + 3584), 1);
  dq_histogram_deinit(&h);
  h = of(NULL, 0);
  assert_true(dq_histogram_quantile(&h, 0.5) == 0);
  dq_histogram_deinit(&h);
}

// Many values at once, among them zeros of both signs, bounds of bins and numbers just below 0, fall where
// the definition says, whatever their number leaves over for the last tables and vectors.
static void many_values(void **state) {
  (void)state;
  enum { MOST = 5 * DQ_HISTOGRAM_BINS };
  static float values[MOST];
  static uint64_t bins[DQ_HISTOGRAM_BINS], memory[DQ_HISTOGRAM_BINS];
  dq_random random = {7};
  for (int i = 0; i < MOST; i++) {
    const float special[] = {0, -0.0f, -1e-30f, 1, -1, 0.25f, -0.25f};
    values[i] = i % 3 ? special[i % 7] : dq_random_normal(&random);
  }
  values[0] = 100;
  for (int count = MOST; count > MOST - 40; count -= 13) {
    dq_histogram h = of(values, count);
    float low = values[0], high = values[0];
    memset(bins, 0, sizeof bins);
    for (int i = 0; i < count; i++) {
      low = fminf(low, values[i]), high = fmaxf(high, values[i]);
      bins[HALF + (int)floor(ldexp((double)values[i], -h.exponent))]++;
    }
    assert_int_equal(h.count, count);
    assert_true(h.minimum == low && h.maximum == high);
    assert_memory_equal(dq_histogram_bins(&h, memory), bins, sizeof bins);
    dq_histogram_deinit(&h);
  }
}

// Zeros, as after Relu, leave the bins as fine as the other values allow.
static void zeros_keep_bins_fine(void **state) {
  (void)state;
  dq_histogram h = of((float[]){0, 0x1p-20f}, 2);
  assert_int_equal(h.exponent, -31); // 2^-20 < 4096 * 2^-31
  dq_histogram_deinit(&h);
  float zero = 0;
  h = of(&zero, 1);
  assert_true(h.count == 1 && count_in(&h, HALF) == 1);
  dq_histogram_deinit(&h);
}

static void quantiles(void **state) {
  (void)state;
  float values[1000];
  for (int i = 0; i < 1000; i++) values[i] = (float)i; // below 1024: bins of width 1/4
  dq_histogram h = of(values, 1000);
  assert_int_equal(h.exponent, -2);
  assert_true(dq_histogram_quantile(&h, 0) == 0 && dq_histogram_quantile(&h, 1) == 999);
  // 250 of 1000 lie up to 249; linear within the bin 249 ... 249.25 that holds the last of them.
  assert_true(fabs(dq_histogram_quantile(&h, 0.25) - 249.25) < 1e-9);
  dq_range_pair range =
      dq_observer_find("percentile")->range(&h, &(dq_range_options){.percentile = 90}); // 5 % off each end
  assert_true(fabs((double)range.low - 49.25) < 1e-4 && fabs((double)range.high - 949.25) < 1e-4);
  range = dq_observer_find("minmax")->range(&h, &(dq_range_options){0});
  assert_true(range.low == 0 && range.high == 999);
  dq_histogram_deinit(&h);
}

// The counts depend neither on order nor on how the values were divided.
static void order_and_merging(void **state) {
  (void)state;
  enum { COUNT = 3000 };
  static float values[COUNT], backwards[COUNT];
  dq_random random = {4};
  for (int i = 0; i < COUNT; i++) values[i] = ldexpf(dq_random_normal(&random), (int)dq_random_below(&random, 40) - 20);
  values[5] = FLT_MAX, values[6] = -FLT_MAX, values[7] = FLT_TRUE_MIN, values[8] = -FLT_TRUE_MIN, values[9] = -0.0f;
  for (int i = 0; i < COUNT; i++) backwards[COUNT - 1 - i] = values[i];
  dq_histogram whole = of(values, COUNT), other = of(backwards, COUNT);
  same(&whole, &other);
  dq_histogram_deinit(&other);
  for (int cut = 0; cut <= COUNT; cut += 250) {
    dq_histogram left = of(values, cut), right = of(values + cut, COUNT - cut);
    assert_int_equal(dq_histogram_merge(&left, &right, NULL), DQ_OK);
    same(&left, &whole);
    dq_histogram_deinit(&left);
    left = of(values, cut); // added one by one
    for (int i = cut; i < COUNT; i++) add_values(&left, values + i, 1);
    same(&left, &whole);
    dq_histogram_deinit(&left);
    dq_histogram_deinit(&right);
  }
  uint64_t sum = 0;
  for (int i = 0; i < DQ_HISTOGRAM_BINS; i++) sum += count_in(&whole, i);
  assert_int_equal(sum, COUNT);
  dq_histogram_deinit(&whole);
}

// Pictures of few elements take memory in proportion to the bins they fill, and at last that of all bins; the counts
// are those of one picture of all elements, which is not packed.
static void few_elements_take_little_memory(void **state) {
  (void)state;
  enum { PICTURES = 400, EACH = 48 };
  static float values[PICTURES * EACH];
  dq_budget budget = {0};
  dq_histogram small, large;
  dq_random random = {11};
  dq_histogram_init(&small, &budget), dq_histogram_init(&large, NULL);
  for (int i = 0; i < PICTURES * EACH; i++)
    values[i] = i % 2 ? 0 : ((float)dq_random_below(&random, 8000) - 4000) * (i / EACH < 9 ? 0.3f : 1);
  for (int p = 0; p < PICTURES; p++) {
    add_values(&small, values + p * EACH, EACH);
    if (p == 0) assert_true(budget.used < 200);
    if (p == 31) assert_true(budget.used < 4000);
  }
  assert_true(budget.used > 65536);
  add_values(&large, values, PICTURES * EACH);
  same(&small, &large);
  dq_histogram_deinit(&small), dq_histogram_deinit(&large);
  assert_int_equal(budget.used, 0);
}

static void bins_without_memory(void **state) {
  (void)state;
  float values[4097] = {1, 2};
  dq_budget budget = {.limit = 60000};
  dq_histogram histogram;
  dq_extremes seen;
  dq_error error = {0};
  dq_histogram_init(&histogram, &budget);
  assert_int_equal(dq_histogram_count(&histogram, values, 4097, NULL, &seen, &error), DQ_SYSTEM);
  assert_int_equal(dq_histogram_count(&histogram, values, 4096, NULL, &seen, &error), DQ_OK);
  dq_histogram_deinit(&histogram);
  assert_int_equal(budget.used, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_values),          cmocka_unit_test(by_hand),
      cmocka_unit_test(zeros_keep_bins_fine), cmocka_unit_test(quantiles),
      cmocka_unit_test(order_and_merging),    cmocka_unit_test(few_elements_take_little_memory),
      cmocka_unit_test(bins_without_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
