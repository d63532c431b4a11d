// Conv followed by Relu, Clip with constant bounds or LeakyRelu becomes one dq FusedConv.
#include <math.h>
#include <string.h>

#include "lib/passes/passes_internal.h"

bool dq_find_activation(const dq_node *node, dq_found_activation *to) {
  dq_slope slope;
  *to = (dq_found_activation){0};
  if (dq_slope_of(node, &slope) && slope.input == DQ_NO_INPUT) {
    to->kind = "LeakyRelu";
    to->alpha = slope.every;
    return true;
  }
  to->kind = node->op_type;
  return dq_clamp_of(node, &to->low, &to->high);
}

static bool set_part(dq_graph *copy, dq_node *conv, const char *what, const char *part, float value) {
  char *name = dq_arena_printf(copy->arena, "%s_%s", what, part);
  return name && dq_node_set_float(copy, conv, name, value);
}

bool dq_set_activation(dq_graph *copy, dq_node *conv, const char *what, const dq_found_activation *from) {
  if (!dq_node_set_string(copy, conv, what, from->kind)) return false;
  if (!strcmp(from->kind, "LeakyRelu")) return set_part(copy, conv, what, "alpha", from->alpha);
  return strcmp(from->kind, "Clip") ||
         (set_part(copy, conv, what, "low", from->low) && set_part(copy, conv, what, "high", from->high));
}

bool dq_is_kernel_convolution(const dq_node *node, unsigned types) {
  dq_product product;
  if (!node || node->removed || !dq_product_of(node, &product) || product.kind != DQ_CONVOLUTION || product.integer)
    return false;
  const dq_tensor *weight = dq_constant_of(dq_node_input(node, product.at.weight));
  return weight && weight->rank <= 4 && (DQ_BIT(weight->type) & types);
}

dq_status dq_pass_fuse_activation(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,
                                  dq_error *error) {
  (void)shapes, (void)context;
  for (int n = 0; n < copy->node_count; n++) {
    dq_node *node = copy->nodes[n];
    dq_found_activation found;
    if (node->removed || !dq_find_activation(node, &found)) continue;
    dq_node *conv = node->inputs[0]->producer;
    // The fused operator rounds to float16 both where the convolution rounds and where the activation rounds.
    if (!dq_is_kernel_convolution(conv, DQ_BIT(DQ_F32) | DQ_BIT(DQ_F16)) || !dq_is_private(node->inputs[0])) continue;
    if (dq_node_attribute(conv, "activation")) continue;
    conv->domain = "dq";
    conv->op_type = "FusedConv";
    if (!dq_set_activation(copy, conv, "activation", &found)) return dq_fail_memory(error, 0);
    dq_node_set_output(conv, node->outputs[0]);
    dq_graph_remove_node(copy, node);
  }
  return DQ_OK;
}
