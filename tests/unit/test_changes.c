// What two networks say of the same picture, by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/predict/changes.h"

static dq_predictions objects(const dq_prediction *list, int64_t count) {
  return (dq_predictions){.kind = DQ_PREDICT_OBJECTS, .objects = list, .count = count};
}

static dq_changes changes_of(const dq_predictions *reference, const dq_predictions *other) {
  dq_changes changes;
  assert_int_equal(dq_changes_find(&changes, reference, other, 0.25, NULL), DQ_OK);
  return changes;
}

// Boxes of 12 x 4: one that is moved by 4 to the right overlaps by 8/16, by 5 by 7/17, by 9 by 3/21, by 10 by 2/22.
#define BOX(x, class, value)                                                                                           \
  {                                                                                                                    \
    .label = class, .score = value, .box = { x, 0, (x) + 12, 4 }                                                       \
  }

static void changes_of_boxes(void **state) {
  (void)state;
  const dq_prediction own[] = {BOX(0, 1, 0.9),   BOX(100, 1, 0.8), BOX(200, 1, 0.7), BOX(300, 1, 0.6), BOX(400, 1, 0.5),
                               BOX(500, 1, 0.4), BOX(600, 1, 0.2), BOX(700, 1, 0.2), BOX(800, 1, 0.25)};
  const dq_prediction others[] = {BOX(4, 1, 0.9),   BOX(105, 1, 0.8), BOX(209, 1, 0.7),
                                  BOX(310, 1, 0.6), BOX(400, 2, 0.5), BOX(500, 1, 0.2),
                                  BOX(600, 1, 0.4), BOX(700, 1, 0.2), BOX(900, 1, 0.3)};
  enum { K = DQ_CHANGE_KEPT, M = DQ_CHANGE_MOVED, A = DQ_CHANGE_ALONE, H = DQ_CHANGE_HIDDEN };
  const int expected[2][9] = {{K, M, M, A, A, K, K, H, H}, {K, M, M, A, A, K, K, H, A}};
  const dq_predictions reference = objects(own, 9), other = objects(others, 9);
  dq_changes changes = changes_of(&reference, &other);
  for (int network = 0; network < 2; network++)
    for (int i = 0; i < 9; i++) assert_int_equal(changes.of[network][i], expected[network][i]);
  assert_int_equal(changes.answers, 6 + 7); // scores above 0.25
  assert_int_equal(changes.equal, 2 + 2);
  for (int network = 0; network < 2; network++) {
    assert_int_equal(changes.moved[network], 2);
    assert_int_equal(changes.alone[network], 2 + network);
  }
  assert_int_equal(changes.masks, 0);
  dq_changes_deinit(&changes);
  const dq_predictions none = objects(NULL, 0);
  changes = changes_of(&none, &other);
  assert_int_equal(changes.alone[1], 7);
  assert_int_equal(changes.answers, 7);
  dq_changes_deinit(&changes);
  dq_changes_deinit(&changes); // zeroed
}

// A box without an area, as one in the padding of a letterbox, is the same in both.
static void boxes_without_an_area(void **state) {
  (void)state;
  const dq_prediction own[] = {{.label = 1, .score = 0.9, .box = {5, 0, 8, 0}}, {.label = 1, .score = 0.8}};
  const dq_predictions same = objects(own, 2);
  dq_changes changes = changes_of(&same, &same);
  assert_int_equal(changes.answers, 4);
  assert_int_equal(changes.equal, 4);
  dq_changes_deinit(&changes);
}

static void masks_of_kept_boxes(void **state) {
  (void)state;
  const uint8_t a[] = {1, 1, 0, 1}, b[] = {1, 1, 1, 0, 0, 0}, none[] = {0};
  dq_prediction own[] = {BOX(0, 1, 0.9), BOX(100, 1, 0.8), BOX(200, 1, 0.2)},
                others[] = {BOX(0, 1, 0.9), BOX(100, 1, 0.8)};
  // Pixels (2, 1), (3, 1), (3, 2) and (3, 1), (4, 1), (5, 1): one in both, five in either.
  own[0].mask = a, own[0].mask_box[0] = 2, own[0].mask_box[1] = 1, own[0].mask_box[2] = own[0].mask_box[3] = 2;
  others[0].mask = b, others[0].mask_box[0] = 3, others[0].mask_box[1] = 1, others[0].mask_box[2] = 3,
  others[0].mask_box[3] = 2;
  own[1].mask = others[1].mask = none; // both are empty
  const dq_predictions reference = objects(own, 3), other = objects(others, 2);
  dq_changes changes = changes_of(&reference, &other);
  assert_int_equal(changes.masks, 2);
  assert_true(fabs(changes.mask_overlap - (1 / 5. + 1)) < 1e-12);
  dq_changes_deinit(&changes);
}

static dq_predictions classes(const dq_prediction *list, int64_t count) {
  return (dq_predictions){.kind = DQ_PREDICT_CLASSES, .objects = list, .count = count};
}

// The first vector has two classes in one network and three in the other.
static void classes_of_vectors(void **state) {
  (void)state;
  const dq_prediction own[] = {{.label = 4, .score = 9},
                               {.label = 1, .score = 8},
                               {.label = 2, .score = 3, .output = 1},
                               {.label = 7, .score = NAN, .output = 3},
                               {.label = 5, .score = 1, .output = 4}};
  const dq_prediction others[] = {{.label = 4, .score = 7},
                                  {.label = 2, .score = 6},
                                  {.label = 1, .score = 5},
                                  {.label = 2, .score = 3, .output = 1},
                                  {.label = 7, .score = NAN, .output = 3},
                                  {.label = 6, .score = 1, .output = 4}};
  const dq_predictions reference = classes(own, 5), other = classes(others, 6);
  dq_changes changes = changes_of(&reference, &other);
  assert_int_equal(changes.answers, 4);
  assert_int_equal(changes.equal, 2);
  assert_null(changes.of[0]);
  dq_changes_deinit(&changes);
}

static void points_of_planes(void **state) {
  (void)state;
  const int32_t a[] = {0, 1, 2, -1, 3, 3}, b[] = {0, 1, 1, -1, 3, -1};
  const dq_predictions own = {.kind = DQ_PREDICT_POINTS, .plane = {.height = 2, .width = 3, .labels = a}};
  dq_predictions other = {.kind = DQ_PREDICT_POINTS, .plane = {.height = 2, .width = 3, .labels = b}};
  dq_changes changes = changes_of(&own, &other);
  assert_int_equal(changes.answers, 6);
  assert_int_equal(changes.equal, 3);
  other.plane.height = 3, other.plane.width = 2; // of another form
  changes = changes_of(&own, &other);
  assert_int_equal(changes.answers, 0);
}

static void without_answers(void **state) {
  (void)state;
  const dq_predictions boxes = objects(NULL, 0), vectors = classes(NULL, 0);
  const dq_predictions map = {.kind = DQ_PREDICT_MAP}, none = {0};
  const dq_predictions *const pairs[][2] = {{&boxes, &vectors}, {&map, &map}, {&none, &none}, {&none, &boxes}};
  for (int i = 0; i < 4; i++) {
    const dq_changes changes = changes_of(pairs[i][0], pairs[i][1]);
    assert_int_equal(changes.answers, 0);
    assert_null(changes.of[0]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(changes_of_boxes),    cmocka_unit_test(boxes_without_an_area),
      cmocka_unit_test(masks_of_kept_boxes), cmocka_unit_test(classes_of_vectors),
      cmocka_unit_test(points_of_planes),    cmocka_unit_test(without_answers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
