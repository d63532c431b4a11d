#include "lib/passes/batch_norm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/passes/passes_internal.h"

enum { SCALE = 1, SHIFT, MEAN, VARIANCE }; // inputs of BatchNormalization

static bool is_constant(const dq_value *value, int type) {
  const dq_tensor *tensor = dq_constant_of(value);
  return tensor && tensor->type == type;
}

static dq_node *find_conv(const dq_node *node, int type) {
  if (!dq_node_is(node, "BatchNormalization") || node->input_count < 5 ||
      dq_node_int(node, "training_mode", 0) || !dq_node_int(node, "spatial", 1))
    return NULL;
  for (int i = 1; i < node->output_count; i++)
    if (node->outputs[i]) return NULL;
  for (int i = SCALE; i <= VARIANCE; i++)
    if (!is_constant(node->inputs[i], type)) return NULL;
  dq_node *conv = node->inputs[0] ? node->inputs[0]->producer : NULL;
  if (!conv || !dq_node_is(conv, "Conv") || !dq_is_private(node->inputs[0])) return NULL;
  const dq_value *bias = dq_node_input(conv, 2);
  if (!is_constant(conv->inputs[1], type) || (bias && !is_constant(bias, type))) return NULL;
  return conv;
}

dq_node *dq_batch_norm_conv(const dq_node *node) { return find_conv(node, DQ_F32); }

static dq_status check(const dq_node *conv, const dq_node *node, dq_error *error) {
  char label[DQ_LABEL_TEXT];
  const dq_tensor *weight = conv->inputs[1]->constant;
  if (weight->rank < 3)
    return dq_fail(error, DQ_BAD_INPUT, "%s: weight has %d dimensions, expected 4",
                   dq_node_label(conv, label, sizeof label), weight->rank);
  for (int i = SCALE; i <= VARIANCE + 1; i++) {
    const dq_value *value = i <= VARIANCE ? node->inputs[i] : dq_node_input(conv, 2);
    if (value && dq_tensor_count(value->constant) != weight->dims[0])
      return dq_fail(error, DQ_BAD_INPUT, "%s: '%s' has %lld elements, expected %lld",
                     dq_node_label(node, label, sizeof label), value->name,
                     (long long)dq_tensor_count(value->constant), (long long)weight->dims[0]);
  }
  double epsilon = (double)dq_node_float(node, "epsilon", 1e-5f);
  for (int64_t o = 0; o < weight->dims[0]; o++)
    if (!(dq_tensor_get(node->inputs[VARIANCE]->constant, o) + epsilon > 0))
      return dq_fail(error, DQ_BAD_INPUT, "%s: variance of channel %lld plus epsilon is not positive",
                     dq_node_label(node, label, sizeof label), (long long)o);
  return DQ_OK;
}

static void fold_elements(const dq_node *conv, const dq_node *node, dq_tensor *weight,
                          dq_tensor *bias) {
  const dq_tensor *old = conv->inputs[1]->constant, *given[VARIANCE + 1] = {0};
  const dq_value *old_bias = dq_node_input(conv, 2);
  for (int i = SCALE; i <= VARIANCE; i++) given[i] = node->inputs[i]->constant;
  double epsilon = (double)dq_node_float(node, "epsilon", 1e-5f);
  int64_t taps = dq_tensor_product(old, 1, old->rank);
  for (int64_t o = 0; o < old->dims[0]; o++) {
    double factor = dq_tensor_get(given[SCALE], o) / sqrt(dq_tensor_get(given[VARIANCE], o) + epsilon);
    double b = old_bias ? dq_tensor_get(old_bias->constant, o) : 0;
    for (int64_t t = o * taps; t < (o + 1) * taps; t++)
      dq_tensor_set(weight, t, dq_tensor_get(old, t) * factor);
    dq_tensor_set(bias, o, (b - dq_tensor_get(given[MEAN], o)) * factor + dq_tensor_get(given[SHIFT], o));
  }
}

// Whether float16 holds what was folded as well as it held what there was: everything finite, and the
// largest weight of every channel a normal number, so that no channel loses bits to its scale.
static bool holds(const dq_tensor *weight, const dq_tensor *bias) {
  int64_t taps = dq_tensor_product(weight, 1, weight->rank);
  for (int64_t o = 0; o < weight->dims[0]; o++) {
    double largest = 0;
    for (int64_t t = o * taps; t < (o + 1) * taps; t++)
      largest = fmax(largest, fabs(dq_tensor_get(weight, t)));
    if (!isfinite(largest) || !isfinite(dq_tensor_get(bias, o)) || (largest > 0 && largest < 0x1p-14))
      return false;
  }
  return true;
}

// The convolution reads the folded weight and bias; the old ones go when nothing else reads them.
static dq_status replace_inputs(dq_graph *graph, dq_node *conv, dq_tensor *weight, dq_tensor *bias,
                                dq_error *error) {
  dq_value **inputs = DQ_NEW_ARRAY(graph->arena, 3, dq_value *);
  dq_value *old_weight = conv->inputs[1], *old_bias = dq_node_input(conv, 2);
  char *name = dq_arena_printf(graph->arena, "%s_folded", old_weight->name);
  char *bias_name = dq_arena_printf(graph->arena, "%s_folded_bias", old_weight->name);
  if (!inputs || !name || !bias_name) return dq_fail_memory(error, 0);
  inputs[0] = conv->inputs[0];
  inputs[1] = dq_graph_add_constant(graph, name, weight);
  inputs[2] = dq_graph_add_constant(graph, bias_name, bias);
  if (!inputs[1] || !inputs[2]) return dq_fail_memory(error, 0);
  conv->inputs = inputs;
  conv->input_count = 3;
  dq_value *olds[] = {old_weight, old_bias};
  for (int i = 0; i < 2; i++)
    if (olds[i] && dq_is_private(olds[i])) dq_graph_remove_constant(graph, olds[i]);
  return DQ_OK;
}

dq_status dq_batch_norm_fold(dq_graph *graph, dq_node *conv, dq_node *node, dq_error *error) {
  DQ_TRY(check(conv, node, error));
  const dq_tensor *old = conv->inputs[1]->constant;
  dq_tensor *weight = dq_tensor_new(graph->arena, old->type, old->rank, old->dims);
  dq_tensor *bias = dq_tensor_new(graph->arena, old->type, 1, old->dims);
  if (!weight || !bias) return dq_fail_memory(error, dq_tensor_bytes(old));
  fold_elements(conv, node, weight, bias);
  if (old->type == DQ_F16 && !holds(weight, bias)) return DQ_OK;
  DQ_TRY(replace_inputs(graph, conv, weight, bias, error));
  for (int i = SCALE; i <= VARIANCE; i++)
    if (dq_is_private(node->inputs[i])) dq_graph_remove_constant(graph, node->inputs[i]);
  dq_take_output(conv, node->outputs[0]);
  dq_graph_remove_node(graph, node);
  return DQ_OK;
}

dq_status dq_pass_fold_batch_norm(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,
                                  dq_error *error) {
  (void)shapes, (void)context;
  for (int n = 0; n < copy->node_count; n++) {
    dq_node *node = copy->nodes[n], *conv = node->removed ? NULL : find_conv(node, DQ_F32);
    if (!conv && !node->removed) conv = find_conv(node, DQ_F16);
    if (conv) DQ_TRY(dq_batch_norm_fold(copy, conv, node, error));
  }
  return DQ_OK;
}
