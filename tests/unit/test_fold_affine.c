// What multiplies and shifts the inputs of a product of matrices goes into its weights and its bias.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lib/passes/fold_affine.h"

static dq_value *constant(dq_graph *graph, const char *name, int rank, const int64_t *dims, const float *numbers) {
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, rank, dims);
  memcpy(tensor->data, numbers, dq_tensor_bytes(tensor));
  return dq_graph_add_constant(graph, name, tensor);
}

static dq_value *vector(dq_graph *graph, const char *name, float a, float b) {
  return constant(graph, name, 1, (int64_t[]){2}, (float[]){a, b});
}

static dq_node *add(dq_graph *graph, const char *op_type, dq_value *a, dq_value *b, dq_value *c, const char *y) {
  dq_value *inputs[] = {a, b, c}, *output = dq_graph_add_value(graph, y);
  return dq_graph_add_node(graph, graph->node_count, op_type, y, c ? 3 : 2, inputs, 1, &output);
}

static dq_graph *begin(void) {
  dq_graph *graph = dq_graph_new(0);
  dq_value *x = dq_graph_add_value(graph, "x");
  dq_graph_set_opset(graph, "", 13, NULL);
  x->type = DQ_F32, x->is_input = true;
  graph->inputs = dq_arena_copy(graph->arena, &x, sizeof x), graph->input_count = 1;
  return graph;
}

static void end(dq_graph *graph, const char *name) {
  dq_value *y = dq_graph_find(graph, name);
  y->is_output = true;
  graph->outputs = dq_arena_copy(graph->arena, &y, sizeof y), graph->output_count = 1;
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
}

// Folds all that can be folded and says how many nodes went.
static int fold(dq_graph *graph) {
  int count = 0;
  bool folded;
  for (int n = graph->node_count - 1; n >= 0; n--) {
    assert_int_equal(dq_affine_fold_behind(graph, graph->nodes[n], &folded, NULL), DQ_OK);
    count += folded;
  }
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  return count;
}

static void has(const dq_value *value, int count, const float *numbers) {
  assert_non_null(value);
  assert_int_equal(dq_tensor_count(value->constant), count);
  for (int i = 0; i < count; i++) assert_float_equal(((const float *)value->constant->data)[i], numbers[i], 0);
}

static dq_value *weights(dq_graph *graph) { // inputs x outputs
  return constant(graph, "w", 2, (int64_t[]){2, 2}, (float[]){1, 2, 3, 4});
}

// (x (2, 3) + (10, 20)) (1 2; 3 4) + (5, 6) = x (2 4; 9 12) + (70 + 5, 100 + 6)
static void in_front_of_a_matmul_and_its_add(void **state) {
  (void)state;
  dq_graph *graph = begin();
  dq_value *m = add(graph, "Mul", dq_graph_find(graph, "x"), vector(graph, "f", 2, 3), NULL, "m")->outputs[0];
  dq_value *s = add(graph, "Add", vector(graph, "s", 10, 20), m, NULL, "moved")->outputs[0];
  dq_node *product = add(graph, "MatMul", s, weights(graph), NULL, "p");
  dq_node *biased = add(graph, "Add", product->outputs[0], vector(graph, "b", 5, 6), NULL, "y");
  end(graph, "y");
  assert_int_equal(fold(graph), 2);
  assert_int_equal(graph->node_count, 2);
  assert_ptr_equal(product->inputs[0], dq_graph_find(graph, "x"));
  has(product->inputs[1], 4, (float[]){2, 4, 9, 12});
  has(biased->inputs[1], 2, (float[]){75, 106});
  dq_graph_free(graph);
}

// A batch normalization with factor 3 / sqrt(3 + 1) and shift 1 - 2 * 1.5 in both places: (1.5 x - 2) (1 2; 3 4), -8
// and -12 as a new bias. Divided by 2 and less 1 of transposed weights, with a bias.
static void in_front_of_a_gemm(void **state) {
  (void)state;
  dq_graph *graph = begin();
  dq_value *x = dq_graph_find(graph, "x"), *y = dq_graph_add_value(graph, "n"),
           *inputs[] = {x, vector(graph, "scale", 3, 3), vector(graph, "shift", 1, 1), vector(graph, "mean", 2, 2),
                        vector(graph, "variance", 3, 3)};
  dq_node *norm = dq_graph_add_node(graph, 0, "BatchNormalization", "norm", 5, inputs, 1, &y);
  dq_node_set_float(graph, norm, "epsilon", 1);
  dq_node *first = add(graph, "Gemm", y, weights(graph), NULL, "g");
  dq_value *half = add(graph, "Div", first->outputs[0], vector(graph, "two", 2, 2), NULL, "d")->outputs[0];
  dq_value *less = add(graph, "Sub", half, vector(graph, "one", 1, 1), NULL, "less")->outputs[0];
  dq_value *w = constant(graph, "v", 2, (int64_t[]){2, 2}, (float[]){1, 3, 2, 4});
  dq_node *second = add(graph, "Gemm", less, w, vector(graph, "c", 5, 6), "y");
  dq_node_set_int(graph, second, "transB", 1);
  end(graph, "y");
  assert_int_equal(fold(graph), 3);
  has(first->inputs[1], 4, (float[]){1.5f, 3, 4.5f, 6});
  has(first->inputs[2], 2, (float[]){-8, -12});
  has(second->inputs[1], 4, (float[]){0.5f, 1.5f, 1, 2});
  has(second->inputs[2], 2, (float[]){5 - 4, 6 - 6});
  dq_graph_free(graph);
}

// What nothing takes, or others read too, stays: a shift in front of a MatMul without an Add, a column of factors, an
// output, factors that make infinite weights.
static void what_stays(void **state) {
  (void)state;
  for (int kind = 0; kind < 4; kind++) {
    dq_graph *graph = begin();
    dq_value *x = dq_graph_find(graph, "x");
    dq_value *by = kind == 1   ? constant(graph, "f", 2, (int64_t[]){2, 1}, (float[]){2, 3})
                   : kind == 3 ? vector(graph, "f", 3e38f, 1)
                               : vector(graph, "f", 2, 3);
    dq_node *node = add(graph, kind ? "Mul" : "Add", x, by, NULL, "m");
    dq_node *product = add(graph, "MatMul", node->outputs[0], weights(graph), NULL, "y");
    if (kind == 2) add(graph, "Add", product->outputs[0], node->outputs[0], NULL, "z");
    end(graph, kind == 2 ? "z" : "y");
    assert_int_equal(fold(graph), 0);
    assert_ptr_equal(product->inputs[0], node->outputs[0]);
    dq_graph_free(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(in_front_of_a_matmul_and_its_add),
                                     cmocka_unit_test(in_front_of_a_gemm), cmocka_unit_test(what_stays)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
