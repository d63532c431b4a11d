// Mixed precision: categories, casts, constants that do not fit, what stays.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "quant/amp/amp.h"

static dq_value *shaped(dq_graph *graph, const char *name) {
  dq_value *value = dq_graph_add_value(graph, name);
  value->dims = DQ_NEW_ARRAY(graph->arena, 2, dq_dimension);
  for (int i = 0; i < 2; i++) ((dq_dimension *)value->dims)[i].size = 4;
  value->type = DQ_F32, value->rank = 2;
  return value;
}

static dq_value *constant(dq_graph *graph, const char *name, float element) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, 2, (int64_t[]){4, 4});
  for (int i = 0; i < 16; i++) ((float *)tensor->data)[i] = element;
  return dq_graph_add_constant(graph, name, tensor);
}

static void add(dq_graph *graph, const char *op, dq_value *a, dq_value *b, const char *to) {
  dq_value *output = dq_graph_add_value(graph, to), *inputs[] = {a, b};
  dq_graph_add_node(graph, graph->node_count, op, to, b ? 2 : 1, inputs, 1, &output);
}

// x -> MatMul m -> Relu r -> Softmax s -> MatMul n -> y; the softmax stays in float32.
static dq_graph *network(float weight) {
  dq_graph *graph = dq_graph_new(0);
  graph->ir_version = 7;
  dq_graph_set_opset(graph, "", 13, NULL);
  dq_value *x = shaped(graph, "x");
  add(graph, "MatMul", x, constant(graph, "w", weight), "m");
  add(graph, "Relu", dq_graph_find(graph, "m"), NULL, "r");
  add(graph, "Softmax", dq_graph_find(graph, "r"), NULL, "s");
  add(graph, "MatMul", dq_graph_find(graph, "s"), constant(graph, "v", 1), "y");
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  (graph->inputs[0] = x)->is_input = true;
  (graph->outputs[0] = shaped(graph, "y"))->is_output = true;
  graph->input_count = graph->output_count = 1;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  return graph;
}

static dq_amp_report apply(dq_graph *graph, const dq_amp_options *options) {
  dq_amp_report report;
  dq_error error = {0};
  dq_context context = {0};
  if (dq_amp_apply(graph, options, &report, &context, &error) != DQ_OK) fail_msg("%s", error.message);
  return report;
}

static int casts(const dq_graph *graph) {
  int count = 0;
  for (int n = 0; n < graph->node_count; n++) count += dq_node_is(graph->nodes[n], "Cast");
  return count;
}

static void categories(void **state) {
  (void)state;
  dq_graph *graph = network(1);
  dq_amp_options options = {0};
  dq_amp_report report = apply(graph, &options);
  assert_int_equal(report.count, 4);
  static const bool half[] = {true, true, false, true};
  static const dq_category category[] = {DQ_ALLOW, DQ_FOLLOW, DQ_DENY, DQ_ALLOW};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(report.nodes[i].half, half[i]);
    assert_int_equal(report.nodes[i].category, category[i]);
  }
  assert_int_equal(report.casts, 4); // x, before and after the softmax, y
  assert_int_equal(casts(graph), 4);
  assert_int_equal(report.weights, 32);
  assert_int_equal(graph->inputs[0]->type, DQ_F32);
  assert_int_equal(graph->outputs[0]->type, DQ_F32);
  assert_string_equal(graph->outputs[0]->name, "y");
  dq_graph_free(graph);
}

static void half_interface(void **state) {
  (void)state;
  dq_graph *graph = network(1);
  dq_amp_options options = {.half_io = true};
  dq_amp_report report = apply(graph, &options);
  assert_int_equal(report.casts, 2);
  assert_int_equal(graph->inputs[0]->type, DQ_F16);
  assert_int_equal(graph->outputs[0]->type, DQ_F16);
  dq_graph_free(graph);
}

static void lists(void **state) {
  (void)state;
  const char *deny[] = {"MatMul"}, *allow[] = {"Softmax"}, *patterns[] = {"[ym]"};
  dq_graph *graph = network(1);
  dq_amp_options options = {.deny = deny, .deny_count = 1};
  dq_amp_report report = apply(graph, &options);
  assert_true(report.nothing_to_do);
  assert_int_equal(casts(graph), 0);
  dq_graph_free(graph);
  graph = network(1);
  options = (dq_amp_options){.allow = allow, .allow_count = 1};
  assert_int_equal(apply(graph, &options).halves, 4);
  dq_graph_free(graph);
  graph = network(1);
  options = (dq_amp_options){.deny_nodes = patterns, .deny_node_count = 1};
  assert_int_equal(apply(graph, &options).halves, 0);
  dq_graph_free(graph);
}

static void constants(void **state) {
  (void)state;
  dq_amp_options options = {.unguarded = true};
  dq_graph *graph = network(65519); // the largest that rounds to a finite float16 is below 65520
  assert_true(apply(graph, &options).nodes[0].half);
  dq_graph_free(graph);
  graph = network(65520);
  dq_amp_report report = apply(graph, &options);
  assert_false(report.nodes[0].half);
  assert_non_null(strstr(report.nodes[0].reason, "65504"));
  assert_false(report.nodes[1].half); // follows
  dq_graph_free(graph);
  graph = network(1e-9f); // too small: zero, and said
  assert_int_equal(apply(graph, &options).lost_to_zero, 16);
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(categories), cmocka_unit_test(half_interface),
                                     cmocka_unit_test(lists), cmocka_unit_test(constants)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
