// Predictions drawn on pictures, whose PNG files are read back.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "datasets/image/image.h"
#include "lib/draw/canvas_png.h"
#include "lib/draw/palette.h"
#include "lib/report/predictions/predictions_picture.h"
#include "tests/unit/drawn.h"

enum { GREY = 0x646464 };
static const dq_view WHOLE = {.scale_x = 1, .scale_y = 1};

static int number_of(dq_colour colour) { return colour.red << 16 | colour.green << 8 | colour.blue; }

// Half of a colour over grey, half up, as the veil of classes is.
static int veiled(dq_colour colour) {
  return (colour.red + 101) / 2 << 16 | (colour.green + 101) / 2 << 8 | (colour.blue + 101) / 2;
}

// The predictions on a grey canvas, as its PNG holds them; the caller frees the pixels.
static dq_canvas drawn(const dq_predictions *predictions, const dq_change *changes, int width, int height) {
  dq_canvas canvas;
  assert_int_equal(dq_canvas_init(&canvas, width, height, (dq_colour){100, 100, 100}, NULL, NULL), DQ_OK);
  assert_int_equal(dq_predictions_draw(&canvas, predictions, NULL, changes, NULL), DQ_OK);
  char path[] = "/tmp/drawnXXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  assert_int_equal(dq_canvas_write_png(&canvas, path, NULL), DQ_OK);
  dq_image image;
  assert_int_equal(dq_image_read(&image, path, NULL, NULL), DQ_OK);
  remove(path);
  assert_int_equal(image.width, width);
  assert_int_equal(image.height, height);
  assert_int_equal(image.channels, 3);
  dq_canvas_deinit(&canvas);
  return (dq_canvas){image.width, image.height, image.pixels, NULL};
}

// A picture of 100 x 50 enlarged four times. Lines are a pixel thick (200 / 220, rounded).
static void boxes(void **state) {
  (void)state;
  const dq_prediction list[] = {{.label = 1, .score = 0.9, .box = {10, 20, 60, 40}},
                                {.label = 3, .score = 0.1, .box = {70, 20, 90, 40}}};
  const dq_predictions found = {
      .kind = DQ_PREDICT_OBJECTS, .width = 100, .height = 50, .view = WHOLE, .objects = list, .count = 2};
  const int colour = number_of(dq_palette_colour(1));
  dq_canvas canvas = drawn(&found, (const dq_change[]){DQ_CHANGE_KEPT, DQ_CHANGE_HIDDEN}, 400, 200);
  assert_int_equal(pixel(&canvas, 40, 120), colour); // left side
  assert_int_equal(pixel(&canvas, 39, 120), GREY);
  assert_int_equal(pixel(&canvas, 41, 120), GREY);    // a line of one pixel
  assert_int_equal(pixel(&canvas, 239, 120), colour); // right
  assert_int_equal(pixel(&canvas, 240, 120), GREY);
  assert_int_equal(pixel(&canvas, 230, 80), colour);  // top
  assert_int_equal(pixel(&canvas, 200, 159), colour); // bottom
  assert_int_equal(pixel(&canvas, 40, 78), colour);   // the label stands on the corner
  assert_int_equal(pixel(&canvas, 280, 120), GREY);   // the hidden one
  dq_budget_free(canvas.pixels);
  canvas = drawn(&found, (const dq_change[]){DQ_CHANGE_ALONE, DQ_CHANGE_HIDDEN}, 400, 200);
  assert_int_equal(pixel(&canvas, 42, 120), colour); // three pixels
  assert_int_equal(pixel(&canvas, 43, 120), GREY);
  dq_budget_free(canvas.pixels);
}

static void masks_corners_and_keypoints(void **state) {
  (void)state;
  const uint8_t mask[] = {1, 0, 0, 1};
  const double points[][3] = {{80, 25, 1}, {90, 25, 0.25}};
  const dq_prediction list[] = {
      {.label = 0, .score = 0.9, .box = {10, 20, 12, 22}, .mask = mask, .mask_box = {10, 20, 2, 2}},
      {.label = 1,
       .score = 0.8,
       .box = {30, 20, 50, 40},
       .rotated = true,
       .corners = {{40, 20}, {50, 30}, {40, 40}, {30, 30}}},
      {.label = 2, .score = 0.7, .box = {70, 20, 95, 30}, .keypoints = 2, .points = points}};
  const dq_predictions found = {
      .kind = DQ_PREDICT_OBJECTS, .width = 100, .height = 50, .view = WHOLE, .objects = list, .count = 3};
  dq_canvas canvas = drawn(&found, NULL, 400, 200);
  assert_int_not_equal(pixel(&canvas, 42, 82), GREY);
  assert_int_equal(pixel(&canvas, 45, 82), GREY); // the mask is 0 there
  assert_int_not_equal(pixel(&canvas, 45, 86), GREY);
  assert_int_equal(pixel(&canvas, 122, 82), GREY); // the box around a rotated one is not drawn
  assert_int_not_equal(pixel(&canvas, 140, 100), GREY);
  assert_int_equal(pixel(&canvas, 320, 100), number_of(dq_palette_colour(2)));
  assert_int_equal(pixel(&canvas, 360, 100), GREY); // a keypoint of a low score
  dq_budget_free(canvas.pixels);
}

// Columns with the classes 0, 1, 256 and none; the plane covers twice the height of the picture.
static void classes_of_points(void **state) {
  (void)state;
  const int32_t labels[] = {0, 1, 256, -1, 0, 1, 256, -1};
  const dq_predictions found = {.kind = DQ_PREDICT_POINTS,
                                .width = 400,
                                .height = 200,
                                .view = {.scale_x = 1, .scale_y = 2, .offset_y = 0.25},
                                .plane = {.height = 2, .width = 4, .labels = labels, .classes = 300}};
  dq_canvas canvas = drawn(&found, NULL, 400, 200);
  assert_int_equal(pixel(&canvas, 90, 190), GREY);
  assert_int_equal(pixel(&canvas, 150, 190), veiled(dq_palette_colour(1)));
  assert_int_equal(pixel(&canvas, 250, 190), veiled(dq_palette_colour(2))); // 1 + 256 mod 255
  assert_int_equal(pixel(&canvas, 350, 190), GREY);
  // A legend of four lines of 11 pixels; no class comes first as its number is the least.
  assert_int_equal(pixel(&canvas, 0, 5), number_of(dq_palette_colour(0)));
  assert_int_equal(pixel(&canvas, 0, 27), number_of(dq_palette_colour(1)));
  assert_int_equal(pixel(&canvas, 0, 38), number_of(dq_palette_colour(2)));
  assert_int_equal(pixel(&canvas, 0, 60), GREY);
  dq_budget_free(canvas.pixels);
}

static void maps_and_classes(void **state) {
  (void)state;
  const float values[] = {0, 1, NAN, 1};
  dq_predictions found = {.kind = DQ_PREDICT_MAP,
                          .width = 200,
                          .height = 100,
                          .view = WHOLE,
                          .plane = {.height = 1, .width = 4, .values = values}};
  dq_canvas canvas = drawn(&found, NULL, 400, 200);
  assert_int_not_equal(pixel(&canvas, 10, 100), pixel(&canvas, 150, 100));
  assert_int_equal(pixel(&canvas, 150, 100), pixel(&canvas, 390, 100));
  assert_int_equal(pixel(&canvas, 250, 100), GREY);
  dq_budget_free(canvas.pixels);
  const dq_prediction list[] = {{.label = 4, .score = 0.5}, {.label = 9, .score = NAN}};
  found = (dq_predictions){.kind = DQ_PREDICT_CLASSES, .width = 400, .height = 200, .objects = list, .count = 2};
  canvas = drawn(&found, NULL, 400, 200);
  assert_int_equal(pixel(&canvas, 0, 5), number_of(dq_palette_colour(4)));
  assert_int_equal(pixel(&canvas, 0, 16), number_of(dq_palette_colour(9)));
  dq_budget_free(canvas.pixels);
  found.kind = DQ_PREDICT_NONE;
  canvas = drawn(&found, NULL, 400, 200);
  for (int i = 0; i < 400 * 200; i++) assert_int_equal(pixel(&canvas, i % 400, i / 400), GREY);
  dq_budget_free(canvas.pixels);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(boxes), cmocka_unit_test(masks_corners_and_keypoints),
                                     cmocka_unit_test(classes_of_points), cmocka_unit_test(maps_and_classes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
