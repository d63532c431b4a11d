// Quadrilaterals of pictures as pictures, by hand: whole pixels, half pixels, turned lines, a projection, corners
// outside, and corners that are none.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "datasets/image/image.h"

// A picture whose pixel in column x and row y is 10 * y + x, plus 100 for each further channel.
static dq_image numbered(int width, int height, int channels) {
  dq_image image;
  dq_error error = {0};
  assert_int_equal(dq_image_init(&image, width, height, channels, NULL, &error), DQ_OK);
  for (int i = 0; i < width * height * channels; i++) {
    const int pixel = i / channels;
    image.pixels[i] = (uint8_t)(10 * (pixel / width) + pixel % width + 100 * (i % channels));
  }
  return image;
}

static void check(const dq_image *source, const double corners[4][2], int width, int height, const int *expected) {
  dq_image crop;
  dq_error error = {0};
  assert_int_equal(dq_image_crop(&crop, source, corners, &error), DQ_OK);
  assert_int_equal(crop.width, width);
  assert_int_equal(crop.height, height);
  assert_int_equal(crop.channels, source->channels);
  for (int i = 0; i < width * height && expected; i++)
    for (int c = 0; c < crop.channels; c++) assert_int_equal(crop.pixels[i * crop.channels + c], expected[i] + 100 * c);
  dq_image_deinit(&crop);
}

static void whole_pixels(void **state) {
  (void)state;
  for (int channels = 1; channels <= 3; channels += 2) {
    dq_image image = numbered(6, 5, channels);
    check(&image, (const double[4][2]){{1, 1}, {4, 1}, {4, 3}, {1, 3}}, 3, 2, (int[]){11, 12, 13, 21, 22, 23});
    // Read from the right, upside down: the first corner is the lower right one.
    check(&image, (const double[4][2]){{4, 3}, {1, 3}, {1, 1}, {4, 1}}, 3, 2, (int[]){34, 33, 32, 24, 23, 22});
    // 3 / 2 as high as wide: turned counterclockwise, what was on the right lies above.
    check(&image, (const double[4][2]){{1, 1}, {3, 1}, {3, 4}, {1, 4}}, 3, 2, (int[]){12, 22, 32, 11, 21, 31});
    // 4 / 3: not turned.
    check(&image, (const double[4][2]){{0, 0}, {3, 0}, {3, 4}, {0, 4}}, 3, 4,
          (int[]){0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32});
    // Outside the outermost pixels go on.
    check(&image, (const double[4][2]){{-7, -2}, {-4, -2}, {-4, 0}, {-7, 0}}, 3, 2, (int[]){0, 0, 0, 0, 0, 0});
    check(&image, (const double[4][2]){{4, 4}, {7, 4}, {7, 6}, {4, 6}}, 3, 2, (int[]){44, 45, 45, 44, 45, 45});
    dq_image_deinit(&image);
  }
}

// Between samples weights are -3, 19, 19 and -3 of 32.
static void half_pixels(void **state) {
  (void)state;
  dq_image image = numbered(5, 1, 1);
  memcpy(image.pixels, (uint8_t[]){0, 64, 128, 0, 0}, 5);
  // (19 * (64 + 128) - 3 * (0 + 0)) / 32 = 114, (19 * 128 - 3 * 64) / 32 = 70, (-3 * 128) / 32 < 0.
  check(&image, (const double[4][2]){{1.5, 0}, {4.5, 0}, {4.5, 1}, {1.5, 1}}, 3, 1, (int[]){114, 70, 0});
  memcpy(image.pixels, (uint8_t[]){0, 255, 255, 0, 0}, 5); // 302.8
  check(&image, (const double[4][2]){{1.5, 0}, {2.5, 0}, {2.5, 1}, {1.5, 1}}, 1, 1, (int[]){255});
  dq_image_deinit(&image);
}

// The corners (0, 0), (3, 0), (6, 6), (0, 6): (u, v) of the unit square goes to (3 u, 3 v) / (1 - v / 2), which is
// (4.5 u, 3) at v = 2 / 3. The crop has 6 x 6 pixels, as the sides have 3, 6, 6 and 6.7.
static void a_projection(void **state) {
  (void)state;
  dq_image image = numbered(8, 8, 1), crop;
  dq_error error = {0};
  const double corners[4][2] = {{0, 0}, {3, 0}, {6, 6}, {0, 6}};
  assert_int_equal(dq_image_crop(&crop, &image, corners, &error), DQ_OK);
  assert_int_equal(crop.width, 6);
  assert_int_equal(crop.height, 6);
  assert_int_equal(crop.pixels[0], 0);
  assert_int_equal(crop.pixels[2], 1);
  assert_int_equal(crop.pixels[4], 2);
  assert_int_equal(crop.pixels[4 * 6], 30);
  assert_int_equal(crop.pixels[4 * 6 + 4], 33);
  dq_image_deinit(&crop);
  dq_image_deinit(&image);
}

static void corners_that_are_none(void **state) {
  (void)state;
  dq_image image = numbered(6, 5, 1), crop;
  dq_error error = {0};
  const double bad[][4][2] = {{{1, 1}, {1.5, 1}, {1.5, 3}, {1, 3}},
                              {{NAN, 1}, {4, 1}, {4, 3}, {1, 3}},
                              {{1, 1}, {4, INFINITY}, {4, 3}, {1, 3}},
                              {{0, 0}, {100001, 0}, {100001, 3}, {0, 3}}};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(dq_image_crop(&crop, &image, bad[i], &error), DQ_BAD_INPUT);
    assert_string_equal(error.message, "a part of a picture whose sides are not 1 to 100000 pixels long");
    assert_null(crop.pixels);
  }
  // Three corners on a line complete a parallelogram; a knot has a line without an image, whose pixels are some.
  check(&image, (const double[4][2]){{1, 1}, {3, 1}, {3, 2}, {3, 3}}, 2, 2, (int[]){11, 12, 22, 23});
  check(&image, (const double[4][2]){{0, 0}, {4, 4}, {4, 0}, {0, 4}}, 5, 4, NULL);
  dq_budget budget = {.limit = 100};
  image.budget = &budget;
  assert_int_equal(dq_image_crop(&crop, &image, (const double[4][2]){{0, 0}, {50, 0}, {50, 50}, {0, 50}}, &error),
                   DQ_SYSTEM);
  dq_image_deinit(&image);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(whole_pixels), cmocka_unit_test(half_pixels),
                                     cmocka_unit_test(a_projection), cmocka_unit_test(corners_that_are_none)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
