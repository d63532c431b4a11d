// Conv followed by Relu, Clip with constant bounds or LeakyRelu becomes one dq FusedConv.
#include <math.h>
#include <string.h>

#include "lib/passes/passes_internal.h"

typedef struct conv_activation {
  const char *kind;
  float low, high, alpha;
} conv_activation;

// A bound of Clip: attribute before version 11, optional constant input after. false: not constant.
static bool read_bound(const dq_node *node, int input, const char *attribute, float *bound) {
  const dq_value *value = dq_node_input(node, input);
  if (!value) {
    *bound = dq_node_float(node, attribute, *bound);
    return true;
  }
  const dq_tensor *tensor = dq_constant_of(value);
  if (!tensor || !(DQ_BIT(tensor->type) & (DQ_BIT(DQ_F32) | DQ_BIT(DQ_F16))) ||
      dq_tensor_count(tensor) != 1)
    return false;
  *bound = (float)dq_tensor_get(tensor, 0);
  return true;
}

static bool read_activation(const dq_node *node, conv_activation *to) {
  if (dq_node_is(node, "Relu")) {
    to->kind = "Relu";
    return true;
  }
  if (dq_node_is(node, "LeakyRelu")) {
    to->kind = "LeakyRelu";
    to->alpha = dq_node_float(node, "alpha", 0.01f);
    return true;
  }
  to->kind = "Clip";
  to->low = -INFINITY;
  to->high = INFINITY;
  return dq_node_is(node, "Clip") && read_bound(node, 1, "min", &to->low) &&
         read_bound(node, 2, "max", &to->high);
}

static bool set_activation(dq_graph *copy, dq_node *conv, const conv_activation *from) {
  if (!dq_node_set_string(copy, conv, "activation", from->kind)) return false;
  if (!strcmp(from->kind, "LeakyRelu"))
    return dq_node_set_float(copy, conv, "activation_alpha", from->alpha);
  return strcmp(from->kind, "Clip") ||
         (dq_node_set_float(copy, conv, "activation_low", from->low) &&
          dq_node_set_float(copy, conv, "activation_high", from->high));
}

dq_status dq_pass_fuse_activation(dq_graph *copy, const dq_context *context, dq_error *error) {
  (void)context;
  for (int n = 0; n < copy->node_count; n++) {
    dq_node *node = copy->nodes[n];
    conv_activation found = {0};
    if (node->removed || !read_activation(node, &found)) continue;
    dq_node *conv = node->inputs[0]->producer;
    if (!conv || !dq_node_is(conv, "Conv") || !dq_is_private(node->inputs[0])) continue;
    const dq_tensor *weight = dq_constant_of(dq_node_input(conv, 1));
    if (!weight || weight->rank > 4) continue;
    // In float16 what the convolution rounds and what the activation rounds are both kept.
    if (weight->type != DQ_F32 && weight->type != DQ_F16) continue;
    conv->domain = "dq";
    conv->op_type = "FusedConv";
    if (!set_activation(copy, conv, &found)) return dq_fail_memory(error, 0);
    dq_take_output(conv, node->outputs[0]);
    dq_graph_remove_node(copy, node);
  }
  return DQ_OK;
}
