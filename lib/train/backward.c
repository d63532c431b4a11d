// Reverse accumulation over the nodes of a graph, by the gradient functions of their operators.
#include "lib/train/backward.h"

#include "lib/ops/gradient/gradient.h"

typedef struct backward {
  dq_graph *graph;
  dq_tensor *tensors;
  bool *depends;        // by value: it depends on one of those that the loss is derived by
  dq_value **gradients; // by value: the sum of the terms so far; NULL: none
  const dq_context *context;
  dq_arena *arena; // of what only the walk needs
  dq_error *error;
} backward;

static bool is_real(const dq_tensor *tensor) { return tensor->type == DQ_F32 || tensor->type == DQ_F64; }

static void find_dependents(backward *b, dq_value *const *by, int count) {
  for (int i = 0; i < count; i++) b->depends[by[i]->index] = true;
  for (int n = 0; n < b->graph->node_count; n++) {
    const dq_node *node = b->graph->nodes[n];
    bool depends = false;
    for (int i = 0; i < node->input_count; i++)
      depends = depends || (node->inputs[i] && b->depends[node->inputs[i]->index]);
    for (int i = 0; depends && i < node->output_count; i++)
      if (node->outputs[i]) b->depends[node->outputs[i]->index] = is_real(&b->tensors[node->outputs[i]->index]);
  }
}

static dq_status seed(backward *b, const dq_value *loss) {
  const dq_tensor *shape = &b->tensors[loss->index];
  dq_tensor *one = dq_tensor_new(b->graph->arena, shape->type, shape->rank, shape->dims);
  if (one) dq_tensor_set(one, 0, 1);
  b->gradients[loss->index] = dq_graph_add_constant(b->graph, "gradient/loss", one);
  return b->gradients[loss->index] ? DQ_OK : dq_fail_memory(b->error, 0);
}

static dq_status no_gradient(const dq_op *op) {
  dq_op_fail(op, DQ_UNSUPPORTED, "operator %s has no gradient", op->row->name);
  dq_error_hint(op->error, "only weights behind it can be trained: freeze those in front of it");
  return dq_with_label(op->node, DQ_UNSUPPORTED, op->error);
}

// Adds the gradients of the inputs to what other readers have given.
static dq_status collect(backward *b, const dq_gradient *gradient) {
  const dq_node *node = gradient->op->node;
  for (int i = 0; i < node->input_count; i++) {
    if (!gradient->inputs[i]) continue;
    dq_value **sum = &b->gradients[node->inputs[i]->index];
    *sum = *sum ? dq_gradient_of_two(gradient, "Add", *sum, gradient->inputs[i]) : gradient->inputs[i];
    if (!*sum) return dq_fail_memory(b->error, 0);
  }
  return DQ_OK;
}

static dq_status walk_node(backward *b, const dq_node *node) {
  const int inputs = node->input_count, outputs = node->output_count;
  bool reached = false, wanted = false;
  dq_op op;
  dq_value **given = DQ_NEW_ARRAY(b->arena, outputs, dq_value *), **found = DQ_NEW_ARRAY(b->arena, inputs, dq_value *);
  bool *wants = DQ_NEW_ARRAY(b->arena, inputs, bool);
  if (!given || !found || !wants) return dq_fail_memory(b->error, 0);
  for (int i = 0; i < outputs; i++) {
    given[i] = node->outputs[i] ? b->gradients[node->outputs[i]->index] : NULL;
    reached = reached || given[i];
  }
  for (int i = 0; i < inputs; i++) {
    wants[i] = node->inputs[i] && b->depends[node->inputs[i]->index];
    wanted = wanted || wants[i];
  }
  if (!reached || !wanted) return DQ_OK;
  DQ_TRY(dq_op_bind(&op, b->graph, node, b->tensors, b->context, b->arena, b->error));
  if (!op.row->gradient) return no_gradient(&op);
  const dq_gradient gradient = {.op = &op, .graph = b->graph, .outputs = given, .wanted = wants, .inputs = found};
  DQ_TRY(dq_with_label(node, op.row->gradient(&gradient), b->error));
  return collect(b, &gradient);
}

static dq_status walk(backward *b, const dq_derivatives *d) {
  const int nodes = b->graph->node_count;
  b->depends = DQ_NEW_ARRAY(b->arena, b->graph->value_count, bool);
  b->gradients = DQ_NEW_ARRAY(b->arena, b->graph->value_count, dq_value *);
  if (!b->depends || !b->gradients) return dq_fail_memory(b->error, 0);
  find_dependents(b, d->by, d->count);
  DQ_TRY(seed(b, d->loss));
  for (int n = nodes - 1; n >= 0; n--) DQ_TRY(walk_node(b, b->graph->nodes[n]));
  for (int i = 0; i < d->count; i++) d->gradients[i] = b->gradients[d->by[i]->index];
  return DQ_OK;
}

dq_status dq_backward(dq_graph *graph, dq_tensor *tensors, const dq_derivatives *derivatives, const dq_context *context,
                      dq_error *error) {
  backward b = {
      .graph = graph, .tensors = tensors, .context = context, .arena = dq_context_arena(context), .error = error};
  if (!b.arena) return dq_fail_memory(error, 0);
  dq_status status = walk(&b, derivatives);
  dq_arena_free(b.arena);
  return status;
}
