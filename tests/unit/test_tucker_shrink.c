// The strength of the ridge of Tucker-2 on few pictures, the error on pictures that nothing was fitted to, and the
// pictures that are kept apart.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "decomp/fit/responses.h"
#include "decomp/fit/shrink.h"
#include "decomp/tucker/tucker_split.h"
#include "lib/base/random.h"

static void add(dq_moments *moments, int64_t rows, float *vectors) {
  dq_arena *arena = dq_arena_new(NULL);
  dq_moments_work work;
  assert_int_equal(dq_moments_open_work(&work, NULL, arena, NULL), DQ_OK);
  dq_moments_add(moments, rows, vectors, &work);
  dq_arena_free(arena);
}

static int start(void **state) { return (*state = dq_arena_new(0)) ? 0 : -1; }
static int end(void **state) { return dq_arena_free(*state), 0; }

// Two vectors (x, t, 1) = (1, 3, 1) and (3, 7, 1), one in each half: together means 2 and 5, variances 1 and 4,
// covariance 2. A half without vectors changes nothing.
static void halves_together(void **state) {
  dq_moments halves[3];
  float vectors[] = {1, 3, 1, 3, 7, 1};
  for (int h = 0; h < 3; h++)
    assert_int_equal(dq_moments_init(&halves[h], (int64_t[]){1, 1, 1, 1}, 1, *state, NULL), DQ_OK);
  for (int h = 0; h < 2; h++) {
    add(&halves[h], 1, vectors + 3 * h);
    assert_int_equal(dq_moments_centre(&halves[h], NULL), DQ_OK);
  }
  dq_moments_pool(&halves[0], &halves[1]);
  dq_moments_pool(&halves[0], &halves[2]);
  const float expected[] = {1, 2, 2, 2, 4, 5, 2, 5};
  assert_int_equal(halves[0].rows, 2);
  for (int i = 0; i < 8; i++) assert_true(fabsf(halves[0].sums[i] - expected[i]) < 1e-6f);
}

static void strength_by_hand(void **state) {
  (void)state;
  assert_true(dq_fit_strength(&(dq_fit_halves){.inside = 1, .outside = 3, .distance = 4}) == 0.5);
  assert_true(dq_fit_strength(&(dq_fit_halves){.inside = 3, .outside = 1, .distance = 4}) == DQ_FIT_RIDGE);
  assert_true(dq_fit_strength(&(dq_fit_halves){.inside = 1, .outside = 1.001, .distance = 4}) == DQ_FIT_RIDGE);
  assert_true(dq_fit_strength(&(dq_fit_halves){.inside = 1, .outside = 3, .distance = 0}) == DQ_FIT_MOST_RIDGE);
}

// Vectors (x, y, a x, b y, 1) with x = -reach[0], reach[0] and y = -reach[1], reach[1] in turns: 4 vectors.
static void add_corners(dq_moments *m, const float reach[2], const float gain[2], dq_arena *arena) {
  assert_int_equal(dq_moments_init(m, (int64_t[]){2, 2, 1, 1}, 1, arena, NULL), DQ_OK);
  for (int i = 0; i < 4; i++) {
    const float x = i & 1 ? reach[0] : -reach[0], y = i & 2 ? reach[1] : -reach[1];
    add(m, 1, (float[]){x, y, gain[0] * x, gain[1] * y, 1});
  }
  assert_int_equal(dq_moments_centre(m, NULL), DQ_OK);
}

// W = (1 0 / 0 3), of which one input direction is to be kept. The first half has patches (+-4, 0), the second one
// (0, +-2). With the least ridge each half keeps the channel that varies in it, and misses the variance of the
// responses of the other half, 36 and 16. The distances m ||D||^2 are 8 * 9 and 2 * 1, so the strength is 52 / 74. With
// that the ridges are 5.6 and 1.4: both halves keep the second channel, as 5.6 * 9 is above 21.6 * 1, and 16 of 52 are
// missed.
static void strength_from_both_halves(void **state) {
  const float gain[] = {1, 3};
  dq_tensor *weight = dq_tensor_new(*state, DQ_F32, 4, (int64_t[]){2, 2, 1, 1});
  memcpy(weight->data, (float[]){1, 0, 0, 3}, 4 * sizeof(float));
  dq_moments halves[2];
  add_corners(&halves[0], (float[]){4, 0}, gain, *state);
  add_corners(&halves[1], (float[]){0, 2}, gain, *state);
  dq_fit_cross cross;
  assert_int_equal(dq_fit_cross_validate(&cross, halves, weight, (dq_ranks){2, 1}, 0, NULL), DQ_OK);
  assert_true(cross.strength == DQ_FIT_RIDGE && fabs(cross.error - 1) < 1e-3);
  assert_int_equal(dq_fit_cross_validate(&cross, halves, weight, (dq_ranks){2, 1}, 2, NULL), DQ_OK);
  assert_true(fabs(cross.strength - 52.0 / 74) < 1e-3);
  assert_true(fabs(cross.error - 16.0 / 52) < 1e-3);
}

static void one_half_knows_nothing(void **state) {
  dq_tensor *weight = dq_tensor_new(*state, DQ_F32, 4, (int64_t[]){2, 2, 1, 1});
  dq_moments halves[2];
  dq_fit_cross cross;
  add_corners(&halves[0], (float[]){4, 1}, (float[]){1, 1}, *state);
  assert_int_equal(dq_moments_init(&halves[1], weight->dims, 1, *state, NULL), DQ_OK);
  assert_int_equal(dq_fit_cross_validate(&cross, halves, weight, (dq_ranks){2, 1}, 2, NULL), DQ_OK);
  assert_true(cross.strength == 1 && cross.error == 0);
}

enum { IN = 12, OUT = 10, TAPS = 9, PATCH = IN * TAPS };

// Patches of independent elements, answered by the weight.
static void fill(dq_moments *m, const dq_tensor *weight, int64_t rows, uint64_t seed, dq_arena *arena) {
  dq_random random = {seed};
  assert_int_equal(dq_moments_init(m, weight->dims, 1, arena, NULL), DQ_OK);
  float *vectors = DQ_NEW_ARRAY(arena, rows * m->size, float);
  for (int64_t r = 0; r < rows; r++) {
    float *v = vectors + r * m->size;
    for (int64_t p = 0; p < PATCH; p++) v[p] = dq_random_normal(&random) * (float)(1 + p % IN % 3);
    for (int64_t o = 0; o < OUT; o++)
      for (int64_t p = 0; p < PATCH; p++)
        v[PATCH + o] += v[p] * ((float *)weight->data)[(o * IN + p % IN) * TAPS + p / IN];
    v[m->size - 1] = 1;
  }
  add(m, rows, vectors);
  assert_int_equal(dq_moments_centre(m, NULL), DQ_OK);
}

// Response error of factors fitted to `rows` patches, on 4000 others.
static double error_on_others(int64_t rows, bool shrunk, dq_fit_cross *cross, dq_arena *arena) {
  dq_tensor *weight = dq_tensor_new(arena, DQ_F32, 4, (int64_t[]){OUT, IN, 3, 3});
  dq_random random = {5};
  for (int64_t i = 0; i < dq_tensor_count(weight); i++) ((float *)weight->data)[i] = dq_random_normal(&random);
  dq_moments halves[2], fresh;
  for (int h = 0; h < 2; h++) fill(&halves[h], weight, rows / 2, (uint64_t)(20 + h), arena);
  fill(&fresh, weight, 4000, 30, arena);
  const dq_ranks ranks = {OUT, 6};
  assert_int_equal(dq_fit_cross_validate(cross, halves, weight, ranks, shrunk ? 2 : 0, NULL), DQ_OK);
  dq_moments_pool(&halves[0], &halves[1]);
  dq_fit_prepare(&halves[0], cross->strength);
  dq_fit fit;
  assert_int_equal(dq_fit_solve(&fit, &halves[0], weight, ranks, 4, arena, NULL), DQ_OK);
  double missed = 0, variance = 0;
  assert_int_equal(dq_fit_missed(&fit, &fresh, weight, &missed, &variance, NULL), DQ_OK);
  return missed / variance;
}

// 24 patches of 108 elements: with the least ridge their factors are worse on others by a fifth than
// those with the strength found. With 4000 patches the strength changes next to nothing.
static void few_samples(void **state) {
  dq_fit_cross cross;
  const double bare = error_on_others(24, false, &cross, *state), few = error_on_others(24, true, &cross, *state);
  assert_true(cross.strength > 0.1);
  const double many = error_on_others(4000, true, &cross, *state);
  assert_true(cross.strength < 0.05);
  const double least = error_on_others(4000, false, &cross, *state);
  print_message("error on others: 24 patches %.3f, shrunk %.3f; 4000 patches %.3f, shrunk %.3f\n", bare, few, least,
                many);
  assert_true(bare > 1.2 * few);
  assert_true(fabs(many - least) < 0.01 * least);
}

// Of 12 pictures three are kept apart, one of each run of four, of 3 none; behind a limit of 8 all others.
static void pictures_apart(void **state) {
  (void)state;
  int64_t apart[64];
  const int64_t counts[][3] = {{1, 0, 0},     {3, 0, 0},  {4, 0, 1},   {12, 0, 3},  {32, 0, 8},
                               {1000, 0, 64}, {12, 8, 4}, {12, 12, 0}, {12, 20, 0}, {1000, 8, 64}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    assert_int_equal(dq_tucker_choose_apart(apart, counts[i][0], counts[i][1]), counts[i][2]);
  assert_int_equal(dq_tucker_choose_apart(apart, 12, 0), 3);
  for (int64_t i = 0; i < 3; i++) assert_int_equal(apart[i] / 4, i);
  assert_int_equal(dq_tucker_choose_apart(apart, 12, 8), 4);
  for (int64_t i = 0; i < 4; i++) assert_int_equal(apart[i], 8 + i);
}

// Pictures whose classes take turns: of each of eight classes some are kept apart, some in either half.
static void classes_in_turns(void **state) {
  (void)state;
  int64_t apart[64], of_class[8] = {0}, of_half[2][8] = {{0}};
  assert_int_equal(dq_tucker_choose_apart(apart, 256, 0), 64);
  for (int i = 0; i < 64; i++) of_class[apart[i] % 8]++;
  for (int64_t i = 0; i < 256; i++) of_half[dq_response_half(i)][i % 8]++;
  for (int64_t i = 0; i < 256; i += 2) assert_int_equal(dq_response_half(i) + dq_response_half(i + 1), 1);
  for (int c = 0; c < 8; c++) assert_true(of_class[c] >= 3 && of_half[0][c] >= 8 && of_half[1][c] >= 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(halves_together, start, end),
      cmocka_unit_test(strength_by_hand),
      cmocka_unit_test_setup_teardown(strength_from_both_halves, start, end),
      cmocka_unit_test_setup_teardown(one_half_knows_nothing, start, end),
      cmocka_unit_test_setup_teardown(few_samples, start, end),
      cmocka_unit_test(pictures_apart),
      cmocka_unit_test(classes_in_turns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
