// Constants beyond either end of float16, and what the guard makes of the nodes that need them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/sizes.h"
#include "quant/amp/amp.h"

static const dq_context context = {0};

static dq_value *image(dq_graph *graph, const char *name) {
  dq_value *value = dq_graph_add_value(graph, name);
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, 4, dq_dimension);
  static const int64_t size[] = {1, 2, 4, 4};
  for (int i = 0; i < 4; i++) dims[i].size = size[i];
  value->dims = dims, value->type = DQ_F32, value->rank = 4;
  return value;
}

static dq_value *constant(dq_graph *graph, const char *name, int rank, int64_t count, float element) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, rank, &count);
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) ((float *)tensor->data)[i] = element;
  return dq_graph_add_constant(graph, name, tensor);
}

// r = Relu(x); m = first(r, c); s = second(m); y = last(x, s), all of them wished in float16.
typedef struct chain {
  const char *first, *second, *last;
  float c;
  bool half; // first and last become float16
} chain;

static void check_chain(const chain *of) {
  static const char *const all[] = {"Relu", "Add", "Max", "Mul", "Sub", "Sqrt", "Abs", "Div", "Identity"};
  dq_graph *graph = dq_graph_new(0);
  graph->ir_version = 7;
  dq_graph_set_opset(graph, "", 13, NULL);
  dq_value *x = image(graph, "x"), *y = image(graph, "y");
  dq_value *r = dq_graph_add_value(graph, "r"), *m = dq_graph_add_value(graph, "m"),
           *s = dq_graph_add_value(graph, "s");
  dq_graph_add_node(graph, 0, "Relu", "r", 1, &x, 1, &r);
  dq_graph_add_node(graph, 1, of->first, "m", 2, (dq_value *[]){r, constant(graph, "c", 0, 1, of->c)}, 1, &m);
  dq_graph_add_node(graph, 2, of->second, "s", 1, &m, 1, &s);
  dq_graph_add_node(graph, 3, of->last, "y", 2, (dq_value *[]){x, s}, 1, &y);
  graph->inputs = dq_arena_copy(graph->arena, &x, sizeof x), graph->outputs = dq_arena_copy(graph->arena, &y, sizeof y);
  x->is_input = y->is_output = true, graph->input_count = graph->output_count = 1;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  const dq_amp_options options = {.allow = all, .allow_count = DQ_COUNT(all), .input_max = 4};
  dq_amp_report report;
  assert_int_equal(dq_amp_convert(graph, &options, &report, &context, NULL), DQ_OK);
  assert_true(report.nodes[0].half);
  assert_int_equal(report.nodes[1].half, of->half);
  assert_int_equal(report.nodes[3].half, of->half);
  dq_graph_free(graph);
}

static void epsilons_and_masks(void **state) {
  static const chain cases[] = {{"Add", "Sqrt", "Div", 1e-3f, true},      {"Add", "Sqrt", "Div", 1e-5f, true},
                                {"Add", "Sqrt", "Div", 1e-12f, false},    {"Max", "Identity", "Div", 1e-10f, false},
                                {"Sub", "Abs", "Div", -1e-9f, false},     {"Add", "Sqrt", "Add", 1e-12f, true},
                                {"Mul", "Identity", "Add", -1e9f, false}, {"Add", "Identity", "Mul", 3e38f, false},
                                {"Mul", "Identity", "Add", 1e-9f, false}};
  (void)state;
  for (int i = 0; i < DQ_COUNT(cases); i++) check_chain(&cases[i]);
}

// The variances of a batch normalization: 0 in float16 while epsilon is smaller still.
static void variances(void **state) {
  (void)state;
  for (int small = 0; small < 2; small++) {
    static const char *const all[] = {"Relu", "BatchNormalization"};
    dq_graph *graph = dq_graph_new(0);
    graph->ir_version = 7;
    dq_graph_set_opset(graph, "", 15, NULL);
    dq_value *x = image(graph, "x"), *y = image(graph, "y"), *r = dq_graph_add_value(graph, "r");
    dq_graph_add_node(graph, 0, "Relu", "r", 1, &x, 1, &r);
    dq_value *inputs[] = {r, constant(graph, "gamma", 1, 2, 1), constant(graph, "beta", 1, 2, 0),
                          constant(graph, "mean", 1, 2, 0), constant(graph, "variance", 1, 2, small ? 1e-10f : 1e-2f)};
    dq_node_set_float(graph, dq_graph_add_node(graph, 1, "BatchNormalization", "y", 5, inputs, 1, &y), "epsilon",
                      1e-12f);
    graph->inputs = dq_arena_copy(graph->arena, &x, sizeof x),
    graph->outputs = dq_arena_copy(graph->arena, &y, sizeof y);
    x->is_input = y->is_output = true, graph->input_count = graph->output_count = 1;
    assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
    const dq_amp_options options = {.allow = all, .allow_count = DQ_COUNT(all), .input_max = 1e-4};
    dq_amp_report report;
    assert_int_equal(dq_amp_convert(graph, &options, &report, &context, NULL), DQ_OK);
    assert_int_equal(report.nodes[1].half, !small);
    dq_graph_free(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(epsilons_and_masks), cmocka_unit_test(variances)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
