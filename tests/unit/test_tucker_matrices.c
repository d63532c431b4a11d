// Two products in place of one: the factors of the matrices of MatMul and Gemm.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "decomp/tucker/ranks_file.h"

// A graph that a product turns from x [5, 8] into y.
static dq_graph *graph_of_product(int64_t opset) {
  dq_graph *graph = dq_graph_new(0);
  dq_graph_set_opset(graph, "", opset, NULL);
  dq_value *x = dq_graph_add_value(graph, "x"), *y = dq_graph_add_value(graph, "y");
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, 2, dq_dimension);
  dims[0].size = 5, dims[1].size = 8;
  x->type = DQ_F32, x->rank = 2, x->dims = dims, x->is_input = y->is_output = true;
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->inputs[0] = x, graph->outputs[0] = y;
  graph->input_count = graph->output_count = 1;
  return graph;
}

// Decomposes the product "p" at rank 2.
static dq_tucker_report at_rank_2(dq_graph *graph) {
  const dq_layer_ranks given = {"p", {6, 2}};
  const dq_tucker_options options = {.multiple = 1, .matrices = true, .layers = &given, .layer_count = 1};
  dq_tucker_report report;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  assert_int_equal(dq_tucker_apply(graph, &options, &report, NULL), DQ_OK);
  assert_int_equal(graph->node_count, 2);
  return report;
}

// An element of a matrix of rank 2 (8 x 6).
static float element(int64_t i, int64_t o) { return (float)((i % 3 + 1) * (o % 2 + 1) + (i % 2) * (o % 3)); }

// The matrix as MatMul and as Gemm, either way round: its factors at rank 2 multiply out to it.
static void matrices(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; kind++) { // MatMul, Gemm, Gemm with transB
    dq_graph *graph = graph_of_product(13);
    const int64_t shape[] = {kind == 2 ? 6 : 8, kind == 2 ? 8 : 6};
    dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, 2, shape);
    for (int64_t i = 0; i < 8; i++)
      for (int64_t o = 0; o < 6; o++) ((float *)tensor->data)[kind == 2 ? o * 8 + i : i * 6 + o] = element(i, o);
    dq_value *inputs[] = {graph->inputs[0], dq_graph_add_constant(graph, "w", tensor)};
    dq_node *node = dq_graph_add_node(graph, 0, kind ? "Gemm" : "MatMul", "p", 2, inputs, 1, graph->outputs);
    if (kind == 2) dq_node_set_int(graph, node, "transB", 1);
    if (kind) dq_node_set_float(graph, node, "alpha", 2);
    const dq_tucker_report report = at_rank_2(graph);
    assert_int_equal(report.decomposed, 1);
    assert_true(report.layers[0].error < 1e-6);
    assert_int_equal(report.model_before.macs, 5 * 8 * 6);
    assert_int_equal(report.model_after.macs, 5 * 2 * (8 + 6));
    assert_null(dq_graph_find(graph, "w")->constant);
    const dq_node *first = graph->nodes[0], *last = graph->nodes[1];
    assert_true(last->outputs[0] == graph->outputs[0] && dq_node_float(last, "alpha", 1) == 1);
    const float *a = first->inputs[1]->constant->data, *b = last->inputs[1]->constant->data;
    for (int64_t i = 0; i < 8; i++)
      for (int64_t o = 0; o < 6; o++) {
        double sum = 0;
        for (int64_t r = 0; r < 2; r++)
          sum += (double)(kind ? a[r * 8 + i] * b[o * 2 + r] : a[i * 2 + r] * b[r * 6 + o]);
        assert_true(fabs(sum - (double)(element(i, o) * (kind ? 2 : 1))) < 1e-4); // alpha
      }
    dq_graph_free(graph);
  }
}

// A chain of products with one matrix. Equal operators share the factors; another operator, side or alpha has its own.
static void shared_matrix(void **state) {
  (void)state;
  dq_graph *graph = graph_of_product(13);
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, 2, (int64_t[]){8, 8});
  for (int64_t i = 0; i < 64; i++) ((float *)tensor->data)[i] = element(i / 8, i % 8);
  dq_value *w = dq_graph_add_constant(graph, "w", tensor), *value = graph->inputs[0];
  for (int n = 0; n < 8; n++) { // in pairs: MatMul, Gemm, with transB, with alpha
    dq_value *inputs[] = {value, w};
    value = n < 7 ? dq_graph_fresh_value(graph, "between") : graph->outputs[0];
    value->type = DQ_F32;
    dq_node *node = dq_graph_add_node(graph, n, n < 2 ? "MatMul" : "Gemm", "", 2, inputs, 1, &value);
    if (n >= 4 && n < 6) dq_node_set_int(graph, node, "transB", 1);
    if (n >= 6) dq_node_set_float(graph, node, "alpha", 2);
  }
  const dq_tucker_options options = {.rule = DQ_RANK_RATIO, .parameter = 0.25, .multiple = 1, .matrices = true};
  dq_tucker_report report;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  assert_int_equal(dq_tucker_apply(graph, &options, &report, NULL), DQ_OK);
  assert_int_equal(report.decomposed, 8);
  assert_int_equal(graph->node_count, 16);
  assert_int_equal(graph->initializer_count, 4 * 2);
  for (int n = 0; n < 16; n += 4)
    for (int i = 0; i < 2; i++) assert_ptr_equal(graph->nodes[n + i]->inputs[1], graph->nodes[n + 2 + i]->inputs[1]);
  dq_graph_free(graph);
}

// In opsets 7 to 10 a Gemm has three operands.
static void gemm_of_old_opsets(void **state) {
  (void)state;
  dq_graph *graph = graph_of_product(9);
  dq_tensor *matrix = dq_tensor_new(graph->arena, DQ_F32, 2, (int64_t[]){8, 6});
  for (int64_t i = 0; i < 48; i++) ((float *)matrix->data)[i] = element(i / 6, i % 6);
  dq_value *inputs[] = {graph->inputs[0], dq_graph_add_constant(graph, "w", matrix),
                        dq_graph_add_constant(graph, "b", dq_tensor_new(graph->arena, DQ_F32, 1, (int64_t[]){6}))};
  dq_graph_add_node(graph, 0, "Gemm", "p", 3, inputs, 1, graph->outputs);
  at_rank_2(graph);
  for (int n = 0; n < 2; n++) assert_int_equal(graph->nodes[n]->input_count, 3);
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(matrices), cmocka_unit_test(shared_matrix),
                                     cmocka_unit_test(gemm_of_old_opsets)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
