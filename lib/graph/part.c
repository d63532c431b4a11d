// A part of a graph.
#include "lib/graph/graph.h"

// Marks what the marked values are computed from, by value and node index.
static void mark_needed(const dq_graph *graph, dq_node *const *order, bool *values, bool *nodes) {
  for (int n = graph->node_count - 1; n >= 0; n--) {
    const dq_node *node = order[n];
    for (int i = 0; i < node->output_count; i++)
      if (node->outputs[i] && values[node->outputs[i]->index]) nodes[node->index] = true;
    for (int i = 0; nodes[node->index] && i < node->input_count; i++)
      if (node->inputs[i]) values[node->inputs[i]->index] = true;
  }
}

static dq_status set_outputs(dq_graph *graph, const char *const *ends, int count, bool *values, dq_error *error) {
  dq_value **outputs = DQ_NEW_ARRAY(graph->arena, count, dq_value *);
  if (!outputs) return dq_fail_memory(error, 0);
  for (int o = 0; o < graph->output_count; o++) graph->outputs[o]->is_output = false;
  graph->outputs = outputs, graph->output_count = 0;
  for (int e = 0; e < count; e++) {
    dq_value *value = dq_graph_find(graph, ends[e]);
    if (!value) return dq_fail(error, DQ_BAD_INPUT, "there is no value '%s'", ends[e]);
    if (value->is_output) continue; // named twice
    value->is_output = values[value->index] = true;
    outputs[graph->output_count++] = value;
  }
  return DQ_OK;
}

dq_status dq_graph_restrict_to(dq_graph *graph, const char *const *ends, int count, dq_error *error) {
  dq_node **order = DQ_NEW_ARRAY(graph->arena, graph->node_count, dq_node *);
  bool *values = DQ_NEW_ARRAY(graph->arena, graph->value_count, bool);
  bool *nodes = DQ_NEW_ARRAY(graph->arena, graph->node_count, bool);
  if (!order || !values || !nodes) return dq_fail_memory(error, 0);
  DQ_TRY(dq_graph_order(graph, order, error));
  DQ_TRY(set_outputs(graph, ends, count, values, error));
  mark_needed(graph, order, values, nodes);
  for (int n = 0; n < graph->node_count; n++)
    if (!nodes[n]) dq_graph_remove_node(graph, graph->nodes[n]);
  return dq_graph_index(graph, false, error);
}
