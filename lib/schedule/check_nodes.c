#include "lib/schedule/check_nodes.h"

static const dq_tensor unknown = {.rank = -1};

// What is known of a value before shapes are inferred: of initializers, and of what Constant holds.
static const dq_tensor *tensor_of(const dq_value *value) {
  if (!value) return NULL;
  if (value->constant) return value->constant;
  bool held = value->producer && dq_node_is(value->producer, "Constant");
  const dq_tensor *tensor = held ? dq_node_tensor(value->producer, "value") : NULL;
  return tensor ? tensor : &unknown;
}

static dq_status check_row(dq_op *op, dq_arena *arena) {
  const dq_node *node = op->node;
  op->input_count = node->input_count;
  op->output_count = node->output_count;
  op->inputs = DQ_NEW_ARRAY(arena, node->input_count, const dq_tensor *);
  if (!op->inputs) return dq_fail_memory(op->error, (size_t)node->input_count * sizeof *op->inputs);
  for (int i = 0; i < node->input_count; i++) op->inputs[i] = tensor_of(node->inputs[i]);
  return dq_op_check(op);
}

// Passes know operators by their names: one whose version is not supported is carried through only where it has
// the form of the versions that are.
static dq_status check_version(dq_op *op, dq_arena *arena, dq_error *error) {
  dq_error other = {0};
  op->version = op->row->since[0];
  op->error = &other;
  bool alike = dq_operator_fits(op->node, op->row, NULL, &other) == DQ_OK && check_row(op, arena) == DQ_OK;
  return alike ? DQ_OK : error->status;
}

static dq_status check_node(const dq_graph *graph, const dq_node *node, dq_arena *arena, dq_error *error) {
  dq_error own = {0};
  dq_op op = {.node = node, .error = &own};
  dq_status status = dq_operator_resolve(graph, node, NULL, &op.row, &op.version, &own);
  if (status == DQ_OK && op.row->check) status = check_row(&op, arena);
  else if (status == DQ_UNSUPPORTED && op.row && !op.version && check_version(&op, arena, &own) != DQ_OK) {
    if (error) *error = own;
    return status;
  }
  if (status == DQ_OK || status == DQ_UNSUPPORTED) return DQ_OK;
  if (error) *error = own;
  return status;
}

dq_status dq_check_nodes(const dq_graph *graph, const dq_context *context, dq_error *error) {
  dq_arena *arena = dq_context_arena(context);
  dq_status status = arena ? DQ_OK : dq_fail_memory(error, 0);
  for (int n = 0; status == DQ_OK && n < graph->node_count; n++)
    if (!graph->nodes[n]->removed) status = check_node(graph, graph->nodes[n], arena, error);
  dq_arena_free(arena);
  return status;
}

dq_status dq_check_all_run(const dq_graph *graph, const dq_context *context, dq_error *error) {
  DQ_TRY(dq_check_nodes(graph, context, error));
  for (int n = 0; n < graph->node_count; n++) {
    const dq_operator *row;
    int version;
    if (!graph->nodes[n]->removed) DQ_TRY(dq_operator_resolve(graph, graph->nodes[n], context, &row, &version, error));
  }
  return DQ_OK;
}
