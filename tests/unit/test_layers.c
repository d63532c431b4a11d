// Two models on the same data: matching through the origin map, by name, not at all; the figures.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "datasets/npy.h"
#include "lib/base/random.h"
#include "lib/eval/layers.h"
#include "lib/document/origin.h"

static dq_context context;
static dq_arena *arena;
static char path[] = "/tmp/dq_test_layersXXXXXX";
static int warnings;

static void count_warnings(void *user, dq_severity severity, const char *text) {
  (void)user;
  (void)text;
  warnings += severity == DQ_WARNING;
}

enum { PICTURES = 3, SIDE = 4 };

static int start(void **state) {
  (void)state;
  int file = mkstemp(path);
  if (file < 0 || close(file)) return -1;
  arena = dq_arena_new(0);
  if (!arena || dq_context_init(&context, 1, ~0u, NULL) != DQ_OK) return -1;
  context.message = count_warnings;
  dq_tensor *data = dq_tensor_new(arena, DQ_F32, 4, (int64_t[]){PICTURES, 1, SIDE, SIDE});
  dq_random random = {1};
  for (int64_t i = 0; i < dq_tensor_count(data); i++) dq_tensor_set(data, i, (double)dq_random_normal(&random));
  return dq_npy_write(path, data, NULL) == DQ_OK ? 0 : -1;
}

static int end(void **state) {
  (void)state;
  unlink(path);
  dq_context_deinit(&context);
  dq_arena_free(arena);
  return 0;
}

static int type = DQ_F32; // of the layers

static dq_value *multiply(dq_graph *graph, dq_value *input, float factor, const char *name) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, type, 0, NULL);
  dq_tensor_set(tensor, 0, (double)factor);
  dq_value *inputs[] = {input, dq_graph_add_constant(graph, "factor", tensor)};
  dq_value *output = dq_graph_add_value(graph, name);
  dq_graph_add_node(graph, graph->node_count, "Mul", name, 2, inputs, 1, &output);
  return output;
}

// x -> first = x * factor -> second = first * 2, with another name for `first` on request.
static dq_graph *new_graph(float factor, const char *first) {
  dq_graph *graph = dq_graph_new(0);
  dq_value *x = dq_graph_add_value(graph, "x");
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, 4, dq_dimension);
  const int64_t sizes[] = {-1, 1, SIDE, SIDE};
  for (int i = 0; i < 4; i++) dims[i].size = sizes[i];
  x->type = DQ_F32, x->rank = 4, x->dims = dims, x->is_input = true;
  graph->inputs = dq_arena_copy(graph->arena, &x, sizeof x);
  dq_value *typed = type == DQ_F32 ? x : dq_graph_add_value(graph, "typed");
  if (typed != x) {
    dq_graph_add_node(graph, 0, "Cast", "typed", 1, &x, 1, &typed);
    assert_true(dq_node_set_int(graph, graph->nodes[0], "to", type));
  }
  dq_value *y = multiply(graph, multiply(graph, typed, factor, first), 2, "second");
  y->is_output = true;
  graph->outputs = dq_arena_copy(graph->arena, &y, sizeof y);
  graph->input_count = graph->output_count = 1;
  graph->ir_version = 8;
  assert_int_equal(dq_graph_set_opset(graph, "", 13, NULL), DQ_OK);
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  return graph;
}

static dq_layer_comparison compare(const dq_graph *reference, const dq_graph *candidate, bool by_names) {
  char spec[64];
  snprintf(spec, sizeof spec, "npy:%s", path);
  dq_data_options data_options = {.spec = spec};
  dq_layer_options options = {.by_names = by_names};
  dq_layer_comparison result;
  dq_data *data;
  dq_error error = {0};
  warnings = 0;
  if (dq_data_open(&data, &data_options, &context, &error) != DQ_OK) fail_msg("%s", error.message);
  dq_status status = dq_compare_layers(&result, reference, candidate, data, &options, &context, arena, &error);
  if (status != DQ_OK) fail_msg("%s", error.message);
  dq_data_free(data);
  return result;
}

static void test_a_model_equals_itself(void **state) {
  (void)state;
  dq_graph *graph = new_graph(1, "first"), *same = new_graph(1, "first");
  dq_layer_comparison result = compare(graph, same, false);
  assert_int_equal(warnings, 0);
  assert_int_equal(result.layer_count, 2);
  assert_int_equal(result.pictures, PICTURES);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(result.layers[i].comparison.values, PICTURES * SIDE * SIDE);
    assert_true(isinf(dq_comparison_sqnr(&result.layers[i].comparison)));
  }
  dq_graph_free(graph);
  dq_graph_free(same);
}

static void test_strangers_are_matched_only_when_asked(void **state) {
  (void)state;
  dq_graph *graph = new_graph(1, "first"), *other = new_graph(1.1f, "first");
  dq_layer_comparison result = compare(graph, other, false);
  assert_int_equal(result.layer_count, 0);
  assert_int_equal(warnings, 1);
  assert_float_equal(dq_comparison_sqnr(&result.outputs[0].comparison), 20, 1e-4);
  result = compare(graph, other, true);
  assert_true(result.by_names);
  assert_int_equal(warnings, 1);
  assert_int_equal(result.layer_count, 2);
  assert_float_equal(dq_comparison_sqnr(&result.layers[0].comparison), 20, 1e-4);
  assert_float_equal(dq_comparison_cosine(&result.layers[0].comparison), 1, 1e-6);
  dq_graph_free(graph);
  dq_graph_free(other);
}

static void say_origin(const dq_graph *source, dq_graph *result) {
  dq_origin *origin = dq_origin_begin(source, "test");
  assert_int_equal(dq_origin_add(origin, "renamed", "first", NULL), DQ_OK);
  assert_int_equal(dq_origin_finish(origin, result, &context, NULL), DQ_OK);
}

static void test_values_are_followed_to_their_origin(void **state) {
  (void)state;
  dq_graph *graph = new_graph(1, "first"), *one = new_graph(1.1f, "renamed");
  dq_graph *two = new_graph(1.2f, "renamed");
  say_origin(graph, one);
  say_origin(graph, two);
  dq_layer_comparison result = compare(graph, one, false);
  assert_int_equal(warnings, 0);
  assert_int_equal(result.layer_count, 2);
  assert_string_equal(result.layers[0].reference->name, "first");
  assert_string_equal(result.layers[0].candidate->name, "renamed");
  assert_float_equal(dq_comparison_sqnr(&result.layers[0].comparison), 20, 1e-4);
  result = compare(one, two, false); // through the source of both
  assert_int_equal(result.layer_count, 2);
  assert_float_equal(dq_comparison_sqnr(&result.layers[0].comparison), 20 * log10(11), 1e-4);
  result = compare(one, graph, false); // the other way round
  assert_int_equal(result.layer_count, 2);
  assert_int_equal(warnings, 0);
  dq_graph_free(graph);
  dq_graph_free(one);
  dq_graph_free(two);
}

// Half of the reference is missing or too much, whatever the type: 20 log10 2, not 20 log10 3.
static void test_layers_of_each_type(void **state) {
  (void)state;
  static const int types[] = {DQ_F64, DQ_F16, DQ_F32};
  for (int i = 0; i < 3; i++) {
    type = types[i];
    dq_graph *graph = new_graph(1, "first"), *other = new_graph(1.5f, "first");
    dq_layer_comparison result = compare(graph, other, true);
    assert_true(result.layer_count >= 2);
    for (int k = result.layer_count - 2; k < result.layer_count; k++)
      assert_float_equal(dq_comparison_sqnr(&result.layers[k].comparison), 20 * log10(2), 0.01);
    dq_graph_free(graph);
    dq_graph_free(other);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_model_equals_itself),
      cmocka_unit_test(test_strangers_are_matched_only_when_asked),
      cmocka_unit_test(test_values_are_followed_to_their_origin),
      cmocka_unit_test(test_layers_of_each_type),
  };
  return cmocka_run_group_tests(tests, start, end);
}
