// Two networks side by side on the same pictures.
#include <string.h>

#include "calib/calib.h"
#include "quant/rounding_internal.h"

// What a value is computed from, by value and node index.
static void need(const dq_graph *graph, dq_node *const *order, bool *values, bool *nodes) {
  for (int n = graph->node_count - 1; n >= 0; n--) {
    const dq_node *node = order[n];
    for (int i = 0; i < node->output_count; i++)
      if (node->outputs[i] && values[node->outputs[i]->index]) nodes[node->index] = true;
    for (int i = 0; nodes[node->index] && i < node->input_count; i++)
      if (node->inputs[i]) values[node->inputs[i]->index] = true;
  }
}

// Leaves of the graph what `end` needs, as its only output.
static dq_status end_in(dq_graph *graph, const char *end, dq_error *error) {
  dq_value *value = dq_graph_find(graph, end);
  dq_node **order = DQ_NEW_ARRAY(graph->arena, graph->node_count, dq_node *);
  bool *values = DQ_NEW_ARRAY(graph->arena, graph->value_count, bool);
  bool *nodes = DQ_NEW_ARRAY(graph->arena, graph->node_count, bool);
  if (!order || !values || !nodes) return dq_fail_memory(error, 0);
  if (!value || !graph->output_count) return dq_fail(error, DQ_BAD_INPUT, "there is no value '%s'", end);
  DQ_TRY(dq_graph_order(graph, order, error));
  values[value->index] = true;
  need(graph, order, values, nodes);
  for (int o = 0; o < graph->output_count; o++) graph->outputs[o]->is_output = false;
  value->is_output = true;
  graph->outputs[0] = value, graph->output_count = 1;
  for (int n = 0; n < graph->node_count; n++)
    if (!nodes[n]) dq_graph_remove_node(graph, graph->nodes[n]);
  return dq_graph_index(graph, false, error);
}

dq_status dq_network_pair_open(dq_network_pair *pair, const dq_graph *const graphs[2],
                               const char *const ends[2], const dq_shape_request *shapes,
                               const dq_context *context, dq_error *error) {
  *pair = (dq_network_pair){0};
  dq_session_options options = {.shapes = *shapes};
  for (int i = 0; i < 2; i++) {
    if (!(pair->graphs[i] = dq_graph_copy(graphs[i]))) return dq_fail_memory(error, 0);
    if (ends[i]) DQ_TRY(end_in(pair->graphs[i], ends[i], error));
    DQ_TRY(dq_session_open(&pair->sessions[i], pair->graphs[i], &options, context, error));
  }
  return DQ_OK;
}

void dq_network_pair_close(dq_network_pair *pair) {
  for (int i = 0; i < 2; i++) {
    dq_session_close(&pair->sessions[i]);
    dq_graph_free(pair->graphs[i]);
  }
}

dq_status dq_network_pair_run(dq_network_pair *pair, dq_data *data, int64_t picture, dq_error *error) {
  dq_tensor *inputs[2] = {dq_plan_input(pair->sessions[0].plan, 0), dq_plan_input(pair->sessions[1].plan, 0)};
  DQ_TRY(dq_read_picture(pair->sessions[0].plan, data, picture, error));
  memcpy(inputs[1]->data, inputs[0]->data, dq_tensor_bytes(inputs[0]));
  for (int i = 0; i < 2; i++) DQ_TRY(dq_plan_run(pair->sessions[i].plan, error));
  return DQ_OK;
}
