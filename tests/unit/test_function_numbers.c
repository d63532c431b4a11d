// Numbers around a function of each element: no value between them is rounded or scaled, and the factors of
// equalization pass around the whole.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "quant/equalize/equalize.h"
#include "quant/int8/int8.h"
#include "quant/rewrite/function_numbers.h"
#include "tests/unit/small_network.h"

static const char *const inner[] = {"p", "q", "m", "r"}; // values between the function and its numbers

static void with_number(network *it, const char *op_type, float x, const char *from, const char *to, bool first) {
  dq_tensor *tensor = dq_tensor_new(it->graph->arena, DQ_F32, 1, (int64_t[]){1});
  *(float *)tensor->data = x;
  dq_value *number = dq_graph_add_constant(it->graph, "number", tensor), *value = network_value(it, from);
  network_node(it, op_type, first ? number : value, first ? value : number, NULL, network_value(it, to));
}

// s = a + b; p = 1.7 s, q = p + 0.3, m = HardSwish(q), r = 0.6 m, t = r - 0.5; depthwise d -> y
static void build(network *it) {
  dq_graph_set_opset(it->graph, "", 14, NULL);
  network_conv(it, network_value(it, "x"), "a", 3, CHANNELS, 3, 1);
  network_conv(it, network_value(it, "x"), "b", 3, CHANNELS, 3, 1);
  network_node(it, "Add", network_value(it, "a"), network_value(it, "b"), NULL, network_value(it, "s"));
  with_number(it, "Mul", 1.7F, "s", "p", true);
  with_number(it, "Add", 0.3F, "p", "q", false);
  network_node(it, "HardSwish", network_value(it, "q"), NULL, NULL, network_value(it, "m"));
  with_number(it, "Mul", 0.6F, "m", "r", true);
  with_number(it, "Add", -0.5F, "r", "t", false);
  network_conv(it, network_value(it, "t"), "d", CHANNELS, CHANNELS, 3, CHANNELS);
  network_conv(it, network_value(it, "d"), "y", CHANNELS, 4, 1, 1);
  network_finish(it);
}

static bool has_site(const dq_equalization *equalization, const char *value) {
  for (int s = 0; s < equalization->count; s++)
    if (!strcmp(equalization->sites[s].value, value)) return true;
  return false;
}

static void numbers_become_second_operands(void **state) {
  network *it = *state;
  build(it);
  static network_outputs before, after;
  network_run(it, &before);
  const dq_node *node = network_value(it, "p")->producer;
  assert_false(dq_applies_number(node));
  dq_swap_numbers(it->graph);
  assert_true(dq_applies_number(node));
  assert_true(node->inputs[0] == network_value(it, "s"));
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 0);
}

static void what_numbers_lead_to(void **state) {
  network *it = *state;
  build(it);
  dq_swap_numbers(it->graph);
  const dq_node *function = network_value(it, "m")->producer;
  const dq_node *first = network_value(it, "p")->producer, *last = network_value(it, "t")->producer;
  assert_true(dq_behind_numbers(first) == function);
  assert_true(dq_before_numbers(last) == function);
  assert_true(dq_before_numbers(first) == network_value(it, "s")->producer);
  assert_true(dq_behind_numbers(last) == network_value(it, "d")->producer);
  assert_null(dq_behind_numbers(network_value(it, "y")->producer));
  const dq_node *parts[DQ_FUNCTION_PARTS], *of_last[DQ_FUNCTION_PARTS];
  assert_int_equal(dq_function_parts(first, parts), 5);
  assert_int_equal(dq_function_parts(last, of_last), 5);
  assert_memory_equal(parts, of_last, 5 * sizeof *parts);
  assert_true(parts[0] == first && parts[2] == function && parts[4] == last);
  assert_false(dq_is_in_function(network_value(it, "s")->producer));
}

// Equalizes the network; factors stand at the ends.
static void factors_pass_around_numbers(void **state) {
  network *it = *state;
  build(it);
  dq_swap_numbers(it->graph);
  dq_error error;
  dq_equalization equalization;
  dq_observation what = network_watch(it, NULL);
  assert_int_equal(
      dq_equalize_measure(&equalization, &what, DQ_EQUALIZE_ALL, false, NULL, it->arena, &it->context, &error), DQ_OK);
  assert_true(has_site(&equalization, "s"));
  assert_true(has_site(&equalization, "t"));
  for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) assert_false(has_site(&equalization, inner[i]));
  static network_outputs before, after;
  network_run(it, &before);
  const dq_restated *restated;
  int count;
  assert_int_equal(
      dq_equalize_apply(it->graph, &equalization, &no_shapes, it->arena, &restated, &count, &it->context, &error),
      DQ_OK);
  const dq_node *divides = network_value(it, "p")->producer->inputs[0]->producer;
  const dq_node *scales = network_value(it, "t")->producer;
  assert_true(dq_node_is(divides, "Mul") && dq_tensor_count(divides->inputs[1]->constant) == CHANNELS);
  assert_true(dq_node_is(scales, "Mul") && dq_tensor_count(scales->inputs[1]->constant) == CHANNELS);
  assert_string_equal(scales->inputs[0]->producer->op_type, "Add");
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 1e-5);
}

// A part of the function that every value goes through between DequantizeLinear and QuantizeLinear.
static void check_rounded_at_the_ends(network *it, dq_choose equalize, int nodes) {
  dq_int8_options options = dq_int8_defaults();
  options.equalize = equalize;
  options.bias_correction = options.bias_absorption = options.range_search = DQ_CHOOSE_OFF;
  dq_int8_report report;
  dq_error error;
  assert_int_equal(dq_int8_apply(it->graph, it->data, &options, &report, &it->context, &error), DQ_OK);
  const dq_node *node = NULL;
  for (int n = 0; n < it->graph->node_count; n++)
    if (dq_node_is(it->graph->nodes[n], "HardSwish")) node = it->graph->nodes[n];
  assert_non_null(node);
  while (!dq_node_is(node->inputs[0]->producer, "DequantizeLinear")) node = node->inputs[0]->producer;
  int count = 1;
  for (; !dq_node_is(dq_only_user(node->outputs[0]), "QuantizeLinear"); count++) node = dq_only_user(node->outputs[0]);
  assert_int_equal(count, nodes);
  for (int i = 0; i < report.count; i++)
    if (strcmp(report.layers[i].reason, "behind the last product")) assert_string_equal(report.layers[i].reason, "");
}

static void rounded_at_the_ends_alone(void **state) {
  build(*state);
  check_rounded_at_the_ends(*state, DQ_CHOOSE_OFF, 5);
}

static void rounded_outside_of_factors(void **state) {
  build(*state);
  check_rounded_at_the_ends(*state, DQ_CHOOSE_ON, 7);
}

// One part of the function that is left in float takes the others with it, so that nothing is rounded between them.
static void parts_stay_in_float_together(void **state) {
  network *it = *state;
  build(it);
  const char *const one[] = {"r"};
  dq_int8_options options = dq_int8_defaults();
  options.exclude = one, options.exclude_count = 1;
  dq_int8_report report;
  dq_error error;
  assert_int_equal(dq_int8_apply(it->graph, it->data, &options, &report, &it->context, &error), DQ_OK);
  int excluded = 0;
  for (int i = 0; i < report.count; i++) excluded += !strcmp(report.layers[i].reason, "excluded");
  assert_true(excluded >= 5); // and the multiplications by factors
  for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
    assert_false(dq_node_is(network_value(it, inner[i])->users[0], "QuantizeLinear"));
}

// A number behind something else is rounded as any operand is.
static void numbers_beside_no_function(void **state) {
  network *it = *state;
  dq_graph_set_opset(it->graph, "", 14, NULL);
  network_conv(it, network_value(it, "x"), "a", 3, CHANNELS, 3, 1);
  network_conv(it, network_value(it, "x"), "b", 3, CHANNELS, 3, 1);
  network_node(it, "Add", network_value(it, "a"), network_value(it, "b"), NULL, network_value(it, "s"));
  with_number(it, "Add", 0.3F, "s", "t", false);
  network_conv(it, network_value(it, "t"), "y", CHANNELS, 4, 1, 1);
  network_finish(it);
  dq_int8_options options = dq_int8_defaults();
  dq_int8_report report;
  dq_error error;
  assert_int_equal(dq_int8_apply(it->graph, it->data, &options, &report, &it->context, &error), DQ_OK);
  const dq_node *sum = network_value(it, "t")->producer;
  assert_string_equal(sum->inputs[1]->producer->op_type, "DequantizeLinear");
}

// Of twelve numbers behind a function the first nine belong to it.
static void long_chains_are_not_searched(void **state) {
  enum { NUMBERS = 12 };
  network *it = *state;
  char names[NUMBERS + 1][8] = {"m"};
  dq_graph_set_opset(it->graph, "", 14, NULL);
  network_conv(it, network_value(it, "x"), "a", 3, CHANNELS, 3, 1);
  network_node(it, "HardSwish", network_value(it, "a"), NULL, NULL, network_value(it, "m"));
  for (int i = 0; i < NUMBERS; i++) {
    snprintf(names[i + 1], sizeof names[i + 1], "n%d", i + 1);
    with_number(it, "Add", 0.1F, names[i], names[i + 1], false);
  }
  network_conv(it, network_value(it, names[NUMBERS]), "y", CHANNELS, 4, 1, 1);
  network_finish(it);
  for (int i = 1; i <= NUMBERS; i++) assert_int_equal(dq_is_in_function(network_value(it, names[i])->producer), i <= 9);
}

// A chain of functions is one; of forty those from the seventh in front of a node on are returned.
static void parts_of_long_chains(void **state) {
  enum { FUNCTIONS = 40 };
  network *it = *state;
  char names[FUNCTIONS + 1][8] = {"a"};
  const dq_node *nodes[FUNCTIONS], *parts[DQ_FUNCTION_PARTS];
  dq_graph_set_opset(it->graph, "", 14, NULL);
  network_conv(it, network_value(it, "x"), "a", 3, CHANNELS, 3, 1);
  for (int i = 0; i < FUNCTIONS; i++) {
    snprintf(names[i + 1], sizeof names[i + 1], "f%d", i);
    network_node(it, "HardSwish", network_value(it, names[i]), NULL, NULL, network_value(it, names[i + 1]));
  }
  network_conv(it, network_value(it, names[FUNCTIONS]), "y", CHANNELS, 4, 1, 1);
  network_finish(it);
  for (int i = 0; i < FUNCTIONS; i++) nodes[i] = network_value(it, names[i + 1])->producer;
  assert_int_equal(dq_function_parts(nodes[20], parts), DQ_FUNCTION_PARTS);
  assert_memory_equal(parts, &nodes[20 - DQ_FUNCTION_PARTS / 2 + 1], sizeof parts);
  assert_int_equal(dq_function_parts(nodes[FUNCTIONS - 1], parts), DQ_FUNCTION_PARTS / 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, network_start, network_end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(numbers_become_second_operands), TEST(what_numbers_lead_to),         TEST(factors_pass_around_numbers),
      TEST(rounded_at_the_ends_alone),      TEST(rounded_outside_of_factors),   TEST(parts_stay_in_float_together),
      TEST(numbers_beside_no_function),     TEST(long_chains_are_not_searched), TEST(parts_of_long_chains),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
