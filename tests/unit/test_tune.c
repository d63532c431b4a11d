// When a choice is taken, with times worked out by hand: no clock is read here.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lib/tune/tune.h"

// The decision on `rounds` ratios that are `first` and `second` in turns.
static dq_tune_decision decide(double first, double second, int64_t rounds) {
  double tried[DQ_TUNE_MOST_ROUNDS], usual[DQ_TUNE_MOST_ROUNDS];
  dq_time_ratio ratio;
  for (int64_t i = 0; i < rounds; i++) {
    usual[i] = 1 + (double)i; // a machine that gets slower and slower
    tried[i] = (i % 2 ? second : first) * usual[i];
  }
  assert_int_equal(dq_time_ratio_of(&ratio, tried, usual, rounds, NULL), DQ_OK);
  return dq_tune_decide(&ratio, 1, rounds);
}

static void a_clear_difference_is_taken_soon(void **state) {
  (void)state;
  assert_int_equal(decide(0.9, 0.9, 7), DQ_TUNE_UNDECIDED);
  assert_int_equal(decide(0.9, 0.9, 8), DQ_TUNE_IS_FASTER);
  assert_int_equal(decide(0.9, 0.97, 8), DQ_TUNE_IS_FASTER);
}

static void a_candidate_that_is_clearly_no_faster_is_cut(void **state) {
  (void)state;
  assert_int_equal(decide(1.5, 1.5, 7), DQ_TUNE_UNDECIDED);
  assert_int_equal(decide(1.5, 1.0, 8), DQ_TUNE_NOT_FASTER);
  assert_int_equal(decide(0.99, 0.99, 8), DQ_TUNE_NOT_FASTER); // by 1 % only
}

static void a_tie_keeps_the_usual_choice(void **state) {
  (void)state;
  assert_int_equal(decide(0.9, 1.1, 8), DQ_TUNE_UNDECIDED);
  assert_int_equal(decide(0.9, 1.1, 63), DQ_TUNE_UNDECIDED);
  assert_int_equal(decide(0.9, 1.1, 64), DQ_TUNE_NOT_FASTER);
}

// The interval of 8 ratios that holds the median with 95 % goes from the least to the largest (without these: 93 %, as
// 2 * 9 / 256 of all outcomes have at most one ratio on one side); that of 16 leaves out 3 on either side.
static void one_disturbed_run_of_many_does_not_decide(void **state) {
  (void)state;
  double tried[16], usual[16];
  dq_time_ratio ratio;
  for (int i = 0; i < 16; i++) tried[i] = i == 5 ? 4 : 0.9, usual[i] = 1;
  assert_int_equal(dq_time_ratio_of(&ratio, tried, usual, 8, NULL), DQ_OK);
  assert_int_equal(dq_tune_decide(&ratio, 1, 8), DQ_TUNE_UNDECIDED);
  assert_int_equal(dq_time_ratio_of(&ratio, tried, usual, 16, NULL), DQ_OK);
  assert_int_equal(dq_tune_decide(&ratio, 1, 16), DQ_TUNE_IS_FASTER);
}

static void equal_plans_say_how_noisy_it_is(void **state) {
  (void)state;
  assert_false(dq_tune_too_noisy(&(dq_time_ratio){.low = 0.951, .high = 1.049}));
  assert_true(dq_tune_too_noisy(&(dq_time_ratio){.low = 0.949, .high = 1.01}));
  assert_true(dq_tune_too_noisy(&(dq_time_ratio){.low = 0.99, .high = 1.051}));
}

static void waits_of_2_percent(void **state) {
  (void)state;
  assert_false(dq_tune_is_disturbed(0));
  assert_false(dq_tune_is_disturbed(0.0199));
  assert_true(dq_tune_is_disturbed(0.0201));
}

// Three disturbed rounds of four take what the fourth gives back; four of five take one more.
static void patience_ends_below_a_quarter(void **state) {
  (void)state;
  int quarter = DQ_TUNE_PATIENCE, fifth = DQ_TUNE_PATIENCE;
  for (int round = 1; round <= 400; round++) {
    quarter = dq_tune_patience(quarter, round % 4);
    if (fifth) fifth = dq_tune_patience(fifth, round % 5);
  }
  assert_int_equal(quarter, DQ_TUNE_PATIENCE);
  assert_int_equal(fifth, 0);
  for (int round = 1; round <= DQ_TUNE_PATIENCE; round++) quarter = dq_tune_patience(quarter, true);
  assert_int_equal(quarter, 0);
  assert_int_equal(dq_tune_patience(0, true), 0);
  assert_int_equal(dq_tune_patience(DQ_TUNE_PATIENCE - 1, false), DQ_TUNE_PATIENCE);
}

static void what_noise_is_told(void **state) {
  (void)state;
  dq_error error = {0};
  dq_tune_report report = {.rounds = {.all = 30, .disturbed = 25}, .control = {.low = 0.9, .high = 1.2}};
  assert_int_equal(dq_tune_fail_noisy(&report, &error), DQ_CONDITION);
  assert_string_equal(error.message, "the machine is too noisy: in 25 of 30 rounds the threads waited for a processor "
                                     "for more than 2 % of the time; nothing was written");
  report.rounds.written = 1;
  assert_int_equal(dq_tune_fail_noisy(&report, &error), DQ_CONDITION);
  assert_non_null(strstr(error.message, "no choice was made, and the candidates that were measured before are kept"));
  report.rounds.patience = 1;
  assert_int_equal(dq_tune_fail_noisy(&report, &error), DQ_CONDITION);
  assert_non_null(strstr(error.message, "the same plan twice has a time ratio of 0.900 to 1.200, at most 0.05 from 1"));
}

static void what_is_above_the_best_so_far_is_cut(void **state) {
  (void)state;
  const dq_time_ratio ratio = {.median = 0.92, .low = 0.9, .high = 0.99};
  assert_int_equal(dq_tune_decide(&ratio, 1, 8), DQ_TUNE_UNDECIDED);
  assert_int_equal(dq_tune_decide(&ratio, 0.91, 8), DQ_TUNE_UNDECIDED);
  assert_int_equal(dq_tune_decide(&ratio, 0.89, 8), DQ_TUNE_NOT_FASTER);
  assert_int_equal(dq_tune_decide(&ratio, 0.89, 7), DQ_TUNE_UNDECIDED);
  assert_int_equal(dq_tune_decide(&(dq_time_ratio){.low = 0.9, .high = 0.95}, 0.89, 8), DQ_TUNE_NOT_FASTER);
}

// 1 - 6 * 4 / (5 * 24) = 0.8; with two equal ones, whose rank is 2.5: 4.5 / sqrt(4.5 * 5).
static void rank_correlations(void **state) {
  (void)state;
  const double ascending[5] = {10, 20, 30, 40, 50}, swapped[5] = {0.2, 0.1, 0.4, 0.3, 7};
  const double falling[4] = {4, 3, 2, -1}, equal[4] = {1, 2, 2, 3}, constant[4] = {2, 2, 2, 2};
  assert_true(fabs(dq_rank_correlation(ascending, swapped, 5) - 0.8) < 1e-12);
  assert_true(fabs(dq_rank_correlation(ascending, equal, 4) - 4.5 / sqrt(4.5 * 5)) < 1e-12);
  assert_true(fabs(dq_rank_correlation(falling, ascending, 4) + 1) < 1e-12);
  assert_true(isnan(dq_rank_correlation(ascending, constant, 4)));
  assert_true(isnan(dq_rank_correlation(ascending, swapped, 2)));
  assert_true(isnan(dq_rank_correlation(ascending, swapped, 0)));
}

static void a_fifth_of_the_candidates(void **state) {
  (void)state;
  assert_int_equal(dq_tune_part(0), 0);
  assert_int_equal(dq_tune_part(1), 1);
  assert_int_equal(dq_tune_part(7), 1);
  assert_int_equal(dq_tune_part(8), 2);
  assert_int_equal(dq_tune_part(20), 4);
  assert_int_equal(dq_tune_part(21), 4);
  assert_int_equal(dq_tune_part(44), 9);
}

static void check_winner(int expected, const double medians[3], const double highs[3], const int places[3]) {
  assert_int_equal(dq_tune_winner(medians, highs, places, 3), expected);
}

// Of equals the first in the list wins, which chance does not change; what is not faster for sure does not count.
static void the_first_of_equals_wins(void **state) {
  (void)state;
  check_winner(1, (double[]){0.9, 0.915, 0.8}, (double[]){0.95, 0.95, 0.98}, (int[]){7, 3, 1});
  check_winner(0, (double[]){0.9, 0.921, 0.8}, (double[]){0.95, 0.95, 0.98}, (int[]){7, 3, 1});
  check_winner(-1, (double[]){0.9, 0.9, 0.8}, (double[]){0.98, 0.99, 1.1}, (int[]){7, 3, 1});
  assert_int_equal(dq_tune_winner(NULL, NULL, NULL, 0), -1);
}

static void more_rounds_where_they_may_tell(void **state) {
  (void)state;
  assert_true(dq_tune_is_open(&(dq_time_ratio){.median = 0.97, .low = 0.95, .high = 0.98}));
  assert_false(dq_tune_is_open(&(dq_time_ratio){.median = 0.97, .low = 0.95, .high = 0.979}));
  assert_false(dq_tune_is_open(&(dq_time_ratio){.median = 1, .low = 0.981, .high = 1.1}));
}

// The network with the fastest of all takes 1 - 0.5 * 0.4 - 0.25 * 0.1 = 0.775 of its time, with those of a part
// 0.5 * 0.2 + 0.25 * 0.1 = 0.125 more.
static void loss_by_a_part(void **state) {
  (void)state;
  const double shares[2] = {0.5, 0.25}, part[2] = {0.8, 1}, all[2] = {0.6, 0.9};
  assert_true(fabs(dq_tune_part_loss(shares, part, all, 2) - 0.125 / 0.775) < 1e-12);
  assert_true(fabs(dq_tune_part_loss(shares, all, all, 2)) < 1e-12);
}

static void quantiles_of_five(void **state) {
  (void)state;
  const double times[5] = {3, 1, 2, 5, 4};
  dq_quantiles quantiles;
  assert_int_equal(dq_tune_quantiles(&quantiles, times, 5, NULL), DQ_OK);
  assert_true(fabs(quantiles.p5 - 1.2) < 1e-12); // position 0.2
  assert_true(fabs(quantiles.median - 3) < 1e-12);
  assert_true(fabs(quantiles.p95 - 4.8) < 1e-12); // position 3.8
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_clear_difference_is_taken_soon),
      cmocka_unit_test(a_candidate_that_is_clearly_no_faster_is_cut),
      cmocka_unit_test(a_tie_keeps_the_usual_choice),
      cmocka_unit_test(one_disturbed_run_of_many_does_not_decide),
      cmocka_unit_test(equal_plans_say_how_noisy_it_is),
      cmocka_unit_test(waits_of_2_percent),
      cmocka_unit_test(patience_ends_below_a_quarter),
      cmocka_unit_test(what_noise_is_told),
      cmocka_unit_test(what_is_above_the_best_so_far_is_cut),
      cmocka_unit_test(rank_correlations),
      cmocka_unit_test(a_fifth_of_the_candidates),
      cmocka_unit_test(the_first_of_equals_wins),
      cmocka_unit_test(more_rounds_where_they_may_tell),
      cmocka_unit_test(loss_by_a_part),
      cmocka_unit_test(quantiles_of_five),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
