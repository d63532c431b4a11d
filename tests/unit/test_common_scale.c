// One scale for sums and their operands, where it gains.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "quant/numeric/common_scale.h"
#include "tests/unit/picture_counts.h"

enum { VALUES = 6, POINTS = 1 << 14 };

typedef struct fixture {
  dq_arena *arena;
  dq_histogram histograms[VALUES];
  dq_summed_value values[VALUES];
  float points[POINTS];
} fixture;

static int start(void **state) {
  static fixture it;
  it = (fixture){.arena = dq_arena_new(0)};
  *state = &it;
  return it.arena ? 0 : -1;
}

static int end(void **state) {
  fixture *it = *state;
  for (int v = 0; v < VALUES; v++) dq_histogram_deinit(&it->histograms[v]);
  dq_arena_free(it->arena);
  return 0;
}

// Value v is spread evenly over low...high, and has that range.
static void spread(fixture *it, int v, float low, float high) {
  dq_histogram_init(&it->histograms[v], NULL);
  for (int i = 0; i < POINTS; i++) it->points[i] = low + (high - low) * ((float)i + 0.5f) / POINTS;
  add_values(&it->histograms[v], it->points, POINTS);
  it->values[v] = (dq_summed_value){&it->histograms[v], {low, high}};
}

static void join(fixture *it, int count, const dq_sum_link *links, int link_count) {
  dq_error error;
  assert_int_equal(dq_common_scales(it->values, count, links, link_count, it->arena, &error), DQ_OK);
}

// Exactly: the ends are whole numbers of the scale.
static void expect_scale(const dq_summed_value *value, float scale, int zero) {
  assert_true(value->range.low == -(float)zero * scale);
  assert_true(value->range.high == (float)(255 - zero) * scale);
}

// Errors of n values in steps of s: n s^2 / 12 each. Three of -1...1: 3 n s^2 / 12; with one scale the sum has
// none, 2 n s^2 / 12. 2^(k/16) next to 2 / 255 are 2^-7 (k = -112), which cuts off 1 / 256 of 1, and 4 % more:
// cut off are 2 n / 2 * (1 / 256)^3 / 3 = 2.0e-8 n per value, counted twice for three values 1.2e-7 n; rounding
// costs 2 n (2^-7)^2 / 12 = 1.017e-5 n, with k = -111 1.109e-5 n. So 2^-7. The step 2^-7 takes the ends to
// -127...128 or -128...127 steps of it; zero is round(127.5) = 128, to the even neighbour.
static void alike_values_are_joined(void **state) {
  fixture *it = *state;
  for (int v = 0; v < 3; v++) spread(it, v, -1, 1);
  join(it, 3, &(dq_sum_link){0, 1, 2}, 1);
  for (int v = 0; v < 3; v++) expect_scale(&it->values[v], 0x1p-7f, 128);
}

// The sum reaches to -4...4: now (1 + 1 + 16) n s^2 / 12, with one scale (16 + 16) n s^2 / 12.
static void wide_sums_stay_apart(void **state) {
  fixture *it = *state;
  spread(it, 0, -1, 1);
  spread(it, 1, -1, 1);
  spread(it, 2, -4, 4);
  join(it, 3, &(dq_sum_link){0, 1, 2}, 1);
  assert_true(it->values[0].range.high == 1 && it->values[2].range.high == 4);
}

// x1 = x0 + p1, x2 = x1 + p2, x0 and both sums behind a rectifier: 5 n s^2 / 12 become those of the terms.
static void chains_have_one_scale(void **state) {
  fixture *it = *state;
  spread(it, 0, 0, 1);          // x0
  spread(it, 1, -0.5f, 0.5f);   // p1
  spread(it, 2, 0, 1);          // x1
  spread(it, 3, -0.25f, 0.75f); // p2
  spread(it, 4, 0, 1);          // x2
  join(it, 5, (dq_sum_link[]){{0, 1, 2}, {2, 3, 4}}, 2);
  const int zeros[] = {0, 128, 0, 64, 0};
  for (int v = 0; v < 5; v++) expect_scale(&it->values[v], 0x1p-8f, zeros[v]);
}

// A link that costs does not keep another from gaining.
static void links_are_taken_one_by_one(void **state) {
  fixture *it = *state;
  for (int v = 0; v < 4; v++) spread(it, v, -1, 1);
  spread(it, 4, -16, 16);
  join(it, 5, (dq_sum_link[]){{0, 1, 2}, {2, 3, 4}}, 2);
  expect_scale(&it->values[2], 0x1p-7f, 128);
  assert_true(it->values[3].range.high == 1 && it->values[4].range.high == 16);
}

// Two links gain about e = n s^2 / 12 each: 5 e become the 3 e of the terms. With a third one, whose sum reaches to
// -1.3...1.3, the three terms cost 1.69 e each: 3 * 1.69 - (3 + 1.69) = 0.38 e are lost, which only the gain of one of
// the first links would make up for. That of the one taken first is in the group of the second's operand or sum. A sum
// of -1.1...1.1 gains 6.21 e - 3 * 1.21 e - 2 e = 0.58 e.
static void gains_of_joined_groups_add_up(void **state) {
  fixture *it = *state;
  static const dq_sum_link links[2][3] = {{{0, 1, 2}, {3, 2, 4}, {4, 0, 5}}, {{0, 1, 2}, {3, 4, 0}, {2, 1, 5}}};
  for (int i = 0; i < 4; i++) {
    const float last = i < 2 ? 1.3f : 1.1f;
    const float fourth = i % 2 ? 0.95f : 1; // below 1 the second link gains less than the first
    for (int v = 0; v < 4; v++) spread(it, v, -1, 1);
    spread(it, 4, -fourth, fourth);
    spread(it, 5, -last, last);
    join(it, 6, links[i % 2], 3);
    for (int v = 0; i < 2 && v < 5; v++) expect_scale(&it->values[v], 0x1p-7f, 128);
    if (i < 2) assert_true(it->values[5].range.high == last);
    for (int v = 0; i >= 2 && v < 5; v++)
      assert_true(it->values[v].range.high - it->values[v].range.low ==
                  it->values[5].range.high - it->values[5].range.low);
    for (int v = 0; v < VALUES; v++) dq_histogram_deinit(&it->histograms[v]);
  }
}

// Of 400 additions y_i = x + a_i all values but x are alike: every one lowers the error, so that all are joined, though
// the scale of x is that of more than are looked at again.
static void additions_of_one_value(void **state) {
  fixture *it = *state;
  enum { ADDITIONS = 400, ALL = 2 * ADDITIONS + 1 };
  static dq_summed_value values[ALL];
  static dq_sum_link links[ADDITIONS];
  dq_error error;
  spread(it, 0, -1, 1);
  for (int v = 0; v < ALL; v++) values[v] = it->values[0];
  for (int l = 0; l < ADDITIONS; l++) links[l] = (dq_sum_link){0, 1 + 2 * l, 2 + 2 * l};
  assert_int_equal(dq_common_scales(values, ALL, links, ADDITIONS, it->arena, &error), DQ_OK);
  for (int v = 0; v < ALL; v++) expect_scale(&values[v], 0x1p-7f, 128);
}

// Value v is spread evenly over -1...1, with one more point at each end of its range.
static void spread_with_ends(fixture *it, int v, float end) {
  spread(it, v, -1, 1);
  add_values(&it->histograms[v], (float[]){-end, end}, 2);
  it->values[v].range = (dq_range_pair){-end, end};
}

// Three values with such points. 2^(-112/16) cuts off what lies beyond 0.992 on one side and 1 on the other;
// 2^(-111/16) cuts off nothing and costs `2 n (2^(-111/8) - 2^(-112/8)) / 12 = 0.0151` more in rounding. Of the points
// between -1 and 1 `3 n / 2 * (1/128)^3 / 3 = 0.0039` is cut off, and of those at 1.025 `3 (0.033^2 + 0.025^2) =
// 0.0051`: less, but more when it counts twice. With 1.013 in place of 1.025 it is 0.0057 in all: less also twice, and
// more when it counts three times.
static void what_is_cut_off_counts_twice(void **state) {
  static const struct {
    float end;
    double scale; // 2^(k/16) rounded to 16 bits
  } cases[] = {{1.025f, 34219 / 4194304.0}, {1.013f, 1 / 128.0}};
  fixture *it = *state;
  for (int i = 0; i < 2; i++) {
    for (int v = 0; v < 3; v++) spread_with_ends(it, v, cases[i].end);
    join(it, 3, (dq_sum_link[]){{0, 1, 2}}, 1);
    for (int v = 0; v < 3; v++) {
      const double width = (double)it->values[v].range.high - (double)it->values[v].range.low;
      if (fabs(width - 255 * cases[i].scale) > 1e-6) fail_msg("case %d: a scale of %g", i, width / 255);
      dq_histogram_deinit(&it->histograms[v]);
      it->histograms[v] = (dq_histogram){0};
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(alike_values_are_joined, start, end),
      cmocka_unit_test_setup_teardown(wide_sums_stay_apart, start, end),
      cmocka_unit_test_setup_teardown(what_is_cut_off_counts_twice, start, end),
      cmocka_unit_test_setup_teardown(chains_have_one_scale, start, end),
      cmocka_unit_test_setup_teardown(links_are_taken_one_by_one, start, end),
      cmocka_unit_test_setup_teardown(gains_of_joined_groups_add_up, start, end),
      cmocka_unit_test_setup_teardown(additions_of_one_value, start, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
