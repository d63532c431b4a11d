// Quantization-aware training of data and weights of 8 and 16 bits.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/train/training.h"
#include "tests/unit/operator_harness.h"
#include "tests/unit/plan_harness.h"

static void say(dq_status status, const dq_error *error) {
  if (status != DQ_OK) print_message("%s\n", error->message);
  assert_int_equal(status, DQ_OK);
}

static dq_value *typed(dq_graph *graph, dq_value *levels, dq_value *scale, int type, const char *name) {
  char zero[40];
  snprintf(zero, sizeof zero, "%s_zero", name);
  return add(graph, "DequantizeLinear", 3, (dq_value *[]){levels, scale, integers(graph, zero, type, 0, NULL, 0)}, name)
      ->outputs[0];
}

// y = x w with data and weight of these types, zero points 0 and two levels of the weight.
static dq_graph *typed_product(int data, int weight, double level) {
  dq_graph *graph = new_graph();
  const float one = 1, half = 0.5f;
  dq_value *x = shaped(graph, "x", 2, (int64_t[]){1, 2});
  dq_value *scale = constant(graph, "a_scale", 0, NULL, &one), *zero = integers(graph, "q_zero", data, 0, NULL, 0);
  dq_value *levels = add(graph, "QuantizeLinear", 3, (dq_value *[]){x, scale, zero}, "a_levels")->outputs[0];
  dq_value *pair[] = {levels, scale, zero};
  dq_value *a = add(graph, "DequantizeLinear", 3, pair, "a")->outputs[0];
  dq_value *w = integers(graph, "w", weight, 2, (int64_t[]){2, 1}, level);
  dq_value *b = typed(graph, w, constant(graph, "w_scale", 0, NULL, &half), weight, "b");
  interface(graph, x, add(graph, "MatMul", 2, (dq_value *[]){a, b}, "y")->outputs[0]);
  return graph;
}

// Opens, steps and stores with every pair of types: y is (3 + 100) * 50, and a step with the target below it makes the
// weight smaller. A search for sums within int16 has an end where no product of 16 bits fits.
static void data_and_weights_of_8_and_16_bits(void **state) {
  (void)state;
  static const int types[] = {DQ_U8, DQ_I8, DQ_U16, DQ_I16};
  const dq_training_options options = {.loss = DQ_LOSS_SQUARED_ERROR, .batch = 1, .quantized = true};
  for (int i = 0; i < 16; i++) {
    dq_error error = {0};
    dq_training training;
    dq_optimizer optimizer = dq_optimizer_of(DQ_OPTIMIZER_SGD, 0, 0);
    dq_graph *graph = typed_product(types[i / 4], types[i % 4], 100);
    double loss;
    say(dq_training_open(&training, graph, &options, &context, &error), &error);
    say(dq_training_optimizer(&training, &optimizer, &error), &error);
    dq_tensor_set(training.input, 0, 3), dq_tensor_set(training.input, 1, 100);
    dq_tensor_set(training.targets, 0, 5050);
    say(dq_training_step(&training, &optimizer, 1e-4, &loss, &error), &error);
    assert_true(fabs(loss - 100.0 * 100) < 1e-2);
    say(dq_training_store(&training, graph, &error), &error);
    const dq_tensor *levels = dq_graph_find(graph, "w")->constant;
    assert_int_equal(levels->type, types[i % 4]);
    assert_true(dq_tensor_get_i64(levels, 1) < 100);
    dq_training_close(&training);
    dq_graph_free(graph);
  }
}

// A weight whose pairs fit int16 (50 + 50 is below 128) and that a step makes infinite: the search for safe sums ends.
static void steps_beyond_all_numbers_end(void **state) {
  (void)state;
  const dq_training_options options = {.loss = DQ_LOSS_SQUARED_ERROR, .batch = 1, .quantized = true};
  dq_error error = {0};
  dq_training training;
  dq_optimizer optimizer = dq_optimizer_of(DQ_OPTIMIZER_SGD, 0, 0);
  dq_graph *graph = typed_product(DQ_U8, DQ_I8, 50);
  double loss;
  say(dq_training_open(&training, graph, &options, &context, &error), &error);
  say(dq_training_optimizer(&training, &optimizer, &error), &error);
  dq_tensor_set(training.input, 0, 3), dq_tensor_set(training.input, 1, 100);
  say(dq_training_step(&training, &optimizer, 1e39, &loss, &error), &error);
  for (int i = 0; i < training.trained_count; i++)
    if (training.trained[i].grid) assert_false(isfinite(dq_tensor_get(training.trained[i].elements, 0)));
  dq_training_close(&training);
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(data_and_weights_of_8_and_16_bits),
                                     cmocka_unit_test(steps_beyond_all_numbers_end)};
  return cmocka_run_group_tests(tests, context_start, context_end);
}
