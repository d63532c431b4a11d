// A last convolution and dense layers written as Gemm.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "quant/rewrite/conv_to_gemm.h"
#include "quant/rewrite/dense_to_gemm.h"
#include "tests/unit/small_network.h"

// Allows all but the layer or the sum whose node has the name `user`.
static bool all_but(const void *user, const dq_node *layer, const dq_node *sum) {
  return !user || (strcmp(layer->name, user) && !(sum && !strcmp(sum->name, user)));
}

static void rewrite_convolution(network *it, const char *kept) {
  const dq_gemm_wish wish = {all_but, kept};
  dq_error error;
  if (dq_conv_to_gemm(it->graph, &wish, &no_shapes, it->arena, &it->context, &error) != DQ_OK)
    fail_msg("%s", error.message);
}

static void rewrite_layers(network *it, const char *kept) {
  const dq_gemm_wish wish = {all_but, kept};
  dq_error error;
  if (dq_dense_to_gemm(it->graph, &wish, &no_shapes, it->arena, &it->context, &error) != DQ_OK)
    fail_msg("%s", error.message);
}

static void build_last_convolution(network *it) {
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_conv(it, network_value(it, "x"), "a", 3, 4, 3, 1);
  network_node(it, "GlobalAveragePool", network_value(it, "a"), NULL, NULL, network_value(it, "mean"));
  network_conv(it, network_value(it, "mean"), "scores", 4, 4, 1, 1);
  network_node(it, "Flatten", network_value(it, "scores"), NULL, NULL, network_value(it, "y"));
  network_finish(it);
}

static void last_convolution_is_a_matrix(void **state) {
  network *it = *state;
  static network_outputs before, after;
  build_last_convolution(it);
  network_run(it, &before);
  rewrite_convolution(it, "scores");
  assert_true(dq_node_is(network_value(it, "y")->producer, "Flatten"));
  rewrite_convolution(it, NULL);
  const dq_node *last = network_value(it, "y")->producer;
  assert_true(dq_node_is(last, "Gemm") && dq_node_is(last->inputs[0]->producer, "Flatten"));
  assert_int_equal(last->inputs[1]->constant->rank, 2);
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 1e-6);
}

static dq_value *constant(network *it, const char *name, int rank, const int64_t *dims) {
  dq_tensor *tensor = dq_tensor_new(it->graph->arena, DQ_F32, rank, dims);
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) ((float *)tensor->data)[i] = (float)(i % 7) - 2.5f;
  return dq_graph_add_constant(it->graph, name, tensor);
}

// `to` = `from` times a weight of rows x columns, plus a bias of `rank` dimensions, of which the last has `biases`
// elements and the others 1; the bias is the first operand of the sum where `bias_first` is set.
static void dense(network *it, const char *from, const char *to, int64_t rows, int64_t columns, int rank,
                  int64_t biases, bool bias_first) {
  char name[40];
  int64_t dims[3] = {1, 1, 1};
  dims[rank - 1] = biases;
  snprintf(name, sizeof name, "%s_product", to);
  dq_value *product = network_value(it, name);
  dq_value *weight = constant(it, "weight", 2, (int64_t[]){rows, columns});
  network_node(it, "MatMul", network_value(it, from), weight, NULL, product);
  dq_value *bias = constant(it, "bias", rank, dims), *a = bias_first ? bias : product;
  network_node(it, "Add", a, a == bias ? product : bias, NULL, network_value(it, to));
}

static const char *operator_of(network *it, const char *value) { return network_value(it, value)->producer->op_type; }

static void dense_layers_are_matrix_products(void **state) {
  network *it = *state;
  static network_outputs before, after;
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_node(it, "Flatten", network_value(it, "x"), NULL, NULL, network_value(it, "rows"));
  dense(it, "rows", "a", 3 * SIDE * SIDE, 6, 1, 6, false);
  dense(it, "a", "b", 6, 5, 2, 5, true);
  dense(it, "b", "kept", 5, 5, 1, 5, false);
  dense(it, "kept", "one", 5, 5, 1, 1, false);  // one number for all columns
  dense(it, "one", "three", 5, 5, 3, 5, false); // three dimensions
  dense(it, "three", "y", 5, 4, 1, 4, false);   // of three dimensions
  network_finish(it);
  network_run(it, &before);
  rewrite_layers(it, "kept");
  assert_string_equal(operator_of(it, "a"), "Gemm");
  assert_string_equal(operator_of(it, "b"), "Gemm");
  assert_string_equal(network_value(it, "b")->producer->name, "b_product");
  assert_int_equal(network_value(it, "b")->producer->inputs[2]->constant->rank, 1);
  const char *const others[] = {"kept", "one", "three", "y"};
  for (int i = 0; i < 4; i++) assert_string_equal(operator_of(it, others[i]), "Add");
  assert_int_equal(it->graph->node_count, 1 + 2 + 4 * 2);
  network_run(it, &after);
  assert_true(network_difference(&before, &after) <= 1e-6);
}

// The product of the first layer is read a second time, the sum of the second has no constant, and the last product is
// an output of the graph.
static void others_stay_products_and_sums(void **state) {
  network *it = *state;
  dq_graph_set_opset(it->graph, "", 13, NULL);
  network_node(it, "Flatten", network_value(it, "x"), NULL, NULL, network_value(it, "rows"));
  dense(it, "rows", "a", 3 * SIDE * SIDE, 4, 1, 4, false);
  network_node(it, "Mul", network_value(it, "a"), network_value(it, "a_product"), NULL, network_value(it, "b"));
  dq_value *weight = constant(it, "weight", 2, (int64_t[]){4, 4});
  network_node(it, "MatMul", network_value(it, "b"), weight, NULL, network_value(it, "c"));
  network_node(it, "Add", network_value(it, "c"), network_value(it, "b"), NULL, network_value(it, "d"));
  network_node(it, "MatMul", network_value(it, "d"), weight, NULL, network_value(it, "y"));
  network_node(it, "Add", network_value(it, "y"), constant(it, "bias", 1, (int64_t[]){4}), NULL,
               network_value(it, "z"));
  network_finish(it);
  int nodes = it->graph->node_count;
  rewrite_layers(it, NULL);
  assert_int_equal(it->graph->node_count, nodes);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, network_start, network_end)
  const struct CMUnitTest tests[] = {TEST(last_convolution_is_a_matrix), TEST(dense_layers_are_matrix_products),
                                     TEST(others_stay_products_and_sums)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
