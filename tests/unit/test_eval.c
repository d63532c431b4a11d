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

#include "lib/eval/eval.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

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

// Opens the task of one picture of two pixels, whose mask has these bytes, for an output of `classes` channels, and
// adds the picture with these outputs.
static dq_status add_segment(dq_task **task, int64_t classes, float *values, int first, int second, dq_error *error) {
  char path[40];
  snprintf(path, sizeof path, "/tmp/test_eval_%d.pgm", (int)getpid());
  FILE *file = fopen(path, "wb");
  fprintf(file, "P5 2 1 255 %c%c", first, second);
  fclose(file);
  dq_tensor output = {DQ_F32, 4, {1, classes, 1, 2}, values};
  const dq_tensor *outputs[] = {&output};
  const char *names[] = {"y"};
  const dq_task_options options = {.task = "segment",
                                   .decode.output_count = 1,
                                   .decode.outputs = &output,
                                   .decode.output_names = names,
                                   .labels = DQ_LABEL_MASK};
  dq_sample_info info = {.name = "p", .kind = DQ_LABEL_MASK, .label_path = path, .view = {.scale_x = 1, .scale_y = 1}};
  dq_status status = dq_task_open(task, &options, NULL, error);
  if (status == DQ_OK) status = dq_task_add(*task, outputs, 0, &info, error);
  unlink(path);
  return status;
}

// The figures of that picture.
static dq_result segment_with(int64_t classes, float *values, int first, int second) {
  dq_task *task;
  dq_error error;
  dq_result result;
  if (add_segment(&task, classes, values, first, second, &error) != DQ_OK) fail_msg("%s", error.message);
  assert_int_equal(dq_task_result(task, &result, &error), DQ_OK);
  dq_task_free(task);
  return result;
}

// The same of foreground and background, class 1 and 0.
static dq_result segment_of(int64_t classes, float *values) {
  return segment_with(classes, values, classes == 1 ? 255 : 1, 0);
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

static void classify_task(void **state) {
  (void)state;
  dq_error error;
  dq_task *task;
  float scores[2][3] = {{1, 2, 3}, {9, 2, 3}};
  dq_tensor output = {DQ_F32, 2, {2, 3}, scores};
  const dq_tensor *outputs[] = {&output};
  const char *names[] = {"y"};
  dq_task_options options = {.decode.output_count = 1,
                             .decode.outputs = &output,
                             .decode.output_names = names,
                             .labels = DQ_LABEL_CLASS,
                             .classes = 4};
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
  assert_false(result.has_parts);
  dq_task_free(task);
  options.task = "guess";
  assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_USAGE);
  options.task = "detect";
  assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_BAD_INPUT);
}

// Pictures 3 to 22 of two processes, of which the first four are wrong: those of parts 3 to 6 (of one picture each, but
// that parts 3 to 6 have another one, which is right).
static void parts_of_pictures(void **state) {
  (void)state;
  dq_error error;
  dq_task *task;
  dq_tensor output = {DQ_F32, 2, {1, 2}, (float[]){1, 2}};
  const dq_tensor *outputs[] = {&output};
  const char *names[] = {"y"};
  const dq_task_options options = {.decode.output_count = 1,
                                   .decode.outputs = &output,
                                   .decode.output_names = names,
                                   .labels = DQ_LABEL_CLASS,
                                   .classes = 2};
  dq_result result;
  assert_int_equal(dq_task_open(&task, &options, NULL, &error), DQ_OK);
  dq_task_begin_at(task, 3);
  for (int p = 0; p < 20; p++) {
    const dq_sample_info info = {.name = "p", .kind = DQ_LABEL_CLASS, .label = p >= 4};
    assert_int_equal(dq_task_add(task, outputs, 0, &info, &error), DQ_OK);
    assert_int_equal(dq_task_result(task, &result, &error), DQ_OK);
    assert_int_equal(result.has_parts, p >= 15);
  }
  NEAR(result.figures[0].value, 80);
  for (int p = 0; p < DQ_RESULT_PARTS; p++)
    NEAR(result.without[p], p >= 3 && p < 7 ? 100 * 15.0 / 18 : 100 * 15.0 / 19);
  dq_task_free(task);
}

// One head of one cell and one anchor as large as the input: logits of 0 give the centre, exp(0)
// the full size, so the box is the whole picture; its score is the product of two sigmoids.
static float cell[7] = {0, 0, 0, 0, 20, -20, 20};
static dq_tensor cell_head = {DQ_F32, 4, {1, 7, 1, 1}, cell};
static const dq_tensor *const cell_heads[] = {&cell_head};

static dq_task *open_cell(void) {
  static const char *const names[] = {"head"};
  dq_error error;
  dq_task *task;
  dq_task_options options = {.decode.output_count = 1,
                             .decode.outputs = &cell_head,
                             .decode.output_names = names,
                             .decode.decode = "yolo:classes=2,anchors=32x16",
                             .decode.input_width = 32,
                             .decode.input_height = 16,
                             .labels = DQ_LABEL_BOXES};
  if (dq_task_open(&task, &options, NULL, &error) != DQ_OK) fail_msg("%s", error.message);
  return task;
}

static dq_sample_info boxes_of(const char *path) {
  return (dq_sample_info){
      .name = "p", .kind = DQ_LABEL_BOXES, .label_path = path, .width = 100, .height = 100, .view = {1, 1, 0, 0}};
}

// A file of labels, whose name replaces the last letters of the template `path`.
static void write_labels(char *path, const char *text) {
  int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, text, strlen(text)), strlen(text));
  close(file);
}

static void detect_task(void **state) {
  (void)state;
  dq_error error;
  char path[] = "/tmp/test_eval_XXXXXX";
  write_labels(path, "1 0.5 0.5 1 0.8\r\n0 0.1 0.1 0.1 0.1\n");
  dq_task *task = open_cell();
  const dq_sample_info info = boxes_of(path);
  assert_int_equal(dq_task_add(task, cell_heads, 0, &info, &error), DQ_OK);
  dq_result result;
  assert_int_equal(dq_task_result(task, &result, &error), DQ_OK);
  NEAR(result.figures[0].value, 50); // class 1 is found (overlap 0.8), class 0 is not
  NEAR(result.figures[3].value, 1);
  dq_task_free(task);
  unlink(path);
}

// A line of labels that cannot be read ends the measurement, with the file and the line.
static void labels_that_cannot_be_read(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } bad[] = {{"1 0.5 0.5 1 1\n\n0 0.5 0.5 1\n", ": line 3: 4 numbers, expected five"},
             {"1 0.5 0.5 1 one\n", ": line 1: expected five numbers"},
             {"1 0.5 0.5 1 1 1\n", ": line 1: expected five numbers"},
             {"1 0.5 0.5 inf 1\n", ": line 1: expected five numbers"},
             {"1 0.5 0.5 1 1\n2 0.5 0.5 1 1\n", ": line 2: class 2, the model has 2 classes"},
             {"-1 0.5 0.5 1 1\n", ": line 1: class -1, expected a whole number from 0"},
             {"0.5 0.5 0.5 1 1\n", ": line 1: class 0.5, expected a whole number from 0"}};
  for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
    dq_error error;
    char path[] = "/tmp/test_eval_XXXXXX";
    write_labels(path, bad[b].text);
    dq_task *task = open_cell();
    const dq_sample_info info = boxes_of(path);
    assert_int_equal(dq_task_add(task, cell_heads, 0, &info, &error), DQ_BAD_INPUT);
    assert_non_null(strstr(error.message, path));
    assert_non_null(strstr(error.message, bad[b].message));
    dq_task_free(task);
    unlink(path);
  }
}

// The whole picture is found in all of four pictures, of which the first and the third have such a box and the others
// none: precisions 1, 1/2, 2/3, 2/4 at recalls 1/2, 1/2, 1, 1.
static void pictures_without_boxes(void **state) {
  (void)state;
  dq_error error;
  char path[] = "/tmp/test_eval_XXXXXX", empty[] = "/tmp/test_eval_XXXXXX";
  write_labels(path, "1 0.5 0.5 1 1\n");
  write_labels(empty, "");
  dq_task *task = open_cell();
  for (int picture = 0; picture < 4; picture++) {
    const dq_sample_info info = boxes_of(picture % 2 ? empty : path);
    if (dq_task_add(task, cell_heads, 0, &info, &error) != DQ_OK) fail_msg("%s", error.message);
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

// A mask is foreground above 127, a map above 0.5; of equal scores the first class counts.
static void pixels_at_the_bound(void **state) {
  (void)state;
  NEAR(segment_with(1, (float[]){1, 1}, 127, 128).figures[0].value, 2.0 / 3); // Dice of two found and one there
  NEAR(segment_with(1, (float[]){0.5f, 1}, 0, 255).figures[0].value, 1);
  NEAR(segment_with(1, (float[]){nextafterf(0.5f, 1), 1}, 0, 255).figures[0].value, 2.0 / 3);
  NEAR(segment_with(2, (float[]){3, 3, 3, 3}, 0, 1).figures[1].value, 50);
  NEAR(segment_with(3, (float[]){1, 0, 2, 7, 2, 7}, 1, 1).figures[1].value, 100);
}

// The largest class is that in front of the number of channels, which is at most 255; 255 in a mask is left out.
static void classes_of_masks(void **state) {
  (void)state;
  enum { MOST = 255 };
  static float values[2 * (MOST + 1)];
  dq_error error;
  dq_task *task;
  values[2 * (MOST - 1)] = 1;
  NEAR(segment_with(MOST, values, MOST - 1, 0).figures[1].value, 100);
  NEAR(segment_with(MOST, values, MOST, 1).figures[1].value, 0); // one pixel, of class 1
  assert_int_equal(add_segment(&task, 2, values, 2, 0, &error), DQ_BAD_INPUT);
  assert_string_equal(strstr(error.message, "the mask"), "the mask has class 2, the model has 2 classes");
  dq_task_free(task);
  assert_int_equal(add_segment(&task, MOST + 1, values, 0, 0, &error), DQ_BAD_INPUT);
}

// Labels lie from 0 to below the number of classes, of which there are two at least; with six, five can be right.
static void labels_at_the_bound(void **state) {
  (void)state;
  for (int64_t classes = 1; classes <= 6; classes++) {
    dq_error error;
    dq_task *task;
    dq_result result;
    float scores[6] = {6, 5, 4, 3, 2, 1};
    const dq_tensor output = {DQ_F32, 2, {1, classes}, scores}, *outputs[] = {&output};
    const char *names[] = {"y"};
    const dq_task_options options = {.task = "classify",
                                     .decode.output_count = 1,
                                     .decode.outputs = &output,
                                     .decode.output_names = names,
                                     .labels = DQ_LABEL_CLASS};
    assert_int_equal(dq_task_open(&task, &options, NULL, &error), classes < 2 ? DQ_BAD_INPUT : DQ_OK);
    if (classes < 2) continue;
    for (int64_t label = -1; label <= classes; label++) {
      const dq_sample_info info = {.name = "p", .kind = DQ_LABEL_CLASS, .label = label};
      const bool good = label >= 0 && label < classes;
      assert_int_equal(dq_task_add(task, outputs, 0, &info, &error), good ? DQ_OK : DQ_BAD_INPUT);
    }
    assert_int_equal(dq_task_result(task, &result, &error), DQ_OK);
    NEAR(result.figures[0].value, 100.0 / (double)classes);
    assert_int_equal(result.count, classes > 5 ? 2 : 1);
    if (classes > 5) NEAR(result.figures[1].value, 100.0 * 5 / 6);
    dq_task_free(task);
  }
}

// Two boxes of class 0 with these sizes and one corner, of scores 1 and 0.5, in a network of 320 x 320 pixels; AP50 of
// two boxes that are there, each like one of them, and of as many more as `text` has.
static double precision_of_two(float width, float height, const char *text) {
  enum { CANDIDATES = 40 * 40 + 20 * 20 + 10 * 10 };
  static float fields[5][CANDIDATES];
  static const dq_tensor output = {DQ_F32, 3, {1, 5, CANDIDATES}, fields};
  static const dq_tensor *const outputs[] = {&output};
  static const char *const names[] = {"y"};
  const float boxes[2][5] = {{100, 100, 200, 200, 1}, {width / 2, height / 2, width, height, 0.5f}};
  for (int f = 0; f < 5; f++) fields[f][0] = boxes[0][f], fields[f][CANDIDATES - 1] = boxes[1][f];
  const dq_task_options options = {.decode.output_count = 1,
                                   .decode.outputs = &output,
                                   .decode.output_names = names,
                                   .decode.decode = "yolov8",
                                   .decode.input_width = 320,
                                   .decode.input_height = 320,
                                   .labels = DQ_LABEL_BOXES};
  char path[] = "/tmp/test_eval_XXXXXX";
  dq_error error;
  dq_result result;
  dq_task *task;
  write_labels(path, text);
  dq_sample_info info = boxes_of(path);
  info.width = info.height = 320;
  if (dq_task_open(&task, &options, NULL, &error) != DQ_OK) fail_msg("%s", error.message);
  if (dq_task_add(task, outputs, 0, &info, &error) != DQ_OK) fail_msg("%s", error.message);
  assert_int_equal(dq_task_result(task, &result, &error), DQ_OK);
  dq_task_free(task);
  unlink(path);
  return result.figures[0].value;
}

// 200 x 90 of 200 x 200 pixels are an overlap of 0.45, which stays, and a hundredth of a row more is one that does not.
// Of two boxes that a detection overlaps alike it has the first one: the second detection, 90 x 200, has the other one,
// its left half, when that stands behind the right half, and none when it stands in front.
static void detections_at_the_bound(void **state) {
  (void)state;
  NEAR(precision_of_two(200, 90, "0 0.3125 0.3125 0.625 0.625\n0 0.3125 0.140625 0.625 0.28125\n"), 100);
  NEAR(precision_of_two(200, 90.01f, "0 0.3125 0.3125 0.625 0.625\n0 0.3125 0.140625 0.625 0.28125\n"), 50);
  NEAR(precision_of_two(90, 200, "0 0.46875 0.3125 0.3125 0.625\n0 0.15625 0.3125 0.3125 0.625\n"), 100);
  NEAR(precision_of_two(90, 200, "0 0.15625 0.3125 0.3125 0.625\n0 0.46875 0.3125 0.3125 0.625\n"), 50);
}

// Of a box of 100 x 100 in class 1: an overlap of exactly 0.5 is enough, of two boxes alike in overlap the first one is
// taken, and the second detection has the other; class, suppression and number of pictures as everywhere.
static void overlaps_at_the_bound(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double percent;                                                                          // mAP50
  } cases[] = {{"1 0.5 0.5 1 0.5\n", 100},                                                   // 5,000 of 10,000 pixels
               {"1 0.5 0.25 0.5 0.5\n", 0},                                                  // a quarter
               {"1 0.5 0.5 1 0.499999\n", 0}, {"1 0.5 0.5 1 2\n", 100},                      // twice as high
               {"1 0.5 0.5 1 2.015625\n", 0},                                                // and a bit more
               {"1 0.5 0.5 2 2\n", 0},        {"1 0.5 0.25 1 0.5\n1 0.5 0.75 1 0.5\n", 50}}; // one detection, two boxes
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_error error;
    dq_result result;
    char path[] = "/tmp/test_eval_XXXXXX";
    write_labels(path, cases[i].text);
    dq_task *task = open_cell();
    const dq_sample_info info = boxes_of(path);
    if (dq_task_add(task, cell_heads, 0, &info, &error) != DQ_OK) fail_msg("%s", error.message);
    assert_int_equal(dq_task_result(task, &result, &error), DQ_OK);
    if (fabs(result.figures[0].value - cases[i].percent) > 1e-9) fail_msg("case %zu: %g", i, result.figures[0].value);
    dq_task_free(task);
    unlink(path);
  }
}

// Suppression takes boxes that overlap by more than the threshold, not those that overlap by as much.
static void suppression_at_the_bound(void **state) {
  (void)state;
  const dq_box boxes[2] = {{0, 0, 4, 4}, {0, 0, 4, 2}}; // an overlap of 8 / 16
  const double scores[2] = {0.5, 0.75};
  int64_t keep[2];
  assert_int_equal(dq_nms(boxes, scores, 2, 0.5, keep), 2);
  assert_true(keep[0] == 1 && keep[1] == 0);
  assert_int_equal(dq_nms(boxes, scores, 2, nextafter(0.5, 0), keep), 1);
  assert_int_equal(keep[0], 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(top_one_and_five),           cmocka_unit_test(no_scores_are_wrong),
      cmocka_unit_test(dice_of_three_pictures),     cmocka_unit_test(confusion_of_three_classes),
      cmocka_unit_test(overlap_and_suppression),    cmocka_unit_test(average_precision),
      cmocka_unit_test(segments_of_no_scores),      cmocka_unit_test(classify_task),
      cmocka_unit_test(parts_of_pictures),          cmocka_unit_test(detect_task),
      cmocka_unit_test(labels_that_cannot_be_read), cmocka_unit_test(pictures_without_boxes),
      cmocka_unit_test(overlaps_at_the_bound),      cmocka_unit_test(suppression_at_the_bound),
      cmocka_unit_test(pixels_at_the_bound),        cmocka_unit_test(classes_of_masks),
      cmocka_unit_test(labels_at_the_bound),        cmocka_unit_test(detections_at_the_bound)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
