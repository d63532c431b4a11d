// What a network says of a picture, in its coordinates, against results by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/predicting.h"

#define CLOSE(a, b) assert_true(fabs((a) - (b)) < 1e-4) // pixels, of numbers in float32

// A picture of 200 x 100 pixels in an input of 40 x 40: it takes rows 10 to 30. A pixel of the input is 5 of the
// picture.
static const dq_sample_info WIDE = {
    .name = "wide", .width = 200, .height = 100, .view = {.scale_x = 1, .scale_y = 2, .offset_y = 0.25}};

static dq_predictions read_one(dq_predictor **predictor, const reading *how, int count, const dq_tensor *const *outputs,
                               const dq_sample_info *info) {
  dq_predictions predictions;
  dq_error error = {0};
  if (open_reading(predictor, how, count, outputs, NULL, &error) != DQ_OK ||
      dq_predict(*predictor, outputs, 0, info, &predictions, &error) != DQ_OK)
    fail_msg("%s", error.message);
  return predictions;
}

static void check_box(const dq_prediction *object, double x1, double y1, double x2, double y2) {
  CLOSE(object->box.x1, x1);
  CLOSE(object->box.y1, y1);
  CLOSE(object->box.x2, x2);
  CLOSE(object->box.y2, y2);
}

static const reading LIST = {.decode = "end2end", .height = 40, .width = 40};

static void boxes_in_a_letterbox(void **state) {
  (void)state;
  float rows[][6] = {{4, 12, 10, 20, 0.5f, 3},    // inside
                     {-8, 5, 50, 35, 0.75f, 1},   // over all sides: clipped
                     {2, 1, 9, 8, 0.875f, 0},     // in the padding above: without an area
                     {20, 30, 12, 14, 0.375f, 2}, // its sides in the other order
                     {4, 12, 10, 20, 0.25f, 3},   // the score is not above 0.25
                     {4, 12, NAN, 20, 0.9f, 3}};  // no box
  const dq_tensor output = {DQ_F32, 3, {1, 6, 6}, rows}, *outputs = &output;
  dq_predictor *predictor;
  const dq_predictions found = read_one(&predictor, &LIST, 1, &outputs, &WIDE);
  assert_int_equal(found.kind, DQ_PREDICT_OBJECTS);
  assert_string_equal(found.form, "end2end");
  assert_int_equal(found.count, 4);
  const int64_t labels[] = {0, 1, 3, 2};
  for (int i = 0; i < 4; i++) assert_int_equal(found.objects[i].label, labels[i]);
  check_box(&found.objects[0], 10, 0, 45, 0);
  check_box(&found.objects[1], 0, 0, 200, 100);
  check_box(&found.objects[2], 20, 10, 50, 50);
  check_box(&found.objects[3], 60, 20, 100, 100);
  assert_true(found.objects[2].score == 0.5 && !found.objects[2].rotated && !found.objects[2].mask);
  dq_predictor_free(predictor);
}

// 40 x 16 pixels around (80, 50) of a picture that is stretched by 2 to the right and by 1 downwards, turned by 90
// degrees in the input: 8 to the right and 20 downwards there.
static void rotated_boxes(void **state) {
  (void)state;
  float rows[][7] = {{40, 20, 20, 8, 0.5f, 0, (float)(acos(-1) / 2)}, {40, 20, 20, 8, 0.25f, 1, 0}};
  const dq_tensor output = {DQ_F32, 3, {1, 2, 7}, rows}, *outputs = &output;
  const dq_sample_info info = {.width = 160, .height = 40, .view = {.scale_x = 1, .scale_y = 1}};
  const reading how = {.task = "obb", .score = 0.1, .height = 40, .width = 80};
  dq_predictor *predictor;
  const dq_predictions found = read_one(&predictor, &how, 1, &outputs, &info);
  assert_int_equal(found.count, 2);
  const dq_prediction *turned = &found.objects[0], *level = &found.objects[1];
  // Upper left before the turn: (-10, -4) becomes (4, -10) clockwise.
  const double corners[2][4][2] = {{{88, 10}, {88, 30}, {72, 30}, {72, 10}},
                                   {{60, 16}, {100, 16}, {100, 24}, {60, 24}}};
  for (int k = 0; k < 4; k++)
    for (int d = 0; d < 2; d++) {
      CLOSE(turned->corners[k][d], corners[0][k][d]);
      CLOSE(level->corners[k][d], corners[1][k][d]);
    }
  assert_true(turned->rotated && level->rotated);
  check_box(turned, 72, 10, 88, 30);
  check_box(level, 60, 16, 100, 24);
  dq_predictor_free(predictor);
}

// A picture of 40 x 40 in an input of 40 x 40. The rotated box of 40 x 8 around (38, 20) lies at 18 to 58; its corners
// stay there, and the box ends with the picture.
static void rotated_boxes_over_a_side(void **state) {
  (void)state;
  float rows[][7] = {{38, 20, 40, 8, 0.5f, 0, 0}};
  const dq_tensor output = {DQ_F32, 3, {1, 1, 7}, rows}, *outputs = &output;
  const dq_sample_info info = {.width = 40, .height = 40, .view = {.scale_x = 1, .scale_y = 1}};
  const reading how = {.task = "obb", .height = 40, .width = 40};
  dq_predictor *predictor;
  const dq_predictions found = read_one(&predictor, &how, 1, &outputs, &info);
  assert_int_equal(found.count, 1);
  const double corners[4][2] = {{18, 16}, {58, 16}, {58, 24}, {18, 24}};
  for (int k = 0; k < 4; k++)
    for (int d = 0; d < 2; d++) CLOSE(found.objects[0].corners[k][d], corners[k][d]);
  check_box(&found.objects[0], 18, 16, 40, 24);
  dq_predictor_free(predictor);
}

// 21 cells of two classes: of a cell the class with the higher score is the answer, of equal ones the first.
static void one_class_of_a_cell(void **state) {
  (void)state;
  float fields[6][21] = {{8, 24, 8}, {8, 8, 24}, {4, 4, 4}, {4, 4, 4}, {0.5f, 0.5f, 0.375f}, {0.375f, 0.5f, 0.625f}};
  const dq_tensor output = {DQ_F32, 3, {1, 6, 21}, fields}, *outputs = &output;
  const dq_sample_info info = {.width = 32, .height = 32, .view = {.scale_x = 1, .scale_y = 1}};
  const reading how = {.decode = "yolov8", .height = 32, .width = 32};
  dq_predictor *predictor;
  const dq_predictions found = read_one(&predictor, &how, 1, &outputs, &info);
  assert_int_equal(found.count, 3);
  const int64_t labels[] = {1, 0, 0};
  for (int i = 0; i < 3; i++) assert_int_equal(found.objects[i].label, labels[i]);
  check_box(&found.objects[0], 6, 22, 10, 26);
  dq_predictor_free(predictor);
}

// Two squares of a map, of the values 1/2 and 3/4, which are 64 of the 81 cells of their regions: scores 0.395 and
// 0.593. Regions of text have 0.5 or more, and half of that where a comparison looks for them.
static void regions_of_text(void **state) {
  (void)state;
  float map[32][32] = {0};
  for (int y = 4; y < 12; y++)
    for (int x = 4; x < 12; x++) map[y][x] = 0.5f, map[y + 16][x + 16] = 0.75f;
  const dq_tensor output = {DQ_F32, 4, {1, 1, 32, 32}, map}, *outputs = &output;
  const dq_sample_info info = {.width = 32, .height = 32, .view = {.scale_x = 1, .scale_y = 1}};
  const int counts[] = {1, 2, 2};
  for (int i = 0; i < 3; i++) {
    const reading how = {.decode = "text-regions",
                         .score = i == 1 ? 0.3 : 0,
                         .halved = i == 2,
                         .operator= "Sigmoid",
                         .height = 32,
                         .width = 32};
    dq_predictor *predictor;
    const dq_predictions found = read_one(&predictor, &how, 1, &outputs, &info);
    assert_int_equal(found.count, counts[i]);
    assert_true(dq_predictor_shown(predictor) == (i == 1 ? 0.3 : 0.5));
    dq_predictor_free(predictor);
  }
}

static void keypoints(void **state) {
  (void)state;
  float three[] = {4, 12, 10, 20, 0.5f, 0, 8, 20, 0.75f, -3, 50, 0.25f},
        two[] = {4, 12, 10, 20, 0.5f, 0, 8, 20, 40, 10};
  for (int numbers = 3; numbers >= 2; numbers--) {
    const dq_tensor output = {DQ_F32, 3, {1, 1, 6 + 2 * numbers}, numbers == 3 ? three : two}, *outputs = &output;
    const reading how = {.task = "pose", .kpt_shape = numbers == 3 ? "[2, 3]" : "[2, 2]", .height = 40, .width = 40};
    dq_predictor *predictor;
    const dq_predictions found = read_one(&predictor, &how, 1, &outputs, &WIDE);
    assert_int_equal(found.count, 1);
    const dq_prediction *object = &found.objects[0];
    assert_int_equal(object->keypoints, 2);
    CLOSE(object->points[0][0], 40);
    CLOSE(object->points[0][1], 50);
    CLOSE(object->points[0][2], numbers == 3 ? 0.75 : 1);
    CLOSE(object->points[1][0], numbers == 3 ? 0 : 200); // moved into the picture
    CLOSE(object->points[1][1], numbers == 3 ? 100 : 0);
    dq_predictor_free(predictor);
  }
}

// Two planes of 4 x 4 on an input of 32 x 32; the weights 1 and -2 leave columns with the logits -3, -1, 1, 3. Their
// centres lie at 4, 12, 20, 28 of the input, so that the sum is 0 at 16, which is 64 of the picture.
static void masks(void **state) {
  (void)state;
  float planes[2][4][4], rows[][8] = {{14.125f, 12, 24.125f, 20, 0.5f, 0, 1, -2}, // 56.5 to 96.5
                                      {30, 12, 22, 20, 0.375f, 0, 1, -2},
                                      {2, 0, 30, 5, 0.3125f, 0, 1, -2}};
  for (int y = 0; y < 4; y++)
    for (int x = 0; x < 4; x++) planes[0][y][x] = (float)(2 * x - 3 + 2 * y), planes[1][y][x] = (float)y;
  const dq_tensor list = {DQ_F32, 3, {1, 3, 8}, rows}, map = {DQ_F32, 4, {1, 2, 4, 4}, planes};
  const dq_tensor *const outputs[2] = {&list, &map};
  dq_predictor *predictor;
  const reading how = {.decode = "end2end", .height = 32, .width = 32};
  const dq_sample_info info = {.width = 128, .height = 64, .view = WIDE.view};
  const dq_predictions found = read_one(&predictor, &how, 2, outputs, &info);
  assert_int_equal(found.count, 3);
  const dq_prediction *object = &found.objects[0];
  const int64_t box[4] = {57, 16, 40, 32};
  for (int i = 0; i < 4; i++) assert_int_equal(object->mask_box[i], box[i]);
  for (int64_t y = 0; y < 32; y++)
    for (int64_t x = 0; x < 40; x++) assert_int_equal(object->mask[y * 40 + x], x >= 7); // 57 + 7
  object = &found.objects[1];                                                            // its sides in the other order
  assert_int_equal(object->mask_box[0], 88);
  assert_int_equal(object->mask_box[2], 32);
  for (int64_t i = 0; i < 32 * 32; i++) assert_int_equal(object->mask[i], 1);
  assert_int_equal(found.objects[2].mask_box[3], 0); // in the padding: no pixels
  assert_non_null(found.objects[2].mask);
  dq_predictor_free(predictor);
}

static void masks_within_the_memory(void **state) {
  (void)state;
  float planes[4] = {1, 1, 1, 1}, row[7] = {0, 0, 40, 40, 0.5f, 0, 1};
  const dq_tensor list = {DQ_F32, 3, {1, 1, 7}, row}, map = {DQ_F32, 4, {1, 1, 2, 2}, planes};
  const dq_tensor *const outputs[2] = {&list, &map};
  dq_budget budget = {.limit = 100000};
  const dq_context context = {.budget = &budget};
  const dq_sample_info large = {.width = 20000, .height = 20000, .view = {.scale_x = 1, .scale_y = 1}};
  dq_predictor *predictor;
  dq_predictions predictions;
  dq_error error;
  assert_int_equal(open_reading(&predictor, &LIST, 2, outputs, &context, &error), DQ_OK);
  assert_int_equal(dq_predict(predictor, outputs, 0, &large, &predictions, &error), DQ_SYSTEM);
  assert_int_equal(dq_predict(predictor, outputs, 0, &WIDE, &predictions, &error), DQ_OK);
  assert_int_equal(predictions.count, 1);
  dq_predictor_free(predictor);
}

static const reading PLANE = {.height = 4, .width = 6};

static void classes_of_points(void **state) {
  (void)state;
  float first[3][2][3] = {{{0, 1, 2}, {0, NAN, 5}}, {{1, 1, 1}, {-INFINITY, 0, 0}}, {{2, 0, 3}, {-1, 0, INFINITY}}};
  float last[2][3][3];
  for (int c = 0; c < 3; c++)
    for (int p = 0; p < 6; p++) last[p / 3][p % 3][c] = first[c][p / 3][p % 3];
  const int32_t labels[] = {2, 0, 2, 0, -1, -1};
  const dq_tensor tensors[] = {{DQ_F32, 4, {1, 3, 2, 3}, first}, {DQ_F32, 4, {1, 2, 3, 3}, last}};
  for (int k = 0; k < 2; k++) {
    const dq_tensor *outputs = &tensors[k];
    dq_predictor *predictor;
    const dq_predictions found = read_one(&predictor, &PLANE, 1, &outputs, &WIDE);
    assert_int_equal(found.kind, DQ_PREDICT_POINTS);
    assert_string_equal(found.form, "segment");
    assert_int_equal(found.plane.height, 2);
    assert_int_equal(found.plane.width, 3);
    assert_int_equal(found.plane.classes, 3);
    for (int p = 0; p < 6; p++) assert_int_equal(found.plane.labels[p], labels[p]);
    dq_predictor_free(predictor);
  }
}

static void points_of_one_channel(void **state) {
  (void)state;
  float values[2][3] = {{0.5f, 0.625f, 0.25f}, {-1, NAN, 2}};
  const int32_t shares[] = {0, 1, 0, 0, -1, 1}, logits[] = {1, 1, 1, 0, -1, 1};
  const dq_tensor tensors[] = {{DQ_F32, 4, {1, 1, 2, 3}, values}, {DQ_F32, 4, {1, 2, 3, 1}, values}};
  for (int k = 0; k < 4; k++) {
    reading how = PLANE;
    how.operator= k % 2 ? "Relu" : "Sigmoid", how.decode = k % 2 ? "segment" : NULL;
    const dq_tensor *outputs = &tensors[k / 2];
    dq_predictor *predictor;
    const dq_predictions found = read_one(&predictor, &how, 1, &outputs, &WIDE);
    assert_int_equal(found.kind, DQ_PREDICT_POINTS);
    assert_int_equal(found.plane.classes, 1);
    for (int p = 0; p < 6; p++) assert_int_equal(found.plane.labels[p], k % 2 ? logits[p] : shares[p]);
    dq_predictor_free(predictor);
  }
}

static void maps(void **state) {
  (void)state;
  float values[2][3] = {{0.5f, -7, 1e30f}, {-1, NAN, 2}};
  const dq_tensor tensors[] = {
      {DQ_F32, 3, {1, 2, 3}, values}, {DQ_F32, 4, {1, 1, 2, 3}, values}, {DQ_F32, 4, {1, 2, 3, 1}, values}};
  for (int k = 0; k < 3; k++) {
    const dq_tensor *outputs = &tensors[k];
    dq_predictor *predictor;
    const dq_predictions found = read_one(&predictor, &PLANE, 1, &outputs, &WIDE);
    assert_int_equal(found.kind, DQ_PREDICT_MAP);
    assert_int_equal(found.plane.height, 2);
    for (int p = 0; p < 6; p++)
      assert_true(isnan(values[p / 3][p % 3]) ? isnan(found.plane.values[p])
                                              : found.plane.values[p] == values[p / 3][p % 3]);
    dq_predictor_free(predictor);
  }
}

// Rows that do not have the proportions of the input are no map unless somebody says so.
static void rows_are_no_map(void **state) {
  (void)state;
  float values[3 * 6] = {0};
  const dq_tensor output = {DQ_F32, 3, {1, 3, 6}, values}, *outputs = &output;
  reading how = {.height = 16, .width = 16};
  dq_predictor *predictor;
  assert_int_equal(read_one(&predictor, &how, 1, &outputs, &WIDE).kind, DQ_PREDICT_NONE);
  dq_predictor_free(predictor);
  how.decode = "map";
  assert_int_equal(read_one(&predictor, &how, 1, &outputs, &WIDE).kind, DQ_PREDICT_MAP);
  dq_predictor_free(predictor);
}

static void vectors(void **state) {
  (void)state;
  float a[] = {1, NAN, 3, 3}, b[] = {5, 7}, picture[12] = {0};
  const dq_tensor tensors[] = {
      {DQ_F32, 2, {1, 4}, a}, {DQ_F32, 4, {1, 3, 2, 2}, picture}, {DQ_F32, 4, {1, 2, 1, 1}, b}};
  const dq_tensor *const outputs[3] = {&tensors[0], &tensors[1], &tensors[2]};
  const reading how = {.top = 3, .height = 8, .width = 8};
  dq_predictor *predictor;
  const dq_predictions found = read_one(&predictor, &how, 3, outputs, &WIDE);
  assert_int_equal(found.kind, DQ_PREDICT_CLASSES);
  assert_int_equal(found.count, 5);
  const int64_t labels[] = {2, 3, 0, 1, 0};
  const double scores[] = {3, 3, 1, 7, 5};
  for (int i = 0; i < 5; i++) {
    assert_int_equal(found.objects[i].label, labels[i]);
    assert_true(found.objects[i].score == scores[i]);
    assert_int_equal(found.objects[i].output, i < 3 ? 0 : 2);
  }
  dq_predictor_free(predictor);
}

static void what_is_asked_for(void **state) {
  (void)state;
  dq_error error = {0};
  assert_int_equal(dq_predict_check(NULL, &error), DQ_OK);
  int count = 0;
  for (; dq_predict_name(count); count++) assert_int_equal(dq_predict_check(dq_predict_name(count), &error), DQ_OK);
  assert_true(count > 6);
  assert_string_equal(dq_predict_name(0), "text");
  assert_int_equal(dq_predict_check("segments", &error), DQ_USAGE);
  float values[2] = {0};
  const dq_tensor output = {DQ_F32, 2, {1, 2}, values}, *outputs = &output;
  static const char *const names[] = {"segment", "map", "end2end", "yolov8"};
  for (int i = 0; i < 4; i++) {
    dq_predictor *predictor;
    const reading how = {.decode = names[i], .height = 8, .width = 8};
    memset(&error, 0, sizeof error);
    assert_int_equal(open_reading(&predictor, &how, 1, &outputs, NULL, &error), DQ_BAD_INPUT);
    assert_null(predictor);
    assert_non_null(strstr(error.hint, "fit"));
    if (i < 2) assert_string_equal(error.hint, "these fit: text, classify, none");
  }
  dq_predictor_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(boxes_in_a_letterbox),
      cmocka_unit_test(rotated_boxes),
      cmocka_unit_test(rotated_boxes_over_a_side),
      cmocka_unit_test(one_class_of_a_cell),
      cmocka_unit_test(regions_of_text),
      cmocka_unit_test(keypoints),
      cmocka_unit_test(masks),
      cmocka_unit_test(masks_within_the_memory),
      cmocka_unit_test(classes_of_points),
      cmocka_unit_test(points_of_one_channel),
      cmocka_unit_test(maps),
      cmocka_unit_test(rows_are_no_map),
      cmocka_unit_test(vectors),
      cmocka_unit_test(what_is_asked_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
