#include "lib/train/exact_products.h"

#include <math.h>

#include "lib/ops/table/operator.h"

static dq_node *quantizer_of(const dq_value *value) {
  dq_node *node = value ? value->producer : NULL;
  return node && node->mark == DQ_MARK_QUANTIZER ? node : NULL;
}

// The second output of the quantizer that makes `value`.
static dq_value *levels_of(const dq_training_graph *made, const dq_value *value) {
  dq_node *node = quantizer_of(value);
  if (node->output_count == 2) return node->outputs[1];
  dq_value **outputs = DQ_NEW_ARRAY(made->graph->arena, 2, dq_value *);
  if (!outputs || !(outputs[1] = dq_graph_fresh_value(made->graph, value->name))) return NULL;
  outputs[0] = node->outputs[0];
  node->outputs = outputs;
  node->output_count = 2;
  return outputs[1];
}

// The sums of a product, and what they are worth.
typedef struct sums {
  dq_value *value, *scale;
  int axis; // of the scales
} sums;

static dq_status requantize(const dq_training_graph *made, dq_node *quantizer, const sums *s, float low, float high,
                            dq_error *error) {
  dq_graph *graph = made->graph;
  dq_value **inputs = DQ_NEW_ARRAY(graph->arena, 4, dq_value *);
  if (!inputs) return dq_fail_memory(error, 0);
  inputs[0] = s->value, inputs[1] = quantizer->inputs[1];
  inputs[2] = dq_node_input(quantizer, 2), inputs[3] = s->scale;
  quantizer->inputs = inputs;
  quantizer->input_count = 4;
  const bool done = dq_node_set_int(graph, quantizer, "axis", s->axis) &&
                    (low == -INFINITY || dq_node_set_float(graph, quantizer, "clip_low", low)) &&
                    (high == INFINITY || dq_node_set_float(graph, quantizer, "clip_high", high));
  return done ? DQ_OK : dq_fail_memory(error, 0);
}

// The quantizers among the readers of a value between two bounds.
static dq_status requantize_readers(const dq_training_graph *made, const dq_value *value, const sums *s, float low,
                                    float high, dq_error *error) {
  for (int u = 0; u < value->user_count; u++) {
    dq_node *quantizer = value->users[u]->output_count ? quantizer_of(value->users[u]->outputs[0]) : NULL;
    if (quantizer && quantizer->inputs[0] == value) DQ_TRY(requantize(made, quantizer, s, low, high, error));
  }
  return DQ_OK;
}

// The product makes sums; what it made is these times their scale.
static dq_status sum_levels(dq_training_graph *made, dq_node *node, int rank, int axis, sums *s, dq_error *error) {
  dq_graph *graph = made->graph;
  dq_value *factors[2] = {quantizer_of(node->inputs[0])->inputs[1], quantizer_of(node->inputs[1])->inputs[1]};
  dq_value **inputs = DQ_NEW_ARRAY(graph->arena, node->input_count, dq_value *);
  if (!inputs) return dq_fail_memory(error, 0);
  for (int i = 0; i < node->input_count; i++)
    if (node->inputs[i] && !(inputs[i] = levels_of(made, node->inputs[i]))) return dq_fail_memory(error, 0);
  *s = (sums){.value = dq_graph_fresh_value(graph, node->outputs[0]->name), .axis = axis};
  s->scale = dq_training_node(made, "Mul", 2, factors, NULL);
  dq_tensor *shape = dq_tensor_new(graph->arena, DQ_I64, 1, (int64_t[]){rank - axis});
  if (!s->value || !s->scale || !shape) return dq_fail_memory(error, 0);
  for (int i = 0; i < rank - axis; i++) dq_tensor_set(shape, i, i ? 1 : -1);
  dq_value *constant = dq_graph_add_constant(graph, "scale_shape", shape);
  dq_value *spread = dq_training_node(made, "Reshape", 2, (dq_value *[]){s->scale, constant}, NULL);
  dq_value *result = dq_training_node(made, "Mul", 2, (dq_value *[]){s->value, spread}, node->outputs[0]);
  node->inputs = inputs;
  dq_node_set_output(node, s->value);
  return result ? DQ_OK : dq_fail_memory(error, 0);
}

static bool sums_levels(const dq_node *node, dq_product *view) {
  if (node->input_count < 2 || !dq_product_of(node, view) || !dq_product_is_plain(view) || view->at.weight != 1)
    return false;
  for (int i = 0; i < node->input_count; i++)
    if (node->inputs[i] && !quantizer_of(node->inputs[i])) return false;
  return true;
}

static dq_status make_exact(dq_training_graph *made, dq_node *node, const dq_product *view, int rank, dq_error *error) {
  const dq_value *result = node->outputs[0];
  sums s;
  DQ_TRY(sum_levels(made, node, rank, view->result_axis < 0 ? view->result_axis + rank : view->result_axis, &s, error));
  DQ_TRY(requantize_readers(made, result, &s, -INFINITY, INFINITY, error));
  for (int u = 0; u < result->user_count; u++) {
    float low, high;
    const dq_node *user = result->users[u];
    if (dq_clamp_of(user, &low, &high)) DQ_TRY(requantize_readers(made, user->outputs[0], &s, low, high, error));
  }
  return DQ_OK;
}

dq_status dq_exact_products(dq_training_graph *made, const dq_tensor *tensors, dq_error *error) {
  const int nodes = made->graph->node_count;
  for (int n = 0; n < nodes; n++) {
    dq_product view;
    dq_node *node = made->graph->nodes[n];
    if (sums_levels(node, &view)) DQ_TRY(make_exact(made, node, &view, tensors[node->outputs[0]->index].rank, error));
  }
  return DQ_OK;
}
