#include "lib/passes/batch_norm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/passes/passes_internal.h"

enum { SCALE = 1, SHIFT, MEAN, VARIANCE }; // inputs of BatchNormalization

static bool is_float_constant(const dq_value *value) {
  const dq_tensor *tensor = dq_constant_of(value);
  return tensor && tensor->type == DQ_F32;
}

dq_node *dq_batch_norm_conv(const dq_node *node) {
  if (!dq_node_is(node, "BatchNormalization") || node->input_count < 5 ||
      dq_node_int(node, "training_mode", 0) || !dq_node_int(node, "spatial", 1))
    return NULL;
  for (int i = 1; i < node->output_count; i++)
    if (node->outputs[i]) return NULL;
  for (int i = SCALE; i <= VARIANCE; i++)
    if (!is_float_constant(node->inputs[i])) return NULL;
  dq_node *conv = node->inputs[0] ? node->inputs[0]->producer : NULL;
  if (!conv || !dq_node_is(conv, "Conv") || !dq_is_private(node->inputs[0])) return NULL;
  const dq_value *bias = dq_node_input(conv, 2);
  if (!is_float_constant(conv->inputs[1]) || (bias && !is_float_constant(bias))) return NULL;
  return conv;
}

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
  const dq_tensor *old = conv->inputs[1]->constant;
  const dq_value *old_bias = dq_node_input(conv, 2);
  const float *scale = node->inputs[SCALE]->constant->data, *mean = node->inputs[MEAN]->constant->data;
  const float *shift = node->inputs[SHIFT]->constant->data;
  const float *variance = node->inputs[VARIANCE]->constant->data, *from = old->data;
  float *to = weight->data, *to_bias = bias->data;
  double epsilon = (double)dq_node_float(node, "epsilon", 1e-5f);
  int64_t taps = dq_tensor_product(old, 1, old->rank);
  for (int64_t o = 0; o < old->dims[0]; o++) {
    double factor = (double)scale[o] / sqrt((double)variance[o] + epsilon);
    double b = old_bias ? (double)((const float *)old_bias->constant->data)[o] : 0;
    for (int64_t t = o * taps; t < (o + 1) * taps; t++) to[t] = (float)((double)from[t] * factor);
    to_bias[o] = (float)((b - (double)mean[o]) * factor + (double)shift[o]);
  }
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
  dq_tensor *weight = dq_tensor_new(graph->arena, DQ_F32, old->rank, old->dims);
  dq_tensor *bias = dq_tensor_new(graph->arena, DQ_F32, 1, old->dims);
  if (!weight || !bias) return dq_fail_memory(error, dq_tensor_bytes(old));
  fold_elements(conv, node, weight, bias);
  DQ_TRY(replace_inputs(graph, conv, weight, bias, error));
  for (int i = SCALE; i <= VARIANCE; i++)
    if (dq_is_private(node->inputs[i])) dq_graph_remove_constant(graph, node->inputs[i]);
  dq_take_output(conv, node->outputs[0]);
  dq_graph_remove_node(graph, node);
  return DQ_OK;
}

dq_status dq_pass_fold_batch_norm(dq_graph *copy, const dq_context *context, dq_error *error) {
  (void)context;
  for (int n = 0; n < copy->node_count; n++) {
    dq_node *node = copy->nodes[n], *conv = node->removed ? NULL : dq_batch_norm_conv(node);
    if (conv) DQ_TRY(dq_batch_norm_fold(copy, conv, node, error));
  }
  return DQ_OK;
}
