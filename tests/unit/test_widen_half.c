// Widening of float16 and bfloat16 to float32 in a document graph: numbers, types, casts, inputs and outputs.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/half.h"
#include "lib/document/widen_half.h"
#include "lib/onnx/onnx.h"
#include "tests/unit/plan_harness.h"

static char said[512];
static void remember(void *user, dq_severity severity, const char *text) {
  (void)user, (void)severity;
  snprintf(said, sizeof said, "%s", text);
}

static const int64_t dims[2] = {2, 4}, side[2] = {4, 4};

static int narrow = DQ_F16; // the type of the graphs: DQ_F16 or DQ_BF16

static dq_tensor *halves(dq_graph *graph, int rank, const int64_t *sizes) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, narrow, rank, sizes);
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) dq_tensor_set(tensor, i, (double)((float)(i - 5) / 3));
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
  dq_value *half = cast(graph, relu, "half", narrow)->outputs[0];
  dq_tensor *sizes = dq_tensor_new(graph->arena, DQ_I64, 1, (int64_t[]){1});
  *(int64_t *)sizes->data = 4;
  dq_value *shape = dq_graph_add_constant(graph, "shape", sizes);
  dq_node *filled = add(graph, "ConstantOfShape", 1, &shape, "filled");
  set_tensor(graph, filled, halves(graph, 1, (int64_t[]){1}));
  dq_value *y = add(graph, "Add", 2, (dq_value *[]){half, filled->outputs[0]}, "y")->outputs[0];
  interface(graph, x, y);
  x->type = y->type = product->type = w->type = narrow;
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

// bfloat16 has no run, so that inputs and outputs become float32 too, and no Cast is left; of the file that is loaded
// as well.
static void test_bfloat16(void **state) {
  (void)state;
  char path[] = "/tmp/test_widen_XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  narrow = DQ_BF16;
  dq_graph *made = half_graph(), *graph;
  narrow = DQ_F16;
  assert_int_equal(dq_onnx_save(made, path, NULL), DQ_OK);
  assert_int_equal(dq_onnx_load(&graph, path, &context, NULL), DQ_OK);
  unlink(path);
  dq_graph *wide = widened(graph, true);
  assert_widened(dq_graph_find(wide, "w")->constant, dq_graph_find(made, "w")->constant);
  assert_true(dq_tensor_get(dq_graph_find(wide, "w")->constant, 0) == -1.6640625); // -5/3 with 8 bits
  assert_widened(dq_known_tensor(dq_graph_find(wide, "offset")), dq_known_tensor(dq_graph_find(made, "offset")));
  for (int v = 0; v < wide->value_count; v++) assert_int_not_equal(wide->values[v]->type, DQ_BF16);
  assert_int_equal(dq_graph_find(wide, "x")->type, DQ_F32);
  assert_int_equal(dq_graph_find(wide, "y")->type, DQ_F32);
  assert_int_equal(count_casts(wide), 0);
  assert_non_null(strstr(said,
                         "21 weights in bfloat16 are widened to float32 before quantization; inputs and outputs in "
                         "bfloat16 become float32"));
  dq_arena *arena = dq_arena_new(NULL);
  assert_int_equal(session_run(wide, NULL, &context, arena, NULL)->type, DQ_F32);
  dq_arena_free(arena);
  dq_graph_free(wide);
  dq_graph_free(graph);
  dq_graph_free(made);
}

static void test_bits_of_bfloat16(void **state) {
  static const struct {
    float value;
    uint16_t bits;
  } cases[] = {{1, 0x3f80},        {-2, 0xc000},          {1 + 0x1p-8f, 0x3f80}, {1 + 0x3p-8f, 0x3f82}, {0x1p-133f, 1},
               {INFINITY, 0x7f80}, {0x1.ffp127f, 0x7f80}, {-0.0f, 0x8000},       {NAN, 0x7fc0}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(dq_float_to_bfloat(cases[i].value), cases[i].bits);
  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    const float value = dq_bfloat_to_float((uint16_t)bits);
    assert_int_equal(dq_float_to_bfloat(value), isnan(value) ? bits | 0x40u : bits);
  }
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
  assert_non_null(strstr(said, "node 'bits' may read or hold them"));
  dq_graph_free(wide);
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_outputs),
      cmocka_unit_test(test_casts_at_the_ends),
      cmocka_unit_test(test_bfloat16),
      cmocka_unit_test(test_bits_of_bfloat16),
      cmocka_unit_test(test_left_alone),
  };
  return cmocka_run_group_tests(tests, context_start, context_end);
}
