// The cost model of tuning, with texts and times worked out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/kernels/conv/conv.h"
#include "lib/tune/cost_model.h"

#define CONV_3X3 "FusedConv/any/float32[1,16,8,8]/float32[32,16,3,3]=/float32[32]=/to/float32[1,32,4,4]/strides=2,2"

static void near(double value, double expected) { assert_true(fabs(value - expected) < 1e-9 * fabs(expected) + 1e-12); }

static void sizes_of_a_convolution(void **state) {
  (void)state;
  dq_run_shape shape;
  assert_true(dq_run_shape_read(&shape, CONV_3X3));
  assert_string_equal(shape.family, "FusedConv float32 3x3");
  assert_int_equal(shape.kind, 17); // "FusedConv float32"
  assert_false(shape.depthwise);
  const double sizes[DQ_RUN_SIZES] = {16, 4, 32, 16, 9, 4};
  for (int i = 0; i < DQ_RUN_SIZES; i++) near(shape.sizes[i], log2(sizes[i]));
  near(shape.work, 32 * 4 * 4 * 16 * 9);
}

static void sizes_of_other_steps(void **state) {
  (void)state;
  dq_run_shape shape;
  // The weight is not the second input, and each group has one channel.
  assert_true(dq_run_shape_read(&shape, "QLinearConv/direct/uint8[2,8,4,4]/float32[]=/uint8[]=/int8[8,1,3,3]=/-"
                                        "/to/uint8[2,8,4,4]/group=8"));
  assert_string_equal(shape.family, "QLinearConv uint8 3x3 depthwise");
  assert_true(shape.depthwise);
  near(shape.work, 2 * 8 * 16 * 9);
  assert_true(dq_run_shape_read(&shape, "Relu/any/float32[1,3,2,2]/to/float32[1,3,2,2]"));
  assert_string_equal(shape.family, "Relu float32");
  near(shape.work, 12);
  // What is no number of elements counts as one.
  assert_true(dq_run_shape_read(&shape, "Relu/any/float32[0,3]/to/float32[0,3]"));
  near(shape.work, 1);
}

static void texts_of_no_step(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      "Conv",
                                      "Network/any/0123456789abcdef",
                                      "Conv/any/to/float32[1]",
                                      "Conv/any/float32[1]",
                                      "Conv/any/float32[1]/to/float32[1",
                                      "Conv/any/float32[1]/to/float32[a]",
                                      "Conv/any/float32[1]/to/float32[-1]",
                                      "Conv/any/float32[1]/to/float32[1,1,1,1,1,1,1,1,1]",
                                      "Conv/any/float32[1]/to/a_type_of_many_letters[1]",
                                      "Conv/any/float32[1]/to/[1]",
                                      "Relu/any/float32[inf]/to/float32[1]",
                                      "Relu/any/float32[1e300]/to/float32[1]"};
  dq_run_shape shape;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) assert_false(dq_run_shape_read(&shape, texts[i]));
}

static const dq_counts nothing;

static dq_step_choice choice_of(int algorithm, int columns) {
  return (dq_step_choice){{[DQ_KNOB_OF_ALGORITHM] = algorithm, [DQ_KNOB_OF_COLUMNS] = columns}};
}

static double expected_of(const dq_cost_model *model, int algorithm, int columns) {
  const dq_step_choice choice = choice_of(algorithm, columns);
  return dq_cost_model_seconds(model, &choice, &nothing);
}

static void add(dq_cost_model *model, const char *run, int algorithm, double seconds) {
  const dq_step_choice choice = choice_of(algorithm, 0);
  assert_int_equal(dq_cost_model_add(model, run, &choice, &nothing, seconds, NULL), DQ_OK);
}

// Logarithms of 1 and 4 s lie ln 2 below and above their mean. Two choices of one algorithm have 1.6 more covariance
// than those of two algorithms, and 0.3 exp(-d^2 / 4.5) for sizes that are d apart; noise adds 0.0004.
static void two_algorithms_of_one_shape(void **state) {
  (void)state;
  dq_arena *arena = dq_arena_new(0);
  dq_cost_model *model = dq_cost_model_new(arena);
  assert_int_equal(dq_cost_model_fit(model, CONV_3X3, false, NULL), DQ_OK);
  near(expected_of(model, DQ_CONV_tiles, 0), 32 * 4 * 4 * 16 * 9); // nothing is known
  add(model, CONV_3X3, DQ_CONV_tiles, 1);
  add(model, CONV_3X3, DQ_CONV_bands, 4);
  // Neither other types nor what is no step counts.
  add(model, "FusedConv/any/float16[1,16,8,8]/float16[32,16,3,3]=/to/float16[1,32,4,4]", DQ_CONV_tiles, 1e6);
  add(model, "Network/any/0", DQ_CONV_tiles, 1e6);
  add(model, CONV_3X3, DQ_CONV_tiles, INFINITY);
  assert_int_equal(dq_cost_model_fit(model, CONV_3X3, false, NULL), DQ_OK);
  double weight = log(2) / 1.9004;
  near(expected_of(model, DQ_CONV_tiles, 0), 2 * exp(-weight * 1.9));
  near(expected_of(model, DQ_CONV_bands, 0), 2 * exp(weight * 1.9));
  near(expected_of(model, DQ_CONV_channels, 0), 2); // between both
  near(expected_of(model, DQ_CONV_tiles, 1), 2 * exp(-weight * (1.6 + 0.3 * exp(-1 / 4.5))));
  dq_arena_free(arena);
}

// With twice the channels of the output the same algorithm is expected to be the faster one as well, less so.
static void another_shape_teaches(void **state) {
  (void)state;
  static const char wide[] = "FusedConv/any/float32[1,16,8,8]/float32[64,16,3,3]=/float32[64]=/to/float32[1,64,4,4]";
  dq_arena *arena = dq_arena_new(0);
  dq_cost_model *model = dq_cost_model_new(arena);
  add(model, CONV_3X3, DQ_CONV_tiles, 1);
  add(model, CONV_3X3, DQ_CONV_bands, 4);
  assert_int_equal(dq_cost_model_fit(model, wide, false, NULL), DQ_OK);
  double faster = expected_of(model, DQ_CONV_tiles, 0), slower = expected_of(model, DQ_CONV_bands, 0);
  near(faster * slower, 16); // 2 s and 8 s would have this product
  assert_true(faster > 2 && faster < 4);
  dq_arena_free(arena);
}

// More observations than the nearest that count: the farther ones change nothing.
static void the_nearest_count(void **state) {
  (void)state;
  dq_arena *arena = dq_arena_new(0);
  dq_cost_model *one = dq_cost_model_new(arena), *two = dq_cost_model_new(arena);
  for (int i = 0; i < 200; i++) {
    add(one, CONV_3X3, i % 2 ? DQ_CONV_tiles : DQ_CONV_bands, 1 + i % 7);
    add(two, CONV_3X3, i % 2 ? DQ_CONV_tiles : DQ_CONV_bands, 1 + i % 7);
  }
  add(two, "FusedConv/any/float32[1,4,8,8]/float32[4,4,1,1]=/to/float32[1,4,8,8]", DQ_CONV_tiles, 1e6);
  assert_int_equal(dq_cost_model_fit(one, CONV_3X3, false, NULL), DQ_OK);
  assert_int_equal(dq_cost_model_fit(two, CONV_3X3, false, NULL), DQ_OK);
  assert_true(expected_of(one, DQ_CONV_tiles, 0) == expected_of(two, DQ_CONV_tiles, 0));
  dq_arena_free(arena);
}

// ---- Counts ----

static dq_counts counts_of(double products, double calls) {
  return (dq_counts){{[DQ_COUNT_PRODUCTS] = products, [DQ_COUNT_CALLS] = calls}};
}

static double expected_with(const dq_cost_model *model, int algorithm, double products, double calls) {
  const dq_step_choice choice = choice_of(algorithm, 0);
  const dq_counts counts = counts_of(products, calls);
  return dq_cost_model_seconds(model, &choice, &counts);
}

// Before anything is measured a call takes as long as 40 multiply-adds, at 2e9 of these in a second.
static void counts_give_an_order_without_times(void **state) {
  (void)state;
  dq_arena *arena = dq_arena_new(0);
  dq_cost_model *model = dq_cost_model_new(arena);
  assert_int_equal(dq_cost_model_fit(model, CONV_3X3, true, NULL), DQ_OK);
  near(expected_with(model, DQ_CONV_tiles, 1000, 0), 0.5e-6);
  near(expected_with(model, DQ_CONV_bands, 1000, 1), 0.52e-6);
  dq_arena_free(arena);
}

// Two times of one kind of work each: logarithms that are d above and below what the usual costs say let the costs go
// d / (1 + 0.15^2 / 0.5^2) of the way, by the weights of an error and of a change of a cost.
static void costs_by_hand(void **state) {
  (void)state;
  const dq_counts one = counts_of(1000, 0), two = counts_of(0, 1000);
  const dq_counts *const counts[] = {&one, &two};
  const double logarithms[] = {log(0.5e-6 * 4), log(20e-6 * 2)}, middle = log(8) / 2, d = log(2) / 2;
  dq_costs costs;
  assert_int_equal(dq_costs_fit(&costs, counts, logarithms, 2, NULL), DQ_OK);
  near(costs.values[DQ_COUNT_PRODUCTS], 0.5e-9 * exp(middle + d / 1.09));
  near(costs.values[DQ_COUNT_CALLS], 20e-9 * exp(middle - d / 1.09));
  near(costs.values[DQ_COUNT_MOVES], 2e-9 * exp(middle)); // as all
  near(dq_costs_seconds(&costs, &nothing), 0);
}

// Times of 3 ns for a multiply-add and 1 ns for a call, measured on fused convolutions, tell the order of choices of
// one that is not fused.
static void costs_teach_other_operators(void **state) {
  (void)state;
  static const char other[] = "Conv/any/float32[1,16,8,8]/float32[32,16,3,3]=/to/float32[1,32,4,4]";
  dq_arena *arena = dq_arena_new(0);
  dq_cost_model *model = dq_cost_model_new(arena);
  for (int i = 0; i < 30; i++) {
    const dq_step_choice choice = choice_of(i % 2 ? DQ_CONV_tiles : DQ_CONV_bands, i % 3);
    const dq_counts counts = counts_of(1000 + 300 * (i % 5), 1000 + 9000 * (i % 4));
    double seconds = 3e-9 * counts.values[DQ_COUNT_PRODUCTS] + 1e-9 * counts.values[DQ_COUNT_CALLS];
    assert_int_equal(dq_cost_model_add(model, CONV_3X3, &choice, &counts, seconds, NULL), DQ_OK);
  }
  assert_int_equal(dq_cost_model_fit(model, other, true, NULL), DQ_OK);
  double calls = expected_with(model, DQ_CONV_tiles, 1000, 5000);
  double products = expected_with(model, DQ_CONV_tiles, 3000, 1000); // fewer by the usual costs
  assert_true(calls < products);
  assert_true(fabs(calls / 8e-6 - 1) < 0.1 && fabs(products / 1e-5 - 1) < 0.1);
  dq_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_of_a_convolution),
      cmocka_unit_test(sizes_of_other_steps),
      cmocka_unit_test(texts_of_no_step),
      cmocka_unit_test(two_algorithms_of_one_shape),
      cmocka_unit_test(another_shape_teaches),
      cmocka_unit_test(the_nearest_count),
      cmocka_unit_test(counts_give_an_order_without_times),
      cmocka_unit_test(costs_by_hand),
      cmocka_unit_test(costs_teach_other_operators),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
