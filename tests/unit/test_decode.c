// Boxes and scores as decoders read them, by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/decode/anchor_text.h"
#include "lib/decode/head.h"
#include "lib/eval/eval.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)
#define CLOSE(a, b) assert_true(fabs((a) - (b)) < 1e-6) // of logits in float32

// Two anchors over 2 x 3 cells of an input of 48 x 32, in the order anchor, row, column. Logits of 0 give the middle of
// a cell and the size of the anchor; ln 3 and -ln 3 give sigmoids of 3/4 and 1/4.
static void boxes_of_cells_by_hand(void **state) {
  (void)state;
  enum { HIGH = 2, WIDE = 3, PLANE = HIGH * WIDE, FIELDS = 7, CANDIDATES = 2 * PLANE };
  const float third = logf(3);
  dq_anchor_head head = {.anchor_count = 2, .anchors = {{24, 8}, {12, 16}}, .classes = 2};
  const dq_decoder decoder = {.head = &dq_head_yolo,
                              .roles = 1,
                              .elements = {2 * FIELDS * PLANE},
                              .anchors = &head,
                              .levels = {{HIGH, WIDE}},
                              .input_height = 32,
                              .input_width = 48,
                              .classes = 2,
                              .candidates = CANDIDATES};
  float fields[2 * FIELDS * PLANE] = {0}, *own = fields + FIELDS * PLANE + WIDE + 2; // of anchor 1, row 1, column 2
  own[0] = third, own[PLANE] = -third, own[2 * PLANE] = logf(2), own[3 * PLANE] = -logf(2);
  own[4 * PLANE] = third, own[5 * PLANE] = third, own[6 * PLANE] = -third;
  dq_tensor tensor = {DQ_F32, 4, {1, 2 * FIELDS, HIGH, WIDE}, fields};
  const dq_tensor *output = &tensor;
  for (int scale = 1; scale < 3; scale++) {
    head.scale = scale; // stretches centres over the cells beside: 2 sigmoid - 1/2
    dq_box boxes[CANDIDATES];
    double scores[2 * CANDIDATES];
    dq_error error;
    assert_int_equal(dq_decode(&decoder, &output, 0, &(dq_candidates){.boxes = boxes, .scores = scores}, &error),
                     DQ_OK);
    for (int i = 0; i < CANDIDATES; i++) {
      bool last = i == CANDIDATES - 1, second = i >= PLANE;
      double x = (i % WIDE + (!last ? 0.5 : scale == 1 ? 0.75 : 1)) / WIDE;
      double y = (i / WIDE % HIGH + (!last ? 0.5 : scale == 1 ? 0.25 : 0)) / HIGH;
      double width = second ? 0.25 : 0.5, height = second ? 0.5 : 0.25;
      if (last) width *= 2, height /= 2;
      CLOSE(boxes[i].x1, x - width / 2);
      CLOSE(boxes[i].x2, x + width / 2);
      CLOSE(boxes[i].y1, y - height / 2);
      CLOSE(boxes[i].y2, y + height / 2);
      CLOSE(scores[2 * i], last ? 9 / 16. : 0.25);
      CLOSE(scores[2 * i + 1], last ? 3 / 16. : 0.25);
    }
  }
}

// YOLOX on 64 x 32: cells of 8, 16 and 32 pixels, row by row. Fields are offsets in cells, logarithms of sizes in
// cells, and scores.
static void boxes_of_yolox_by_hand(void **state) {
  (void)state;
  enum { CANDIDATES = 8 * 4 + 4 * 2 + 2 * 1, FIELDS = 7 };
  const dq_decoder decoder = {.head = &dq_head_yolox,
                              .roles = 1,
                              .elements = {CANDIDATES * FIELDS},
                              .input_height = 32,
                              .input_width = 64,
                              .classes = 2,
                              .candidates = CANDIDATES};
  float fields[CANDIDATES][FIELDS];
  for (int i = 0; i < CANDIDATES; i++)
    memcpy(fields[i], ((float[]){0.25f, 0.5f, logf(2), 0, 0.5f, 0.25f, 0.125f}), sizeof fields[i]);
  dq_tensor tensor = {DQ_F32, 3, {1, CANDIDATES, FIELDS}, fields};
  const dq_tensor *output = &tensor;
  dq_box boxes[CANDIDATES];
  double scores[2 * CANDIDATES];
  dq_error error;
  assert_int_equal(dq_decode(&decoder, &output, 0, &(dq_candidates){.boxes = boxes, .scores = scores}, &error), DQ_OK);
  for (int level = 0, i = 0; level < 3; level++) {
    int stride = 8 << level;
    for (int y = 0; y < 32 / stride; y++)
      for (int x = 0; x < 64 / stride; x++, i++) { // 2 cells wide, 1 high
        CLOSE(boxes[i].x1, (x + 0.25 - 1) * stride / 64);
        CLOSE(boxes[i].x2, (x + 0.25 + 1) * stride / 64);
        CLOSE(boxes[i].y1, (y + 0.5 - 0.5) * stride / 32);
        CLOSE(boxes[i].y2, (y + 0.5 + 0.5) * stride / 32);
        CLOSE(scores[2 * i], 0.125);
        CLOSE(scores[2 * i + 1], 0.0625);
      }
  }
  fields[3][3] = NAN;
  assert_int_equal(dq_decode(&decoder, &output, 0, &(dq_candidates){.boxes = boxes, .scores = scores}, &error), DQ_OK);
  assert_false(scores[6] > DQ_LOWEST_SCORE || scores[7] > DQ_LOWEST_SCORE);
  CLOSE(scores[8], 0.125);
}

// On 32 x 32 there are 16 + 4 + 1 cells: YOLOv5 has 63 candidates of 5 + 2 numbers, YOLOv8 21 of 4 + 2, one behind the
// other in six rows. Candidate i lies at (i, 16) with 8 x 4 pixels.
static void boxes_in_pixels(void **state) {
  (void)state;
  enum { CELLS = 21 };
  static float fields[3 * CELLS * 7], rows[6][CELLS];
  for (int i = 0; i < 3 * CELLS; i++)
    memcpy(fields + 7 * i, ((float[]){(float)i, 16, 8, 4, 0.5f, 0.25f, 1}), 7 * sizeof *fields);
  for (int i = 0; i < CELLS; i++)
    for (int f = 0; f < 6; f++) rows[f][i] = (float[]){(float)i, 16, 8, 4, 0.125f, 0.5f}[f];
  const struct {
    const char *name;
    dq_tensor output;
  } cases[] = {{"yolov5", {DQ_F32, 3, {1, 3 * CELLS, 7}, fields}}, {"yolov8", {DQ_F32, 3, {1, 6, CELLS}, rows}}};
  for (int k = 0; k < 2; k++) {
    const char *const names[] = {"output", "other"};
    dq_decode_options options = {
        .output_count = 1, .outputs = &cases[k].output, .output_names = names, .input_height = 32, .input_width = 32};
    dq_decoder decoder;
    dq_error error;
    const dq_tensor *output = &cases[k].output;
    dq_box boxes[3 * CELLS];
    double scores[6 * CELLS];
    assert_true(dq_decoder_possible(&options));
    assert_int_equal(dq_decoder_init(&decoder, &options, &error), DQ_OK);
    assert_string_equal(dq_decoder_name(&decoder), cases[k].name);
    assert_int_equal(decoder.candidates, k ? CELLS : 3 * CELLS);
    assert_int_equal(decoder.classes, 2);
    assert_int_equal(dq_decode(&decoder, &output, 0, &(dq_candidates){.boxes = boxes, .scores = scores}, &error),
                     DQ_OK);
    for (int i = 0; i < decoder.candidates; i++) {
      CLOSE(boxes[i].x1, (i - 4) / 32.0);
      CLOSE(boxes[i].x2, (i + 4) / 32.0);
      CLOSE(boxes[i].y1, 14 / 32.0);
      CLOSE(boxes[i].y2, 18 / 32.0);
      CLOSE(scores[2 * i], 0.125);
      CLOSE(scores[2 * i + 1], 0.5);
    }
    ((float *)cases[k].output.data)[k ? 5 * CELLS + 3 : 3 * 7 + 6] = INFINITY; // a class of candidate 3
    assert_int_equal(dq_decode(&decoder, &output, 0, &(dq_candidates){.boxes = boxes, .scores = scores}, &error),
                     DQ_OK);
    assert_true(isnan(scores[6]) && isnan(scores[7]));
    CLOSE(scores[8], 0.125);
    options.input_width = 64;
    assert_false(dq_decoder_possible(&options));
    options.decode = cases[k].name;
    assert_int_equal(dq_decoder_init(&decoder, &options, &error), DQ_BAD_INPUT);
    assert_string_equal(error.message,
                        k ? "yolov8: the outputs are 1x6x21, expected N x (4 + classes) x CELLS, with masks N x PLANES "
                            "x height x width beside N x (4 + classes + PLANES) x CELLS (input of 64 x 32 pixels)"
                          : "yolov5: the outputs are 1x63x7, expected N x (3 CELLS) x (5 + classes), with masks N x "
                            "PLANES x height x width beside N x (3 CELLS) x (5 + classes + PLANES) (input of 64 x 32 "
                            "pixels)");
    assert_string_equal(error.hint, "no decoder fits outputs of these shapes");
    options.decode = NULL, options.input_width = 32, options.output_count = 2;
    options.outputs = (dq_tensor[]){cases[k].output, {.type = DQ_F32, .rank = 2, .dims = {1, 8}}}; // no masks
    assert_false(dq_decoder_possible(&options));
  }
}

// On 32 x 32: at least one class, and as many candidates as there are whole cells.
static void shapes_of_single_outputs(void **state) {
  (void)state;
  static const struct {
    int64_t dims[2], width;
    const char *name;
  } cases[] = {{{21, 6}, 32, "yolox"}, {{21, 5}, 32, NULL}, {{63, 6}, 32, "yolov5"}, {{63, 5}, 32, NULL},
               {{62, 6}, 32, NULL},    {{64, 6}, 32, NULL}, {{5, 21}, 32, "yolov8"}, {{4, 21}, 32, NULL},
               {{5, 22}, 32, NULL},    {{20, 6}, 32, NULL}, {{22, 6}, 32, NULL},     {{42, 6}, 64, "yolox"},
               {{14, 6}, 31, "yolox"}, {{0, 6}, 0, NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_tensor output = {DQ_F32, 3, {1, cases[i].dims[0], cases[i].dims[1]}, NULL};
    dq_decode_options options = {
        .output_count = 1, .outputs = &output, .input_height = 32, .input_width = (int)cases[i].width};
    dq_decoder decoder;
    dq_error error;
    const char *found = dq_decoder_init(&decoder, &options, &error) == DQ_OK ? dq_decoder_name(&decoder) : "none";
    if (strcmp(found, cases[i].name ? cases[i].name : "none")) fail_msg("case %zu: %s", i, found);
  }
}

// A candidate with a field that is NaN or infinite is no detection: the sigmoid of infinity would be a score of 1.
static void boxes_of_no_scores(void **state) {
  (void)state;
  dq_anchor_head head = {.anchor_count = 1, .anchors = {{16, 16}}, .classes = 1, .scale = 1};
  const dq_decoder decoder = {.head = &dq_head_yolo,
                              .roles = 1,
                              .elements = {6},
                              .anchors = &head,
                              .levels = {{1, 1}},
                              .input_height = 32,
                              .input_width = 32,
                              .classes = 1,
                              .candidates = 1};
  const float bad[3] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 18; i++) {
    float fields[6] = {0};
    dq_tensor tensor = {DQ_F32, 4, {1, 6, 1, 1}, fields};
    const dq_tensor *output = &tensor;
    dq_box box;
    double score;
    dq_error error;
    assert_int_equal(dq_decode(&decoder, &output, 0, &(dq_candidates){.boxes = &box, .scores = &score}, &error), DQ_OK);
    NEAR(score, 0.25);
    fields[i / 3] = bad[i % 3];
    assert_int_equal(dq_decode(&decoder, &output, 0, &(dq_candidates){.boxes = &box, .scores = &score}, &error), DQ_OK);
    assert_false(score > DQ_LOWEST_SCORE);
  }
}
static void decoder_text(void **state) {
  (void)state;
  dq_error error;
  dq_task *task;
  dq_tensor output = {DQ_F32, 4, {1, 7, 1, 1}, NULL};
  const char *names[] = {"head"};
  dq_task_options options = {.decode.output_count = 1,
                             .decode.outputs = &output,
                             .decode.output_names = names,
                             .decode.input_width = 32,
                             .decode.input_height = 16,
                             .labels = DQ_LABEL_BOXES,
                             .task = "detect"};
  static const char *const wrong[] = {"yolo:",
                                      "yolo",
                                      "yolo:classes=2",
                                      "yolo:anchors=1x2",
                                      "yolo:classes=2,anchors=1x",
                                      "yolo:classes=2,anchors=1x0",
                                      "yolo:classes=2,anchors=1x2,",
                                      "yolo:classes=nan,anchors=1x2",
                                      "ssd",
                                      "yolo:classes=1.5,anchors=1x2"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    options.decode.decode = wrong[i];
    assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_USAGE);
    assert_null(task);
  }
  options.decode.decode = "yolo:classes=2,anchors=1\0behind"; // nothing behind the end is read
  assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_USAGE);
  assert_non_null(strstr(error.message, "cannot be read at ''"));
  options.decode.decode = "yolo:classes=3,anchors=1x2"; // the output has 7 channels, not 8
  assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_BAD_INPUT);
  options.decode.decode = NULL;
  static const char *const broken[] = {"",
                                       "[",
                                       "{}",
                                       "[]",
                                       "[1]",
                                       "[{\"name\": \"other\"}]",
                                       "[{\"name\": \"head\", \"classes\": 2, \"anchors\": [[1]]}]",
                                       "[{\"name\": \"head\", \"classes\": -1}]"};
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    options.decode.metadata.decode = broken[i];
    assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_BAD_INPUT);
  }
}
int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(boxes_of_cells_by_hand), cmocka_unit_test(boxes_of_yolox_by_hand),
      cmocka_unit_test(boxes_in_pixels),        cmocka_unit_test(shapes_of_single_outputs),
      cmocka_unit_test(boxes_of_no_scores),     cmocka_unit_test(decoder_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
