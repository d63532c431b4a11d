// Detections of a picture: suppression by class, lists, order and bounds.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "lib/decode/detector.h"

static void open_detector(dq_detector *detector, const char *decode, const dq_tensor *outputs, int count) {
  static const char *const names[] = {"y", "z"};
  const dq_decode_options options = {.decode = decode,
                                     .output_count = count,
                                     .outputs = outputs,
                                     .output_names = names,
                                     .input_height = 32,
                                     .input_width = 32};
  assert_int_equal(dq_detector_open(detector, &options, NULL, NULL), DQ_OK);
}

static void check(const dq_detection *found, int64_t candidate, int64_t label, double score) {
  assert_int_equal(found->candidate, candidate);
  assert_int_equal(found->label, label);
  assert_true(found->score == score);
}

// 21 cells of two classes. Candidates 0 to 2 overlap: 0 and 1 by 9/11, 0 and 2 by 1/3; 3 lies elsewhere.
static void suppression_by_class(void **state) {
  (void)state;
  float fields[6][21] = {
      {10, 11, 15, 25},        {10, 10, 10, 25}, {10, 10, 10, 4}, {10, 10, 10, 4}, {0.5f, 0.75f, 0.625f, 0.25f},
      {0.375f, 0, NAN, 0.875f}};
  fields[5][2] = 0.5f;
  const dq_tensor output = {DQ_F32, 3, {1, 6, 21}, fields}, *outputs = &output;
  dq_detector detector;
  open_detector(&detector, "yolov8", &output, 1);
  assert_int_equal(dq_detect(&detector, &outputs, 0, 0.25, 0.45, NULL), DQ_OK);
  assert_int_equal(detector.count, 5);
  check(&detector.found[0], 1, 0, 0.75); // class 0: 1 hides 0, and overlaps 2 by 6/14
  check(&detector.found[1], 2, 0, 0.625);
  check(&detector.found[2], 3, 1, 0.875); // class 1: 2 does not hide 0; candidate 1 has no score
  check(&detector.found[3], 2, 1, 0.5);
  check(&detector.found[4], 0, 1, 0.375);
  assert_int_equal(dq_detect(&detector, &outputs, 0, 0.25, 0.9, NULL), DQ_OK);
  assert_int_equal(detector.count, 6);
  assert_int_equal(dq_detect(&detector, &outputs, 0, 0.875, 0.9, NULL), DQ_OK);
  assert_int_equal(detector.count, 0); // above, not equal
  assert_int_equal(dq_detect(&detector, &outputs, 1, 0.25, 0.9, NULL), DQ_BAD_INPUT);
  dq_detector_close(&detector);
}

// Rows of a list are not suppressed again; classes come in ascending order, scores in descending order.
static void lists_of_several_classes(void **state) {
  (void)state;
  float rows[][6] = {{0, 0, 9, 9, 0.5f, 7},  {0, 0, 9, 9, 0.75f, 2},  {0, 0, 9, 9, 0.875f, 7},
                     {0, 0, 9, 9, 0.9f, -1}, {0, 0, 9, 9, 0.125f, 0}, {0, 0, NAN, 9, 0.9f, 0},
                     {0, 0, 9, 9, 0.5f, 7},  {0, 0, 9, 9, 0.5f, 3e9f}};
  const dq_tensor output = {DQ_F32, 3, {1, 8, 6}, rows}, *outputs = &output;
  dq_detector detector;
  open_detector(&detector, "end2end", &output, 1);
  for (int again = 0; again < 2; again++) {
    assert_int_equal(dq_detect(&detector, &outputs, 0, 0.25, 0.45, NULL), DQ_OK);
    assert_int_equal(detector.count, 4);
    check(&detector.found[0], 1, 2, 0.75);
    check(&detector.found[1], 2, 7, 0.875);
    check(&detector.found[2], 0, 7, 0.5); // of equal scores the first row
    check(&detector.found[3], 6, 7, 0.5);
  }
  dq_detector_close(&detector);
}

// A thousand of a class are left, the highest.
static void bounded_number(void **state) {
  (void)state;
  enum { ROWS = 1500 };
  static float rows[ROWS][6];
  for (int i = 0; i < ROWS; i++) rows[i][2] = rows[i][3] = 1, rows[i][4] = 0.5f + (float)i / 4096;
  const dq_tensor output = {DQ_F32, 3, {1, ROWS, 6}, rows}, *outputs = &output;
  dq_detector detector;
  open_detector(&detector, "end2end", &output, 1);
  assert_int_equal(dq_detect(&detector, &outputs, 0, 0.25, 0.45, NULL), DQ_OK);
  assert_int_equal(detector.count, DQ_MOST_OF_CLASS);
  for (int64_t i = 0; i < detector.count; i++) assert_int_equal(detector.found[i].candidate, ROWS - 1 - i);
  dq_detector_close(&detector);
}

static void memory_is_bounded(void **state) {
  (void)state;
  float fields[6 * 21] = {0};
  const dq_tensor output = {DQ_F32, 3, {1, 6, 21}, fields};
  dq_budget budget = {.limit = 1000};
  const dq_context context = {.budget = &budget};
  const dq_decode_options options = {
      .decode = "yolov8", .output_count = 1, .outputs = &output, .input_height = 32, .input_width = 32};
  dq_detector detector;
  assert_int_equal(dq_detector_open(&detector, &options, &context, NULL), DQ_SYSTEM);
  dq_detector_close(&detector);
  assert_true(budget.used == 0);
  dq_detector_close(&(dq_detector){0});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(suppression_by_class),
      cmocka_unit_test(lists_of_several_classes),
      cmocka_unit_test(bounded_number),
      cmocka_unit_test(memory_is_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
