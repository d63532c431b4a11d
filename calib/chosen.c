#include "calib/chosen.h"

#include "lib/ops/integer/stored_type.h"

static const dq_tensor *single(const dq_value *value) {
  const dq_tensor *tensor = value ? value->constant : NULL;
  return tensor && tensor->data && dq_tensor_count(tensor) == 1 ? tensor : NULL;
}

static bool read_range(const dq_node *node, dq_range_pair *range) {
  if (!dq_node_is(node, "QuantizeLinear") || !node->inputs[0] || node->inputs[0]->constant) return false;
  const dq_tensor *scale = single(dq_node_input(node, 1)), *zero = single(dq_node_input(node, 2));
  bool given = dq_node_input(node, 2) != NULL;
  if (!scale || scale->type != DQ_F32 || (given && !zero)) return false;
  const int type = dq_stored_type(node->outputs[0]);
  if (!dq_dtype_is_8_bit(type)) return false;
  double step = dq_tensor_get(scale, 0), at = given ? dq_tensor_get(zero, 0) : 0;
  *range = (dq_range_pair){(float)(step * ((double)dq_dtype_low(type) - at)),
                           (float)(step * ((double)dq_dtype_high(type) - at))};
  return true;
}

dq_status dq_chosen_of(dq_chosen *chosen, const dq_graph *graph, dq_arena *arena, dq_error *error) {
  *chosen = (dq_chosen){.values = DQ_NEW_ARRAY(arena, graph->node_count, const char *),
                        .ranges = DQ_NEW_ARRAY(arena, graph->node_count, dq_range_pair)};
  if (!chosen->values || !chosen->ranges) return dq_fail_memory(error, 0);
  for (int n = 0; n < graph->node_count; n++)
    if (read_range(graph->nodes[n], &chosen->ranges[chosen->count]))
      chosen->values[chosen->count++] = graph->nodes[n]->inputs[0]->name;
  return DQ_OK;
}
