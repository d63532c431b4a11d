// Histograms and range rules: halves merged are the whole, rules do what they say, on made numbers.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "calib/calib.h"
#include "lib/base/random.h"
#include "tests/unit/picture_counts.h"

enum { PICTURES = 10, VALUES = 3000 };

// Pictures of normal numbers, each of another width; every 500th number is an outlier.
static void make_picture(float *values, int picture) {
  dq_random random = {(uint64_t)picture + 1};
  for (int i = 0; i < VALUES; i++) {
    values[i] = dq_random_normal(&random) * (1 + 0.3f * (float)picture);
    if (i % 500 == 499) values[i] *= 30;
  }
}

static void fill(dq_histogram *histogram, int from, int to) {
  float values[VALUES];
  dq_histogram_init(histogram, NULL);
  for (int p = from; p < to; p++) {
    make_picture(values, p);
    add_values(histogram, values, VALUES);
  }
}

static const dq_range_options usual = {99.9, false};

static void halves_give_the_same_ranges_as_the_whole(void **state) {
  (void)state;
  dq_histogram whole, first, second;
  fill(&whole, 0, PICTURES), fill(&first, 0, 4), fill(&second, 4, PICTURES);
  assert_int_equal(dq_histogram_merge(&first, &second, NULL), DQ_OK);
  assert_int_equal(first.exponent, whole.exponent);
  assert_int_equal(first.count, whole.count);
  assert_int_equal(first.pictures, 4);
  assert_same_bins(&first, &whole);
  for (int o = 0; dq_observer_at(o); o++) {
    if (!strcmp(dq_observer_at(o)->name, "ema")) continue; // depends on the order of the pictures
    dq_range_pair a = dq_observer_at(o)->range(&whole, &usual), b = dq_observer_at(o)->range(&first, &usual);
    assert_true(a.low == b.low && a.high == b.high);
  }
  dq_histogram_deinit(&whole), dq_histogram_deinit(&first), dq_histogram_deinit(&second);
}

static void merging_nothing_changes_nothing(void **state) {
  (void)state;
  dq_histogram whole, none;
  fill(&whole, 0, 2), fill(&none, 0, 0);
  dq_histogram before = whole;
  assert_int_equal(dq_histogram_merge(&whole, &none, NULL), DQ_OK);
  assert_true(whole.count == before.count && whole.average_high == before.average_high);
  assert_int_equal(dq_histogram_merge(&none, &whole, NULL), DQ_OK);
  assert_true(none.count == whole.count && !none.pictures);
  assert_true(none.minimum == whole.minimum && none.maximum == whole.maximum);
  dq_histogram_deinit(&whole), dq_histogram_deinit(&none);
}

static void moving_average_follows_pictures(void **state) {
  (void)state;
  dq_histogram histogram;
  dq_histogram_init(&histogram, NULL);
  add_values(&histogram, (float[]){-1, 2}, 2);
  add_values(&histogram, (float[]){-2, 4}, 2);
  add_values(&histogram, (float[]){NAN}, 1); // no picture
  dq_range_pair range = dq_observer_find("ema")->range(&histogram, &usual);
  assert_true(range.low == (float)(-1 + 0.01 * -1) && range.high == (float)(2 + 0.01 * 2));
  dq_histogram_deinit(&histogram);
}

static void rules_stay_inside_what_was_seen(void **state) {
  (void)state;
  dq_histogram histogram;
  fill(&histogram, 0, PICTURES);
  for (int o = 0; dq_observer_at(o); o++)
    for (int symmetric = 0; symmetric < 2; symmetric++) {
      dq_range_options options = {99.9, symmetric};
      dq_range_pair range = dq_observer_at(o)->range(&histogram, &options);
      assert_true(range.low < 0 && range.high > 0);
      if (symmetric) continue;
      assert_true(range.low >= histogram.minimum && range.high <= histogram.maximum);
    }
  dq_histogram_deinit(&histogram);
}

// No range of a fine lattice is better than what mse finds (beyond 1 %).
static void mse_finds_the_least_error(void **state) {
  (void)state;
  dq_histogram histogram;
  fill(&histogram, 0, PICTURES);
  dq_range_pair found = dq_observer_find("mse")->range(&histogram, &usual);
  double error = dq_histogram_error(&histogram, found, false), least = INFINITY;
  for (int l = 1; l <= 50; l++)
    for (int h = 1; h <= 50; h++) {
      dq_range_pair range = {histogram.minimum * (float)l / 50, histogram.maximum * (float)h / 50};
      least = fmin(least, dq_histogram_error(&histogram, range, false));
    }
  assert_true(error <= least * 1.01);
  assert_true(dq_histogram_clipped(&histogram, found) < 0.01);
  dq_histogram_deinit(&histogram);
}

// The same error, value by value.
static void error_agrees_with_quantizing_values(void **state) {
  (void)state;
  dq_histogram histogram;
  fill(&histogram, 3, 4);
  float values[VALUES];
  make_picture(values, 3);
  dq_range_pair range = {-6, 7};
  double step = 13.0 / 255, zero = nearbyint(6 / step), sum = 0;
  for (int i = 0; i < VALUES; i++) {
    double q = fmin(fmax(nearbyint((double)values[i] / step) + zero, 0), 255);
    sum += pow((double)values[i] - (q - zero) * step, 2);
  }
  assert_true(fabs(dq_histogram_error(&histogram, range, false) / sum - 1) < 0.01);
  dq_histogram_deinit(&histogram);
}

// Far rare outliers are cut, a uniform distribution is kept.
static void entropy_cuts_outliers_only(void **state) {
  (void)state;
  dq_histogram far, even;
  dq_histogram_init(&far, NULL);
  dq_histogram_init(&even, NULL);
  float *values = malloc(200000 * sizeof *values);
  dq_random random = {5};
  for (int i = 0; i < 200000; i++) values[i] = fabsf(dq_random_normal(&random));
  values[77] = 60;
  add_values(&far, values, 200000);
  for (int i = 0; i < 200000; i++) values[i] = (float)i / 100000;
  add_values(&even, values, 200000);
  free(values);
  dq_range_pair cut = dq_observer_find("entropy")->range(&far, &usual);
  dq_range_pair kept = dq_observer_find("entropy")->range(&even, &usual);
  assert_true(cut.high < 15);
  assert_true(dq_histogram_clipped(&far, cut) == 1.0 / 200000); // the outlier and nothing else
  assert_true(kept.high > 1.9999f);
  dq_histogram_deinit(&far), dq_histogram_deinit(&even);
}

// Of 1 to 100000, `percentile` P leaves out (100 - P) / 2 percent at each end: by hand, to a value and a half.
static void percentile_cuts_what_it_says(void **state) {
  (void)state;
  enum { COUNT = 100000 };
  static const struct {
    double percentile;
    float low, high;
  } cases[] = {{90, 5000, 95000}, {99, 500, 99500},    {99.9, 50, 99950},
               {99.99, 5, 99995}, {99.999, 1, 100000}, {100, 1, 100000}};
  float *values = malloc(COUNT * sizeof *values);
  for (int i = 0; i < COUNT; i++) values[i] = (float)(i + 1);
  dq_histogram histogram;
  dq_histogram_init(&histogram, NULL);
  add_values(&histogram, values, COUNT);
  free(values);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    dq_range_options options = {cases[c].percentile, false};
    dq_range_pair range = dq_observer_find("percentile")->range(&histogram, &options);
    assert_true(fabsf(range.low - cases[c].low) <= 1.5f && fabsf(range.high - cases[c].high) <= 1.5f);
  }
  dq_histogram_deinit(&histogram);
}

static void constant_values_are_fine(void **state) {
  (void)state;
  const float constants[] = {0, 5, -3, 1e-40f, 3e38f};
  for (size_t c = 0; c < sizeof constants / sizeof *constants; c++) {
    dq_histogram histogram;
    dq_histogram_init(&histogram, NULL);
    add_values(&histogram, (float[]){constants[c], constants[c]}, 2);
    for (int o = 0; dq_observer_at(o); o++) {
      dq_range_pair range = dq_observer_at(o)->range(&histogram, &usual);
      assert_true(isfinite(range.low) && isfinite(range.high) && range.low <= range.high);
    }
    dq_histogram_deinit(&histogram);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(halves_give_the_same_ranges_as_the_whole),
      cmocka_unit_test(merging_nothing_changes_nothing),
      cmocka_unit_test(moving_average_follows_pictures),
      cmocka_unit_test(rules_stay_inside_what_was_seen),
      cmocka_unit_test(mse_finds_the_least_error),
      cmocka_unit_test(error_agrees_with_quantizing_values),
      cmocka_unit_test(entropy_cuts_outliers_only),
      cmocka_unit_test(percentile_cuts_what_it_says),
      cmocka_unit_test(constant_values_are_fine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
