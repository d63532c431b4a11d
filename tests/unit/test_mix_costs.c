// Sums of costs of dq-mix, by hand on a chain of two units between the inputs and the outputs.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "quant/mix/mix.h"
#include "quant/mix/mix_form.h"
#include "quant/mix/mix_noise.h"

enum { INPUT, FIRST, SECOND, OUTPUT, UNITS };
enum { I8 = DQ_PRECISION_INT8, F16 = DQ_PRECISION_FP16, F32 = DQ_PRECISION_FP32, P = DQ_PRECISIONS };

static const char *layer[] = {"a"};
static int readers[][1] = {{FIRST}, {SECOND}, {OUTPUT}};
static dq_mix_unit units[UNITS] = {{.name = ""},
                                   {.name = "first", .layers = layer, .layer_count = 1, .weights = 100},
                                   {.name = "second", .layers = layer, .layer_count = 1, .weights = 10},
                                   {.name = ""}};
static dq_mix_value values[] = {
    {INPUT, readers[0], 1, {{{0}}}}, {FIRST, readers[1], 1, {{{0}}}}, {SECOND, readers[2], 1, {{{0}}}}};
static int64_t elements[] = {16, 16, 32};
static dq_mix_network network = {
    .units = units, .unit_count = UNITS, .values = values, .value_count = 3, .elements = elements};

static dq_arena *arena;
static dq_mix_costs costs;
static dq_error error;

static void set_unit(int unit, int precision, double seconds, double noise) {
  costs.unit_seconds[unit * P + precision] = (dq_mix_mean){2 * seconds, 2};
  costs.unit_noise[unit * P + precision] = noise;
}

static void set_conversion(int value, int from, int to, double seconds, double noise) {
  costs.value_seconds[(value * P + from) * P + to] = (dq_mix_mean){seconds, 1};
  costs.value_noise[value * P + to] = noise;
}

// Float32 takes 10 + 20 and 2 of steps that belong to no unit; the run took 64 seconds, twice the sum of its steps.
static int set_up(void **state) {
  (void)state;
  arena = dq_arena_new(NULL);
  if (!arena || dq_mix_network_index(&network, arena, &error) != DQ_OK) return 1;
  if (dq_mix_costs_open(&costs, &network, arena, &error) != DQ_OK) return 1;
  set_unit(FIRST, F32, 10, 0), set_unit(FIRST, I8, 4, 0.5);
  set_unit(SECOND, F32, 20, 0), set_unit(SECOND, I8, 5, 0.125);
  set_conversion(0, F32, I8, 1, 0.25);
  set_conversion(1, F32, I8, 1, 0.0625), set_conversion(1, I8, F32, 3, 0);
  costs.value_noise[1 * P + I8] = 0.0625;
  costs.per_element[I8][F32] = (dq_mix_mean){4, 2}; // 2 seconds for each 16 elements
  costs.other_seconds = (dq_mix_mean){2, 1};
  costs.other_noise = 0.01;
  costs.float32 = 64;
  dq_mix_costs_keep_alone(&costs);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  dq_arena_free(arena);
  return 0;
}

static void near(double found, double expected) { assert_true(fabs(found - expected) <= 1e-9 * fabs(expected)); }

static void sums(void **state) {
  (void)state;
  // The first unit in 8 bits: 2 + 4 + 20, and conversions of 1 and 3 seconds: 30, times two. Noise: that of the steps
  // in float, the unit, and rounding its input; its result is rounded in the unit.
  dq_mix_prediction p = dq_mix_predict(&costs, (uint8_t[]){F32, I8, F32, F32});
  near(p.seconds, 60), near(p.conversions, 8), near(p.noise, 0.76);
  assert_int_equal(p.bytes, 100 * 1 + 10 * 4);
  // Both: 2 + 4 + 5, conversions of the input and of the output, of which only those by elements are known: 2 * 3.
  p = dq_mix_predict(&costs, (uint8_t[]){F32, I8, I8, F32});
  near(p.seconds, 2 * (11 + 1 + 6)), near(p.noise, 0.01 + 0.5 + 0.25 + 0.125);
  // The second alone rounds what the first one made in float.
  p = dq_mix_predict(&costs, (uint8_t[]){F32, F32, I8, F32});
  near(p.noise, 0.01 + 0.0625 + 0.125), near(p.seconds, 2 * (2 + 10 + 5 + 1 + 6));
  near(dq_mix_predict(&costs, (uint8_t[]){F32, F32, F32, F32}).seconds, 64);
}

// A quarter of the sum was measured: every term of it is halved, others stay.
static void correction(void **state) {
  (void)state;
  const uint8_t choice[] = {F32, I8, F32, F32};
  dq_mix_costs_correct_noise(&costs, choice, 0.01 + 0.75 / 4, 0.5);
  near(costs.unit_noise[FIRST * P + I8], 0.25), near(costs.value_noise[0 * P + I8], 0.125);
  near(costs.unit_noise[SECOND * P + I8], 0.125), near(costs.value_noise[1 * P + I8], 0.0625);
  dq_mix_costs_correct_noise(&costs, choice, 0.005, 0.5); // below what is there in any case: nothing is learnt
  near(costs.unit_noise[FIRST * P + I8], 0.25);
}

// The noise of the inputs is one of the terms as well; nothing is learnt from a network that has no noise.
static void correction_of_the_first_unit(void **state) {
  (void)state;
  const uint8_t choice[] = {F32, I8, F32, F32};
  set_unit(INPUT, F32, 0, 0.125);
  dq_mix_costs_keep_alone(&costs);
  dq_mix_costs_correct_noise(&costs, choice, 0.01 + 0.875 / 4, 0.5); // a quarter of 0.125 + 0.5 + 0.25
  near(costs.unit_noise[INPUT * P + F32], 0.0625), near(costs.unit_noise[FIRST * P + I8], 0.25);
  memset(costs.unit_noise, 0, UNITS * P * sizeof *costs.unit_noise);
  memset(costs.value_noise, 0, 3 * P * sizeof *costs.value_noise);
  dq_mix_costs_correct_noise(&costs, choice, 1, 0.5);
  dq_mix_costs_correct_noise(&costs, choice, INFINITY, 0.5);
  for (int u = 0; u < UNITS * P; u++) assert_true(costs.unit_noise[u] == 0);
}

// Without times in float32 all times are 0, without noise in 8 bits all losses; sums below 1 are as good as others.
static void table_of_nothing(void **state) {
  (void)state;
  dq_mix_table made;
  const dq_mix_table_options all = {.conversions = true, .bytes = true};
  memset(costs.unit_noise, 0, UNITS * P * sizeof *costs.unit_noise);
  memset(costs.unit_seconds, 0, UNITS * P * sizeof *costs.unit_seconds);
  set_unit(FIRST, I8, 4, 0), set_unit(FIRST, F16, 4, 0.5);
  assert_int_equal(dq_mix_costs_table(&costs, &all, arena, &made, &error), DQ_OK);
  for (int p = 0; p < P; p++) assert_true(made.costs[FIRST * P + p].time == 0 && made.costs[FIRST * P + p].loss == 0);
  set_unit(FIRST, F32, 0.25, 0), set_unit(SECOND, F32, 0.25, 0), set_unit(SECOND, I8, 0.125, 0.25);
  assert_int_equal(dq_mix_costs_table(&costs, &all, arena, &made, &error), DQ_OK);
  assert_true(made.costs[FIRST * P + F32].time == 8192 && made.costs[SECOND * P + I8].time == 4096);
  assert_true(made.costs[SECOND * P + I8].loss == 1 << 30 && made.costs[FIRST * P + F16].loss == 1ll << 31);
}

static void table(void **state) {
  (void)state;
  dq_mix_table made;
  const dq_mix_table_options all = {.conversions = true, .bytes = true}, none = {0}, two = {.no_float16 = true};
  assert_int_equal(dq_mix_costs_table(&costs, &all, arena, &made, &error), DQ_OK);
  // Units in float32 take 30 seconds: a second is 16384 / 30 parts.
  assert_int_equal(made.costs[FIRST * P + F32].time, 5461), assert_int_equal(made.costs[FIRST * P + I8].time, 2185);
  assert_int_equal(made.costs[FIRST * P + I8].loss, 858993459), assert_int_equal(made.costs[FIRST * P + I8].bytes, 100);
  assert_int_equal(made.costs[INPUT * P + I8].time, -1); // has no layers
  assert_int_equal(made.value[1].conversions[I8][F32].time, 1638);
  assert_int_equal(made.value[1].conversions[I8][F32].loss, 0); // it is rounded already
  assert_int_equal(made.value[1].conversions[F32][I8].loss, 107374182);
  assert_int_equal(dq_mix_costs_table(&costs, &two, arena, &made, &error), DQ_OK);
  assert_int_equal(made.costs[FIRST * P + F16].time, -1);
  assert_true(made.costs[FIRST * P + F32].time > 0 && made.costs[FIRST * P + I8].time > 0);
  assert_int_equal(dq_mix_costs_table(&costs, &none, arena, &made, &error), DQ_OK);
  assert_int_equal(made.value[1].conversions[I8][F32].time, 0), assert_int_equal(made.costs[FIRST * P + I8].bytes, 0);
}

static void alternation(void **state) {
  (void)state;
  uint8_t choice[UNITS];
  dq_mix_alternate(&network, DQ_PRECISION_FP16, DQ_PRECISION_INT8, choice); // depths 0, 1, 2, 3
  assert_memory_equal(choice, ((uint8_t[]){F32, I8, F16, F32}), UNITS);
}

// One and two units in 8 bits: noises that have both sums are found. A choice that was measured twice, with 0.075 and
// with 16 times that beyond what float32 has, comes to the middle of their logarithms, 0.3.
static void fit(void **state) {
  (void)state;
  const uint8_t one[UNITS] = {F32, I8, F32, F32}, both[UNITS] = {F32, I8, I8, F32};
  const dq_mix_observation consistent[2] = {{one, 0.15 + costs.other_noise, 0}, {both, 0.25 + costs.other_noise, 0}};
  dq_mix_costs_fit_noise(&costs, consistent, 2);
  assert_true(fabs(dq_mix_predict(&costs, one).noise / consistent[0].noise - 1) < 0.01);
  assert_true(fabs(dq_mix_predict(&costs, both).noise / consistent[1].noise - 1) < 0.01);
  const dq_mix_observation twice[2] = {{one, 0.075 + costs.other_noise, 0}, {one, 1.2 + costs.other_noise, 0}};
  dq_mix_costs_fit_noise(&costs, twice, 2);
  assert_true(fabs((dq_mix_predict(&costs, one).noise - costs.other_noise) / 0.3 - 1) < 0.05);
}

// Both units in 8 bits have 1e-6, the first one alone 0.2. No noises give
// both sums: the term of the first choice alone ends 15 dB below what was measured, others at most as much above it.
static void corrections_have_a_bound(void **state) {
  (void)state;
  const uint8_t one[UNITS] = {F32, I8, F32, F32}, both[UNITS] = {F32, I8, I8, F32};
  const dq_mix_observation impossible[2] = {{both, 1e-6 + costs.other_noise, 0}, {one, 0.2 + costs.other_noise, 0}};
  dq_mix_costs_fit_noise(&costs, impossible, 2);
  assert_true(fabs(costs.unit_noise[SECOND * P + I8] / 0.125 * 31.6227766 - 1) < 1e-6);
  near(costs.unit_alone[SECOND * P + I8], 0.125);
  dq_mix_costs_fit_noise(&costs, &(dq_mix_observation){one, 1e6, 0}, 1);
  assert_true(fabs(costs.unit_noise[FIRST * P + I8] / 0.5 / 31.6227766 - 1) < 1e-6);
  assert_true(fabs(costs.value_noise[0 * P + I8] / 0.25 / 31.6227766 - 1) < 1e-6);
}

// Points with noises of 3, 2 and 1.
static void are_sure(const double drop[3], const bool sure[3]) {
  dq_mix_point points[3] = {
      {.noise = 3, .drop = drop[0]}, {.noise = 2, .drop = drop[1]}, {.noise = 1, .drop = drop[2]}};
  const dq_mix_report report = {.points = points, .count = 3};
  for (int p = 0; p < 3; p++) assert_int_equal(dq_mix_is_sure(&report, &points[p], 0.5), sure[p]);
}

static void cautious_bounds(void **state) {
  (void)state;
  are_sure((double[]){0, 1, 0}, (bool[]){false, false, true});
  are_sure((double[]){0, -1, 0}, (bool[]){false, false, true});
  are_sure((double[]){1, 0, 0}, (bool[]){false, true, true});
  are_sure((double[]){0.5, -0.5, 0.5}, (bool[]){true, true, true});
}

static void errors_of_noise(void **state) {
  (void)state;
  uint8_t choice[UNITS] = {0};
  assert_true(fabs(dq_mix_noise_error(&(dq_mix_point){.choice = choice, .noise = 1e-4, .predicted.noise = 1e-3}) - 10) <
              1e-9);
  assert_true(fabs(dq_mix_noise_error(&(dq_mix_point){.choice = choice, .noise = 1e-3, .predicted.noise = 1e-4}) - 10) <
              1e-9);
  assert_true(fabs(dq_mix_noise_error(&(dq_mix_point){.choice = choice, .noise = 1e-13, .predicted.noise = 1})) < 1e-9);
  assert_true(fabs(dq_mix_noise_error(&(dq_mix_point){.noise = 1e-4})) < 1e-9); // divides units
}

static void check_turns(int64_t pictures, int64_t tried, int64_t others, const int64_t *expected) {
  int64_t order[8];
  dq_mix_turns(order, pictures, tried, others);
  assert_memory_equal(order, expected, (size_t)(tried + others) * sizeof *order);
}

// Of four pictures the inner two are tried, the outer two are others. Of eight pairs are at 0, 3, 4 and 7: behind the
// first one of its two by 0, 0.618, 0.236 and 0.854 of them. Of 1000 each quarter has a quarter of those of trials, and
// odd numbers about half.
static void turns(void **state) {
  (void)state;
  enum { MANY = 1000, TRIED = 128 };
  int64_t order[2 * TRIED], quarters[4] = {0}, odd = 0;
  bool seen[MANY] = {false};
  check_turns(1, 0, 1, (int64_t[]){0});
  check_turns(4, 2, 2, (int64_t[]){1, 2, 0, 3});
  check_turns(5, 2, 3, (int64_t[]){1, 2, 0, 3, 4});
  check_turns(8, 2, 2, (int64_t[]){3, 4, 0, 7});
  dq_mix_turns(order, MANY, TRIED, TRIED);
  for (int i = 0; i < 2 * TRIED; i++) {
    assert_true(order[i] >= 0 && order[i] < MANY && !seen[order[i]]);
    seen[order[i]] = true;
    if (i < TRIED) quarters[order[i] * 4 / MANY]++, odd += order[i] % 2;
  }
  for (int q = 0; q < 4; q++) assert_int_equal(quarters[q], TRIED / 4);
  assert_in_range(odd, TRIED / 2 - 8, TRIED / 2 + 8);
}

// Steps of 1, 4 and 7 take 12 together; where a run takes 6, each takes half. Steps without time have none to divide.
static void fitted(void **state) {
  (void)state;
  double steps[] = {1, 4, 7}, none[] = {0, 0};
  dq_mix_fit_steps(steps, 3, 6);
  assert_float_equal(steps[0], 0.5, 1e-9);
  assert_float_equal(steps[1], 2, 1e-9);
  assert_float_equal(steps[2], 3.5, 1e-9);
  dq_mix_fit_steps(none, 2, 6);
  assert_float_equal(none[0] + none[1], 0, 1e-9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fitted),
      cmocka_unit_test_setup_teardown(fit, set_up, tear_down),
      cmocka_unit_test_setup_teardown(corrections_have_a_bound, set_up, tear_down),
      cmocka_unit_test(cautious_bounds),
      cmocka_unit_test(errors_of_noise),
      cmocka_unit_test(turns),
      cmocka_unit_test_setup_teardown(sums, set_up, tear_down),
      cmocka_unit_test_setup_teardown(correction, set_up, tear_down),
      cmocka_unit_test_setup_teardown(correction_of_the_first_unit, set_up, tear_down),
      cmocka_unit_test_setup_teardown(table, set_up, tear_down),
      cmocka_unit_test_setup_teardown(table_of_nothing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(alternation, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
