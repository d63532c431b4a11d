#include "quant/rewrite/private_constant.h"

#include <string.h>

static char *adjusted_name(dq_graph *graph, const char *name) {
  static const char ending[] = "_adjusted";
  const char *before = strstr(name, ending);
  int length = (int)(before ? (size_t)(before - name) : strlen(name));
  return dq_arena_printf(graph->arena, "%.*s%s", length, name, ending);
}

dq_tensor *dq_private_constant(dq_graph *graph, dq_node *node, int input) {
  const dq_value *old = node->inputs[input];
  if (old->is_own) return old->constant;
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, old->constant->rank, old->constant->dims);
  char *name = adjusted_name(graph, old->name);
  dq_value **inputs = dq_arena_copy(graph->arena, node->inputs, (size_t)node->input_count * sizeof *inputs);
  dq_value *value = tensor && name && inputs ? dq_graph_add_constant(graph, name, tensor) : NULL;
  if (!value) return NULL;
  memcpy(tensor->data, old->constant->data, dq_tensor_bytes(tensor));
  value->is_own = true;
  inputs[input] = value;
  node->inputs = inputs;
  return tensor;
}

void dq_private_constant_release(dq_graph *graph, dq_value *value) {
  if (!value->is_own) return;
  dq_arena_release(graph->arena, value->constant->data);
  value->constant->data = NULL;
}
