#include "quant/rewrite/dense_to_gemm.h"

#include "lib/ops/table/product.h"

// The constant that `add` adds to each row of a matrix of `columns` columns, `product`; NULL: there is none.
static const dq_value *row_of_biases(const dq_node *add, const dq_value *product, int64_t columns) {
  const dq_value *bias = add->inputs[add->inputs[0] == product];
  if (bias == product || !dq_is_float_constant(bias)) return NULL;
  const dq_tensor *tensor = bias->constant;
  bool row = tensor->rank == 1 || (tensor->rank == 2 && tensor->dims[0] == 1);
  return row && tensor->dims[tensor->rank - 1] == columns ? bias : NULL;
}

// The sum with the bias behind the product of a dense layer of one matrix: of a MatMul, or of a Gemm that does
// nothing else; NULL: `node` is none.
static dq_node *bias_sum(const dq_node *node, const dq_tensor *tensors) {
  dq_product product;
  if (!dq_float_product(node, &product) || product.kind != DQ_MATRIX_PRODUCT || node->attribute_count) return NULL;
  const dq_tensor *weight = node->inputs[1]->constant;
  if (node->input_count != 2 || weight->rank != 2 || tensors[node->inputs[0]->index].rank != 2) return NULL;
  dq_node *sum = dq_only_user(node->outputs[0]);
  if (!sum || !(dq_node_flags(sum) & DQ_OP_ADDS)) return NULL;
  return row_of_biases(sum, node->outputs[0], weight->dims[1]) ? sum : NULL;
}

// The bias as a vector, which is what a Gemm in 8 bits is read with; NULL: there is no memory.
static dq_value *as_vector(dq_graph *graph, dq_value *bias) {
  if (bias->constant->rank == 1) return bias;
  dq_tensor *vector = dq_arena_copy(graph->arena, bias->constant, sizeof *vector);
  if (!vector) return NULL;
  vector->dims[0] = vector->dims[1];
  vector->rank = 1;
  return dq_graph_add_constant(graph, bias->name, vector);
}

static dq_status rewrite(dq_graph *graph, dq_node *product, dq_node *add, dq_error *error) {
  dq_value *bias = add->inputs[add->inputs[0] == product->outputs[0]];
  dq_value *operands[] = {product->inputs[0], product->inputs[1], as_vector(graph, bias)};
  if (!operands[2]) return dq_fail_memory(error, 0);
  dq_ports ports = {3, 1, operands, add->outputs};
  if (!dq_graph_add_node_beside(graph, add, false, "Gemm", product->name, &ports)) return dq_fail_memory(error, 0);
  dq_graph_remove_node(graph, add);
  dq_graph_remove_node(graph, product);
  return DQ_OK;
}

dq_status dq_dense_to_gemm(dq_graph *graph, const dq_gemm_wish *wish, const dq_shape_request *shapes, dq_arena *arena,
                           const dq_context *context, dq_error *error) {
  dq_tensor *tensors;
  int count = 0;
  DQ_TRY(dq_infer(graph, shapes, DQ_INFER_TOLERANT, context, arena, &tensors, error));
  dq_node **products = DQ_NEW_ARRAY(arena, graph->node_count, dq_node *);
  if (!products) return dq_fail_memory(error, 0);
  // All are found before the first is written, as that gives values other places in `tensors`.
  for (int n = 0; n < graph->node_count; n++) {
    const dq_node *sum = bias_sum(graph->nodes[n], tensors);
    if (sum && wish->allows(wish->user, graph->nodes[n], sum)) products[count++] = graph->nodes[n];
  }
  for (int p = 0; p < count; p++) DQ_TRY(rewrite(graph, products[p], products[p]->outputs[0]->users[0], error));
  return count ? dq_graph_drop_constants(graph, error) : DQ_OK;
}
