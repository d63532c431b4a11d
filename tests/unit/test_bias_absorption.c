// High biases move into the layers behind: amounts by hand, what the network computes, and where it may not be done.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "quant/equalize/bias_absorption.h"
#include "quant/int8/int8.h"
#include "tests/unit/small_network.h"

static dq_value *constant(network *it, const char *name, int rank, const int64_t *dims, const float *elements) {
  dq_tensor *tensor = dq_tensor_new(it->graph->arena, DQ_F32, rank, dims);
  memcpy(tensor->data, elements, dq_tensor_bytes(tensor));
  return dq_graph_add_constant(it->graph, name, tensor);
}

static float *elements_of(network *it, const char *value, int input) {
  return dq_graph_find(it->graph, value)->producer->inputs[input]->constant->data;
}

static dq_value *scalar(network *it, const char *name, float x) { return constant(it, name, 0, NULL, &x); }

// Every channel of the pictures holds k / 63 for k in 0...63. Channels h = (x0, x1 + 2, 2.5 x2), rectified, are read
// by a 1x1 convolution with weights (1, o + 1, 0.5) for output o, without a bias.
static void build(network *it, dq_value *bound) {
  const float step = 1.0f / 63;
  network_steps(it, (float[]){0, 0, 0}, (float[]){step, step, step}, (int[]){63, 63, 63});
  dq_graph_set_opset(it->graph, "", 13, NULL);
  const float first[] = {1, 0, 0, 0, 1, 0, 0, 0, 2.5f}, second[] = {1, 1, 0.5f, 1, 2, 0.5f, 1, 3, 0.5f, 1, 4, 0.5f};
  network_node(it, "Conv", network_value(it, "x"), constant(it, "first", 4, (int64_t[]){3, 3, 1, 1}, first),
               constant(it, "high", 1, (int64_t[]){3}, (float[]){0, 2, 0}), network_value(it, "h"));
  network_node(it, bound ? "Clip" : "Relu", network_value(it, "h"), bound ? scalar(it, "zero", 0) : NULL, bound,
               network_value(it, "m"));
  network_node(it, "Conv", network_value(it, "m"), constant(it, "second", 4, (int64_t[]){4, 3, 1, 1}, second), NULL,
               network_value(it, "y"));
  network_finish(it);
}

static dq_absorption measure(const network *it) {
  dq_observation what = network_watch(it, NULL);
  dq_absorption absorption;
  dq_error error;
  if (dq_absorption_measure(&absorption, &what, it->arena, &it->context, &error) != DQ_OK)
    fail_msg("%s", error.message);
  return absorption;
}

static dq_status apply(network *it, const dq_absorption *absorption) {
  const dq_restated *restated;
  int count;
  dq_error error;
  return dq_absorption_apply(it->graph, absorption, it->arena, &restated, &count, &error);
}

// h1 lies in 2...3 with the mean 2.5 and the deviation sqrt((64^2 - 1) / 12) / 63 = 0.29322: it can spare
// min(2, 2.5 - 3 * 0.29322) = 1.62033, but h2 reaches 2.5, so 0.5 is enough.
static void amounts_by_hand(void **state) {
  network *it = *state;
  static network_outputs before, after;
  build(it, NULL);
  network_run(it, &before);
  dq_absorption absorption = measure(it);
  assert_int_equal(absorption.count, 1);
  assert_string_equal(absorption.values[0].value, "m");
  const double *amounts = absorption.values[0].means;
  assert_true(amounts[0] == 0 && amounts[1] == 0.5 && amounts[2] == 0);
  assert_int_equal(apply(it, &absorption), DQ_OK);
  const float *high = elements_of(it, "h", 2), *bias = elements_of(it, "y", 2);
  assert_true(high[0] == 0 && high[1] == 1.5f && high[2] == 0);
  for (int o = 0; o < 4; o++) assert_true(bias[o] == 0.5f * (float)(o + 1)); // weight o + 1 times 0.5
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 1e-6);
}

// Without h2 the channel gives all it can spare, and 3 - 1.62033 is left of its reach.
static void three_deviations(void **state) {
  network *it = *state;
  build(it, NULL);
  elements_of(it, "h", 1)[8] = 0;
  dq_absorption absorption = measure(it);
  assert_true(fabs(absorption.values[0].means[1] - 1.62033) < 1e-4);
}

// Clip to 0...3 would have to become Clip to 0...2.5 where 3 was reached; not to 0...6.
static void bounds_that_are_reached(void **state) {
  network *it = *state;
  build(it, scalar(it, "bound", 3));
  assert_int_equal(measure(it).count, 0);
  *elements_of(it, "m", 2) = 6;
  assert_int_equal(measure(it).count, 1);
}

// At the border 0 stands for the amount.
static void padding_is_refused(void **state) {
  network *it = *state;
  build(it, NULL);
  dq_absorption absorption = measure(it);
  dq_node *reader = dq_graph_find(it->graph, "y")->producer;
  dq_node_set_ints(it->graph, reader, "pads", (int64_t[]){0, 0, 0, 1}, 4);
  assert_int_equal(measure(it).count, 0);
  assert_int_equal(apply(it, &absorption), DQ_BAD_INPUT);
  dq_node_set_ints(it->graph, reader, "pads", (int64_t[]){0, 0, 0, 0}, 4);
  assert_int_equal(measure(it).count, 1);
  absorption.values = &(dq_channel_means){"m", 2, (double[]){0, 0}};
  assert_int_equal(apply(it, &absorption), DQ_BAD_INPUT);
}

// Another reader, or a reader of the value before the rectifier, would see what the convolution does not.
static void other_readers_are_refused(void **state) {
  network *it = *state;
  build(it, NULL);
  network_node(it, "Sigmoid", network_value(it, "h"), NULL, NULL, network_value(it, "gate"));
  dq_error error;
  assert_int_equal(dq_graph_index(it->graph, true, &error), DQ_OK);
  assert_int_equal(measure(it).count, 0);
}

// A depthwise convolution without padding in between, whose result gives away too.
static void through_groups(void **state) {
  network *it = *state;
  static network_outputs before, after;
  build(it, NULL);
  dq_graph_find(it->graph, "y")->producer->inputs[0] = network_value(it, "f");
  const float taps[] = {0.5f, -1, 2, 1, 1, 1, 0.25f, 0, 3};
  dq_node *depthwise =
      network_node(it, "Conv", network_value(it, "m"), constant(it, "taps", 4, (int64_t[]){3, 1, 1, 3}, taps),
                   constant(it, "base", 1, (int64_t[]){3}, (float[]){4, 3, 2}), network_value(it, "d"));
  dq_node_set_int(it->graph, depthwise, "group", 3);
  network_node(it, "Relu", network_value(it, "d"), NULL, NULL, network_value(it, "f"));
  dq_error error;
  assert_int_equal(dq_graph_index(it->graph, true, &error), DQ_OK);
  network_run(it, &before);
  dq_absorption absorption = measure(it);
  assert_int_equal(absorption.count, 2);
  assert_int_equal(apply(it, &absorption), DQ_OK);
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 1e-6);
}

// Two matrices, the second with its inputs in rows. All pictures are alike, so each channel gives away all it is.
static void through_matrices(void **state) {
  network *it = *state;
  static network_outputs before, after;
  const float step = 1.0f / 63;
  enum { INPUTS = 3 * SIDE * SIDE };
  float first[2 * INPUTS];
  for (int i = 0; i < 2 * INPUTS; i++) first[i] = i < INPUTS ? 0.01f : 0.02f;
  network_steps(it, (float[]){0, 0, 0}, (float[]){step, step, step}, (int[]){63, 63, 63});
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_node(it, "Flatten", network_value(it, "x"), NULL, NULL, network_value(it, "flat"));
  dq_node *gemm = network_node(it, "Gemm", network_value(it, "flat"),
                               constant(it, "first", 2, (int64_t[]){2, INPUTS}, first), NULL, network_value(it, "h"));
  dq_node_set_int(it->graph, gemm, "transB", 1);
  network_node(it, "Relu", network_value(it, "h"), NULL, NULL, network_value(it, "m"));
  network_node(it, "Gemm", network_value(it, "m"),
               constant(it, "second", 2, (int64_t[]){2, 4}, (float[]){1, 2, 3, 4, 5, 6, 7, 8}), NULL,
               network_value(it, "y"));
  network_finish(it);
  network_run(it, &before);
  dq_absorption absorption = measure(it);
  assert_int_equal(absorption.count, 1);
  assert_true(fabs(absorption.values[0].means[0] - 0.96) < 1e-5); // 192 inputs of mean 1/2
  assert_true(fabs(absorption.values[0].means[1] - 1.92) < 1e-5);
  assert_int_equal(apply(it, &absorption), DQ_OK);
  assert_true(fabsf(elements_of(it, "y", 2)[3] - (0.96f * 4 + 1.92f * 8)) < 1e-4f);
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 1e-5);
}

// As a step of quantization: said, kept in the table, and the range is that of the rest.
static void quantized(void **state) {
  network *it = *state;
  build(it, NULL);
  dq_int8_options options = dq_int8_defaults();
  options.bias_absorption = DQ_CHOOSE_ON;
  options.equalize = options.bias_correction = options.range_search = DQ_CHOOSE_OFF;
  dq_int8_report report;
  dq_error error;
  if (dq_int8_apply(it->graph, it->data, &options, &report, &it->context, &error) != DQ_OK)
    fail_msg("%s", error.message);
  assert_int_equal(report.absorbed, 1);
  assert_true(isfinite(report.absorption_gain));
  assert_int_equal(report.table.absorption.count, 1);
  const dq_calibration_table_range *range = dq_calibration_table_find(&report.table, "m");
  assert_true(fabsf(range->range.high - 2.5f) < 0.01f);
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, network_start, network_end)
  const struct CMUnitTest tests[] = {
      TEST(amounts_by_hand),           TEST(three_deviations), TEST(bounds_that_are_reached), TEST(padding_is_refused),
      TEST(other_readers_are_refused), TEST(through_groups),   TEST(through_matrices),        TEST(quantized),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
