// Metrics against values worked out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/eval/decode_single.h"
#include "lib/eval/eval.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)
#define CLOSE(a, b) assert_true(fabs((a) - (b)) < 1e-6) // of logits in float32

static void top_one_and_five(void **state) {
  (void)state;
  dq_top top = {0};
  const double scores[7] = {1, 5, 5, 4, 3, 2, -INFINITY};
  dq_top_add(&top, scores, 7, 1); // the first of two equal scores
  assert_int_equal(top.first, 1);
  dq_top_add(&top, scores, 7, 2); // the second of them is second
  assert_int_equal(top.first, 1);
  assert_int_equal(top.five, 2);
  dq_top_add(&top, scores, 7, 0); // sixth
  dq_top_add(&top, scores, 7, 6); // the lowest there is
  assert_int_equal(top.five, 2);
  assert_int_equal(top.pictures, 4);
}

// A picture with a score that is NaN or +infinite is answered wrong, whatever the others say.
static void no_scores_are_wrong(void **state) {
  (void)state;
  dq_top top = {0};
  const double rows[4][2] = {{NAN, NAN}, {NAN, 1}, {1, NAN}, {1, INFINITY}};
  for (int i = 0; i < 4; i++)
    for (int label = 0; label < 2; label++) dq_top_add(&top, rows[i], 2, label);
  assert_int_equal(top.pictures, 8);
  assert_int_equal(top.first, 0);
  assert_int_equal(top.five, 0);
}

static void dice_of_three_pictures(void **state) {
  (void)state;
  dq_dice dice = {0};
  const uint8_t a[4] = {1, 1, 0, 0}, b[4] = {1, 0, 1, 1}, zero[4] = {0};
  dq_dice_add(&dice, a, b, 4);       // 1 of 2 and 3: Dice 0.4
  dq_dice_add(&dice, b, b, 4);       // Dice 1
  dq_dice_add(&dice, a, zero, 4);    // a false alarm
  dq_dice_add(&dice, zero, zero, 4); // clean
  NEAR(dq_dice_pooled(&dice), 2.0 * 4 / (5 + 6 + 2));
  NEAR(dq_dice_slices(&dice), 0.7);
  NEAR(dq_iou_pooled(&dice), 4.0 / 9);
  assert_int_equal(dice.empty, 2);
  assert_int_equal(dice.empty_clean, 1);
}

static void confusion_of_three_classes(void **state) {
  (void)state;
  int64_t confusion[12] = {0}; // the last of every four: pixels without an answer
  const uint8_t found[6] = {0, 0, 1, 1, 1, 2}, mask[6] = {0, 1, 1, 1, 0, 255};
  dq_confusion_add(confusion, 3, found, mask, 6);
  NEAR(dq_confusion_iou(confusion, 3, 0), 1.0 / 3);
  NEAR(dq_confusion_iou(confusion, 3, 1), 2.0 / 4);
  NEAR(dq_confusion_mean_iou(confusion, 3), (1.0 / 3 + 0.5) / 2); // class 2 is in no mask
  NEAR(dq_confusion_accuracy(confusion, 3), 3.0 / 5);
  dq_confusion_add(confusion, 3, (const uint8_t[]){255}, (const uint8_t[]){0}, 1);
  NEAR(dq_confusion_iou(confusion, 3, 0), 1.0 / 4);
  NEAR(dq_confusion_iou(confusion, 3, 1), 2.0 / 4);
  NEAR(dq_confusion_accuracy(confusion, 3), 3.0 / 6);
}

static void overlap_and_suppression(void **state) {
  (void)state;
  const dq_box boxes[4] = {{0, 0, 2, 2}, {1, 0, 3, 2}, {0, 0, 2, 1.8}, {5, 5, 6, 6}};
  NEAR(dq_box_iou(&boxes[0], &boxes[1]), 2.0 / 6);
  NEAR(dq_box_iou(&boxes[0], &boxes[3]), 0);
  const double scores[4] = {0.5, 0.9, 0.9, 0.1};
  int64_t keep[4];
  // 1 before 2 (equal scores keep their order); 2 overlaps 1 by 1.8 / 5.8; 0 overlaps 2 by 0.9.
  assert_int_equal(dq_nms(boxes, scores, 4, 0.45, keep), 3);
  assert_int_equal(keep[0], 1);
  assert_int_equal(keep[1], 2);
  assert_int_equal(keep[2], 3);
  assert_int_equal(dq_nms(boxes, scores, 0, 0.45, keep), 0);
}

static void average_precision(void **state) {
  (void)state;
  // Precisions 1, 1/2, 2/3, 2/4, 3/5 at recalls 1/4, 1/4, 2/4, 2/4, 3/4.
  const uint8_t hits[5] = {1, 0, 1, 0, 1};
  NEAR(dq_average_precision(hits, 5, 4), 0.25 * 1 + 0.25 * 2 / 3 + 0.25 * 0.6);
  NEAR(dq_average_precision(hits, 0, 4), 0);
  NEAR(dq_average_precision(hits, 5, 0), 0);
}

static void comparison(void **state) {
  (void)state;
  dq_comparison it = {0};
  float a[4] = {3, 4, 0, NAN}, b[4] = {3, 3, 0, 1}; // the reference is no number: left out
  dq_tensor x = {DQ_F32, 2, {1, 4}, a}, y = {DQ_F32, 2, {1, 4}, b}, z = {DQ_F32, 2, {1, 3}, b};
  assert_int_equal(dq_comparison_add(&it, &x, &y, 0, NULL), DQ_OK);
  NEAR(dq_comparison_sqnr(&it), 10 * log10(25.0 / 1));
  NEAR(dq_comparison_cosine(&it), (9 + 12) / (5 * sqrt(18)));
  NEAR(it.largest, 1);
  assert_true(it.nonfinite == 0 && it.left_out == 1 && it.values == 3);
  NEAR(dq_comparison_agreement(&it), 0); // 4 is largest here, the first 3 there
  assert_int_equal(dq_comparison_add(&it, &x, &z, 0, NULL), DQ_BAD_INPUT);
  dq_comparison same = {0};
  dq_comparison_add_values(&same, b, b, 4);
  assert_true(isinf(dq_comparison_sqnr(&same)));
  NEAR(dq_comparison_cosine(&same), 1);
}

// Where the reference is a number and the other is not the error is infinite, and the picture does not agree, though
// its largest score has the same place.
static void broken_elements(void **state) {
  (void)state;
  const float bad[3] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 3; i++) {
    dq_comparison it = {0};
    float a[3] = {3, 4, 0}, b[3] = {3, 9, bad[i]};
    dq_tensor x = {DQ_F32, 2, {1, 3}, a}, y = {DQ_F32, 2, {1, 3}, b};
    assert_int_equal(dq_comparison_add(&it, &x, &y, 0, NULL), DQ_OK);
    assert_true(it.nonfinite == 1 && it.left_out == 0 && it.values == 3);
    assert_true(dq_comparison_sqnr(&it) == -INFINITY);
    assert_true(it.largest == INFINITY && isnan(dq_comparison_cosine(&it)));
    NEAR(dq_comparison_agreement(&it), 0);
    dq_comparison turned = {0}; // the other way round there is nothing to come close to
    assert_int_equal(dq_comparison_add(&turned, &y, &x, 0, NULL), DQ_OK);
    NEAR(dq_comparison_sqnr(&turned), 10 * log10((9.0 + 81) / 25));
    assert_true(turned.nonfinite == 0 && turned.left_out == 1);
  }
  dq_comparison none = {0};
  float all[2] = {NAN, NAN};
  dq_tensor x = {DQ_F32, 2, {1, 2}, all};
  assert_int_equal(dq_comparison_add(&none, &x, &x, 0, NULL), DQ_OK);
  assert_true(isnan(dq_comparison_sqnr(&none)) && none.left_out == 2);
  NEAR(dq_comparison_agreement(&none), 0);
}

// In float16 as well, which is read element by element.
static void broken_half(void **state) {
  (void)state;
  dq_comparison it = {0};
  float a[2] = {1, 2};
  uint16_t b[2] = {0x7c00, 0x4000}; // infinity, 2
  dq_tensor x = {DQ_F32, 2, {1, 2}, a}, y = {DQ_F16, 2, {1, 2}, b};
  assert_int_equal(dq_comparison_add(&it, &x, &y, 0, NULL), DQ_OK);
  assert_true(it.nonfinite == 1 && dq_comparison_sqnr(&it) == -INFINITY);
  NEAR(dq_comparison_agreement(&it), 0);
}

// The figure of one picture of two pixels, foreground and background (class 1 and 0), for an output of `classes`
// channels.
static dq_result segment_of(int64_t classes, float *values) {
  char path[40];
  snprintf(path, sizeof path, "/tmp/test_eval_%d.pgm", (int)getpid());
  FILE *file = fopen(path, "wb");
  fprintf(file, "P5 2 1 255 %c%c", classes == 1 ? 255 : 1, 0);
  fclose(file);
  dq_tensor output = {DQ_F32, 4, {1, classes, 1, 2}, values};
  const dq_tensor *outputs[] = {&output};
  const char *names[] = {"y"};
  const dq_task_options options = {
      .task = "segment", .output_count = 1, .outputs = &output, .output_names = names, .labels = DQ_LABEL_MASK};
  dq_sample_info info = {.name = "p", .kind = DQ_LABEL_MASK, .label_path = path, .view = {.scale_x = 1, .scale_y = 1}};
  dq_task *task;
  dq_error error;
  dq_result result;
  if (dq_task_open(&task, &options, NULL, &error) != DQ_OK) fail_msg("%s", error.message);
  if (dq_task_add(task, outputs, 0, &info, &error) != DQ_OK) fail_msg("%s", error.message);
  assert_int_equal(dq_task_result(task, &result, &error), DQ_OK);
  dq_task_free(task);
  unlink(path);
  return result;
}

// Pixels whose values are NaN or +infinite are wrong whatever the mask says: infinity is above 0.5, NaN is not.
static void segments_of_no_scores(void **state) {
  (void)state;
  dq_result right = segment_of(1, (float[]){1, -INFINITY}), wrong = segment_of(1, (float[]){INFINITY, NAN});
  NEAR(right.figures[0].value, 1);
  assert_int_equal(right.nonfinite, 0);
  NEAR(wrong.figures[0].value, 0);
  assert_int_equal(wrong.nonfinite, 1);
  right = segment_of(2, (float[]){0, 9, 1, 0}), wrong = segment_of(2, (float[]){0, NAN, INFINITY, 0});
  NEAR(right.figures[1].value, 100);
  NEAR(wrong.figures[0].value, 0);
  NEAR(wrong.figures[1].value, 0);
}

// Two anchors over 2 x 3 cells of an input of 48 x 32, in the order anchor, row, column. Logits of 0 give the middle of
// a cell and the size of the anchor; ln 3 and -ln 3 give sigmoids of 3/4 and 1/4.
static void boxes_of_cells_by_hand(void **state) {
  (void)state;
  enum { HIGH = 2, WIDE = 3, PLANE = HIGH * WIDE, FIELDS = 7, CANDIDATES = 2 * PLANE };
  const float third = logf(3);
  dq_yolo_head head = {.anchor_count = 2, .anchors = {{24, 8}, {12, 16}}, .classes = 2, .height = HIGH, .width = WIDE};
  const dq_decoder decoder = {
      .head_count = 1, .heads = &head, .input_height = 32, .input_width = 48, .classes = 2, .candidates = CANDIDATES};
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
    assert_int_equal(dq_decode(&decoder, &output, 0, boxes, scores, &error), DQ_OK);
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
  const dq_decoder decoder = {
      .form = dq_single_decoder_find("yolox"), .input_height = 32, .input_width = 64, .classes = 2,
      .candidates = CANDIDATES};
  float fields[CANDIDATES][FIELDS];
  for (int i = 0; i < CANDIDATES; i++)
    memcpy(fields[i], ((float[]){0.25f, 0.5f, logf(2), 0, 0.5f, 0.25f, 0.125f}), sizeof fields[i]);
  dq_tensor tensor = {DQ_F32, 3, {1, CANDIDATES, FIELDS}, fields};
  const dq_tensor *output = &tensor;
  dq_box boxes[CANDIDATES];
  double scores[2 * CANDIDATES];
  dq_error error;
  assert_int_equal(dq_decode(&decoder, &output, 0, boxes, scores, &error), DQ_OK);
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
  assert_int_equal(dq_decode(&decoder, &output, 0, boxes, scores, &error), DQ_OK);
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
    const char *name = "output";
    dq_task_options options = {.output_count = 1,
                               .outputs = &cases[k].output,
                               .output_names = &name,
                               .input_height = 32,
                               .input_width = 32};
    dq_decoder decoder;
    dq_error error;
    const dq_tensor *output = &cases[k].output;
    dq_box boxes[3 * CELLS];
    double scores[6 * CELLS];
    assert_true(dq_decoder_possible(&options));
    assert_int_equal(dq_decoder_init(&decoder, &options, &error), DQ_OK);
    assert_string_equal(decoder.form->name, cases[k].name);
    assert_int_equal(decoder.candidates, k ? CELLS : 3 * CELLS);
    assert_int_equal(decoder.classes, 2);
    assert_int_equal(dq_decode(&decoder, &output, 0, boxes, scores, &error), DQ_OK);
    for (int i = 0; i < decoder.candidates; i++) {
      CLOSE(boxes[i].x1, (i - 4) / 32.0);
      CLOSE(boxes[i].x2, (i + 4) / 32.0);
      CLOSE(boxes[i].y1, 14 / 32.0);
      CLOSE(boxes[i].y2, 18 / 32.0);
      CLOSE(scores[2 * i], 0.125);
      CLOSE(scores[2 * i + 1], 0.5);
    }
    ((float *)cases[k].output.data)[k ? 5 * CELLS + 3 : 3 * 7 + 6] = INFINITY; // a class of candidate 3
    assert_int_equal(dq_decode(&decoder, &output, 0, boxes, scores, &error), DQ_OK);
    assert_true(isnan(scores[6]) && isnan(scores[7]));
    CLOSE(scores[8], 0.125);
    options.input_width = 64;
    assert_false(dq_decoder_possible(&options));
    options.decode = cases[k].name;
    assert_int_equal(dq_decoder_init(&decoder, &options, &error), DQ_BAD_INPUT);
    assert_string_equal(error.message, k ? "yolov8: 1 output, the first of shape 1x6x21, expected one of shape N x (4 + "
                                           "classes) x CELLS with CELLS = 42"
                                         : "yolov5: 1 output, the first of shape 1x63x7, expected one of shape N x (3 "
                                           "CELLS) x (5 + classes) with CELLS = 42");
    options.decode = NULL, options.input_width = 32, options.output_count = 2; // masks beside boxes
    assert_false(dq_decoder_possible(&options));
  }
}

// A candidate with a field that is NaN or infinite is no detection: the sigmoid of infinity would be a score of 1.
static void boxes_of_no_scores(void **state) {
  (void)state;
  dq_yolo_head head = {.anchor_count = 1, .anchors = {{16, 16}}, .classes = 1, .height = 1, .width = 1, .scale = 1};
  const dq_decoder decoder = {
      .head_count = 1, .heads = &head, .input_height = 32, .input_width = 32, .classes = 1, .candidates = 1};
  const float bad[3] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 18; i++) {
    float fields[6] = {0};
    dq_tensor tensor = {DQ_F32, 4, {1, 6, 1, 1}, fields};
    const dq_tensor *output = &tensor;
    dq_box box;
    double score;
    dq_error error;
    assert_int_equal(dq_decode(&decoder, &output, 0, &box, &score, &error), DQ_OK);
    NEAR(score, 0.25);
    fields[i / 3] = bad[i % 3];
    assert_int_equal(dq_decode(&decoder, &output, 0, &box, &score, &error), DQ_OK);
    assert_false(score > DQ_LOWEST_SCORE);
  }
}

static void classify_task(void **state) {
  (void)state;
  dq_error error;
  dq_task *task;
  float scores[2][3] = {{1, 2, 3}, {9, 2, 3}};
  dq_tensor output = {DQ_F32, 2, {2, 3}, scores};
  const dq_tensor *outputs[] = {&output};
  const char *names[] = {"y"};
  dq_task_options options = {
      .output_count = 1, .outputs = &output, .output_names = names, .labels = DQ_LABEL_CLASS, .classes = 4};
  assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "the labels have 4 classes, the model has 3 outputs");
  options.classes = 3;
  assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_OK);
  assert_string_equal(dq_task_name(task), "classify");
  dq_sample_info info = {.name = "p", .kind = DQ_LABEL_CLASS, .label = 2};
  assert_int_equal(dq_task_add(task, outputs, 0, &info, &error), DQ_OK);
  assert_int_equal(dq_task_add(task, outputs, 1, &info, &error), DQ_OK);
  info.label = 3;
  assert_int_equal(dq_task_add(task, outputs, 1, &info, &error), DQ_BAD_INPUT);
  dq_result result;
  assert_int_equal(dq_task_result(task, &result, &error), DQ_OK);
  assert_int_equal(result.pictures, 2);
  assert_int_equal(result.count, 1);
  NEAR(result.figures[0].value, 50);
  dq_task_free(task);
  options.task = "guess";
  assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_USAGE);
  options.task = "detect";
  assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_BAD_INPUT);
}

// One head of one cell and one anchor as large as the input: logits of 0 give the centre, exp(0)
// the full size, so the box is the whole picture; its score is the product of two sigmoids.
static void detect_task(void **state) {
  (void)state;
  dq_error error;
  dq_task *task;
  char path[] = "/tmp/test_eval_XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  const char text[] = "1 0.5 0.5 1 0.8\r\n0 0.1 0.1 0.1 0.1\n";
  assert_int_equal(write(file, text, sizeof text - 1), sizeof text - 1);
  close(file);
  float logits[7] = {0, 0, 0, 0, 20, -20, 20};
  dq_tensor output = {DQ_F32, 4, {1, 7, 1, 1}, logits};
  const dq_tensor *outputs[] = {&output};
  const char *names[] = {"head"};
  dq_task_options options = {.output_count = 1,
                             .outputs = &output,
                             .output_names = names,
                             .decode = "yolo:classes=2,anchors=32x16",
                             .input_width = 32,
                             .input_height = 16,
                             .labels = DQ_LABEL_BOXES};
  assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_OK);
  dq_sample_info info = {
      .name = "p", .kind = DQ_LABEL_BOXES, .label_path = path, .width = 100, .height = 100, .view = {1, 1, 0, 0}};
  assert_int_equal(dq_task_add(task, outputs, 0, &info, &error), DQ_OK);
  dq_result result;
  assert_int_equal(dq_task_result(task, &result, &error), DQ_OK);
  NEAR(result.figures[0].value, 50); // class 1 is found (overlap 0.8), class 0 is not
  NEAR(result.figures[3].value, 1);
  dq_task_free(task);
  unlink(path);
}

// The whole picture is found in all of four pictures, of which the first and the third have such a box and the others
// none: precisions 1, 1/2, 2/3, 2/4 at recalls 1/2, 1/2, 1, 1.
static void pictures_without_boxes(void **state) {
  (void)state;
  dq_error error;
  dq_task *task;
  char path[] = "/tmp/test_eval_XXXXXX", empty[] = "/tmp/test_eval_XXXXXX";
  int file = mkstemp(path), other = mkstemp(empty);
  assert_true(file >= 0 && other >= 0);
  assert_int_equal(write(file, "1 0.5 0.5 1 1\n", 14), 14);
  close(file), close(other);
  float logits[7] = {0, 0, 0, 0, 20, -20, 20};
  dq_tensor output = {DQ_F32, 4, {1, 7, 1, 1}, logits};
  const dq_tensor *outputs[] = {&output};
  const char *names[] = {"head"};
  dq_task_options options = {.output_count = 1,
                             .outputs = &output,
                             .output_names = names,
                             .decode = "yolo:classes=2,anchors=32x16",
                             .input_width = 32,
                             .input_height = 16,
                             .labels = DQ_LABEL_BOXES};
  assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_OK);
  for (int picture = 0; picture < 4; picture++) {
    dq_sample_info info = {.name = "p",
                           .kind = DQ_LABEL_BOXES,
                           .label_path = picture % 2 ? empty : path,
                           .width = 100,
                           .height = 100,
                           .view = {1, 1, 0, 0}};
    if (dq_task_add(task, outputs, 0, &info, &error) != DQ_OK) fail_msg("%s", error.message);
  }
  dq_result result;
  for (int again = 0; again < 2; again++) {
    assert_int_equal(dq_task_result(task, &result, &error), DQ_OK);
    NEAR(result.figures[0].value, 100 * (0.5 * 1 + 0.5 * 2 / 3));
    NEAR(result.figures[2].value, 2);
    NEAR(result.figures[3].value, 4);
  }
  dq_task_free(task);
  unlink(path), unlink(empty);
}

static void decoder_text(void **state) {
  (void)state;
  dq_error error;
  dq_task *task;
  dq_tensor output = {DQ_F32, 4, {1, 7, 1, 1}, NULL};
  const char *names[] = {"head"};
  dq_task_options options = {.output_count = 1,
                             .outputs = &output,
                             .output_names = names,
                             .input_width = 32,
                             .input_height = 16,
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
    options.decode = wrong[i];
    assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_USAGE);
    assert_null(task);
  }
  options.decode = "yolo:classes=2,anchors=1\0behind"; // nothing behind the end is read
  assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_USAGE);
  assert_non_null(strstr(error.message, "cannot be read at ''"));
  options.decode = "yolo:classes=3,anchors=1x2"; // the output has 7 channels, not 8
  assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_BAD_INPUT);
  options.decode = NULL;
  static const char *const broken[] = {"",
                                       "[",
                                       "{}",
                                       "[]",
                                       "[1]",
                                       "[{\"name\": \"other\"}]",
                                       "[{\"name\": \"head\", \"classes\": 2, \"anchors\": [[1]]}]",
                                       "[{\"name\": \"head\", \"classes\": -1}]"};
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    options.model_decode = broken[i];
    assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_BAD_INPUT);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(top_one_and_five),
                                     cmocka_unit_test(no_scores_are_wrong),
                                     cmocka_unit_test(dice_of_three_pictures),
                                     cmocka_unit_test(confusion_of_three_classes),
                                     cmocka_unit_test(overlap_and_suppression),
                                     cmocka_unit_test(average_precision),
                                     cmocka_unit_test(comparison),
                                     cmocka_unit_test(broken_elements),
                                     cmocka_unit_test(broken_half),
                                     cmocka_unit_test(segments_of_no_scores),
                                     cmocka_unit_test(boxes_of_cells_by_hand),
                                     cmocka_unit_test(boxes_of_yolox_by_hand),
                                     cmocka_unit_test(boxes_in_pixels),
                                     cmocka_unit_test(boxes_of_no_scores),
                                     cmocka_unit_test(classify_task),
                                     cmocka_unit_test(detect_task),
                                     cmocka_unit_test(pictures_without_boxes),
                                     cmocka_unit_test(decoder_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
