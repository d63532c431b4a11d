#include "lib/graph/saturation.h"

dq_value *dq_before_function(const dq_value *value, const char *const *functions) {
  static const char *const moving[] = {"Reshape",  "Flatten",        "Squeeze",          "Unsqueeze", "Transpose",
                                       "Identity", "QuantizeLinear", "DequantizeLinear", "Cast",      NULL};
  const dq_node *node = value->producer;
  while (node && dq_node_is_any(node, moving)) node = node->inputs[0]->producer;
  dq_value *argument = node && dq_node_is_any(node, functions) ? node->inputs[0] : NULL;
  return argument && argument->producer ? argument : NULL;
}
