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
static float cell[7] = {0, 0, 0, 0, 20, -20, 20};
static dq_tensor cell_head = {DQ_F32, 4, {1, 7, 1, 1}, cell};
static const dq_tensor *const cell_heads[] = {&cell_head};

static dq_task *open_cell(void) {
  static const char *const names[] = {"head"};
  dq_error error;
  dq_task *task;
  dq_task_options options = {.output_count = 1,
                             .outputs = &cell_head,
                             .output_names = names,
                             .decode = "yolo:classes=2,anchors=32x16",
                             .input_width = 32,
                             .input_height = 16,
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
             {"1 0.5 0.5 inf 1\n", ": line 1: expected five numbers"}};
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
                                     cmocka_unit_test(classify_task),
                                     cmocka_unit_test(detect_task),
                                     cmocka_unit_test(labels_that_cannot_be_read),
                                     cmocka_unit_test(pictures_without_boxes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
