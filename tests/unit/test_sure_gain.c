// How sure the gain of a trial must be, by kind of setting: pictures whose logarithms of noise before over noise after
// have the mean 1 and a standard error by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "quant/int8/trials.h"

enum { PICTURES = 24 };
static double before[PICTURES], after[PICTURES];
static dq_int8_job job;
static dq_trials trials;

// Half of the logarithms are mean + d, the others mean - d: the standard error is d / sqrt(23).
static void pictures_gain(double mean, double standard_error) {
  double d = standard_error * sqrt(PICTURES - 1);
  for (int p = 0; p < PICTURES; p++) {
    before[p] = 1e-3;
    after[p] = 1e-3 * exp(-(mean + (p % 2 ? d : -d)));
  }
  // Of all together, as trials take it: the noise of all pictures.
  double sum = 0;
  for (int p = 0; p < PICTURES; p++) sum += after[p];
  trials.best.decibels = 30;
  trials.now.decibels = 30 - 10 * log10(sum / PICTURES / 1e-3);
}

static int prepare(void **state) {
  (void)state;
  job = (dq_int8_job){.setting = {.method = dq_observer_find("percentile"), .margins = true, .bias_correction = true}};
  trials = (dq_trials){.job = &job, .best = {.noise = before}, .now = {.noise = after}};
  trials.evaluator.what.pictures = PICTURES;
  return 0;
}

static bool is_better(dq_int8_setting setting) {
  char reason[200];
  bool better = dq_trial_is_better(&trials, &setting, reason, sizeof reason);
  assert_true(strlen(reason) > 0 && strlen(reason) < sizeof reason - 1);
  return better;
}

static void what_changes_all_values_gains_half_a_standard_error(void **state) {
  (void)state;
  dq_int8_setting settings[4] = {job.setting, job.setting, job.setting, job.setting};
  settings[0].equalize = DQ_EQUALIZE_ALL, settings[1].heads = true;
  settings[2].method = dq_observer_find("mse"), settings[3].margins = false;
  for (int i = 0; i < 4; i++) {
    pictures_gain(0.006, 0.01);
    assert_true(is_better(settings[i]));
    pictures_gain(0.004, 0.01);
    assert_true(trials.now.decibels > 30);
    assert_false(is_better(settings[i]));
  }
}

// The errors of biases are known to be wrong: they stay corrected unless the pictures are clearly better without.
static void biases_stay_corrected(void **state) {
  (void)state;
  dq_int8_setting setting = job.setting;
  setting.bias_correction = false;
  pictures_gain(0.04, 0.1);
  assert_true(trials.now.decibels < 30); // by pictures with more noise than others
  assert_false(is_better(setting));
  pictures_gain(0.0004, 0.001);
  assert_true(trials.now.decibels > 30);
  assert_false(is_better(setting));
  pictures_gain(0.0006, 0.001);
  assert_true(is_better(setting));
}

static void what_cuts_values_off_gains_two_standard_errors(void **state) {
  (void)state;
  dq_int8_setting settings[2] = {job.setting, job.setting};
  settings[0].absorption = true, settings[1].range_search = true;
  for (int i = 0; i < 2; i++) {
    pictures_gain(0.021, 0.01);
    assert_true(is_better(settings[i]));
    pictures_gain(0.019, 0.01);
    assert_false(is_better(settings[i]));
  }
  // Sums are tried behind a search that was taken, and are no search themselves.
  job.setting.range_search = true;
  dq_int8_setting sums = job.setting;
  sums.exact_sums = true;
  pictures_gain(-0.006, 0.01);
  assert_false(is_better(sums));
}

// Where less than eight pictures judge, any gain in their mean is enough for other factors, not for another method.
static void few_pictures_decide_by_their_mean(void **state) {
  (void)state;
  dq_int8_setting settings[3] = {job.setting, job.setting, job.setting};
  settings[0].equalize = DQ_EQUALIZE_ALL, settings[1].heads = true, settings[2].method = dq_observer_find("mse");
  trials.evaluator.what.pictures = 6;
  pictures_gain(0.001, 0.01);
  trials.now.decibels = 20;
  for (int i = 0; i < 3; i++) assert_int_equal(is_better(settings[i]), i < 2);
  pictures_gain(-0.001, 0.01);
  for (int i = 0; i < 3; i++) assert_false(is_better(settings[i]));
}

// Histograms promise that sums without rounding gain: they are taken unless the pictures clearly lose.
static void sums_without_rounding_lose_less_than_half_a_standard_error(void **state) {
  (void)state;
  dq_int8_setting setting = job.setting;
  setting.exact_sums = true;
  pictures_gain(0, 0);
  assert_true(is_better(setting));
  pictures_gain(-0.004, 0.01);
  assert_true(is_better(setting));
  pictures_gain(-0.006, 0.01);
  assert_false(is_better(setting));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(what_changes_all_values_gains_half_a_standard_error, prepare),
      cmocka_unit_test_setup(biases_stay_corrected, prepare),
      cmocka_unit_test_setup(what_cuts_values_off_gains_two_standard_errors, prepare),
      cmocka_unit_test_setup(few_pictures_decide_by_their_mean, prepare),
      cmocka_unit_test_setup(sums_without_rounding_lose_less_than_half_a_standard_error, prepare),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
