#include "lib/graph/saturation.h"

const char *const dq_saturating_functions[] = {"Softmax", "LogSoftmax", "Sigmoid", NULL};

const dq_node *dq_function_behind(const dq_value *value, const char *const *functions) {
  static const char *const moving[] = {"Reshape",  "Flatten",        "Squeeze",          "Unsqueeze", "Transpose",
                                       "Identity", "QuantizeLinear", "DequantizeLinear", "Cast",      NULL};
  const dq_node *node = value->producer;
  while (node && dq_node_is_any(node, moving)) node = node->inputs[0]->producer;
  return node && dq_node_is_any(node, functions) && node->inputs[0]->producer ? node : NULL;
}

dq_value *dq_before_function(const dq_value *value, const char *const *functions) {
  const dq_node *node = dq_function_behind(value, functions);
  return node ? node->inputs[0] : NULL;
}

void dq_show_arguments(dq_graph *graph, const char *const *functions) {
  for (int o = 0; o < graph->output_count; o++) {
    dq_value *argument = dq_before_function(graph->outputs[o], functions);
    if (!argument || argument->is_output) continue;
    graph->outputs[o]->is_output = false;
    graph->outputs[o] = argument;
    argument->is_output = true;
  }
}
