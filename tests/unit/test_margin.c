// Margins of ranges: the end with the least expected error by hand, what is recorded of pictures, when no margin is
// given.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "calib/calib.h"

// 10000 elements, pictures with the largest values 4 and 3: the mean excess is 1 (4 - 3), and the derivative of
// 10000 u^2 / (12 * 255^2) + 2 / 3 e^(4 - u) is 0 at u = 5.55; of the ends 4 (1 + k / 32), 5.5 is next.
static void end_by_hand(void **state) {
  (void)state;
  const dq_picture_ends ends[2] = {{{4, 3, -INFINITY, -INFINITY}}, {{4, 3, -INFINITY, -INFINITY}}};
  assert_true(dq_end_with_margin(ends, 1, 10000, 2, 0) == 5.5);
  assert_true(dq_end_with_margin(ends, 2, 20000, 2, 0) == 5.5);
  // A wider range has coarser steps, so that its end moves less.
  assert_true(dq_end_with_margin(ends, 1, 10000, 2, 4) == 5);
  // Gaps of 1, 0.5 and 1 / 3 between four pictures are a mean excess of 1 too; of four another one passes 4 in one of
  // five cases.
  const dq_picture_ends four = {{4, 3, 2.5f, 2.5f - 1.0f / 3}};
  assert_true(dq_end_with_margin(&four, 1, 6000, 4, 0) == 5.5);
}

static void no_margin_where_nothing_is_expected(void **state) {
  (void)state;
  const dq_picture_ends equal = {{4, 4, 4, 4}}, unlike = {{4, 3, 2, 1}}, below = {{-1, -2, -3, -4}};
  assert_true(dq_end_with_margin(&equal, 1, 10, 4, 0) == 4);
  assert_true(dq_end_with_margin(&unlike, 1, 10, 1, 0) == 4);  // one picture shows no scatter
  assert_true(dq_end_with_margin(&unlike, 1, 1e7, 4, 0) == 4); // rounding of many elements costs more
  assert_true(dq_end_with_margin(&below, 1, 10, 4, 5) == 0);
}

static dq_value_ends ends_of(int64_t channels) {
  dq_value_ends ends;
  void *memory = malloc(dq_value_ends_bytes(channels));
  assert_non_null(memory);
  dq_value_ends_init(&ends, channels, memory);
  return ends;
}

static void add_tensor(dq_value_ends *ends, const dq_tensor *tensor) {
  double numbers[17];
  const int64_t channels = dq_channels_of(tensor);
  assert_true(dq_value_ends_numbers(channels) <= 17 && dq_value_ends_channels(5) == 2);
  dq_value_ends_of(tensor, channels, numbers, NULL);
  dq_value_ends_add(ends, numbers, channels);
}

static void ends_of_pictures(void **state) {
  (void)state;
  dq_value_ends ends = ends_of(2);
  float pictures[3][4] = {{1, -2, 3, 4}, {5, NAN, 0.5f, 0}, {2, 2, -7, INFINITY}};
  for (int p = 0; p < 3; p++) {
    const dq_tensor tensor = {.type = DQ_F32, .rank = 4, .dims = {1, 2, 1, 2}, .data = pictures[p]};
    assert_int_equal(dq_channels_of(&tensor), 2);
    add_tensor(&ends, &tensor);
  }
  assert_true(ends.pictures == 3 && ends.elements == 4);
  const float high[2][3] = {{5, 2, 1}, {4, 0.5f, -7}}, low[2][3] = {{2, -2, -5}, {7, 0, -3}};
  for (int c = 0; c < 2; c++)
    for (int i = 0; i < 3; i++) assert_true(ends.high[c].of[i] == high[c][i] && ends.low[c].of[i] == low[c][i]);
  assert_true(isinf(ends.high[0].of[3]));
  free(ends.high);
}

// Several planes of a channel are one picture; a sequence has no channels on axis 1.
static void shapes_of_pictures(void **state) {
  (void)state;
  float elements[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const dq_tensor windows = {.type = DQ_F32, .rank = 4, .dims = {2, 2, 1, 2}, .data = elements};
  const dq_tensor sequence = {.type = DQ_F32, .rank = 3, .dims = {1, 4, 2}, .data = elements};
  const dq_tensor row = {.type = DQ_F32, .rank = 2, .dims = {1, 8}, .data = elements};
  dq_value_ends ends = ends_of(2);
  add_tensor(&ends, &windows);
  assert_true(ends.high[0].of[0] == 6 && isinf(ends.high[0].of[1]) && ends.high[1].of[0] == 8);
  add_tensor(&ends, &row); // as channel 0
  assert_true(ends.high[0].of[0] == 8 && ends.high[0].of[1] == 6 && ends.low[0].of[1] == -1 && ends.pictures == 2);
  assert_true(ends.high[1].of[0] == 8 && isinf(ends.high[1].of[1]));
  free(ends.high);
  assert_int_equal(dq_channels_of(&row), 8);
  assert_int_equal(dq_channels_of(&sequence), 1);
  ends = ends_of(1);
  add_tensor(&ends, &sequence);
  assert_true(ends.high[0].of[0] == 8 && ends.low[0].of[0] == -1);
  free(ends.high);
}

// What a rule cuts off stays cut off; an end that is kept is scaled, the other one too where it is.
static void ranges_with_margins(void **state) {
  (void)state;
  dq_value_ends ends = ends_of(1);
  ends.high[0] = (dq_picture_ends){{4, 3, -INFINITY, -INFINITY}};
  ends.low[0] = (dq_picture_ends){{-1, -2, -INFINITY, -INFINITY}};
  ends.elements = 10000, ends.pictures = 2;
  const dq_histogram histogram = {.minimum = 1, .maximum = 4};
  dq_range_pair range = dq_range_with_margins((dq_range_pair){0, 4}, &histogram, &ends);
  assert_true(range.low == 0 && range.high == 5.5f);
  range = dq_range_with_margins((dq_range_pair){1, 3.9f}, &histogram, &ends);
  assert_true(range.low == 1 && range.high == (float)(5.5 / 4 * (double)3.9f));
  range = dq_range_with_margins((dq_range_pair){1, 3.8f}, &histogram, &ends);
  assert_true(range.low == 1 && range.high == 3.8f);
  // Ends stay finite numbers of float32.
  ends.high[0] = (dq_picture_ends){{3e38f, 1e38f, -INFINITY, -INFINITY}};
  ends.elements = 10;
  range = dq_range_with_margins((dq_range_pair){0, 3e38f}, &(dq_histogram){.minimum = 0, .maximum = 3e38f}, &ends);
  assert_true(range.low == 0 && range.high > 3e38f && range.high < INFINITY);
  free(ends.high);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(end_by_hand),         cmocka_unit_test(no_margin_where_nothing_is_expected),
      cmocka_unit_test(ends_of_pictures),    cmocka_unit_test(shapes_of_pictures),
      cmocka_unit_test(ranges_with_margins),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
