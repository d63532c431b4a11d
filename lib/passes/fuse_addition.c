// Conv followed by Add of a value of the same shape, and by Relu, Clip or LeakyRelu behind it, becomes one
// dq FusedConv, of float32: the ends of residual blocks.
#include "lib/passes/passes_internal.h"

static bool same_form(const dq_tensor *a, const dq_tensor *b) {
  return a->type == DQ_F32 && b->type == DQ_F32 && a->rank >= 0 && dq_tensor_same_shape(a, b);
}

// The operand of an Add that a convolution makes for it alone, the later one of two: what it is added to
// is more likely there already. -1: there is none.
static int find_convolution(const dq_node *add, const dq_tensor *tensors) {
  int found = -1;
  if (add->removed || !(dq_node_flags(add) & DQ_OP_ADDS)) return -1;
  const dq_value *a = add->inputs[0], *b = add->inputs[1];
  if (a == b || a->constant || b->constant || !same_form(&tensors[a->index], &tensors[b->index])) return -1;
  for (int i = 0; i < 2; i++) {
    const dq_node *conv = add->inputs[i]->producer;
    if (!dq_is_kernel_convolution(conv, DQ_BIT(DQ_F32)) || !dq_is_private(add->inputs[i])) continue;
    if (dq_node_input(conv, 3)) continue; // has one already
    if (found < 0 || conv->index > add->inputs[found]->producer->index) found = i;
  }
  return found;
}

static bool set_addend(dq_graph *copy, dq_node *conv, dq_value *addend) {
  dq_value **inputs = DQ_NEW_ARRAY(copy->arena, 4, dq_value *);
  if (!inputs) return false;
  for (int i = 0; i < 3; i++) inputs[i] = dq_node_input(conv, i);
  inputs[3] = addend;
  conv->inputs = inputs;
  conv->input_count = 4;
  return true;
}

static dq_status fuse(dq_graph *copy, dq_node *add, int operand, dq_error *error) {
  dq_node *conv = add->inputs[operand]->producer, *next = dq_only_user(add->outputs[0]);
  dq_value *output = add->outputs[0];
  dq_found_activation found;
  conv->domain = "dq";
  conv->op_type = "FusedConv";
  if (!set_addend(copy, conv, add->inputs[!operand])) return dq_fail_memory(error, 0);
  if (next && !next->removed && dq_find_activation(next, &found)) {
    if (!dq_set_activation(copy, conv, "sum_activation", &found)) return dq_fail_memory(error, 0);
    output = next->outputs[0];
    dq_graph_remove_node(copy, next);
  }
  dq_node_set_output(conv, output);
  dq_graph_remove_node(copy, add);
  return DQ_OK;
}

static dq_status fuse_all(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context, dq_arena *arena,
                          dq_error *error) {
  dq_tensor *tensors;
  dq_error ignored; // a graph whose shapes cannot be found fails when it is planned
  dq_context silent = *context;
  silent.message = NULL;
  if (dq_infer(copy, shapes, DQ_INFER_TOLERANT, &silent, arena, &tensors, &ignored) != DQ_OK) return DQ_OK;
  for (int n = 0; n < copy->node_count; n++) {
    int operand = find_convolution(copy->nodes[n], tensors);
    if (operand >= 0) DQ_TRY(fuse(copy, copy->nodes[n], operand, error));
  }
  return DQ_OK;
}

dq_status dq_pass_fuse_addition(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,
                                dq_error *error) {
  bool any = false;
  for (int n = 0; n < copy->node_count; n++) any |= (dq_node_flags(copy->nodes[n]) & DQ_OP_ADDS) != 0;
  dq_arena *arena = any ? dq_context_arena(context) : NULL;
  if (!any) return DQ_OK;
  dq_status status = arena ? fuse_all(copy, shapes, context, arena, error) : dq_fail_memory(error, 0);
  dq_arena_free(arena);
  return status;
}
