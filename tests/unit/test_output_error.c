// The error of outputs by channel, and what is asked of a change of the noise of pictures.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lib/verdict/output_error.h"
#include "tests/unit/small_network.h"

// Channels (3, 4) against (3, 3): 14 dB; (0.3, 0.4) against (0.3, 0.3): the same; zeros do not count.
// All in one they would be taken for the first.
static void output_error_by_channel(void **state) {
  network *it = *state;
  const float exact[] = {3, 4, 0.3f, 0.4f, 0, 0}, other[] = {3, 3, 0.3f, 0.3f, 1, 1};
  dq_tensor *maps = dq_tensor_new(it->arena, DQ_F32, 4, (int64_t[]){1, 3, 1, 2});
  dq_output_error output_error = {0};
  dq_error error;
  assert_int_equal(dq_output_error_add(&output_error, maps, exact, other, it->arena, NULL, &error), DQ_OK);
  assert_true(fabs(dq_output_error_sqnr(&output_error, 1) - 10 * log10(25)) < 1e-5);
  dq_output_error_clear(&output_error);
  assert_int_equal(dq_output_error_add(&output_error, maps, exact, exact, it->arena, NULL, &error), DQ_OK);
  assert_true(dq_output_error_sqnr(&output_error, 1) == 100);
  const float bad[] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 6; i++) { // in a channel of zeros as well
    float broken[6];
    memcpy(broken, exact, sizeof broken);
    broken[i] = bad[i % 3];
    dq_output_error_clear(&output_error);
    assert_int_equal(dq_output_error_add(&output_error, maps, exact, broken, it->arena, NULL, &error), DQ_OK);
    assert_true(dq_output_error_sqnr(&output_error, 1) == -INFINITY);
    assert_true(dq_relative_noise(exact, broken, 6, NULL) == INFINITY);
    dq_output_error_clear(&output_error); // where the network in float is no number itself nothing can come close to it
    assert_int_equal(dq_output_error_add(&output_error, maps, broken, exact, it->arena, NULL, &error), DQ_OK);
    assert_true(dq_output_error_sqnr(&output_error, 1) == 100 && dq_relative_noise(broken, exact, 6, NULL) == 0);
  }
  const float zeros[2] = {0}, signal[2] = {3, 4}, near[2] = {3, 3}; // 1 of 25, and an output of zeros
  assert_true(dq_relative_noise(signal, near, 2, NULL) == 0.04 && dq_relative_noise(zeros, near, 2, NULL) == 0);
}

// Four boxes of some 100 pixels and two scores of some 0.1, of which nothing is left: all in one have 60 dB, and the
// scores 0 dB. A score that is nearly silent stays with the scores.
static void scores_beside_boxes(void **state) {
  network *it = *state;
  const float exact[7][2] = {{300, 250}, {200, 310}, {40, 60}, {90, 30}, {0.1f, 0.2f}, {1e-9f, 1e-9f}, {0.2f, 0.1f}};
  float other[7][2];
  memcpy(other, exact, sizeof other);
  memset(other[4], 0, 3 * sizeof other[4]);
  dq_tensor *output = dq_tensor_new(it->arena, DQ_F32, 4, (int64_t[]){1, 7, 2, 1});
  dq_output_error output_error = {0};
  dq_output_part parts[2];
  dq_error error;
  assert_int_equal(dq_output_error_parts(&output_error, parts), 0);
  assert_int_equal(dq_output_error_add(&output_error, output, exact[0], other[0], it->arena, NULL, &error), DQ_OK);
  assert_int_equal(dq_output_error_parts(&output_error, parts), 2);
  assert_true(parts[0].first == 0 && parts[0].count == 4 && parts[0].sqnr == INFINITY);
  assert_true(parts[1].first == 4 && parts[1].count == 3 && fabs(parts[1].sqnr) < 1e-9);
  assert_float_equal(dq_output_error_relative(&output_error), 1, 1e-9); // 0 of the boxes, 1 of the scores
  dq_output_error all = {0}; // two pictures, whose scores have ten times the square together
  float strong[7][2];
  memcpy(strong, exact, sizeof exact);
  for (int i = 8; i < 14; i++) (&strong[0][0])[i] *= 3;
  assert_int_equal(dq_output_error_add(&all, output, exact[0], exact[0], it->arena, NULL, &error), DQ_OK);
  assert_int_equal(dq_output_error_add(&all, output, strong[0], strong[0], it->arena, NULL, &error), DQ_OK);
  assert_float_equal(dq_output_error_share(&output_error, &all), 0.1, 1e-6);
  dq_output_error_clear(&output_error);
  assert_true(dq_output_error_relative(&output_error) == 0);
  assert_int_equal(dq_output_error_parts(&output_error, parts), 0); // no signal
}

// An output that is 0 in float has no SQNR, but one that is NaN in place of it is broken.
static void broken_zeros_are_a_part(void **state) {
  network *it = *state;
  const float exact[4] = {0}, near[4] = {0, 0, 0, 1}, broken[4] = {0, NAN, 0, 0};
  dq_tensor *output = dq_tensor_new(it->arena, DQ_F32, 4, (int64_t[]){1, 2, 1, 2});
  dq_output_error output_error = {0};
  dq_output_part parts[2];
  dq_error error;
  assert_int_equal(dq_output_error_add(&output_error, output, exact, near, it->arena, NULL, &error), DQ_OK);
  assert_int_equal(dq_output_error_parts(&output_error, parts), 0);
  assert_int_equal(dq_output_error_add(&output_error, output, exact, broken, it->arena, NULL, &error), DQ_OK);
  assert_int_equal(dq_output_error_parts(&output_error, parts), 1);
  assert_true(parts[0].first == 0 && parts[0].count == 2 && parts[0].sqnr == -INFINITY);
}

// Levels that differ by a factor below 10 are one part: (3, 4) and (1, 1) of noise 1 and 4, 27 of 5.
static void like_channels_are_one_part(void **state) {
  network *it = *state;
  const float exact[4] = {3, 4, 1, 1}, other[4] = {3, 3, -1, 1};
  dq_tensor *output = dq_tensor_new(it->arena, DQ_F32, 4, (int64_t[]){1, 2, 1, 2});
  dq_output_error output_error = {0};
  dq_output_part parts[2];
  dq_error error;
  assert_int_equal(dq_output_error_add(&output_error, output, exact, other, it->arena, NULL, &error), DQ_OK);
  assert_int_equal(dq_output_error_parts(&output_error, parts), 1);
  assert_true(parts[0].first == 0 && parts[0].count == 2 && fabs(parts[0].sqnr - 10 * log10(27 / 5.0)) < 1e-9);
}

// Noise falls to a half, a half, a quarter: logarithms ln 2, ln 2, 2 ln 2 of mean 0.92 and standard error 0.23, four
// times as much. From 4, 5, 6, 5 to 6, 3, 3, 7.9 it falls in all, by 0.09 in the logarithm with a standard error of
// 0.30: that is not clear, nor is nothing at all. Nor what rises in all, though it falls for most pictures.
static void noise_falls_clearly(void **state) {
  (void)state;
  const double before[] = {4, 5, 6, 5}, after[] = {2, 2.5, 1.5, 0}, other[] = {6, 3, 3, 7.9}, one[] = {2, 2, 2, 50};
  assert_true(dq_noise_fell(before, after, 3, DQ_HALF_STANDARD_ERROR) &&
              dq_noise_fell(before, after, 3, DQ_TWO_STANDARD_ERRORS));
  assert_true(dq_noise_fell(before, after, 3, 1.9) &&
              !dq_noise_fell(before, after, 3, 2.1)); // 3.58 and 4.41 of 3 pictures
  assert_false(dq_noise_fell(after, before, 3, DQ_HALF_STANDARD_ERROR));
  assert_false(dq_noise_fell(before, other, 4, DQ_HALF_STANDARD_ERROR));
  assert_false(dq_noise_fell(before, before, 4, DQ_HALF_STANDARD_ERROR));
  assert_false(dq_noise_fell(before, one, 4, DQ_HALF_STANDARD_ERROR));
  assert_true(dq_noise_fell(before, after, 1, DQ_HALF_STANDARD_ERROR));
  assert_false(dq_noise_fell(before, after, 1, DQ_TWO_STANDARD_ERRORS));
  const double broken[] = {4, INFINITY, 6, 5}, zeros[4] = {0};
  assert_false(dq_noise_fell(before, broken, 4, 0) || dq_noise_fell(broken, broken, 4, 0));
  assert_true(dq_noise_fell(broken, before, 4, DQ_TWO_STANDARD_ERRORS));
  assert_true(dq_noise_fell(broken, (double[]){2, INFINITY, 3, 2.5}, 4, DQ_TWO_STANDARD_ERRORS)); // by the other three
  assert_false(dq_noise_fell(zeros, broken, 4, 0) || dq_noise_fell(zeros, broken, 1, 0));
  assert_false(dq_noise_fell((double[]){1}, (double[]){INFINITY}, 1, 0));
}

static bool is_near(double value, double expected, double most) { return fabs(value - expected) <= most; }

// With 2 degrees of freedom the tail above t is (1 - t / sqrt(2 + t^2)) / 2 and with 1 it is 1/2 - atan(t) / pi, so
// that t follows from the tail p: (1 - 2 p) sqrt(2 / (1 - (1 - 2 p)^2)) and tan(pi (1/2 - p)). The tail of 23 degrees
// above 2 is 0.02872, above 1/2 it is 0.31089 (tables of the t distribution: 2.069 for 0.025, 0.685 for 0.25).
static void few_pictures_need_more_errors(void **state) {
  (void)state;
  const double tails[] = {0.02872, 0.31089}, confidences[] = {DQ_TWO_STANDARD_ERRORS, DQ_HALF_STANDARD_ERROR};
  for (int i = 0; i < 2; i++) {
    double p = tails[i], inner = 1 - 2 * p;
    assert_true(is_near(dq_required_errors(confidences[i], 3), inner * sqrt(2 / (1 - inner * inner)), 2e-3));
    assert_true(is_near(dq_required_errors(confidences[i], 2), tan(acos(-1) * (0.5 - p)), 1e-2));
    assert_true(dq_required_errors(confidences[i], 24) == confidences[i]);
    assert_true(dq_required_errors(confidences[i], 1000) == confidences[i]);
  }
  assert_true(is_near(dq_required_errors(2.069, 5), 2.776, 2e-3)); // both quantiles of 0.025 are in the tables
  assert_true(is_near(dq_required_errors(0.685, 8), 0.711, 2e-3)); // and of 0.25
  assert_true(dq_required_errors(0, 2) == 0);
}

// 2 is 10 log10 2 = 3.01 dB, 4 twice that: mean 4.01 dB, standard error 1.00.
static void reasons_are_said(void **state) {
  (void)state;
  const double before[] = {4, 5, 6}, after[] = {2, 2.5, 1.5}, more[] = {8, 2, 9}, broken[] = {1, 1, NAN};
  char text[200];
  dq_noise_change change = dq_noise_compare(before, after, 3);
  assert_string_equal(
      dq_noise_reason(&change, DQ_TWO_STANDARD_ERRORS, text, sizeof text),
      "the pictures gain 4.01 dB in the mean with a standard error of 1.00, asked for are 4.0 of these");
  assert_true(dq_noise_is_less(&change, 1.9) && !dq_noise_is_less(&change, 2.1));
  change = dq_noise_compare(before, more, 3);
  assert_string_equal(dq_noise_reason(&change, DQ_TWO_STANDARD_ERRORS, text, sizeof text),
                      "the pictures together have no less noise");
  change = dq_noise_compare(before, after, 1);
  assert_string_equal(dq_noise_reason(&change, DQ_TWO_STANDARD_ERRORS, text, sizeof text),
                      "the only picture has less noise, which may be chance");
  assert_string_equal(dq_noise_reason(&change, DQ_HALF_STANDARD_ERROR, text, sizeof text),
                      "the only picture has less noise");
  change = dq_noise_compare(before, broken, 3);
  assert_string_equal(dq_noise_reason(&change, DQ_TWO_STANDARD_ERRORS, text, sizeof text),
                      "more pictures have answers that are not finite");
  change = dq_noise_compare(broken, before, 3);
  assert_string_equal(dq_noise_reason(&change, DQ_TWO_STANDARD_ERRORS, text, sizeof text),
                      "fewer pictures have answers that are not finite");
}

// The third picture loses more than the others have, which the mean of ln(4) and ln(2) twice, less ln(2), does not
// mind.
static void pictures_decide_by_their_mean(void **state) {
  (void)state;
  const double before[] = {4, 2, 8, 2}, after[] = {1, 1, 16, 1};
  char text[200];
  dq_noise_change change = dq_noise_compare(before, after, 4);
  assert_true(is_near(change.mean, 3 * log(2) / 4, 1e-6) && change.fell == -3);
  assert_false(change.by_picture || dq_noise_is_less(&change, 0));
  change.by_picture = true;
  assert_true(dq_noise_is_less(&change, 0) && !dq_noise_is_less(&change, DQ_TWO_STANDARD_ERRORS));
  assert_string_equal(
      dq_noise_reason(&change, 0, text, sizeof text),
      "the pictures gain 2.26 dB in the mean with a standard error of 1.89, asked for are 0.0 of these");
  change = dq_noise_compare(after, before, 4);
  change.by_picture = true;
  assert_false(dq_noise_is_less(&change, 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, network_start, network_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(output_error_by_channel),    TEST(scores_beside_boxes),           TEST(broken_zeros_are_a_part),
      TEST(like_channels_are_one_part), TEST(noise_falls_clearly),           TEST(few_pictures_need_more_errors),
      TEST(reasons_are_said),           TEST(pictures_decide_by_their_mean),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
