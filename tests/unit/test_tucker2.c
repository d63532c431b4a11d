// Tucker-2 of single weights: hand-worked cases, exactness at full rank, rank rules, costs.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "decomp/ranks/ranks.h"
#include "lib/base/random.h"
#include "lib/base/sizes.h"

static int start(void **state) { return (*state = dq_arena_new(0)) ? 0 : -1; }
static int end(void **state) { return dq_arena_free(*state), 0; }

static dq_tensor *random_weight(dq_arena *arena, const int64_t dims[4], float scale) {
  dq_tensor *weight = dq_tensor_new(arena, DQ_F32, 4, dims);
  dq_random random = {7};
  for (int64_t i = 0; i < dq_tensor_count(weight); i++) ((float *)weight->data)[i] = scale * dq_random_normal(&random);
  return weight;
}

static double relative_error(dq_arena *arena, const dq_tucker2 *factors, const dq_tensor *weight) {
  int64_t count = dq_tensor_count(weight);
  double *back = DQ_NEW_ARRAY(arena, count, double);
  assert_int_equal(dq_tucker2_reconstruct(factors, back, NULL), DQ_OK);
  double difference = 0, all = 0;
  for (int64_t i = 0; i < count; i++) {
    double w = ((float *)weight->data)[i];
    difference += (back[i] - w) * (back[i] - w), all += w * w;
  }
  return sqrt(difference / all);
}

// W = [[2,1],[1,2]], one tap: both unfoldings have singular values 3 and 1, vectors (1,1)/sqrt 2
// and (1,-1)/sqrt 2. At ranks 1 and 1, G = 3 and W~ = 1.5 everywhere: what is left has norm 1 of
// sqrt 10, the energy kept is 9 / 10.
static void two_by_two_by_hand(void **state) {
  dq_tensor *weight = dq_tensor_new(*state, DQ_F32, 4, (int64_t[]){2, 2, 1, 1});
  memcpy(weight->data, (float[]){2, 1, 1, 2}, 4 * sizeof(float));
  dq_hosvd hosvd;
  assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, *state, NULL), DQ_OK);
  assert_true(fabs(hosvd.out.values[0] - 3) < 1e-14 && fabs(hosvd.in.values[1] - 1) < 1e-14);
  dq_tucker2 factors;
  assert_int_equal(dq_tucker2_factors(&factors, &hosvd, 1, 1, *state, NULL), DQ_OK);
  double back[4];
  assert_int_equal(dq_tucker2_reconstruct(&factors, back, NULL), DQ_OK);
  for (int i = 0; i < 4; i++) assert_true(fabs(back[i] - 1.5) < 1e-6);
  assert_true(fabs(factors.error - 1 / sqrt(10)) < 1e-6);
  assert_true(fabs(factors.energy_out - 0.9) < 1e-14 && fabs(factors.energy_in - 0.9) < 1e-14);
}

// The tensor with its elements in front of a page that cannot be read; the pages stay until the program ends.
static void place_at_end_of_page(dq_tensor *tensor) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = dq_tensor_bytes(tensor), pages = (bytes / page + 1) * page;
  char *map = mmap(NULL, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(map != MAP_FAILED && !mprotect(map + pages, page, PROT_NONE));
  tensor->data = memcpy(map + pages - bytes, tensor->data, bytes);
}

// Nothing behind a weight or a factor is read.
static void reads_within_tensors(void **state) {
  for (int64_t group = 1; group <= 2; group++) {
    dq_tensor *weight = random_weight(*state, (int64_t[]){6, 5, 3, 3}, 1);
    place_at_end_of_page(weight);
    dq_hosvd hosvd;
    assert_int_equal(dq_hosvd_compute(&hosvd, weight, group, NULL, *state, NULL), DQ_OK);
    dq_tucker2 factors;
    assert_int_equal(dq_tucker2_factors(&factors, &hosvd, 3, 4, *state, NULL), DQ_OK);
    double before = relative_error(*state, &factors, weight);
    place_at_end_of_page(factors.core);
    place_at_end_of_page(factors.input);
    if (factors.output) place_at_end_of_page(factors.output);
    assert_true(relative_error(*state, &factors, weight) == before);
  }
}

// The energy rule on the same weight: 9 / 10 is reached by one value, a hair more needs both.
static void energy_by_hand(void **state) {
  dq_tensor *weight = dq_tensor_new(*state, DQ_F32, 4, (int64_t[]){2, 2, 1, 1});
  memcpy(weight->data, (float[]){2, 1, 1, 2}, 4 * sizeof(float));
  dq_hosvd hosvd;
  assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, *state, NULL), DQ_OK);
  const struct {
    double energy;
    int64_t rank;
  } cases[] = {{1e-9, 1}, {0.5, 1}, {0.9, 1}, {0.9001, 2}, {1, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_ranks ranks;
    assert_int_equal(dq_rank_choose(DQ_RANK_ENERGY, cases[i].energy, 1, &hosvd, &ranks, NULL), DQ_OK);
    assert_int_equal(ranks.out, cases[i].rank);
    assert_int_equal(ranks.in, cases[i].rank);
  }
}

static void full_rank_is_exact(void **state) {
  // o > i taps: the output mode has full rank 18 of 20 channels, so its factor stays.
  const int64_t dims[][4] = {{16, 12, 3, 3}, {20, 2, 3, 3}, {2, 40, 3, 3}, {4, 3, 1, 5}};
  for (size_t i = 0; i < 4; i++) {
    dq_tensor *weight = random_weight(*state, dims[i], 0.05f);
    dq_hosvd hosvd;
    dq_tucker2 factors;
    assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, *state, NULL), DQ_OK);
    assert_int_equal(dq_tucker2_factors(&factors, &hosvd, hosvd.out.rank, hosvd.in.rank, *state, NULL), DQ_OK);
    assert_true(factors.error < 1e-6);
    assert_true(relative_error(*state, &factors, weight) < 1e-6);
    assert_true((factors.output == NULL) == (hosvd.out.rank == dims[i][0]));
    assert_true((factors.input == NULL) == (hosvd.in.rank == dims[i][1]));
    assert_true(factors.energy_out == 1 && factors.energy_in == 1);
  }
}

static void error_falls_with_rank(void **state) {
  dq_tensor *weight = random_weight(*state, (int64_t[]){16, 12, 3, 3}, 1);
  dq_hosvd hosvd;
  assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, *state, NULL), DQ_OK);
  double last = 1;
  for (int64_t rank = 1; rank <= 12; rank++) {
    dq_tucker2 factors;
    assert_int_equal(dq_tucker2_factors(&factors, &hosvd, rank, rank, *state, NULL), DQ_OK);
    assert_true(factors.error < last);
    last = factors.error;
    assert_true(fabs(relative_error(*state, &factors, weight) - factors.error) < 1e-12);
    // De Lathauwer et al., property 10: the squares left out of the modes bound the error.
    double bound = (1 - factors.energy_out) + (1 - factors.energy_in);
    assert_true(factors.error * factors.error <= bound + 1e-9);
  }
}

static void vectors_are_orthonormal(void **state) {
  dq_tensor *weight = random_weight(*state, (int64_t[]){20, 2, 3, 3}, 1);
  dq_hosvd hosvd;
  assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, *state, NULL), DQ_OK);
  const dq_mode *modes[] = {&hosvd.out, &hosvd.in};
  for (int m = 0; m < 2; m++)
    for (int64_t j = 0; j < modes[m]->rank; j++)
      for (int64_t k = 0; k <= j; k++) {
        double sum = 0;
        for (int64_t i = 0; i < modes[m]->size; i++)
          sum += modes[m]->vectors[j * modes[m]->size + i] * modes[m]->vectors[k * modes[m]->size + i];
        assert_true(fabs(sum - (j == k)) < 1e-12);
      }
}

// Iteration lowers the error at every pair of ranks or leaves it, for groups too, and keeps the
// vectors orthonormal (the error is measured on the float32 factors).
static void refinement_lowers_the_error(void **state) {
  double gained = 0;
  for (int64_t group = 1; group <= 2; group++)
    for (int64_t rank = 1; rank <= 5; rank++) {
      dq_tensor *weight = random_weight(*state, (int64_t[]){12, 6, 3, 3}, 1);
      dq_hosvd hosvd;
      dq_tucker2 before, after;
      assert_int_equal(dq_hosvd_compute(&hosvd, weight, group, NULL, *state, NULL), DQ_OK);
      assert_int_equal(dq_tucker2_factors(&before, &hosvd, rank, rank, *state, NULL), DQ_OK);
      assert_int_equal(dq_hosvd_refine(&hosvd, rank, rank, *state, NULL), DQ_OK);
      assert_int_equal(dq_tucker2_factors(&after, &hosvd, rank, rank, *state, NULL), DQ_OK);
      assert_true(after.error <= before.error + 1e-7);
      gained = fmax(gained, before.error - after.error);
      // At the optimum the core holds all that is kept: ||W||^2 - ||W~||^2 = ||W - W~||^2
      double *back = DQ_NEW_ARRAY(*state, dq_tensor_count(weight), double), kept = 0;
      assert_int_equal(dq_tucker2_reconstruct(&after, back, NULL), DQ_OK);
      for (int64_t i = 0; i < dq_tensor_count(weight); i++) kept += back[i] * back[i];
      double left = 1 - kept / (hosvd.norm * hosvd.norm);
      assert_true(fabs(left - after.error * after.error) < 1e-5);
    }
  assert_true(gained > 0.005);
}

// Where a mode is not cut, or a rank is more than the other allows, there is nothing to iterate for: not a bit changes.
static void refinement_leaves_what_is_not_cut(void **state) {
  static const int64_t ranks[][2] = {{12, 3}, {5, 6}, {12, 6}, {10, 1}};
  dq_tensor *weight = random_weight(*state, (int64_t[]){12, 6, 3, 3}, 1);
  for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
    dq_hosvd hosvd;
    assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, *state, NULL), DQ_OK);
    const dq_mode *modes[] = {&hosvd.out, &hosvd.in};
    double *before[2];
    for (int m = 0; m < 2; m++)
      before[m] = dq_arena_copy(*state, modes[m]->vectors, (size_t)(modes[m]->rank * modes[m]->size) * sizeof(double));
    assert_int_equal(dq_hosvd_refine(&hosvd, ranks[i][0], ranks[i][1], *state, NULL), DQ_OK);
    for (int m = 0; m < 2; m++)
      assert_memory_equal(modes[m]->vectors, before[m], (size_t)(modes[m]->rank * modes[m]->size) * sizeof(double));
  }
}

// Rounds to 8 bits with one scale for `count` values.
static void round_8bit(int64_t count, double *values) {
  double largest = 1e-300;
  for (int64_t i = 0; i < count; i++) largest = fmax(largest, fabs(values[i]));
  for (int64_t i = 0; i < count; i++) values[i] = nearbyint(values[i] / largest * 127) * largest / 127;
}

enum { CHANNELS = 32, RANK = 16, PICTURES = 64 };

// y = A x for all pictures; when `rounded`, the weights row by row and x all together.
static void layer_8bit(int64_t rows, int64_t columns, const double *a, double *x, double *y, bool rounded) {
  double row[CHANNELS];
  if (rounded) round_8bit(columns * PICTURES, x);
  for (int64_t r = 0; r < rows; r++) {
    memcpy(row, a + r * columns, (size_t)columns * sizeof(double));
    if (rounded) round_8bit(columns, row);
    for (int64_t p = 0; p < PICTURES; p++) {
      y[p * rows + r] = 0;
      for (int64_t c = 0; c < columns; c++) y[p * rows + r] += row[c] * x[p * columns + c];
    }
  }
}

// Noise of U G V^T x in 8 bits, relative to the answers.
static double noise_8bit(const double *v, const double *g, const double *u, double *x) {
  double between[PICTURES * RANK], core[PICTURES * RANK], y[2][PICTURES * CHANNELS];
  for (int rounded = 0; rounded < 2; rounded++) {
    layer_8bit(RANK, CHANNELS, v, x, between, false); // what the layer alone loses is not counted
    layer_8bit(RANK, RANK, g, between, core, rounded);
    layer_8bit(CHANNELS, RANK, u, core, y[rounded], rounded);
  }
  double noise = 0, signal = 0;
  for (int i = 0; i < PICTURES * CHANNELS; i++) {
    noise += (y[0][i] - y[1][i]) * (y[0][i] - y[1][i]);
    signal += y[0][i] * y[0][i];
  }
  return noise / signal;
}

// A 1x1 weight with singular values 0.7^k. As the singular vectors leave them the factors lose half as
// much again to 8 bits as with their channels spread, which changes nothing in float.
static void unbalanced_factors_lose_in_8_bits(void **state) {
  const int64_t dims[4] = {CHANNELS, CHANNELS, 1, 1};
  dq_tensor *weight = random_weight(*state, dims, 1);
  dq_hosvd hosvd;
  assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, *state, NULL), DQ_OK);
  double v[RANK * CHANNELS], g[RANK * RANK] = {0}, u[CHANNELS * RANK], x[PICTURES * CHANNELS];
  memcpy(v, hosvd.in.vectors, sizeof v);
  for (int k = 0; k < RANK; k++) g[k * RANK + k] = pow(0.7, k);
  for (int o = 0; o < CHANNELS; o++)
    for (int k = 0; k < RANK; k++) u[o * RANK + k] = hosvd.out.vectors[k * CHANNELS + o];
  dq_random random = {3};
  for (int i = 0; i < PICTURES * CHANNELS; i++) x[i] = (double)dq_random_normal(&random);
  double unbalanced = noise_8bit(v, g, u, x);
  dq_tucker2 factors = {.group = 1, .rank_out = RANK, .rank_in = RANK};
  assert_int_equal(dq_tucker2_spread(&factors, dims, v, g, u, NULL), DQ_OK);
  double balanced = noise_8bit(v, g, u, x);
  print_message("8-bit noise: %.2e unbalanced, %.2e balanced\n", unbalanced, balanced);
  assert_true(balanced < 0.75 * unbalanced);
  double all = 0; // U G V^T has not changed: its squares are those of the singular values
  for (int o = 0; o < CHANNELS; o++)
    for (int i = 0; i < CHANNELS; i++) {
      double sum = 0;
      for (int a = 0; a < RANK; a++)
        for (int b = 0; b < RANK; b++) sum += u[o * RANK + a] * g[a * RANK + b] * v[b * CHANNELS + i];
      all += sum * sum;
    }
  assert_true(fabs(all - (1 - pow(0.49, RANK)) / 0.51) < 1e-12);
}

static double norm_of(const dq_tensor *tensor) {
  double sum = 0;
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) {
    double value = ((float *)tensor->data)[i];
    sum += value * value;
  }
  return sqrt(sum);
}

static void factors_are_balanced(void **state) {
  const float scales[] = {1e-20f, 1e-3f, 1, 1e4f, 1e20f};
  for (int i = 0; i < 5; i++) {
    dq_tensor *weight = random_weight(*state, (int64_t[]){16, 12, 3, 3}, scales[i]);
    dq_hosvd hosvd;
    dq_tucker2 factors;
    assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, *state, NULL), DQ_OK);
    assert_int_equal(dq_tucker2_factors(&factors, &hosvd, 4, 6, *state, NULL), DQ_OK);
    double a = norm_of(factors.input), b = norm_of(factors.core), c = norm_of(factors.output);
    assert_true(fmax(a, fmax(b, c)) / fmin(a, fmin(b, c)) < 3);
    assert_true(factors.error > 0.1 && factors.error < 1);
  }
}

static void one_sided(void **state) {
  dq_tensor *weight = random_weight(*state, (int64_t[]){16, 12, 3, 3}, 1);
  dq_hosvd hosvd;
  dq_tucker2 both, left, right;
  assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, *state, NULL), DQ_OK);
  assert_int_equal(dq_tucker2_factors(&both, &hosvd, 5, 5, *state, NULL), DQ_OK);
  assert_int_equal(dq_tucker2_factors(&left, &hosvd, 5, 12, *state, NULL), DQ_OK);
  assert_int_equal(dq_tucker2_factors(&right, &hosvd, 16, 5, *state, NULL), DQ_OK);
  assert_true(left.input == NULL && left.output != NULL && left.error < both.error);
  assert_true(right.output == NULL && right.input != NULL && right.error < both.error);
  // With one mode cut, the error is what its energy leaves out.
  assert_true(fabs(left.error * left.error - (1 - left.energy_out)) < 1e-6);
  assert_true(fabs(right.error * right.error - (1 - right.energy_in)) < 1e-6);
  assert_int_equal(left.core->dims[1], 12);
  assert_int_equal(right.core->dims[0], 16);
}

// Two groups of 4 output channels: each is decomposed as if it stood alone.
static void group_by_group(void **state) {
  dq_tensor *weight = random_weight(*state, (int64_t[]){8, 6, 3, 3}, 1);
  dq_tensor *part = dq_tensor_new(*state, DQ_F32, 4, (int64_t[]){4, 6, 3, 3});
  dq_hosvd hosvd;
  dq_tucker2 both, one;
  assert_int_equal(dq_hosvd_compute(&hosvd, weight, 2, NULL, *state, NULL), DQ_OK);
  assert_true(hosvd.out.rank == 4 && hosvd.in.rank == 6);
  assert_int_equal(dq_tucker2_factors(&both, &hosvd, 2, 3, *state, NULL), DQ_OK);
  assert_true(both.input->dims[0] == 6 && both.input->dims[1] == 6);
  assert_true(both.core->dims[0] == 4 && both.core->dims[1] == 3);
  assert_true(both.output->dims[0] == 8 && both.output->dims[1] == 2);
  double back[8 * 6 * 9], back_one[4 * 6 * 9], squares = 0;
  assert_int_equal(dq_tucker2_reconstruct(&both, back, NULL), DQ_OK);
  for (int g = 0; g < 2; g++) {
    memcpy(part->data, (float *)weight->data + g * 216, 216 * sizeof(float));
    assert_int_equal(dq_hosvd_compute(&hosvd, part, 1, NULL, *state, NULL), DQ_OK);
    assert_int_equal(dq_tucker2_factors(&one, &hosvd, 2, 3, *state, NULL), DQ_OK);
    assert_int_equal(dq_tucker2_reconstruct(&one, back_one, NULL), DQ_OK);
    for (int i = 0; i < 216; i++) assert_true(fabs(back[g * 216 + i] - back_one[i]) < 1e-6);
    squares += one.error * one.error * hosvd.norm * hosvd.norm;
  }
  double norm = norm_of(weight);
  assert_true(fabs(both.error - sqrt(squares) / norm) < 1e-6);
  assert_true(fabs(relative_error(*state, &both, weight) - both.error) < 1e-12);
  dq_error error;
  assert_int_equal(dq_hosvd_compute(&hosvd, weight, 3, NULL, *state, &error), DQ_BAD_INPUT);
  // 2 groups x (3 x 6 + 2 x 3 x 9) + 8 x 2 weights
  const int64_t dims[4] = {8, 6, 3, 3};
  assert_int_equal(dq_conv_cost_tucker2(dims, 2, false, &(dq_conv_positions){1, 1, 1}, 2, 3, false).parameters,
                   36 + 108 + 16);
}

// With a scale the factors still stand for the weight, exactly so at full rank; errors move to the
// channels that count less.
static void scaled_channels(void **state) {
  dq_tensor *weight = random_weight(*state, (int64_t[]){8, 6, 3, 3}, 1);
  double scale[8] = {4, 4, 4, 4, 0.25, 0.25, 0.25, 0.25}, back[8 * 54];
  dq_hosvd hosvd;
  dq_tucker2 factors;
  assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, scale, *state, NULL), DQ_OK);
  for (int64_t out = 4; out <= 8; out += 4)
    for (int64_t in = 4; in <= 6; in += 2) {
      assert_int_equal(dq_tucker2_factors(&factors, &hosvd, out, in, *state, NULL), DQ_OK);
      assert_true(fabs(relative_error(*state, &factors, weight) - factors.error) < 1e-12);
      if (out == 8 && in == 6) assert_true(factors.error < 1e-6);
    }
  assert_int_equal(dq_tucker2_factors(&factors, &hosvd, 4, 6, *state, NULL), DQ_OK);
  assert_int_equal(dq_tucker2_reconstruct(&factors, back, NULL), DQ_OK);
  double squares[2] = {0};
  for (int i = 0; i < 8 * 54; i++) {
    double difference = back[i] - (double)((float *)weight->data)[i];
    squares[i / (4 * 54)] += difference * difference;
  }
  assert_true(squares[0] < 0.01 * squares[1]);
}

static void ratio_and_multiple(void **state) {
  dq_tensor *weight = random_weight(*state, (int64_t[]){30, 10, 3, 3}, 1);
  dq_hosvd hosvd;
  assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, *state, NULL), DQ_OK);
  const struct {
    double ratio;
    int64_t multiple, out, in;
  } cases[] = {{0.1, 1, 3, 1},  {0.5, 1, 15, 5},  {0.34, 1, 11, 4}, {1e-6, 1, 1, 1},   {1, 1, 30, 10},
               {0.5, 8, 16, 8}, {0.34, 4, 12, 4}, {0.9, 8, 30, 10}, {0.5, 100, 30, 10}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_ranks ranks;
    assert_int_equal(dq_rank_choose(DQ_RANK_RATIO, cases[i].ratio, cases[i].multiple, &hosvd, &ranks, NULL), DQ_OK);
    assert_int_equal(ranks.out, cases[i].out);
    assert_int_equal(ranks.in, cases[i].in);
  }
  dq_ranks ranks;
  const double wrong[] = {0, -1, 1.5, NAN, INFINITY};
  for (int i = 0; i < 5; i++)
    assert_int_equal(dq_rank_choose(DQ_RANK_RATIO, wrong[i], 1, &hosvd, &ranks, NULL), DQ_USAGE);
  assert_int_equal(dq_rank_choose(DQ_RANK_RATIO, 1, 0, &hosvd, &ranks, NULL), DQ_USAGE);
  dq_rank_rule rule;
  assert_true(dq_rank_rule_find("energy", &rule) && rule == DQ_RANK_ENERGY);
  assert_false(dq_rank_rule_find("guess", &rule));
}

// 64 -> 128 channels, 3x3, stride 2 from 56x56 to 28x28, ranks 32 (out) and 16 (in):
// whole 128*64*9 = 73728 weights, * 784 = 57,802,752 MACs; 1x1 in 16*64 * 3136 = 3,211,264;
// core 32*16*9 = 4608 * 784 = 3,612,672; 1x1 out 128*32 = 4096 * 784 = 3,211,264.
static void costs_by_hand(void **state) {
  (void)state;
  const int64_t dims[4] = {128, 64, 3, 3};
  dq_conv_cost whole = dq_conv_cost_whole(dims, true, 784);
  assert_true(whole.macs == 57802752 && whole.parameters == 73728 + 128);
  dq_conv_cost both = dq_conv_cost_tucker2(dims, 1, true, &(dq_conv_positions){3136, 784, 784}, 32, 16, false);
  assert_true(both.macs == 3211264 + 3612672 + 3211264);
  assert_true(both.parameters == 1024 + 4608 + 4096 + 128);
  dq_conv_cost last = dq_conv_cost_tucker2(dims, 1, false, &(dq_conv_positions){3136, 784, 784}, 32, 64, false);
  assert_true(last.macs == (32 * 64 * 9 + 4096) * 784 && last.parameters == 32 * 64 * 9 + 4096);
  dq_conv_cost same = dq_conv_cost_tucker2(dims, 1, true, &(dq_conv_positions){3136, 784, 784}, 128, 64, false);
  assert_true(same.macs == whole.macs && same.parameters == whole.parameters);
  const int64_t huge[4] = {INT64_MAX / 2, 4, 3, 3};
  assert_true(dq_conv_cost_whole(huge, true, 9).macs == INT64_MAX);
}

static void zero_and_bad_weights(void **state) {
  dq_tensor *weight = dq_tensor_new(*state, DQ_F32, 4, (int64_t[]){4, 3, 3, 3});
  dq_hosvd hosvd;
  dq_tucker2 factors;
  dq_ranks ranks;
  dq_error error;
  assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, *state, NULL), DQ_OK);
  assert_int_equal(dq_rank_choose(DQ_RANK_ENERGY, 0.9, 1, &hosvd, &ranks, NULL), DQ_OK);
  assert_true(ranks.out == 1 && ranks.in == 1);
  assert_int_equal(dq_tucker2_factors(&factors, &hosvd, 1, 1, *state, NULL), DQ_OK);
  assert_true(factors.error == 0 && factors.energy_out == 1);
  assert_int_equal(dq_tucker2_factors(&factors, &hosvd, 5, 1, *state, &error), DQ_USAGE);
  assert_int_equal(dq_tucker2_factors(&factors, &hosvd, 1, 0, *state, &error), DQ_USAGE);
  ((float *)weight->data)[5] = NAN;
  assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, *state, &error), DQ_BAD_INPUT);
  ((float *)weight->data)[5] = -INFINITY;
  assert_int_equal(dq_hosvd_compute(&hosvd, weight, 1, NULL, *state, &error), DQ_BAD_INPUT);
  dq_tensor *empty = dq_tensor_new(*state, DQ_F32, 4, (int64_t[]){4, 0, 3, 3});
  assert_int_equal(dq_hosvd_compute(&hosvd, empty, 1, NULL, *state, &error), DQ_BAD_INPUT);
  dq_tensor *line = dq_tensor_new(*state, DQ_F32, 3, (int64_t[]){4, 3, 3});
  assert_int_equal(dq_hosvd_compute(&hosvd, line, 1, NULL, *state, &error), DQ_UNSUPPORTED);
  dq_tensor *half = dq_tensor_new(*state, DQ_F16, 4, (int64_t[]){4, 3, 3, 3});
  assert_int_equal(dq_hosvd_compute(&hosvd, half, 1, NULL, *state, &error), DQ_UNSUPPORTED);
}

// A factor that is the unit matrix becomes the transform itself: for 2 channels (1 1 / 1 -1) / sqrt 2.
static void transform_between_factors(void **state) {
  (void)state;
  const int64_t sizes[] = {1, 2, 3, 7, 8, 12, 29};
  for (int s = 0; s < DQ_COUNT(sizes); s++) {
    const int64_t n = sizes[s];
    double *core = calloc((size_t)n, sizeof *core), *output = calloc((size_t)(n * n), sizeof *output);
    for (int64_t i = 0; i < n; i++) output[i * n + i] = 1;
    const dq_tucker2 factors = {.group = 1, .rank_out = n, .rank_in = 1};
    assert_int_equal(dq_tucker2_spread(&factors, (int64_t[]){n, 1, 1, 1}, NULL, core, output, NULL), DQ_OK);
    for (int64_t j = 0; j < n; j++)
      for (int64_t k = 0; k < n; k++) {
        const double angle = 2 * M_PI * (double)(j * k % n) / (double)n;
        assert_true(fabs(output[j * n + k] - (cos(angle) + sin(angle)) / sqrt((double)n)) < 1e-15);
      }
    free(core), free(output);
  }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(transform_between_factors),
                                     TEST(two_by_two_by_hand),
                                     TEST(reads_within_tensors),
                                     TEST(energy_by_hand),
                                     TEST(full_rank_is_exact),
                                     TEST(error_falls_with_rank),
                                     TEST(refinement_lowers_the_error),
                                     TEST(refinement_leaves_what_is_not_cut),
                                     TEST(unbalanced_factors_lose_in_8_bits),
                                     TEST(vectors_are_orthonormal),
                                     TEST(factors_are_balanced),
                                     TEST(one_sided),
                                     TEST(group_by_group),
                                     TEST(scaled_channels),
                                     TEST(ratio_and_multiple),
                                     TEST(costs_by_hand),
                                     TEST(zero_and_bad_weights)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
