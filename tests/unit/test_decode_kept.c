// Boxes of networks that suppress boxes themselves, by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/decode/detector.h"

enum { MOST_OUTPUTS = 4, HIGH = 50, WIDE = 100 };

static const char *const names[MOST_OUTPUTS] = {"a", "b", "c", "d"};

static dq_detector open_detector(const char *decode, const dq_tensor *outputs, int count) {
  dq_detector detector;
  dq_error error;
  const dq_decode_options options = {.decode = decode,
                                     .outputs = outputs,
                                     .output_names = names,
                                     .output_count = count,
                                     .input_height = HIGH,
                                     .input_width = WIDE};
  if (dq_detector_open(&detector, &options, NULL, &error) != DQ_OK) fail_msg("%s", error.message);
  assert_string_equal(dq_decoder_name(&detector.decoder), decode);
  return detector;
}

static dq_status detect(dq_detector *detector, const dq_tensor *outputs, int64_t item) {
  const dq_tensor *pointers[MOST_OUTPUTS];
  dq_error error;
  for (int o = 0; o < MOST_OUTPUTS; o++) pointers[o] = &outputs[o];
  return dq_detect(detector, pointers, item, 0.1, 0.45, &error);
}

static void expect(const dq_detection *found, int64_t label, double score, const double corners[4]) {
  const double *c = corners;
  const dq_box *box = &found->box;
  if (found->label != label || fabs(found->score - score) > 1e-6 || fabs(box->x1 - c[0]) > 1e-6 ||
      fabs(box->y1 - c[1]) > 1e-6 || fabs(box->x2 - c[2]) > 1e-6 || fabs(box->y2 - c[3]) > 1e-6)
    fail_msg("%d %g %g %g %g %g", (int)found->label, found->score, box->x1, box->y1, box->x2, box->y2);
}

static const double half[4] = {0.1, 0.2, 0.5, 0.8}; // (10, 10) to (50, 40) of 100 x 50 pixels

// Shapes are not known before a run; then there are 1, 3 and 0 boxes. The equal boxes of a class all stay.
static void rows_of_torchvision(void **state) {
  (void)state;
  const dq_tensor before[3] = {{DQ_F32, -1, {0}, NULL}, {DQ_I64, -1, {0}, NULL}, {DQ_F32, -1, {0}, NULL}};
  float boxes[3][4] = {{10, 10, 50, 40}, {10, 10, 50, 40}, {0, 0, 100, 50}}, scores[3] = {0.5f, 0.75f, 0.25f};
  int64_t labels[3] = {3, 3, 1};
  dq_detector detector = open_detector("torchvision", before, 3);
  assert_true(detector.decoder.variable && detector.decoder.listed && detector.decoder.suppressed);
  static const int64_t counts[] = {1, 3, 0, 2};
  for (int i = 0; i < 4; i++) {
    const int64_t rows = counts[i];
    const dq_tensor outputs[MOST_OUTPUTS] = {{DQ_F32, 2, {rows, 4}, rows ? boxes : NULL},
                                             {DQ_I64, 1, {rows}, rows ? labels : NULL},
                                             {DQ_F32, 1, {rows}, rows ? scores : NULL}};
    assert_int_equal(detect(&detector, outputs, 0), DQ_OK);
    assert_int_equal(detector.count, rows);
    if (rows == 1) expect(&detector.found[0], 3, 0.5, half);
    if (rows == 3) expect(&detector.found[0], 1, 0.25, (const double[]){0, 0, 1, 1});
    if (rows >= 2) expect(&detector.found[rows - 2], 3, 0.75, half);
    if (rows >= 2) expect(&detector.found[rows - 1], 3, 0.5, half);
    if (rows) assert_int_equal(detect(&detector, outputs, 1), DQ_BAD_INPUT); // there is one picture
  }
  boxes[0][2] = INFINITY, scores[1] = NAN, labels[2] = -1;
  dq_tensor outputs[MOST_OUTPUTS] = {{DQ_F32, 2, {3, 4}, boxes}, {DQ_I64, 1, {3}, labels}, {DQ_F32, 1, {3}, scores}};
  assert_int_equal(detect(&detector, outputs, 0), DQ_OK);
  assert_int_equal(detector.count, 0);
  outputs[2].dims[0] = 2; // fewer scores than boxes
  assert_int_equal(detect(&detector, outputs, 0), DQ_BAD_INPUT);
  outputs[2].dims[0] = 3, outputs[0].rank = 1;
  assert_int_equal(detect(&detector, outputs, 0), DQ_BAD_INPUT);
  outputs[0].rank = -1;
  assert_int_equal(detect(&detector, outputs, 0), DQ_BAD_INPUT);
  dq_detector_close(&detector);
}

// Coordinates from 0 to 1 are told from pixels, picture by picture.
static void rows_by_picture(void **state) {
  (void)state;
  float boxes[2][1][4] = {{{0.1f, 0.2f, 0.5f, 0.8f}}, {{10, 10, 50, 40}}}, scores[2] = {0.5f, 0.75f};
  int64_t labels[2] = {2, 4};
  const dq_tensor outputs[MOST_OUTPUTS] = {
      {DQ_I64, 2, {2, 1}, labels}, {DQ_F32, 3, {2, 1, 4}, boxes}, {DQ_F32, 2, {2, 1}, scores}};
  dq_detector detector = open_detector("torchvision", outputs, 3);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(detect(&detector, outputs, i), DQ_OK);
    assert_int_equal(detector.count, 1);
    expect(&detector.found[0], i ? 4 : 2, i ? 0.75 : 0.5, half);
  }
  assert_int_equal(detect(&detector, outputs, 2), DQ_BAD_INPUT);
  dq_detector_close(&detector);
}

static void rows_of_mmdeploy(void **state) {
  (void)state;
  float rows[2][2][5] = {{{10, 10, 50, 40, 0.5f}, {0, 0, 0, 0, 0}}, {{0, 0, 0, 0, 0}, {10, 10, 50, 40, 0.25f}}};
  int64_t labels[2][2] = {{7, -1}, {-1, 8}};
  const dq_tensor outputs[MOST_OUTPUTS] = {{DQ_F32, 3, {2, 2, 5}, rows}, {DQ_I64, 2, {2, 2}, labels}};
  dq_detector detector = open_detector("mmdeploy", outputs, 2);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(detect(&detector, outputs, i), DQ_OK);
    assert_int_equal(detector.count, 1);
    expect(&detector.found[0], 7 + i, i ? 0.25 : 0.5, half);
  }
  dq_detector_close(&detector);
}

// Two pictures have one row and two of three; numbers that the rows do not have are errors.
static void rows_of_paddle(void **state) {
  (void)state;
  float rows[3][6] = {{2, 0.5f, 10, 10, 50, 40}, {-1, 0.9f, 0, 0, 9, 9}, {5, 0.75f, 10, 10, 50, 40}};
  int32_t counts[2] = {1, 2};
  const dq_tensor outputs[MOST_OUTPUTS] = {{DQ_F32, 2, {3, 6}, rows}, {DQ_I32, 1, {2}, counts}};
  dq_detector detector = open_detector("paddle", outputs, 2);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(detect(&detector, outputs, i), DQ_OK);
    assert_int_equal(detector.count, 1);
    expect(&detector.found[0], i ? 5 : 2, i ? 0.75 : 0.5, half);
  }
  assert_int_equal(detect(&detector, outputs, 2), DQ_BAD_INPUT);
  counts[0] = -1;
  assert_int_equal(detect(&detector, outputs, 1), DQ_BAD_INPUT);
  counts[0] = 2;
  assert_int_equal(detect(&detector, outputs, 0), DQ_OK);
  assert_int_equal(detect(&detector, outputs, 1), DQ_BAD_INPUT);
  counts[0] = INT32_MAX;
  assert_int_equal(detect(&detector, outputs, 0), DQ_BAD_INPUT);
  dq_detector_close(&detector);
}

// Rows from one with a negative picture on are padding.
static void rows_of_detection_output(void **state) {
  (void)state;
  float rows[4][7] = {
      {0, 3, 0.5f, 0.1f, 0.2f, 0.5f, 0.8f}, {0, 3, 0.25f, 0.1f, 0.2f, NAN, 0.8f}, {-1}, {0, 1, 0.5f, 0, 0, 1, 1}};
  const dq_tensor outputs[MOST_OUTPUTS] = {{DQ_F32, 4, {1, 1, 4, 7}, rows}};
  dq_detector detector = open_detector("detection-output", outputs, 1);
  assert_int_equal(detect(&detector, outputs, 0), DQ_OK);
  assert_int_equal(detector.count, 1);
  expect(&detector.found[0], 3, 0.5, half);
  assert_int_equal(detect(&detector, outputs, 1), DQ_BAD_INPUT);
  dq_detector_close(&detector);
}

// The number of boxes bounds the rows; a number that is none or too large does not.
static void rows_of_efficient_nms(void **state) {
  (void)state;
  int32_t count = 1, classes[2] = {6, 0};
  float boxes[2][4] = {{10, 10, 50, 40}, {0, 0, 100, 50}}, scores[2] = {0.75f, 0.5f};
  const dq_tensor outputs[MOST_OUTPUTS] = {{DQ_I32, 2, {1, 1}, &count},
                                           {DQ_F32, 3, {1, 2, 4}, boxes},
                                           {DQ_F32, 2, {1, 2}, scores},
                                           {DQ_I32, 2, {1, 2}, classes}};
  dq_detector detector = open_detector("efficient-nms", outputs, 4);
  assert_int_equal(detect(&detector, outputs, 0), DQ_OK);
  assert_int_equal(detector.count, 1);
  expect(&detector.found[0], 6, 0.75, half);
  count = 3;
  assert_int_equal(detect(&detector, outputs, 0), DQ_OK);
  assert_int_equal(detector.count, 2);
  count = 0;
  assert_int_equal(detect(&detector, outputs, 0), DQ_OK);
  assert_int_equal(detector.count, 0);
  assert_int_equal(detect(&detector, outputs, 1), DQ_BAD_INPUT);
  dq_detector_close(&detector);
}

// Corners are y before x.
static void rows_of_tensorflow(void **state) {
  (void)state;
  static const char *const own[MOST_OUTPUTS] = {"num_detections:0", "detection_classes:0", "detection_scores:0",
                                                "detection_boxes:0"};
  float count = 1, classes[2] = {17, 1}, scores[2] = {0.5f, 0.75f}, boxes[2][4] = {{0.2f, 0.1f, 0.8f, 0.5f}};
  const dq_tensor outputs[MOST_OUTPUTS] = {{DQ_F32, 1, {1}, &count},
                                           {DQ_F32, 2, {1, 2}, classes},
                                           {DQ_F32, 2, {1, 2}, scores},
                                           {DQ_F32, 3, {1, 2, 4}, boxes}};
  dq_detector detector;
  dq_error error;
  const dq_decode_options options = {
      .outputs = outputs, .output_names = own, .output_count = 4, .input_height = HIGH, .input_width = WIDE};
  assert_int_equal(dq_detector_open(&detector, &options, NULL, &error), DQ_OK);
  assert_int_equal(detect(&detector, outputs, 0), DQ_OK);
  assert_int_equal(detector.count, 1);
  expect(&detector.found[0], 17, 0.5, half);
  dq_detector_close(&detector);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_torchvision),      cmocka_unit_test(rows_by_picture),
      cmocka_unit_test(rows_of_mmdeploy),         cmocka_unit_test(rows_of_paddle),
      cmocka_unit_test(rows_of_detection_output), cmocka_unit_test(rows_of_efficient_nms),
      cmocka_unit_test(rows_of_tensorflow)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
