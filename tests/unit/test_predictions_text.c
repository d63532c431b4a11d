// Predictions as lines of text.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "lib/report/predictions/plane_shares.h"
#include "lib/report/predictions/predictions_text.h"

static const char *const items[] = {"cat", "do\033g", "a longer name"};
static const dq_label_names NAMES = {items, 3};

static void check(const dq_predictions *predictions, const dq_label_names *names, const dq_change *changes, bool lost,
                  const char *expected) {
  char *text;
  size_t size;
  FILE *stream = open_memstream(&text, &size);
  (lost ? dq_predictions_print_lost : dq_predictions_print)(stream, predictions, names, changes);
  fclose(stream);
  assert_string_equal(text, expected);
  free(text);
}

static void objects(void **state) {
  (void)state;
  const double points[][3] = {{1, 2.25, 0.5}, {300, 4, 1}};
  const uint8_t mask[] = {1, 0, 1, 1};
  const dq_prediction list[] = {
      {.label = 2, .score = 0.9876, .box = {0, 1.25, 100, 2000.5}},
      {.label = 1, .score = 0.5, .box = {1, 2, 3, 4}, .rotated = true, .corners = {{1, 2}, {3, 2}, {3, 4}, {1, 4}}},
      {.label = 3, .score = 0.4, .keypoints = 2, .points = points},
      {.label = -1, .score = 0.3, .mask = mask, .mask_box = {0, 0, 2, 2}}};
  const dq_predictions found = {.kind = DQ_PREDICT_OBJECTS, .form = "yolov8", .objects = list, .count = 4};
  static const char all[] =
      "  4 objects (yolov8)\n"
      "   0.988      0.0     1.2   100.0  2000.5  a longer name\n"
      "   0.500      1.0     2.0     3.0     4.0  do?g  corners 1.0,2.0 3.0,2.0 3.0,4.0 1.0,4.0\n"
      "   0.400      0.0     0.0     0.0     0.0  class 3  keypoints 1.0,2.2,0.50 300.0,4.0,1.00\n"
      "   0.300      0.0     0.0     0.0     0.0    mask of 3 pixels\n";
  check(&found, &NAMES, NULL, false, all);
  const dq_predictions one = {.kind = DQ_PREDICT_OBJECTS, .form = "end2end", .objects = list, .count = 1};
  check(&one, NULL, NULL, false, "  1 object (end2end)\n   0.988      0.0     1.2   100.0  2000.5  class 2\n");
}

static void changes(void **state) {
  (void)state;
  const dq_prediction list[] = {{.score = 0.9}, {.score = 0.8}, {.score = 0.7}, {.score = 0.1}};
  const dq_change of[] = {DQ_CHANGE_KEPT, DQ_CHANGE_MOVED, DQ_CHANGE_ALONE, DQ_CHANGE_HIDDEN};
  const dq_predictions found = {.kind = DQ_PREDICT_OBJECTS, .form = "yolox", .objects = list, .count = 4};
#define AT_0 "      0.0     0.0     0.0     0.0  "
  check(&found, &NAMES, of, false,
        "  3 objects (yolox)\n   0.900" AT_0 "cat\n   0.800" AT_0 "cat  moved\n   0.700" AT_0 "cat  appeared\n");
  check(&found, &NAMES, of, true, "   0.800" AT_0 "cat  was here\n   0.700" AT_0 "cat  vanished\n");
  check(&found, &NAMES, NULL, true, "");
  const dq_predictions map = {.kind = DQ_PREDICT_MAP};
  check(&map, &NAMES, of, true, "");
}

// A plane of 4 x 4 of which rows 1 and 2 show the picture.
static void planes(void **state) {
  (void)state;
  const int32_t labels[] = {5, 5, 5, 5, 0, 1, 1, 7, -1, 1, 1, 0, 5, 5, 5, 5};
  const float values[] = {99, 99, 99, 99, 1, 2, 3, NAN, INFINITY, -2, 0, 0.5f, 99, 99, 99, -99};
  dq_predictions found = {.kind = DQ_PREDICT_POINTS,
                          .view = {.scale_x = 1, .scale_y = 2, .offset_y = 0.25},
                          .plane = {.height = 4, .width = 4, .labels = labels, .classes = 8}};
  check(&found, &NAMES, NULL, false,
        "   50.00 % of the points  do?g\n   25.00 % of the points  cat\n   12.50 % of the points  no class: NaN or "
        "infinite\n   12.50 % of the points  class 7\n");
  found.kind = DQ_PREDICT_MAP, found.plane = (dq_prediction_plane){.height = 4, .width = 4, .values = values};
  check(&found, NULL, NULL, false, "  map: least -2, mean 0.75, greatest 3, 2 points are NaN or infinite\n");
  found.view.offset_y = 7; // no point shows the picture
  const dq_plane_bounds bounds = dq_plane_bounds_of(&found);
  assert_true(isnan(bounds.least) && isnan(bounds.mean) && isnan(bounds.greatest) && !bounds.nonfinite);
  found.kind = DQ_PREDICT_POINTS, found.plane.labels = labels, found.plane.classes = 8;
  check(&found, NULL, NULL, false, "");
  dq_share *shares;
  assert_int_equal(dq_plane_shares(&found, &shares), 0);
  free(shares);
  const dq_predictions none = {.kind = DQ_PREDICT_NONE}, vectors = {.kind = DQ_PREDICT_CLASSES};
  check(&none, NULL, NULL, false, "");
  check(&vectors, NULL, NULL, false, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(objects), cmocka_unit_test(changes), cmocka_unit_test(planes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
