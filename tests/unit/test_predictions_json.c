// Predictions as JSON, parsed back.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "lib/report/predictions/predictions_json.h"

static const char *const items[] = {"cat", "\"dog\"\n\033\xff"}, *const outputs[] = {"y", "a \"b\""};
static const dq_label_names NAMES = {items, 2};

static json_t *parsed(const dq_predictions *predictions, const dq_change *changes) {
  const dq_predictions_subject subject = {
      .picture = "dir/a\t\\.ppm", .output_names = outputs, .names = &NAMES, .changes = changes};
  char *text;
  size_t size;
  FILE *stream = open_memstream(&text, &size);
  assert_true(dq_predictions_json(stream, predictions, &subject));
  fclose(stream);
  json_error_t error;
  json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
  if (!json) fail_msg("%s: %s", error.text, text);
  free(text);
  assert_string_equal(json_string_value(json_object_get(json, "picture")), "dir/a\t\\.ppm");
  return json;
}

static void check_numbers(const json_t *array, const double *expected, size_t count) {
  assert_int_equal(json_array_size(array), count);
  for (size_t i = 0; i < count; i++) assert_true(json_number_value(json_array_get(array, i)) == expected[i]);
}

static const json_t *entry(const json_t *json, const char *key, size_t index) {
  return json_array_get(json_object_get(json, key), index);
}

static void objects(void **state) {
  (void)state;
  const double points[][3] = {{1, 2.25, 0.5}, {3, 4, 1}};
  const dq_prediction list[] = {
      {.label = 0, .score = 0.5, .box = {0, 1.25, 3, 4}},
      {.label = 1, .score = 0.4, .rotated = true, .corners = {{1, 2}, {3, 4}, {5, 6}, {7, 8}}},
      {.label = 2, .score = 0.3, .keypoints = 2, .points = points},
      {.label = -1, .score = 0.2}};
  const dq_change changes[] = {DQ_CHANGE_KEPT, DQ_CHANGE_MOVED, DQ_CHANGE_HIDDEN, DQ_CHANGE_ALONE};
  const dq_predictions found = {
      .kind = DQ_PREDICT_OBJECTS, .form = "yolov8", .width = 9, .height = 8, .objects = list, .count = 4};
  json_t *json = parsed(&found, NULL);
  assert_int_equal(json_integer_value(json_object_get(json, "width")), 9);
  assert_int_equal(json_integer_value(json_object_get(json, "height")), 8);
  assert_string_equal(json_string_value(json_object_get(json, "kind")), "objects");
  assert_string_equal(json_string_value(json_object_get(json, "form")), "yolov8");
  assert_int_equal(json_array_size(json_object_get(json, "objects")), 4);
  const json_t *first = entry(json, "objects", 0), *second = entry(json, "objects", 1);
  const json_t *third = entry(json, "objects", 2);
  assert_string_equal(json_string_value(json_object_get(first, "name")), "cat");
  check_numbers(json_object_get(first, "box"), &list[0].box.x1, 4);
  assert_true(json_number_value(json_object_get(first, "score")) == 0.5);
  assert_null(json_object_get(first, "corners"));
  assert_null(json_object_get(first, "change"));
  assert_string_equal(json_string_value(json_object_get(second, "name")), "\"dog\"\n\033\xef\xbf\xbd");
  for (size_t k = 0; k < 4; k++) check_numbers(entry(second, "corners", k), list[1].corners[k], 2);
  assert_null(json_object_get(third, "name"));
  for (size_t k = 0; k < 2; k++) check_numbers(entry(third, "keypoints", k), points[k], 3);
  assert_int_equal(json_integer_value(json_object_get(entry(json, "objects", 3), "class")), -1);
  json_decref(json);
  json = parsed(&found, changes);
  assert_int_equal(json_array_size(json_object_get(json, "objects")), 3);
  static const char *const words[] = {"kept", "moved", "alone"};
  for (size_t i = 0; i < 3; i++)
    assert_string_equal(json_string_value(json_object_get(entry(json, "objects", i), "change")), words[i]);
  json_decref(json);
}

// The runs of a mask, decoded, are its pixels, wherever it lies.
static void masks(void **state) {
  (void)state;
  enum { WIDE = 5, HIGH = 4 };
  for (int64_t left = 0; left <= WIDE; left++)
    for (int64_t top = 0; top <= HIGH; top++)
      for (int64_t width = 0; left + width <= WIDE; width++)
        for (int64_t height = 0; top + height <= HIGH; height++)
          for (int pattern = 0; pattern < 4; pattern++) {
            uint8_t mask[WIDE * HIGH], full[WIDE][HIGH] = {{0}};
            for (int64_t i = 0; i < width * height; i++) {
              mask[i] = (uint8_t)(pattern < 2 ? pattern : (i * 7 / 3 + pattern) % 2);
              full[left + i % width][top + i / width] = mask[i];
            }
            const dq_prediction object = {.mask = mask, .mask_box = {left, top, width, height}};
            const dq_predictions found = {
                .kind = DQ_PREDICT_OBJECTS, .form = "", .width = WIDE, .height = HIGH, .objects = &object, .count = 1};
            json_t *json = parsed(&found, NULL);
            const json_t *rle = json_object_get(entry(json, "objects", 0), "mask");
            check_numbers(json_object_get(rle, "size"), (const double[]){HIGH, WIDE}, 2);
            const json_t *counts = json_object_get(rle, "counts");
            int64_t at = 0;
            for (size_t i = 0; i < json_array_size(counts); i++) {
              const int64_t run = json_integer_value(json_array_get(counts, i));
              assert_true(run > 0 || i == 0);
              assert_true(run >= 0 && at + run <= WIDE * HIGH);
              for (int64_t end = at + run; at < end; at++) assert_int_equal((&full[0][0])[at], i % 2);
            }
            assert_int_equal(at, WIDE * HIGH);
            json_decref(json);
          }
}

static void other_kinds(void **state) {
  (void)state;
  const dq_prediction list[] = {{.label = 1, .score = INFINITY}, {.label = 5, .score = -0.5, .output = 1}};
  dq_predictions found = {.kind = DQ_PREDICT_CLASSES, .form = "classify", .objects = list, .count = 2};
  json_t *json = parsed(&found, NULL);
  assert_true(json_is_null(json_object_get(entry(json, "classes", 0), "score")));
  assert_string_equal(json_string_value(json_object_get(entry(json, "classes", 1), "output")), "a \"b\"");
  json_decref(json);
  const int32_t labels[] = {0, 1, 1, -1};
  const float values[] = {0, 1.5f, NAN, 3};
  found = (dq_predictions){.kind = DQ_PREDICT_POINTS,
                           .form = "segment",
                           .view = {.scale_x = 1, .scale_y = 1},
                           .plane = {.height = 2, .width = 2, .labels = labels, .classes = 2}};
  json = parsed(&found, NULL);
  assert_int_equal(json_array_size(json_object_get(json, "shares")), 3);
  assert_int_equal(json_integer_value(json_object_get(entry(json, "shares", 0), "class")), 1);
  assert_true(json_number_value(json_object_get(entry(json, "shares", 0), "percent")) == 50);
  assert_int_equal(json_integer_value(json_object_get(entry(json, "shares", 1), "class")), -1);
  json_decref(json);
  found.kind = DQ_PREDICT_MAP, found.plane = (dq_prediction_plane){.height = 2, .width = 2, .values = values};
  json = parsed(&found, NULL);
  const json_t *map = json_object_get(json, "map");
  assert_true(json_number_value(json_object_get(map, "mean")) == 1.5);
  assert_int_equal(json_integer_value(json_object_get(map, "nonfinite")), 1);
  json_decref(json);
  found.view.offset_x = 9;
  json = parsed(&found, NULL);
  assert_true(json_is_null(json_object_get(json_object_get(json, "map"), "least")));
  json_decref(json);
  found.kind = DQ_PREDICT_NONE;
  json = parsed(&found, NULL);
  assert_string_equal(json_string_value(json_object_get(json, "kind")), "none");
  json_decref(json);
}

static void full_disk(void **state) {
  (void)state;
  FILE *stream = fopen("/dev/full", "w");
  if (!stream) skip();
  setvbuf(stream, NULL, _IONBF, 0);
  const dq_predictions none = {.kind = DQ_PREDICT_NONE, .form = "none"};
  assert_false(dq_predictions_json(stream, &none, &(dq_predictions_subject){.picture = "p"}));
  fclose(stream);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(objects), cmocka_unit_test(masks), cmocka_unit_test(other_kinds),
                                     cmocka_unit_test(full_disk)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
