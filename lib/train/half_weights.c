#include "lib/train/half_weights.h"

#include <string.h>

#include "lib/base/half.h"
#include "lib/ops/common/elementwise.h"
#include "lib/schedule/infer.h"

bool dq_is_stored_in_half(const dq_graph *model, const char *name) {
  const dq_value *value = dq_graph_find(model, name);
  return value && value->constant && value->constant->type == DQ_F16;
}

static bool is_float(int type) { return type == DQ_F16 || type == DQ_F32; }

static dq_status widen_constant(dq_graph *graph, dq_value *value, dq_error *error) {
  const dq_tensor *from = value->constant;
  dq_tensor *to = dq_tensor_new(graph->arena, DQ_F32, from->rank, from->dims);
  if (!to) return dq_fail_memory(error, dq_tensor_bytes(from));
  for (int64_t i = 0; i < dq_tensor_count(from); i++) dq_tensor_set(to, i, dq_tensor_get(from, i));
  return dq_graph_set_constant(graph, value, to) ? DQ_OK : dq_fail_memory(error, 0);
}

// A cast is what has the attribute `to`.
static dq_status widen_cast(dq_graph *graph, dq_node *node, const dq_tensor *tensors, dq_error *error) {
  if (!is_float((int)dq_node_int(node, "to", -1))) return DQ_OK;
  if (!is_float(tensors[node->inputs[0]->index].type))
    return dq_node_set_int(graph, node, "to", DQ_F32) ? DQ_OK : dq_fail_memory(error, 0);
  node->op_type = "Identity";
  node->attribute_count = 0;
  return DQ_OK;
}

static bool has_halves(const dq_graph *graph, const dq_tensor *tensors) {
  for (int v = 0; v < graph->value_count; v++)
    if (tensors[v].type == DQ_F16 || (graph->values[v]->constant && graph->values[v]->constant->type == DQ_F16))
      return true;
  return false;
}

dq_status dq_widen_halves(dq_training_graph *made, const dq_context *context, dq_error *error) {
  dq_graph *graph = made->graph;
  dq_tensor *tensors;
  DQ_TRY(dq_infer(graph, &made->shapes, DQ_INFER_TOLERANT, context, made->arena, &tensors, error));
  if (!has_halves(graph, tensors)) return DQ_OK;
  for (int n = 0; n < graph->node_count; n++) DQ_TRY(widen_cast(graph, graph->nodes[n], tensors, error));
  for (int v = 0; v < graph->value_count; v++) {
    dq_value *value = graph->values[v];
    if (value->constant && value->constant->type == DQ_F16) DQ_TRY(widen_constant(graph, value, error));
    if (value->type == DQ_F16) value->type = DQ_F32;
  }
  return dq_graph_index(graph, true, error);
}

// ---- Steps ----

typedef struct rounding {
  const float *from;
  float *to;
} rounding;

static void round_span(void *argument, int64_t first, int64_t end) {
  const rounding *r = argument;
  for (int64_t i = first; i < end; i++) {
    const float limited = r->from[i] > DQ_HALF_LARGEST ? DQ_HALF_LARGEST : r->from[i];
    r->to[i] = dq_round_to_half(limited < -DQ_HALF_LARGEST ? -DQ_HALF_LARGEST : limited);
  }
}

void dq_round_master(const dq_trained *weight, const dq_context *context) {
  rounding r = {weight->master->data, weight->elements->data};
  dq_spans(context, dq_tensor_count(weight->elements), DQ_GRAIN, round_span, &r);
}
