// Leaves out what has no effect: identities, and nodes whose results nobody reads.
#include "lib/passes/passes_internal.h"

// Whether the node is x above 0 and 1 * x below, as dq-int8 writes it for other runtimes (quant/forms/reader_forms.h).
static bool has_slope_1(const dq_node *node) {
  dq_slope slope;
  if (!dq_slope_of(node, &slope)) return false;
  if (slope.input == DQ_NO_INPUT) return slope.every == 1;
  const dq_tensor *slopes = dq_constant_of(node->inputs[slope.input]);
  return slopes && dq_tensor_count(slopes) == 1 && dq_tensor_get(slopes, 0) == 1;
}

static bool is_identity(const dq_node *node) {
  if (dq_node_is(node, "Identity") || has_slope_1(node)) return true;
  if (!dq_node_is(node, "Dropout")) return false;
  const dq_value *training = dq_node_input(node, 2);
  bool mask_read = dq_value_is_read(dq_node_output(node, 1));
  const dq_tensor *mode = dq_constant_of(training);
  return !mask_read && (!training || (mode && dq_tensor_get(mode, 0) == 0));
}

dq_status dq_pass_drop_identity(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,
                                dq_error *error) {
  (void)shapes;
  (void)context, (void)error;
  for (int n = 0; n < copy->node_count; n++) {
    dq_node *node = copy->nodes[n];
    dq_value *output = dq_node_output(node, 0);
    if (!is_identity(node) || !output || dq_value_must_stay(output)) continue;
    dq_graph_replace_uses(copy, output, node->inputs[0], false);
    dq_graph_remove_node(copy, node);
  }
  return DQ_OK;
}

static bool is_read(const dq_value *value, const bool *read) {
  return value && (read[value->index] || dq_value_must_stay(value));
}

dq_status dq_pass_drop_dead(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,
                            dq_error *error) {
  (void)shapes, (void)context;
  bool *read = DQ_NEW_ARRAY(copy->arena, copy->value_count, bool);
  dq_node **order = DQ_NEW_ARRAY(copy->arena, copy->node_count, dq_node *);
  if (!read || !order) return dq_fail_memory(error, (size_t)copy->value_count);
  DQ_TRY(dq_graph_order(copy, order, error));
  for (int n = copy->node_count - 1; n >= 0; n--) {
    bool needed = false;
    for (int i = 0; i < order[n]->output_count; i++) needed |= is_read(order[n]->outputs[i], read);
    if (!needed) dq_graph_remove_node(copy, order[n]);
    for (int i = 0; needed && i < order[n]->input_count; i++)
      if (order[n]->inputs[i]) read[order[n]->inputs[i]->index] = true;
  }
  return DQ_OK;
}
