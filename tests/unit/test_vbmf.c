// The rank rule "vbmf": spectra whose rank an independent program (numpy, the variance by brute
// force) has computed, and weights of a known rank under noise.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "decomp/ranks/ranks.h"
#include "lib/base/random.h"

enum { MOST = 128 };

static int64_t rank_of(int64_t rows, int64_t columns, const double *values) {
  dq_mode mode = {.size = rows, .rank = rows, .values = values};
  return dq_vbmf_rank(&mode, columns, 1);
}

static void reference_spectra(void **state) {
  (void)state;
  const struct {
    int64_t rows, columns;
    double ratio; // values ratio^k; 0: 1 / (k + 1); -1: five of 10 and then 2 falling to 1
    int64_t rank;
  } cases[] = {{32, 288, 0.8, 25}, {64, 576, 0.9, 49}, {64, 576, 0.97, 29}, {16, 144, 0.7, 12}, {128, 128, 0.95, 39},
               {24, 216, 0.99, 0}, {64, 576, 0, 27},   {32, 32, 0, 5},      {64, 576, -1, 5},   {32, 32, -1, 5}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double values[MOST], n = (double)cases[i].rows;
    for (int k = 0; k < cases[i].rows; k++)
      values[k] = cases[i].ratio > 0    ? pow(cases[i].ratio, k)
                  : cases[i].ratio == 0 ? 1.0 / (k + 1)
                  : k < 5               ? 10
                                        : 1 + (n - k) / n;
    assert_int_equal(rank_of(cases[i].rows, cases[i].columns, values), cases[i].rank);
  }
}

// Values (k + 1)^-falling have many minima of the free energy side by side; the ranks are those of the least one
// (numpy, 40001 variances between the bounds, the same ranks with 60001 in twenty times the interval).
static void minima_side_by_side(void **state) {
  (void)state;
  const struct {
    int64_t rows, columns;
    double falling;
    int64_t rank;
  } cases[] = {{36, 36, 0.85, 5},   {48, 144, 0.65, 9}, {51, 204, 1.45, 21}, {52, 156, 1.3, 17},
               {54, 432, 0.85, 20}, {60, 540, 1.3, 29}, {62, 496, 1.3, 29},  {63, 567, 1.05, 27}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double values[MOST];
    for (int k = 0; k < cases[i].rows; k++) values[k] = pow(k + 1, -cases[i].falling);
    assert_int_equal(rank_of(cases[i].rows, cases[i].columns, values), cases[i].rank);
  }
}

static void degenerate_spectra(void **state) {
  (void)state;
  const double zeros[4] = {0}, one[1] = {3}, low[4] = {2, 1, 0, 0};
  assert_int_equal(rank_of(4, 36, zeros), 0);
  assert_in_range(rank_of(1, 9, one), 0, 1);
  assert_int_equal(rank_of(4, 36, low), 2); // exact low rank: the rest is rounding
}

// sum over k of a_k x b_k x c_k (x: outer product), entries about 1, and noise.
static dq_tensor *noisy(dq_arena *arena, int64_t out, int64_t in, int rank, float noise) {
  dq_tensor *weight = dq_tensor_new(arena, DQ_F32, 4, (int64_t[]){out, in, 3, 3});
  dq_random random = {11};
  float a[MOST], b[MOST], c[9];
  for (int k = 0; k < rank; k++) {
    for (int64_t o = 0; o < out; o++) a[o] = dq_random_normal(&random);
    for (int64_t i = 0; i < in; i++) b[i] = dq_random_normal(&random);
    for (int t = 0; t < 9; t++) c[t] = dq_random_normal(&random);
    for (int64_t j = 0; j < out * in * 9; j++) ((float *)weight->data)[j] += a[j / (in * 9)] * b[j / 9 % in] * c[j % 9];
  }
  for (int64_t j = 0; j < out * in * 9; j++) ((float *)weight->data)[j] += noise * dq_random_normal(&random);
  return weight;
}

static void recovers_rank_under_noise(void **state) {
  dq_arena *arena = *state = dq_arena_new(0);
  const struct {
    int64_t out, in;
    int rank;
    float noise;
  } cases[] = {{64, 48, 5, 0.1f}, {64, 48, 12, 0.3f}, {32, 64, 3, 1}, {96, 96, 20, 0.1f}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_tensor *weight = noisy(arena, cases[i].out, cases[i].in, cases[i].rank, cases[i].noise);
    dq_hosvd hosvd;
    dq_ranks ranks;
    assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, arena, NULL), DQ_OK);
    assert_int_equal(dq_rank_choose(DQ_RANK_VBMF, 0, 1, &hosvd, &ranks, NULL), DQ_OK);
    assert_int_equal(ranks.out, cases[i].rank);
    assert_int_equal(ranks.in, cases[i].rank);
  }
  dq_arena_free(arena);
}

// 0.25 of what is between 5 and the full rank: 5 + ceil(14.75), 5 + ceil(10.75).
static void weakened_and_rounded(void **state) {
  dq_arena *arena = *state = dq_arena_new(0);
  dq_hosvd hosvd;
  dq_ranks ranks;
  dq_tensor *weight = noisy(arena, 64, 48, 5, 0.1f);
  assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, arena, NULL), DQ_OK);
  assert_int_equal(dq_rank_choose(DQ_RANK_VBMF, 0.25, 1, &hosvd, &ranks, NULL), DQ_OK);
  assert_true(ranks.out == 20 && ranks.in == 16);
  assert_int_equal(dq_rank_choose(DQ_RANK_VBMF, 1, 1, &hosvd, &ranks, NULL), DQ_OK);
  assert_true(ranks.out == 64 && ranks.in == 48);
  assert_int_equal(dq_rank_choose(DQ_RANK_VBMF, 0, 8, &hosvd, &ranks, NULL), DQ_OK);
  assert_true(ranks.out == 8 && ranks.in == 8);
  const double bad[] = {-0.1, 1.1, NAN};
  for (int i = 0; i < 3; i++) assert_int_equal(dq_rank_choose(DQ_RANK_VBMF, bad[i], 1, &hosvd, &ranks, NULL), DQ_USAGE);
  assert_int_equal(dq_rank_choose(DQ_RANK_RATIO, 0, 1, &hosvd, &ranks, NULL), DQ_USAGE);
  dq_arena_free(arena);
}

// Ranks 0 and 1 are a collapse, told as 0 even to --multiple, and mended by weakening.
static void collapse(void **state) {
  dq_arena *arena = *state = dq_arena_new(0);
  for (int rank = 0; rank < 2; rank++) {
    dq_hosvd hosvd;
    dq_ranks ranks;
    dq_tensor *weight = noisy(arena, 64, 48, rank, 0.1f);
    assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, arena, NULL), DQ_OK);
    assert_int_equal(dq_rank_choose(DQ_RANK_VBMF, 0, 8, &hosvd, &ranks, NULL), DQ_OK);
    assert_true(ranks.out == 0 && ranks.in == 0);
    assert_int_equal(dq_rank_choose(DQ_RANK_VBMF, 0.5, 1, &hosvd, &ranks, NULL), DQ_OK);
    assert_true(ranks.out == 32 + rank && ranks.in == 24 + rank);
  }
  dq_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reference_spectra),    cmocka_unit_test(minima_side_by_side),
      cmocka_unit_test(degenerate_spectra),   cmocka_unit_test(recovers_rank_under_noise),
      cmocka_unit_test(weakened_and_rounded), cmocka_unit_test(collapse)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
