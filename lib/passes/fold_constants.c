// Nodes with constant inputs are run once and replaced by their results.
#include <string.h>

#include "lib/schedule/check_nodes.h"
#include "lib/passes/passes_internal.h"

static bool all_constant(const dq_node *node) {
  for (int i = 0; i < node->input_count; i++)
    if (node->inputs[i] && !dq_constant_of(node->inputs[i])) return false;
  return true;
}

static dq_status evaluate(dq_graph *copy, dq_node *node, dq_op *op, dq_error *error) {
  DQ_TRY(dq_op_infer(op));
  for (int i = 0; i < op->output_count; i++) {
    dq_tensor *output = op->outputs[i];
    if (!output) continue;
    if (output->rank < 0) return DQ_OK; // left to the plan
    if (!(output->data = dq_arena_alloc(copy->arena, dq_tensor_bytes(output))))
      return dq_fail_memory(error, dq_tensor_bytes(output));
  }
  DQ_TRY(dq_op_run(op));
  for (int i = 0; i < op->output_count; i++) {
    if (!op->outputs[i]) continue;
    node->outputs[i]->producer = NULL;
    if (!dq_graph_set_constant(copy, node->outputs[i], op->outputs[i])) return dq_fail_memory(error, 0);
  }
  dq_graph_remove_node(copy, node);
  return DQ_OK;
}

static dq_status fold_node(dq_graph *copy, dq_node *node, const dq_context *context, dq_error *error) {
  dq_op op = {.context = context, .node = node, .error = error};
  DQ_TRY(dq_operator_resolve(copy, node, NULL, &op.row, &op.version, error));
  if (op.row->flags & DQ_OP_RANDOM) return DQ_OK;
  op.input_count = node->input_count;
  op.output_count = node->output_count;
  op.inputs = DQ_NEW_ARRAY(copy->arena, node->input_count, const dq_tensor *);
  op.outputs = DQ_NEW_ARRAY(copy->arena, node->output_count, dq_tensor *);
  if (!op.inputs || !op.outputs) return dq_fail_memory(error, 0);
  for (int i = 0; i < node->input_count; i++) op.inputs[i] = node->inputs[i] ? node->inputs[i]->constant : NULL;
  for (int i = 0; i < node->output_count; i++)
    if (node->outputs[i] && !(op.outputs[i] = DQ_NEW(copy->arena, dq_tensor)))
      return dq_fail_memory(error, sizeof(dq_tensor));
  return evaluate(copy, node, &op, error);
}

static dq_status fold(dq_graph *copy, const dq_context *context, bool weights, dq_error *error) {
  dq_node **order = DQ_NEW_ARRAY(copy->arena, copy->node_count, dq_node *);
  if (!order) return dq_fail_memory(error, 0);
  DQ_TRY(dq_graph_order(copy, order, error));
  for (int n = 0; n < copy->node_count; n++) {
    // Dequantized weights wait until integer steps have taken theirs.
    if (!weights && dq_node_is(order[n], "DequantizeLinear")) continue;
    if (all_constant(order[n])) DQ_TRY(fold_node(copy, order[n], context, error));
  }
  return dq_check_nodes(copy, context, error);
}

dq_status dq_fold_constants(dq_graph *graph, const dq_context *context, dq_error *error) {
  return fold(graph, context, false, error);
}

dq_status dq_pass_fold_constants(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,
                                 dq_error *error) {
  (void)shapes;
  return dq_fold_constants(copy, context, error);
}

dq_status dq_pass_fold_weights(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,
                               dq_error *error) {
  (void)shapes;
  return fold(copy, context, true, error);
}
