#include "quant/rewrite/pad_pools.h"

#include <string.h>

// The padding of all axes, as Pad has it: in front of each, then behind each; NULL: there is none to take out.
static dq_tensor *padding_of(dq_graph *graph, const dq_node *pool) {
  static const char *const pools[] = {"AveragePool", NULL};
  int count = 0;
  const int64_t *pads = dq_node_ints(pool, "pads", &count);
  const int axes = count / 2, rank = axes + 2;
  int64_t all[2 * DQ_MAX_RANK] = {0}, length = 2 * rank, sum = 0;
  if (!dq_node_is_any(pool, pools) || !dq_node_int(pool, "count_include_pad", 0) || !pads || rank > DQ_MAX_RANK ||
      strcmp(dq_node_string(pool, "auto_pad", "NOTSET"), "NOTSET") != 0)
    return NULL;
  for (int i = 0; i < axes; i++) {
    all[2 + i] = pads[i];
    all[rank + 2 + i] = pads[axes + i];
    sum += pads[i] + pads[axes + i];
  }
  if (!sum) return NULL;
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_I64, 1, &length);
  if (tensor) memcpy(tensor->data, all, dq_tensor_bytes(tensor));
  return tensor;
}

static dq_status pad_in_front(dq_graph *graph, dq_node *pool, dq_tensor *padding, dq_origin *origin, dq_error *error) {
  dq_value *padded = dq_graph_fresh_value(graph, pool->inputs[0]->name);
  dq_value *inputs[] = {pool->inputs[0], dq_graph_add_constant(graph, "pads", padding)};
  const char *name = dq_graph_fresh_name(graph, pool->name[0] ? pool->name : "pad");
  if (!padded || !inputs[1] || !name || !dq_graph_add_node(graph, pool->index, "Pad", name, 2, inputs, 1, &padded))
    return dq_fail_memory(error, 0);
  pool->inputs[0] = padded;
  dq_node_remove_attribute(pool, "pads");
  dq_node_remove_attribute(pool, "count_include_pad");
  return dq_origin_add(origin, padded->name, NULL, error);
}

dq_status dq_pad_pools(dq_graph *graph, dq_origin *origin, dq_error *error) {
  enum { PADS_ARE_AN_INPUT = 11 };
  if (dq_graph_opset(graph, "") < PADS_ARE_AN_INPUT) return DQ_OK;
  const int count = graph->node_count;
  dq_node **nodes = dq_arena_copy(graph->arena, graph->nodes, (size_t)count * sizeof *nodes);
  if (!nodes) return dq_fail_memory(error, (size_t)count * sizeof *nodes);
  for (int n = 0; n < count; n++) {
    dq_tensor *padding = padding_of(graph, nodes[n]);
    if (padding) DQ_TRY(pad_in_front(graph, nodes[n], padding, origin, error));
  }
  return dq_graph_index(graph, false, error);
}
