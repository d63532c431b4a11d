// Widening of float16 to float32 in a document graph: numbers, types, casts, inputs and outputs.
#include <stdio.h>
#include <math.h>

#include "lib/base/half.h"
#include "lib/document/widen_half.h"
#include "tests/unit/plan_harness.h"

static char said[512];
static void remember(void *user, dq_severity severity, const char *text) {
  (void)user, (void)severity;
  snprintf(said, sizeof said, "%s", text);
}

static const int64_t dims[2] = {2, 4}, side[2] = {4, 4};

static dq_tensor *halves(dq_graph *graph, int rank, const int64_t *sizes) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F16, rank, sizes);
  uint16_t *elements = tensor->data;
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) elements[i] = dq_float_to_half((float)(i - 5) / 3);
  return tensor;
}

static dq_node *cast(dq_graph *graph, dq_value *from, const char *to, int type) {
  dq_node *node = add(graph, "Cast", 1, &from, to);
  assert_true(dq_node_set_int(graph, node, "to", type));
  return node;
}

static void set_tensor(dq_graph *graph, dq_node *node, dq_tensor *tensor) {
  const dq_attribute attribute = {.name = "value", .type = DQ_ATTRIBUTE_TENSOR, .tensor = tensor};
  assert_true(dq_node_copy_attribute(graph, node, &attribute));
}

// x -> MatMul with an initializer -> Add of a Constant -> Cast to float32 -> Relu -> Cast to float16 -> Add of a
// ConstantOfShape -> y, in float16 but for the Relu.
static dq_graph *half_graph(void) {
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 2, dims), *w = dq_graph_add_constant(graph, "w", halves(graph, 2, side));
  dq_value *product = add(graph, "MatMul", 2, (dq_value *[]){x, w}, "product")->outputs[0];
  dq_node *offset = add(graph, "Constant", 0, NULL, "offset");
  set_tensor(graph, offset, halves(graph, 1, side));
  dq_value *sum = add(graph, "Add", 2, (dq_value *[]){product, offset->outputs[0]}, "sum")->outputs[0];
  dq_value *full = cast(graph, sum, "full", DQ_F32)->outputs[0];
  dq_value *relu = add(graph, "Relu", 1, &full, "relu")->outputs[0];
  dq_value *half = cast(graph, relu, "half", DQ_F16)->outputs[0];
  dq_tensor *sizes = dq_tensor_new(graph->arena, DQ_I64, 1, (int64_t[]){1});
  *(int64_t *)sizes->data = 4;
  dq_value *shape = dq_graph_add_constant(graph, "shape", sizes);
  dq_node *filled = add(graph, "ConstantOfShape", 1, &shape, "filled");
  set_tensor(graph, filled, halves(graph, 1, (int64_t[]){1}));
  dq_value *y = add(graph, "Add", 2, (dq_value *[]){half, filled->outputs[0]}, "y")->outputs[0];
  interface(graph, x, y);
  x->type = y->type = product->type = w->type = DQ_F16;
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  return graph;
}

static dq_graph *widened(const dq_graph *graph, bool expected) {
  dq_context with = context;
  dq_graph *wide = NULL;
  dq_error error = {0};
  bool any = !expected;
  with.message = remember, said[0] = 0;
  if (dq_widen_half(&wide, &any, graph, "quantization", &with, &error) != DQ_OK) fail_msg("%s", error.message);
  assert_int_equal(any, expected);
  return wide;
}

static void assert_widened(const dq_tensor *full, const dq_tensor *half) {
  assert_int_equal(full->type, DQ_F32);
  assert_true(dq_tensor_same_shape(full, half));
  for (int64_t i = 0; i < dq_tensor_count(half); i++) assert_true(dq_tensor_get(full, i) == dq_tensor_get(half, i));
}

static int count_casts(const dq_graph *graph) {
  int count = 0;
  for (int n = 0; n < graph->node_count; n++) count += dq_node_is(graph->nodes[n], "Cast");
  return count;
}

static void test_types(void **state) {
  (void)state;
  dq_graph *graph = half_graph(), *wide = widened(graph, true);
  assert_widened(dq_graph_find(wide, "w")->constant, dq_graph_find(graph, "w")->constant);
  assert_widened(dq_known_tensor(dq_graph_find(wide, "offset")), dq_known_tensor(dq_graph_find(graph, "offset")));
  assert_widened(dq_node_tensor(dq_graph_find(wide, "filled")->producer, "value"),
                 dq_node_tensor(dq_graph_find(graph, "filled")->producer, "value"));
  assert_int_equal(dq_graph_find(graph, "w")->constant->type, DQ_F16);
  assert_int_equal(dq_graph_find(wide, "product")->type, DQ_F32);
  assert_int_equal(dq_graph_find(wide, "x")->type, DQ_F16);
  assert_int_equal(dq_graph_find(wide, "y")->type, DQ_F16);
  assert_int_equal(count_casts(wide), 2);
  assert_ptr_equal(dq_graph_find(wide, "relu")->producer->inputs[0], dq_graph_find(wide, "sum"));
  assert_non_null(strstr(said, "21 weights in float16 are widened to float32 before quantization"));
  dq_graph_free(wide);
  dq_graph_free(graph);
}

// float16 keeps 11 bits, so that results differ by some 2^-11 of the largest.
static void test_outputs(void **state) {
  (void)state;
  dq_graph *graph = half_graph(), *wide = widened(graph, true);
  dq_arena *arena = dq_arena_new(NULL);
  dq_tensor *a = session_run(graph, NULL, &context, arena, NULL), *b = session_run(wide, NULL, &context, arena, NULL);
  double largest = 0, difference = 0;
  assert_int_equal(b->type, DQ_F16);
  for (int64_t i = 0; i < dq_tensor_count(a); i++) {
    largest = fmax(largest, fabs(dq_tensor_get(a, i)));
    difference = fmax(difference, fabs(dq_tensor_get(a, i) - dq_tensor_get(b, i)));
  }
  assert_true(largest > 0 && difference <= largest / 512);
  dq_arena_free(arena);
  dq_graph_free(wide);
  dq_graph_free(graph);
}

// float32 at the ends, as dq-amp writes: no Cast is left.
static void test_casts_at_the_ends(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 2, dims), *w = dq_graph_add_constant(graph, "w", halves(graph, 2, side));
  dq_value *half = cast(graph, x, "x_fp16", DQ_F16)->outputs[0];
  dq_value *product = add(graph, "MatMul", 2, (dq_value *[]){half, w}, "y_fp16")->outputs[0];
  interface(graph, x, cast(graph, product, "y", DQ_F32)->outputs[0]);
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  dq_graph *wide = widened(graph, true);
  assert_int_equal(wide->node_count, 1);
  assert_string_equal(wide->nodes[0]->inputs[0]->name, "x");
  assert_string_equal(wide->nodes[0]->outputs[0]->name, "y");
  dq_graph_free(wide);
  dq_graph_free(graph);
}

static void test_left_alone(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 2, dims);
  interface(graph, x, add(graph, "Relu", 1, &x, "y")->outputs[0]);
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  dq_graph *wide = widened(graph, false);
  assert_int_equal(wide->node_count, 1);
  assert_string_equal(said, "");
  dq_graph_free(wide);
  dq_graph_free(graph);
  graph = half_graph();
  dq_node *bits = add(graph, "BitCast", 1, (dq_value *[]){dq_graph_find(graph, "sum")}, "bits");
  assert_true(dq_node_set_int(graph, bits, "to", DQ_I16));
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  wide = widened(graph, false);
  assert_int_equal(dq_graph_find(wide, "w")->constant->type, DQ_F16);
  assert_non_null(strstr(said, "node 'bits' may read or hold float16"));
  dq_graph_free(wide);
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_outputs),
      cmocka_unit_test(test_casts_at_the_ends),
      cmocka_unit_test(test_left_alone),
  };
  return cmocka_run_group_tests(tests, context_start, context_end);
}
