// Equalization on both sides of functions that no factor passes: neutral in float, one table on 8 bits, only where the
// noise falls to a quarter.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "quant/equalize/equalize.h"
#include "quant/int8/int8.h"
#include "quant/rewrite/output_head.h"
#include "tests/unit/small_network.h"

// x -> a -HardSwish-> m -> depthwise d -> y
static void build(network *it) {
  dq_graph_set_opset(it->graph, "", 14, NULL);
  network_conv(it, network_value(it, "x"), "a", 3, CHANNELS, 3, 1);
  network_node(it, "HardSwish", network_value(it, "a"), NULL, NULL, network_value(it, "m"));
  network_conv(it, network_value(it, "m"), "d", CHANNELS, CHANNELS, 3, CHANNELS);
  network_conv(it, network_value(it, "d"), "y", CHANNELS, 4, 1, 1);
  network_finish(it);
}

static void measure(network *it, dq_equalize_scope scope, dq_equalization *equalization) {
  dq_observation what = network_watch(it, NULL);
  dq_error error;
  assert_int_equal(dq_equalize_measure(equalization, &what, scope, false, NULL, it->arena, &it->context, &error),
                   DQ_OK);
}

static const dq_equalize_site *site_of(const dq_equalization *equalization, const char *value) {
  for (int s = 0; s < equalization->count; s++)
    if (!strcmp(equalization->sites[s].value, value)) return &equalization->sites[s];
  return NULL;
}

static const char *original_of(const dq_restated *restated, int count, const char *value) {
  for (int i = 0; i < count; i++)
    if (!strcmp(restated[i].value, value)) return restated[i].original ? restated[i].original : "none";
  return "not listed";
}

static void factors_around_a_function_are_neutral(void **state) {
  network *it = *state;
  build(it);
  static network_outputs before, after;
  network_run(it, &before);
  dq_equalization equalization;
  measure(it, DQ_EQUALIZE_DEPTHWISE, &equalization);
  assert_non_null(site_of(&equalization, "a"));
  assert_non_null(site_of(&equalization, "m"));
  const dq_restated *restated;
  int count;
  dq_error error;
  assert_int_equal(
      dq_equalize_apply(it->graph, &equalization, &no_shapes, it->arena, &restated, &count, &it->context, &error),
      DQ_OK);
  assert_string_equal(original_of(restated, count, "a"), "none");
  assert_string_equal(original_of(restated, count, "a_plain"), "a");
  assert_string_equal(original_of(restated, count, "m_plain"), "m");
  assert_string_equal(network_value(it, "a_plain")->producer->op_type, "Mul");
  assert_string_equal(network_value(it, "m")->producer->op_type, "Mul");
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 1e-5);
}

// A convolution along one axis: the factors must not add a dimension.
static dq_value *conv_1d(network *it, dq_value *x, const char *y, int64_t group) {
  int64_t inputs = CHANNELS / group;
  dq_tensor *weight = dq_tensor_new(it->graph->arena, DQ_F32, 3, (int64_t[]){CHANNELS, inputs, 1});
  for (int64_t i = 0; i < CHANNELS * inputs; i++)
    ((float *)weight->data)[i] = (float)(1 << 2 * (i / inputs % 5)) * (i % 2 ? -0.1f : 0.2f);
  network_node(it, "Conv", x, dq_graph_add_constant(it->graph, y, weight), NULL, network_value(it, y));
  dq_node_set_int(it->graph, it->graph->nodes[it->graph->node_count - 1], "group", group);
  return network_value(it, y);
}

static dq_value *reshape(network *it, dq_value *x, const char *y, int rank, const int64_t *dims) {
  int64_t count = rank;
  dq_tensor *shape = dq_tensor_new(it->graph->arena, DQ_I64, 1, &count);
  memcpy(shape->data, dims, (size_t)rank * sizeof *dims);
  network_node(it, "Reshape", x, dq_graph_add_constant(it->graph, "shape", shape), NULL, network_value(it, y));
  return network_value(it, y);
}

static void values_of_three_dimensions(void **state) {
  network *it = *state;
  dq_graph_set_opset(it->graph, "", 14, NULL);
  network_conv(it, network_value(it, "x"), "c", 3, CHANNELS, 3, 1);
  dq_value *flat = reshape(it, network_value(it, "c"), "flat", 3, (int64_t[]){1, CHANNELS, SIDE * SIDE});
  dq_value *a = conv_1d(it, flat, "a", 1);
  network_node(it, "HardSwish", a, NULL, NULL, network_value(it, "m"));
  dq_value *d = conv_1d(it, network_value(it, "m"), "d", CHANNELS);
  network_conv(it, reshape(it, d, "square", 4, (int64_t[]){1, CHANNELS, SIDE, SIDE}), "y", CHANNELS, 4, 1, 1);
  network_finish(it);
  static network_outputs before, after;
  network_run(it, &before);
  dq_equalization equalization;
  measure(it, DQ_EQUALIZE_DEPTHWISE, &equalization);
  assert_non_null(site_of(&equalization, "m"));
  const dq_restated *restated;
  int count;
  dq_error error;
  assert_int_equal(
      dq_equalize_apply(it->graph, &equalization, &no_shapes, it->arena, &restated, &count, &it->context, &error),
      DQ_OK);
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 1e-5);
}

// The pairs stand outside of the multiplications; with all factors around the function the executor runs it as one
// table by channel.
static void a_function_is_one_table_with_its_factors(void **state) {
  network *it = *state;
  build(it);
  dq_int8_options options = dq_int8_defaults();
  options.equalize = DQ_CHOOSE_ON;
  options.bias_correction = options.bias_absorption = options.range_search = DQ_CHOOSE_OFF;
  dq_int8_report report;
  dq_error error;
  assert_int_equal(dq_int8_apply(it->graph, it->data, &options, &report, &it->context, &error), DQ_OK);
  const dq_node *function = NULL;
  for (int n = 0; n < it->graph->node_count; n++)
    if (dq_node_is(it->graph->nodes[n], "HardSwish")) function = it->graph->nodes[n];
  assert_non_null(function);
  const dq_node *before = function->inputs[0]->producer, *behind = dq_only_user(function->outputs[0]);
  assert_true(dq_node_is(before, "Mul") && dq_node_is(behind, "Mul"));
  assert_true(dq_node_is(before->inputs[0]->producer, "DequantizeLinear"));
  assert_true(dq_node_is(dq_only_user(behind->outputs[0]), "QuantizeLinear"));
  for (int i = 0; i < report.count; i++)
    if (!strcmp(report.layers[i].op_type, "HardSwish")) assert_string_equal(report.layers[i].reason, "");
}

// ---- What lies behind the last products ----

static void behind_the_last_products(void **state) {
  network *it = *state;
  build(it);
  network_node(it, "HardSwish", network_value(it, "d"), NULL, NULL, network_value(it, "side"));
  network_node(it, "GlobalAveragePool", network_value(it, "side"), NULL, NULL, network_value(it, "pooled"));
  dq_error error;
  assert_int_equal(dq_graph_index(it->graph, true, &error), DQ_OK);
  bool *behind;
  assert_int_equal(dq_behind_products(it->graph, &behind, it->arena, &error), DQ_OK);
  static const char *const inside[] = {"x", "a", "m", "d", "y"}, *const outside[] = {"side", "pooled"};
  for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) assert_false(behind[network_value(it, inside[i])->index]);
  for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
    assert_true(behind[network_value(it, outside[i])->index]);
}

static void without_products_nothing_lies_behind_them(void **state) {
  network *it = *state;
  dq_graph_set_opset(it->graph, "", 14, NULL);
  network_node(it, "HardSwish", network_value(it, "x"), NULL, NULL, network_value(it, "m"));
  network_node(it, "Sigmoid", network_value(it, "m"), NULL, NULL, network_value(it, "y"));
  network_finish(it);
  bool *behind;
  dq_error error;
  assert_int_equal(dq_behind_products(it->graph, &behind, it->arena, &error), DQ_OK);
  for (int v = 0; v < it->graph->value_count; v++) assert_false(behind[v]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, network_start, network_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(factors_around_a_function_are_neutral),     TEST(values_of_three_dimensions),
      TEST(a_function_is_one_table_with_its_factors),  TEST(behind_the_last_products),
      TEST(without_products_nothing_lies_behind_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
