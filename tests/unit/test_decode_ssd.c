// Default boxes of SSD, by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/decode/detector.h"

enum { BOXES = 8732, NUMBERS = 3, SIDE = 300 };

static float locations[BOXES][4], numbers[BOXES][NUMBERS];

static void expect(const dq_box *box, double x, double y, double width, double height) {
  if (fabs((box->x1 + box->x2) / 2 * SIDE - x) > 1e-4 || fabs((box->y1 + box->y2) / 2 * SIDE - y) > 1e-4 ||
      fabs((box->x2 - box->x1) * SIDE - width) > 1e-4 || fabs((box->y2 - box->y1) * SIDE - height) > 1e-4)
    fail_msg("%g %g %g %g", box->x1, box->y1, box->x2, box->y2);
}

// The first cell of 8 pixels has squares of 30 and sqrt(30 * 60) = 42.4264 pixels and boxes of 30 sqrt 2 and 30 / sqrt
// 2 (for COCO of 21 and sqrt(21 * 45) = 30.7409); boxes 4 and 5 of a cell of 16 pixels have a ratio of 3. The last cell
// is the picture. Logits 0, ln 2 and ln 5 are scores of 1/4 and 5/8 beside the background, as these numbers are.
static void default_boxes_by_hand(void **state) {
  (void)state;
  const double root = sqrt(2), coco[2] = {21, sqrt(21 * 45)}, voc[2] = {30, sqrt(30 * 60)};
  for (int i = 0; i < BOXES; i++) numbers[i][1] = logf(2), numbers[i][2] = logf(5);
  memcpy(numbers[1], ((float[]){0.125f, 0.25f, 0.625f}), sizeof numbers[1]);
  memcpy(locations[6], ((float[]){1, -2, 5 * logf(2), 0}), sizeof locations[6]); // of the cell in column 1, box 2
  locations[9][3] = NAN, numbers[10][0] = INFINITY;
  const dq_tensor outputs[2] = {{DQ_F32, 3, {1, BOXES, NUMBERS}, numbers}, {DQ_F32, 3, {1, BOXES, 4}, locations}};
  const dq_tensor *pointers[2] = {&outputs[0], &outputs[1]};
  for (int i = 0; i < 2; i++) {
    const double *sizes = i ? coco : voc;
    const dq_decode_options options = {.decode = i ? "ssd-coco" : "ssd-voc",
                                       .outputs = outputs,
                                       .output_count = 2,
                                       .input_height = SIDE,
                                       .input_width = SIDE};
    dq_detector detector;
    dq_error error;
    assert_int_equal(dq_detector_open(&detector, &options, NULL, &error), DQ_OK);
    assert_int_equal(dq_detector_decode(&detector, pointers, 0, &error), DQ_OK);
    const dq_candidates *to = &detector.candidates;
    expect(&to->boxes[0], 4, 4, sizes[0], sizes[0]);
    expect(&to->boxes[1], 4, 4, sizes[1], sizes[1]);
    expect(&to->boxes[2], 4, 4, sizes[0] * root, sizes[0] / root);
    expect(&to->boxes[3], 4, 4, sizes[0] / root, sizes[0] * root);
    expect(&to->boxes[6], 12 + 0.1 * sizes[0] * root, 4 - 0.2 * sizes[0] / root, 2 * sizes[0] * root, sizes[0] / root);
    const double second = i ? 45 : 60, last = i ? 261 : 264;
    expect(&to->boxes[4 * 38 * 38 + 6 * 20 + 5], 24, 24, second / sqrt(3), second * sqrt(3)); // row 1, column 1
    expect(&to->boxes[BOXES - 2], 150, 150, last * root, last / root);
    for (int k = 0; k < 3; k++) {
      assert_true(fabs(to->scores[2 * k] - 0.25) < 1e-6);
      assert_true(fabs(to->scores[2 * k + 1] - 0.625) < 1e-6);
    }
    for (int k = 18; k < 22; k++) assert_true(isnan(to->scores[k])); // of boxes 9 and 10
    dq_detector_close(&detector);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(default_boxes_by_hand)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
