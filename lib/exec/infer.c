#include "lib/exec/infer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { EVALUATED_ELEMENTS = 65536 }; // shapes, scales and indices are small; weights are not needed

dq_status dq_input_shape_parse(const char *text, dq_arena *arena, dq_input_shape *shape,
                               dq_error *error) {
  const char *equals = strrchr(text, '='), *at = equals ? equals + 1 : text;
  *shape = (dq_input_shape){.name = dq_arena_strndup(arena, text, equals ? (size_t)(equals - text) : 0)};
  if (!shape->name) return dq_fail_memory(error, strlen(text));
  for (;;) {
    char *end;
    errno = 0;
    long long size = strtoll(at, &end, 10);
    if (end == at || errno || size < 1 || (*end && *end != ',' && *end != 'x') || shape->rank == DQ_MAX_RANK)
      return dq_fail(error, DQ_USAGE, "shape '%s', expected name=1,3,224,224", text);
    shape->dims[shape->rank++] = size;
    if (!*end) return DQ_OK;
    at = end + 1;
  }
}

static const dq_input_shape *find_given(const dq_shape_request *request, const dq_graph *graph,
                                        const dq_value *input) {
  int real_inputs = 0;
  for (int i = 0; i < graph->input_count; i++) real_inputs += !graph->inputs[i]->constant;
  for (int i = 0; request && i < request->input_count; i++) {
    const char *name = request->inputs[i].name;
    if (!strcmp(name, input->name) || (!name[0] && real_inputs == 1)) return &request->inputs[i];
  }
  return NULL;
}

static dq_status unknown_dimension(const dq_value *input, int i, dq_error *error) {
  const char *symbol = input->dims[i].symbol;
  dq_fail(error, DQ_USAGE, "input '%s': dimension %d%s%s%s is not known", input->name, i,
          symbol ? " ('" : "", symbol ? symbol : "", symbol ? "')" : "");
  dq_error_hint(error, "give it with --shape %s=N,C,H,W", input->name);
  return DQ_USAGE;
}

dq_status dq_input_tensor(const dq_graph *graph, const dq_value *input,
                          const dq_shape_request *request, dq_tensor *tensor, dq_error *error) {
  const dq_input_shape *given = find_given(request, graph, input);
  if (!input->type)
    return dq_fail(error, DQ_UNSUPPORTED, "input '%s' is not a tensor or has no type", input->name);
  if (input->rank < 0 && !given) {
    dq_fail(error, DQ_USAGE, "input '%s' has no shape", input->name);
    dq_error_hint(error, "give it with --shape %s=N,C,H,W", input->name);
    return DQ_USAGE;
  }
  if (given && input->rank >= 0 && given->rank != input->rank)
    return dq_fail(error, DQ_BAD_INPUT, "input '%s': the shape given has %d dimensions, expected %d",
                   input->name, given->rank, input->rank);
  int64_t dims[DQ_MAX_RANK];
  int rank = given ? given->rank : input->rank;
  if (rank > DQ_MAX_RANK)
    return dq_fail(error, DQ_UNSUPPORTED, "input '%s' has %d dimensions, at most %d are supported",
                   input->name, rank, DQ_MAX_RANK);
  for (int i = 0; i < rank; i++) {
    int64_t declared = input->rank >= 0 ? input->dims[i].size : -1;
    if (given) {
      // A fixed first dimension may be changed: networks run at any batch.
      if (declared >= 0 && declared != given->dims[i] && i > 0)
        return dq_fail(error, DQ_BAD_INPUT, "input '%s': dimension %d is %" PRId64 ", given is %" PRId64,
                       input->name, i, declared, given->dims[i]);
      dims[i] = given->dims[i];
    } else if (declared >= 0) {
      dims[i] = declared;
    } else if (i == 0) {
      dims[i] = request && request->batch ? request->batch : 1;
    } else if (request && request->stand_in) {
      dims[i] = request->stand_in;
    } else {
      return unknown_dimension(input, i, error);
    }
  }
  return dq_tensor_shape(tensor, input->type, rank, dims, error);
}

dq_status dq_op_bind(dq_op *op, const dq_graph *graph, const dq_node *node, dq_tensor *tensors,
                     const dq_context *context, dq_arena *arena, dq_error *error) {
  *op = (dq_op){.context = context, .node = node, .error = error};
  DQ_TRY(dq_operator_resolve(graph, node, context, &op->row, &op->version, error));
  op->input_count = node->input_count;
  op->output_count = node->output_count;
  op->inputs = DQ_NEW_ARRAY(arena, node->input_count, const dq_tensor *);
  op->outputs = DQ_NEW_ARRAY(arena, node->output_count, dq_tensor *);
  if (!op->inputs || !op->outputs) return dq_fail_memory(error, 0);
  for (int i = 0; i < node->input_count; i++)
    op->inputs[i] = node->inputs[i] ? &tensors[node->inputs[i]->index] : NULL;
  for (int i = 0; i < node->output_count; i++)
    op->outputs[i] = node->outputs[i] ? &tensors[node->outputs[i]->index] : NULL;
  return DQ_OK;
}

static bool inputs_have_shapes(const dq_op *op) {
  for (int i = 0; i < op->input_count; i++)
    if (op->inputs[i] && op->inputs[i]->rank < 0) return false;
  return true;
}

static bool can_evaluate(const dq_op *op) {
  if (op->row->flags & DQ_OP_RANDOM) return false;
  for (int i = 0; i < op->input_count; i++)
    if (op->inputs[i] && !op->inputs[i]->data && !(op->row->flags & DQ_OP_SHAPE_ONLY)) return false;
  for (int i = 0; i < op->output_count; i++) {
    const dq_tensor *output = op->outputs[i];
    if (output && (output->rank < 0 || dq_tensor_count(output) > EVALUATED_ELEMENTS ||
                   !dq_dtype_computable(output->type)))
      return false;
  }
  return true;
}

static dq_status evaluate(dq_op *op, dq_arena *arena) {
  for (int i = 0; i < op->output_count; i++) {
    dq_tensor *output = op->outputs[i];
    if (output && !(output->data = dq_arena_alloc(arena, dq_tensor_bytes(output))))
      return dq_fail_memory(op->error, dq_tensor_bytes(output));
  }
  return dq_op_run(op);
}

static dq_status infer_node(const dq_graph *graph, const dq_node *node, dq_tensor *tensors,
                            const dq_context *context, dq_arena *arena, dq_error *error) {
  dq_op op;
  DQ_TRY(dq_op_bind(&op, graph, node, tensors, context, arena, error));
  if (!inputs_have_shapes(&op)) return DQ_OK; // outputs stay unknown
  DQ_TRY(dq_op_infer(&op));
  return can_evaluate(&op) ? evaluate(&op, arena) : DQ_OK;
}

dq_status dq_infer(const dq_graph *graph, const dq_shape_request *request, bool tolerant,
                   const dq_context *context, dq_arena *arena, dq_tensor **tensors,
                   dq_error *error) {
  dq_tensor *all = *tensors = DQ_NEW_ARRAY(arena, graph->value_count, dq_tensor);
  if (!all) return dq_fail_memory(error, (size_t)graph->value_count * sizeof *all);
  for (int i = 0; i < graph->value_count; i++) {
    const dq_value *value = graph->values[i];
    all[i].rank = -1;
    if (value->constant) all[i] = *value->constant;
    else if (value->is_input) DQ_TRY(dq_input_tensor(graph, value, request, &all[i], error));
  }
  dq_node **order = DQ_NEW_ARRAY(arena, graph->node_count, dq_node *);
  if (!order) return dq_fail_memory(error, (size_t)graph->node_count * sizeof *order);
  DQ_TRY(dq_graph_order(graph, order, error));
  for (int n = 0; n < graph->node_count; n++) {
    dq_error local = {0};
    dq_status status = infer_node(graph, order[n], all, context, arena, &local);
    if (status == DQ_OK || (tolerant && status == DQ_UNSUPPORTED)) continue;
    if (error) *error = local;
    return status;
  }
  return DQ_OK;
}
