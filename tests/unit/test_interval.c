// What figures of a sample of pictures tell of others, by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/verdict/interval.h"

static void near(double value, double expected, double distance) {
  if (!(fabs(value - expected) <= distance)) print_error("%.6f, expected %.6f\n", value, expected);
  assert_true(fabs(value - expected) <= distance);
}

// Printed tables of Student's distribution.
static void quantiles_of_student(void **state) {
  (void)state;
  near(dq_student_quantile(0.025, 1), 12.706, 0.001);
  near(dq_student_quantile(0.025, 2), 4.303, 0.001);
  near(dq_student_quantile(0.025, 15), 2.131, 0.001);
  near(dq_student_quantile(0.025, 511), 1.965, 0.001);
  near(dq_student_tail(2.131, 15), 0.025, 1e-4);
}

// Two pictures of signal 1 and noises 0.01 and 0.03: 10 log10(2 / 0.04) = 16.99 dB. By Student: parts 1/2 - 1/4 and
// 1/2 - 3/4, so the error is sqrt(2 (1/16) 2 / 1) = 1/2 of ln, 12.706 of them. Log-normal: ln 0.01 and ln 0.03 have the
// mean -4.0559 and the variance 0.6035, so ln SQNR is 4.0559 - 0.3017 = 3.7542, its error
// sqrt(0.6035 / 2 + 0.6035^2 / 2) = 0.6956: the wider one on both sides, 16.30 -+ 38.38 dB. Of two pictures chance may
// hide 1 - sqrt(0.025) of all: with noise like signal in these no less than -10 log10(0.02 + 0.8419) = 0.64 dB.
static void two_pictures(void **state) {
  const double signal[] = {1, 1}, noise[] = {0.01, 0.03};
  (void)state;
  const dq_interval interval = dq_sqnr_interval(signal, noise, 2);
  near(interval.low, 0.645, 0.01);
  near(interval.high, 54.69, 0.01);
}

// A ratio does not depend on the unit of the sums.
static void sums_below_one(void **state) {
  const double signal[] = {1e-6, 1e-6}, noise[] = {1e-8, 3e-8};
  (void)state;
  const dq_interval interval = dq_sqnr_interval(signal, noise, 2);
  near(interval.low, 0.645, 0.01);
  near(interval.high, 54.69, 0.01);
}

static void ends_without_pictures_or_noise(void **state) {
  const double ones[] = {1, 1}, zeros[] = {0, 0}, broken[] = {0.1, INFINITY};
  (void)state;
  assert_true(isnan(dq_sqnr_interval(ones, ones, 1).low));
  assert_true(isnan(dq_sqnr_interval(zeros, ones, 2).low));
  assert_true(dq_sqnr_interval(ones, zeros, 2).low == INFINITY);
  assert_true(dq_sqnr_interval(ones, broken, 2).high == -INFINITY);
  assert_true(isnan(dq_share_interval((int64_t[]){0}, (int64_t[]){0}, 1).low));
}

// Of 400 samples of 24 pictures with log-normal noise, whose mean is e^(1/2), nearly all intervals hold the SQNR of the
// whole; half as wide ones would not.
static void intervals_hold_what_they_promise(void **state) {
  enum { SAMPLES = 400, PICTURES = 24 };
  const double whole = -10 / log(10) / 2;
  dq_random random = dq_random_start(3, 1);
  int held = 0, below = 0;
  (void)state;
  for (int s = 0; s < SAMPLES; s++) {
    double signal[PICTURES], noise[PICTURES];
    for (int p = 0; p < PICTURES; p++) signal[p] = 1, noise[p] = exp((double)dq_random_normal(&random));
    const dq_interval interval = dq_sqnr_interval(signal, noise, PICTURES);
    held += interval.low <= whole && whole <= interval.high;
    below += interval.low <= whole;
    assert_true(interval.high - interval.low < 25);
  }
  assert_in_range(held, SAMPLES * 93 / 100, SAMPLES);
  assert_in_range(below, SAMPLES * 95 / 100, SAMPLES * 999 / 1000);
}

// Wilson: 16 of 16 classes from 16 / (16 + 1.96^2) = 80.6 % on, 14 of 16 (0.875 + 0.12005 -+ 0.20093) / 1.2401.
static void shares_of_single_answers(void **state) {
  int64_t equal[16], answers[16];
  (void)state;
  for (int p = 0; p < 16; p++) equal[p] = answers[p] = 1;
  dq_interval interval = dq_share_interval(equal, answers, 16);
  near(interval.low, 80.64, 0.01);
  assert_true(interval.high == 100);
  equal[3] = equal[7] = 0;
  interval = dq_share_interval(equal, answers, 16);
  near(interval.low, 63.98, 0.02);
  near(interval.high, 96.50, 0.02);
}

// A thousand points a picture: pictures of 100 % and of 80 % scatter as few answers, not as 4000; all kept, as four.
static void shares_of_many_answers(void **state) {
  const int64_t answers[] = {1000, 1000, 1000, 1000}, mixed[] = {1000, 800, 1000, 800};
  (void)state;
  // variance of the mean: 4 (100)^2 / 4000^2 * 4 / 3 = 1/300, so 0.9 * 0.1 * 300 = 27 answers
  dq_interval interval = dq_share_interval(mixed, answers, 4);
  const double n = 27, z2 = 3.8415;
  near(interval.low, 100 * (0.9 + z2 / 2 / n - 1.96 * sqrt(0.09 / n + z2 / 4 / n / n)) / (1 + z2 / n), 0.02);
  near(dq_share_interval(answers, answers, 4).low, 100 * 4 / (4 + 3.8415), 0.02);
}

static void pictures_for_a_share(void **state) {
  (void)state;
  assert_int_equal(dq_share_pictures(95), 73);
  assert_int_equal(dq_share_pictures(99), 381);
  assert_int_equal(dq_share_pictures(50), 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantiles_of_student),
      cmocka_unit_test(two_pictures),
      cmocka_unit_test(sums_below_one),
      cmocka_unit_test(ends_without_pictures_or_noise),
      cmocka_unit_test(intervals_hold_what_they_promise),
      cmocka_unit_test(shares_of_single_answers),
      cmocka_unit_test(shares_of_many_answers),
      cmocka_unit_test(pictures_for_a_share),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
