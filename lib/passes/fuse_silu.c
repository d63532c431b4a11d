// Conv followed by x * Sigmoid(x) (SiLU) becomes one dq FusedConv, of float32.
#include "lib/passes/passes_internal.h"

// The product x * Sigmoid(x) that alone reads what a convolution gives and its sigmoid; NULL: there is none.
static dq_node *find_product(const dq_node *sigmoid) {
  if (sigmoid->removed || !dq_node_is(sigmoid, "Sigmoid")) return NULL;
  const dq_value *x = sigmoid->inputs[0], *y = sigmoid->outputs[0];
  dq_node *product = dq_only_user(y);
  if (x->user_count != 2 || dq_value_must_stay(x)) return NULL;
  if (!product || product->removed || !dq_node_is(product, "Mul")) return NULL;
  bool other = product->inputs[product->inputs[0] == y] == x;
  return other && (x->users[0] == product || x->users[1] == product) ? product : NULL;
}

dq_status dq_pass_fuse_silu(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,
                            dq_error *error) {
  const dq_found_activation silu = {.kind = "Silu"};
  (void)shapes, (void)context;
  for (int n = 0; n < copy->node_count; n++) {
    dq_node *sigmoid = copy->nodes[n], *product = find_product(sigmoid);
    dq_node *conv = product ? sigmoid->inputs[0]->producer : NULL;
    if (!dq_is_kernel_convolution(conv, DQ_BIT(DQ_F32)) || dq_node_attribute(conv, "activation")) continue;
    conv->domain = "dq";
    conv->op_type = "FusedConv";
    if (!dq_set_activation(copy, conv, "activation", &silu)) return dq_fail_memory(error, 0);
    dq_node_set_output(conv, product->outputs[0]);
    dq_graph_remove_node(copy, sigmoid);
    dq_graph_remove_node(copy, product);
  }
  return DQ_OK;
}
