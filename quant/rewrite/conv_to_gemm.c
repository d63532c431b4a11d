#include "quant/rewrite/conv_to_gemm.h"

#include <string.h>

static bool is_one_position(const dq_tensor *tensor) {
  return tensor->rank == 4 && dq_tensor_product(tensor, 2, 4) == 1;
}

// The node that brings the result of the last convolution to N x O, an output; NULL: `conv` is none.
static dq_node *flattening(const dq_node *conv, const dq_tensor *tensors) {
  const dq_value *result = dq_node_output(conv, 0), *bias = dq_node_input(conv, 2);
  dq_product product;
  if (!dq_float_product(conv, &product) || product.kind != DQ_CONVOLUTION || (bias && !dq_is_float_constant(bias)) ||
      !dq_is_private(result))
    return NULL;
  const dq_tensor *weight = conv->inputs[1]->constant, *input = &tensors[conv->inputs[0]->index];
  bool matrix = weight->rank == 4 && is_one_position(weight) && is_one_position(input) &&
                is_one_position(&tensors[result->index]) && weight->dims[1] == input->dims[1];
  dq_node *mover = result->users[0];
  bool moves = dq_node_is(mover, "Flatten") || dq_node_is(mover, "Reshape") || dq_node_is(mover, "Squeeze");
  if (!matrix || !moves || mover->inputs[0] != result || !mover->outputs[0]->is_output) return NULL;
  const dq_tensor *flat = &tensors[mover->outputs[0]->index];
  bool rows = flat->rank == 2 && flat->dims[0] == input->dims[0] && flat->dims[1] == weight->dims[0];
  return rows ? mover : NULL;
}

// Weight of O x I x 1 x 1 as O x I, the elements shared; NULL: no memory.
static dq_value *as_matrix(dq_graph *graph, const dq_value *weight) {
  dq_tensor *matrix = dq_arena_copy(graph->arena, weight->constant, sizeof *matrix);
  if (!matrix) return NULL;
  matrix->rank = 2;
  return dq_graph_add_constant(graph, weight->name, matrix);
}

static dq_status rewrite(dq_graph *graph, dq_node *conv, dq_node *mover, dq_error *error) {
  char *wanted = dq_arena_printf(graph->arena, "%s_flat", conv->inputs[0]->name);
  dq_value *flat = wanted ? dq_graph_fresh_value(graph, wanted) : NULL;
  const char *name = flat ? dq_graph_fresh_name(graph, wanted) : NULL;
  dq_value *operands[] = {flat, as_matrix(graph, conv->inputs[1]), dq_node_input(conv, 2)};
  if (!name || !operands[1]) return dq_fail_memory(error, 0);
  int at = conv->index;
  dq_node *flatten = dq_graph_add_node(graph, at, "Flatten", name, 1, conv->inputs, 1, &flat);
  dq_node *gemm =
      dq_graph_add_node(graph, at + 1, "Gemm", conv->name, operands[2] ? 3 : 2, operands, 1, mover->outputs);
  if (!flatten || !gemm || !dq_node_set_int(graph, gemm, "transB", 1)) return dq_fail_memory(error, 0);
  dq_graph_remove_node(graph, conv);
  dq_graph_remove_node(graph, mover);
  return dq_graph_drop_constants(graph, error);
}

dq_status dq_conv_to_gemm(dq_graph *graph, const dq_gemm_wish *wish, const dq_shape_request *shapes, dq_arena *arena,
                          const dq_context *context, dq_error *error) {
  dq_tensor *tensors;
  DQ_TRY(dq_infer(graph, shapes, DQ_INFER_TOLERANT, context, arena, &tensors, error));
  for (int n = 0; n < graph->node_count; n++) {
    dq_node *mover = flattening(graph->nodes[n], tensors);
    if (mover && wish->allows(wish->user, graph->nodes[n], NULL)) return rewrite(graph, graph->nodes[n], mover, error);
  }
  return DQ_OK;
}
