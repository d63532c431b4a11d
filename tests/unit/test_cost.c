// Static costs: the counts of real models, shapes of an open batch, shared weights, what is
// unknown.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "lib/measure/cost.h"
#include "lib/onnx/onnx.h"

static dq_context context;
static dq_arena *arena;

static int start(void **state) {
  (void)state;
  arena = dq_arena_new(0);
  return arena && dq_context_init(&context, 1, ~0u, NULL) == DQ_OK ? 0 : -1;
}
static int end(void **state) {
  (void)state;
  dq_context_deinit(&context);
  dq_arena_free(arena);
  return 0;
}

static dq_graph *new_graph(const char *symbol) {
  dq_graph *graph = dq_graph_new(0);
  dq_value *x = dq_graph_add_value(graph, "x");
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, 4, dq_dimension);
  dims[0] = symbol ? (dq_dimension){-1, symbol} : (dq_dimension){1, NULL};
  for (int i = 1; i < 4; i++) dims[i].size = i == 1 ? 2 : 6;
  x->type = DQ_F32, x->rank = 4, x->dims = dims, x->is_input = true;
  graph->inputs = dq_arena_copy(graph->arena, &x, sizeof x);
  graph->input_count = 1;
  graph->ir_version = 8;
  assert_int_equal(dq_graph_set_opset(graph, "", 13, NULL), DQ_OK);
  return graph;
}

static dq_value *add(dq_graph *graph, const char *op_type, dq_value *a, dq_value *b, const char *output) {
  dq_value *inputs[] = {a, b}, *value = dq_graph_add_value(graph, output);
  assert_non_null(dq_graph_add_node(graph, graph->node_count, op_type, output, b ? 2 : 1, inputs, 1, &value));
  return value;
}

static dq_value *constant(dq_graph *graph, const char *name, int type, int rank, const int64_t *dims) {
  return dq_graph_add_constant(graph, name, dq_tensor_new(graph->arena, type, rank, dims));
}

static dq_cost analyse(dq_graph *graph) {
  dq_cost cost;
  dq_error error = {0};
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  if (dq_cost_analyse(&cost, graph, NULL, &context, arena, &error) != DQ_OK) fail_msg("%s", error.message);
  return cost;
}

static void test_open_batch_and_shared_weight(void **state) {
  (void)state;
  dq_graph *graph = new_graph("N");
  dq_value *w = constant(graph, "w", DQ_F32, 4, (int64_t[]){2, 2, 3, 3});
  dq_value *y = add(graph, "Conv", graph->inputs[0], w, "y");
  add(graph, "Conv", y, w, "z");
  constant(graph, "unused", DQ_F32, 1, (int64_t[]){7});
  dq_cost cost = analyse(graph);
  assert_string_equal(cost.nodes[0].shape, "Nx2x4x4");
  assert_string_equal(cost.nodes[1].shape, "Nx2x2x2");
  assert_string_equal(cost.nodes[0].precision, "fp32");
  assert_int_equal(cost.nodes[0].macs, 2 * 4 * 4 * 18);
  assert_int_equal(cost.nodes[0].parameters, 36);
  assert_int_equal(cost.nodes[1].parameters, 0);
  assert_int_equal(cost.macs, 2 * (16 + 4) * 18);
  assert_int_equal(cost.float_parameters, 36 + 7);
  assert_int_equal(cost.nodes[0].activation_bytes, 2 * 16 * 4);
  assert_int_equal(cost.operator_count, 1);
  assert_int_equal(cost.operators[0].count, 2);
  dq_graph_free(graph);
}

// x is N x 2 x H x H at H = 224: a convolution of 3x3 takes 2 off, one of stride 2 halves, flattening multiplies.
static void test_open_picture(void **state) {
  (void)state;
  dq_graph *graph = new_graph("batch");
  dq_value *x = graph->inputs[0];
  x->dims = dq_arena_copy(graph->arena, (dq_dimension[]){{-1, "batch"}, {2, NULL}, {-1, "side"}, {-1, "side"}},
                          4 * sizeof *x->dims);
  dq_value *w = constant(graph, "w", DQ_F32, 4, (int64_t[]){2, 2, 3, 3});
  dq_value *y = add(graph, "Conv", x, w, "y"), *z = add(graph, "Conv", x, w, "z");
  dq_node_set_ints(graph, graph->nodes[1], "strides", (int64_t[]){2, 2}, 2);
  dq_node_set_ints(graph, graph->nodes[1], "pads", (int64_t[]){1, 1, 1, 1}, 4);
  add(graph, "Flatten", z, NULL, "flat");
  add(graph, "Flatten", y, NULL, "odd");
  dq_cost cost = analyse(graph);
  assert_string_equal(cost.ports[0].shape, "Nx2xsidexside");
  assert_string_equal(cost.nodes[0].shape, "Nx2xside-2xside-2");
  assert_string_equal(cost.nodes[1].shape, "Nx2xside/2xside/2");
  assert_string_equal(cost.nodes[2].shape, "Nxside*side/2");
  assert_string_equal(cost.nodes[3].shape, "Nx~98568"); // 2 * 222 * 222: neither a product nor a line
  assert_string_equal(cost.sizes_text, "side=224");
  assert_string_equal(cost.sizes_option, "--shape x=N,2,224,224");
  assert_int_equal(cost.macs, (222 * 222 + 112 * 112) * 2 * 18);
  assert_string_equal(cost.nodes[1].window.kernel, "3x3");
  assert_string_equal(cost.nodes[1].window.stride, "2");
  assert_string_equal(cost.nodes[0].window.stride, "");
  x->usual = (int64_t[]){0, 0, 32, 32}; // what a model remembers comes before any assumption
  cost = analyse(graph);
  assert_int_equal(cost.macs, (30 * 30 + 16 * 16) * 2 * 18);
  assert_string_equal(cost.sizes_option, "");
  dq_graph_free(graph);
}

// Behind an operator that dq does not run nothing is known but what the file declares.
static void test_declared_shapes(void **state) {
  (void)state;
  dq_graph *graph = new_graph("N");
  dq_value *w = constant(graph, "w", DQ_F32, 4, (int64_t[]){2, 2, 3, 3});
  dq_value *a = add(graph, "Strange", graph->inputs[0], NULL, "a");
  add(graph, "Conv", a, w, "y");
  dq_cost cost = analyse(graph);
  assert_string_equal(cost.nodes[1].shape, "?");
  assert_int_equal(cost.incomplete, 2);
  assert_false(cost.macs_complete);
  a->type = DQ_F32, a->rank = 4;
  a->dims =
      dq_arena_copy(graph->arena, (dq_dimension[]){{1, NULL}, {2, NULL}, {5, NULL}, {5, NULL}}, 4 * sizeof *a->dims);
  cost = analyse(graph);
  assert_string_equal(cost.nodes[1].shape, "1x2x3x3");
  assert_int_equal(cost.macs, 2 * 9 * 18);
  assert_int_equal(cost.incomplete, 1);
  dq_graph_free(graph);
}

static void test_fixed_reshape_keeps_numbers(void **state) {
  (void)state;
  dq_graph *graph = new_graph("N");
  dq_value *shape = constant(graph, "shape", DQ_I64, 2, (int64_t[]){1, 2});
  shape->constant->rank = 1, shape->constant->dims[0] = 2;
  memcpy(shape->constant->data, (int64_t[]){1, 72}, 16);
  dq_value *y = add(graph, "Relu", graph->inputs[0], NULL, "y");
  y = add(graph, "Reshape", y, shape, "r");
  add(graph, "Relu", y, NULL, "z");
  dq_cost cost = analyse(graph);
  assert_string_equal(cost.nodes[0].shape, "Nx2x6x6");
  assert_string_equal(cost.nodes[1].shape, "1x72");
  assert_string_equal(cost.nodes[2].shape, "1x72");
  assert_int_equal(cost.nodes[1].parameters, 0);
  assert_int_equal(cost.nodes[1].parameter_bytes, 16);
  dq_graph_free(graph);
}

// Values of 2 x 6 x 6 floats take 288 bytes, rounded up to 320. x is kept for the next run; b lies on a; while
// c is made, x, a and c are alive: 960 bytes, and three places are all the plan needs.
static void test_planned_memory(void **state) {
  (void)state;
  dq_graph *graph = new_graph(NULL);
  dq_value *a = add(graph, "Relu", graph->inputs[0], NULL, "a"), *b = add(graph, "Relu", a, NULL, "b");
  dq_value *c = add(graph, "Transpose", b, NULL, "c");
  c->is_output = true;
  graph->outputs = dq_arena_copy(graph->arena, &c, sizeof c);
  graph->output_count = 1;
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  dq_cost cost = analyse(graph);
  assert_int_equal(cost.live_bytes, 960);
  assert_int_equal(cost.planned_bytes, 960);
  dq_graph_free(graph);
}

static void test_unknown_operator_is_told(void **state) {
  (void)state;
  dq_graph *graph = new_graph(NULL);
  dq_value *y = add(graph, "Relu", graph->inputs[0], NULL, "y");
  y = add(graph, "Strange", y, NULL, "s");
  add(graph, "Conv", y, constant(graph, "w", DQ_F32, 4, (int64_t[]){2, 2, 3, 3}), "z");
  dq_cost cost = analyse(graph);
  assert_string_equal(cost.nodes[0].shape, "1x2x6x6");
  assert_null(cost.nodes[0].problem);
  assert_non_null(strstr(cost.nodes[1].problem, "Strange"));
  assert_string_equal(cost.nodes[2].shape, "?");
  assert_false(cost.nodes[2].macs_known);
  assert_false(cost.macs_complete);
  assert_int_equal(cost.unsupported, 1);
  assert_int_equal(cost.live_bytes, -1);
  assert_int_equal(cost.planned_bytes, -1);
  assert_int_equal(cost.file_bytes, -1); // the graph has no file
  assert_int_equal(cost.float_parameters, 36);
  dq_graph_free(graph);
}

static dq_value *dequantized(dq_graph *graph, dq_value *value, const char *name) {
  char text[64];
  snprintf(text, sizeof text, "%s_scale", name);
  dq_value *scale = dq_graph_add_constant(graph, text, dq_tensor_scalar_f32(graph->arena, 0.5f));
  return add(graph, "DequantizeLinear", value, scale, name);
}

static void test_integer_products(void **state) {
  (void)state;
  dq_graph *graph = new_graph("N");
  dq_value *scale = dq_graph_add_constant(graph, "s", dq_tensor_scalar_f32(graph->arena, 0.5f));
  dq_value *x = dequantized(graph, add(graph, "QuantizeLinear", graph->inputs[0], scale, "q"), "dx");
  dq_value *w = dequantized(graph, constant(graph, "w", DQ_I8, 4, (int64_t[]){2, 2, 3, 3}), "dw");
  dq_value *y = add(graph, "Conv", x, w, "y");
  add(graph, "Conv", y, w, "z");
  dq_cost cost = analyse(graph);
  assert_true(cost.nodes[3].int8);
  assert_string_equal(cost.nodes[3].precision, "int8");
  assert_int_equal(cost.nodes[3].parameters,
                   37); // the weight behind its DequantizeLinear, and a scale
  assert_int_equal(cost.nodes[3].parameter_bytes, 36 + 4);
  assert_false(cost.nodes[4].int8);
  assert_string_equal(cost.nodes[4].precision, "fp32, int8 weights");
  assert_int_equal(cost.int8_macs, cost.nodes[3].macs);
  dq_graph_free(graph);
}

static void test_counts_of_models(void **state) {
  (void)state;
  const char *assets = getenv("DQ_ASSETS");
  if (!assets) assets = "../shared";
  char path[512];
  snprintf(path, sizeof path, "%s/judge/counts.json", assets);
  json_t *counts = json_load_file(path, 0, NULL), *expected;
  const char *name;
  if (!counts) printf("SKIP %s: not there\n", path);
  json_object_foreach(counts, name, expected) {
    dq_graph *graph;
    snprintf(path, sizeof path, "%s/models/%s", assets, name);
    assert_int_equal(dq_onnx_load(&graph, path, &context, NULL), DQ_OK);
    dq_cost cost = analyse(graph);
    assert_int_equal(cost.macs, json_integer_value(json_object_get(expected, "macs")));
    assert_int_equal(cost.float_parameters, json_integer_value(json_object_get(expected, "float_parameters")));
    assert_int_equal(cost.node_count, json_integer_value(json_object_get(expected, "nodes")));
    assert_int_equal(cost.opset, json_integer_value(json_object_get(expected, "opset")));
    assert_int_equal(cost.file_bytes, json_integer_value(json_object_get(expected, "bytes")));
    assert_true(cost.macs_complete);
    assert_true(cost.live_bytes > 0);
    dq_graph_free(graph);
  }
  json_decref(counts);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_open_batch_and_shared_weight),
      cmocka_unit_test(test_open_picture),
      cmocka_unit_test(test_declared_shapes),
      cmocka_unit_test(test_fixed_reshape_keeps_numbers),
      cmocka_unit_test(test_planned_memory),
      cmocka_unit_test(test_unknown_operator_is_told),
      cmocka_unit_test(test_integer_products),
      cmocka_unit_test(test_counts_of_models),
  };
  return cmocka_run_group_tests(tests, start, end);
}
