// Pictures as they are stored, for data of each form.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "datasets/datasets.h"
#include "datasets/image/image.h"

static char folder[] = "/tmp/picturesXXXXXX";

static int write_pictures(void **state) {
  (void)state;
  if (!mkdtemp(folder) || chdir(folder)) return 1;
  for (int i = 0; i < 3; i++) { // of 2x1 pixels, the values 10 i to 10 i + 5
    const char name[] = {(char)('0' + i), '.', 'p', 'p', 'm', 0};
    FILE *file = fopen(name, "wb");
    if (!file) return 1;
    fputs("P6\n2 1\n255\n", file);
    for (int b = 0; b < 6; b++) fputc(10 * i + b, file);
    fclose(file);
  }
  return 0;
}

static int remove_pictures(void **state) {
  (void)state;
  remove("0.ppm"), remove("1.ppm"), remove("2.ppm");
  return chdir("/") || rmdir(folder);
}

static void check_picture(const dq_data *data, int64_t index, int first) {
  dq_image image;
  assert_int_equal(dq_data_picture(data, index, &image, NULL), DQ_OK);
  assert_int_equal(image.width, 2);
  assert_int_equal(image.height, 1);
  for (int b = 0; b < 6; b++) assert_int_equal(image.pixels[b], first + b);
  dq_image_deinit(&image);
}

static void pictures_views_and_parts(void **state) {
  (void)state;
  dq_data *data, *view, *parts;
  dq_image image;
  char spec[100];
  assert_int_equal(dq_data_open(&data, &(dq_data_options){.spec = folder, .preset = "raw01"}, NULL, NULL), DQ_OK);
  for (int i = 0; i < 3; i++) check_picture(data, i, 10 * i);
  assert_int_equal(dq_data_picture(data, 3, &image, NULL), DQ_BAD_INPUT);
  assert_int_equal(dq_data_picture(data, -1, &image, NULL), DQ_BAD_INPUT);
  dq_image_deinit(&image);
  assert_int_equal(dq_data_view(&view, data, (const int64_t[]){2, 0}, 2, NULL), DQ_OK);
  assert_true(dq_data_is_pictures(view));
  check_picture(view, 0, 20);
  check_picture(view, 1, 0);
  assert_int_equal(dq_data_picture(view, 2, &image, NULL), DQ_BAD_INPUT);
  dq_data_free(view);
  dq_data_free(data);
  snprintf(spec, sizeof spec, "a=%s;b=%s", folder, folder);
  assert_int_equal(dq_data_open(&parts, &(dq_data_options){.spec = spec, .preset = "raw01"}, NULL, NULL), DQ_OK);
  assert_true(dq_data_is_pictures(parts));
  check_picture(parts, 1, 10);
  dq_data_free(parts);
}

static void arrays(void **state) {
  (void)state;
  float values[2 * 5] = {0};
  const dq_data_array array = {.values = {DQ_F32, 2, {2, 5}, values}};
  dq_data *data;
  dq_image image;
  assert_int_equal(
      dq_data_open(&data, &(dq_data_options){.spec = "array", .arrays = &array, .array_count = 1}, NULL, NULL), DQ_OK);
  assert_false(dq_data_is_pictures(data));
  assert_int_equal(dq_data_picture(data, 0, &image, NULL), DQ_UNSUPPORTED);
  assert_null(image.pixels);
  dq_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pictures_views_and_parts), cmocka_unit_test(arrays)};
  return cmocka_run_group_tests(tests, write_pictures, remove_pictures);
}
