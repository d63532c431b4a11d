// Resampling of pictures, on all sizes of a table up and down at once: the bits of Image.resize of Pillow 13, and of
// its convert("L"), recorded as one number for each filter and count of channels; a rectangle is that of the whole
// result.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "datasets/image/image.h"

enum { SIZES = 4, MOST = 31 };
static const int source_width[SIZES] = {1, 2, 5, 13}, source_height[SIZES] = {1, 3, 8, 29};
static const int target_width[SIZES] = {1, 3, 7, 20}, target_height[SIZES] = {1, 2, 9, MOST};

// FNV-1a of 32 bits, from 2166136261 on.
static uint32_t hashed(uint32_t hash, const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) hash = (hash ^ bytes[i]) * 16777619u;
  return hash;
}

// The pixels are the high bytes of a linear congruential generator.
static dq_image picture(int width, int height, int channels, uint32_t *numbers) {
  dq_image image;
  dq_error error = {0};
  assert_int_equal(dq_image_init(&image, width, height, channels, NULL, &error), DQ_OK);
  for (int i = 0; i < width * height * channels; i++)
    image.pixels[i] = (uint8_t)((*numbers = *numbers * 1664525u + 1013904223u) >> 24);
  return image;
}

static dq_image resampled(const dq_image *source, const dq_resampling *to, int width, int height) {
  dq_image target;
  dq_error error = {0};
  assert_int_equal(dq_image_init(&target, width, height, source->channels, NULL, &error), DQ_OK);
  assert_int_equal(dq_image_resample(source, to, &target, &error), DQ_OK);
  return target;
}

// The rectangle at (left, top) of the result, a quarter of it, against the same pixels of the whole.
static void same_part(const dq_image *source, const dq_image *whole, dq_filter filter) {
  const int left = whole->width / 3, top = whole->height / 2;
  const int width = (whole->width + 1) / 2, height = (whole->height + 1) / 2;
  dq_image part = resampled(source, &(dq_resampling){whole->width, whole->height, left, top, filter}, width, height);
  for (int y = 0; y < height; y++)
    assert_memory_equal(part.pixels + y * width * part.channels,
                        whole->pixels + ((top + y) * whole->width + left) * whole->channels,
                        (size_t)(width * part.channels));
  dq_image_deinit(&part);
}

static uint32_t all_sizes(dq_filter filter, int channels) {
  uint32_t numbers = 1, hash = 2166136261u;
  for (int source = 0; source < SIZES * SIZES; source++) {
    dq_image image = picture(source_width[source / SIZES], source_height[source % SIZES], channels, &numbers);
    for (int target = 0; target < SIZES * SIZES; target++) {
      const int width = target_width[target / SIZES], height = target_height[target % SIZES];
      dq_image whole = resampled(&image, &(dq_resampling){width, height, 0, 0, filter}, width, height);
      hash = hashed(hash, whole.pixels, (size_t)(width * height * channels));
      same_part(&image, &whole, filter);
      dq_image_deinit(&whole);
    }
    dq_image_deinit(&image);
  }
  return hash;
}

static void filters(void **state) {
  (void)state;
  assert_int_equal(all_sizes(DQ_FILTER_BILINEAR, 1), 0x724916f3);
  assert_int_equal(all_sizes(DQ_FILTER_BILINEAR, 3), 0x92541dbe);
  assert_int_equal(all_sizes(DQ_FILTER_BICUBIC, 1), 0xc25162a8);
  assert_int_equal(all_sizes(DQ_FILTER_BICUBIC, 3), 0x41a8e1c3);
}

static void nearest(void **state) {
  (void)state;
  uint32_t numbers = 1, hash = 2166136261u;
  uint8_t values[20 * MOST];
  dq_error error = {0};
  for (int source = 0; source < SIZES * SIZES; source++) {
    dq_image image = picture(source_width[source / SIZES], source_height[source % SIZES], 1, &numbers);
    for (int target = 0; target < SIZES * SIZES; target++) {
      const int width = target_width[target / SIZES], height = target_height[target % SIZES];
      assert_int_equal(dq_resize_nearest(image.pixels, image.width, image.height, values, width, height, &error),
                       DQ_OK);
      hash = hashed(hash, values, (size_t)(width * height));
    }
    dq_image_deinit(&image);
  }
  assert_int_equal(hash, 0xaf66a50f);
}

static void grey_and_back(void **state) {
  (void)state;
  uint32_t numbers = 7;
  dq_error error = {0};
  dq_image image = picture(64, 31, 3, &numbers);
  assert_int_equal(dq_image_to_grey(&image, &error), DQ_OK);
  assert_int_equal(image.channels, 1);
  assert_int_equal(hashed(2166136261u, image.pixels, 64 * 31), 0x92aa4cbb);
  uint8_t grey[64 * 31];
  memcpy(grey, image.pixels, sizeof grey);
  assert_int_equal(dq_image_to_rgb(&image, &error), DQ_OK);
  assert_int_equal(image.channels, 3);
  for (int i = 0; i < 3 * 64 * 31; i++) assert_int_equal(image.pixels[i], grey[i / 3]);
  dq_image_deinit(&image);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(filters), cmocka_unit_test(nearest),
                                     cmocka_unit_test(grey_and_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
