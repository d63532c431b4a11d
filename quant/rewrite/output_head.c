// The head of a network.
#include "quant/rewrite/output_head.h"

#include "lib/ops/operator.h"

static bool moves_or_combines(const dq_node *node) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  if (!row || row->quantization == DQ_QUANTIZE_COMPUTE || row->quantization == DQ_QUANTIZE_ABSORB) return false;
  dq_integer_form form = dq_integer_form_of(node);
  return row->quantization != DQ_QUANTIZE_COMBINE || form == DQ_FORM_CONCAT || form == DQ_FORM_PAIR;
}

static bool leads_to_outputs(const dq_value *value, const bool *in_head) {
  if (value->is_captured || (!value->user_count && !value->is_output)) return false;
  for (int u = 0; u < value->user_count; u++) {
    const dq_node *node = value->users[u];
    if (!moves_or_combines(node)) return false;
    for (int o = 0; o < node->output_count; o++)
      if (node->outputs[o] && !in_head[node->outputs[o]->index]) return false;
  }
  return true;
}

dq_status dq_output_head_values(const dq_graph *graph, bool **in_head, dq_arena *arena, dq_error *error) {
  dq_node **order = DQ_NEW_ARRAY(arena, graph->node_count, dq_node *);
  bool *all = *in_head = DQ_NEW_ARRAY(arena, graph->value_count, bool);
  if (!order || !all) return dq_fail_memory(error, 0);
  DQ_TRY(dq_graph_order(graph, order, error));
  for (int n = graph->node_count - 1; n >= 0; n--)
    for (int o = 0; o < order[n]->output_count; o++) {
      const dq_value *value = order[n]->outputs[o];
      if (value) all[value->index] = leads_to_outputs(value, all);
    }
  return DQ_OK;
}

void dq_output_head_mark_behind(const dq_value *value, bool *marked) {
  for (int u = 0; u < value->user_count; u++)
    for (int o = 0; o < value->users[u]->output_count; o++) {
      const dq_value *output = value->users[u]->outputs[o];
      if (!output || marked[output->index]) continue;
      marked[output->index] = true;
      dq_output_head_mark_behind(output, marked);
    }
}
