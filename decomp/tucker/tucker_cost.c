// What layers and model cost: shapes by inference, positions of a convolution, totals.
#include <string.h>

#include "decomp/tucker/tucker_job.h"
#include "lib/base/sizes.h"

dq_status dq_tucker_infer(const dq_graph *graph, const dq_tucker_options *options, dq_arena *arena, dq_tensor **tensors,
                          dq_error *error) {
  static const dq_context plain = {0};
  const dq_context *context = options->context ? options->context : &plain;
  dq_error local = {0};
  dq_status status = dq_infer(graph, options->shapes, DQ_INFER_TOLERANT, context, arena, tensors, &local);
  if (status == DQ_OK) return DQ_OK;
  *tensors = NULL;
  if (status == DQ_USAGE && !options->shapes) {
    dq_message(context, DQ_NOTE, "multiply-accumulates are not known: %s", local.message);
    return DQ_OK;
  }
  if (error) *error = local;
  return status;
}

// Dimension `axis` as inferred, else as declared; -1 when neither is known.
static int64_t dimension(const dq_value *value, const dq_tensor *tensors, int axis) {
  if (tensors && tensors[value->index].rank == 4) return tensors[value->index].dims[axis];
  return value->rank == 4 ? value->dims[axis].size : -1;
}

static bool positions_of(const dq_value *value, const dq_tensor *tensors, int64_t *positions) {
  int64_t batch = dimension(value, tensors, 0);
  int64_t height = dimension(value, tensors, 2), width = dimension(value, tensors, 3);
  return height > 0 && width > 0 && dq_mul_i64(height, width, positions) &&
         dq_mul_i64(*positions, batch > 0 ? batch : 1, positions);
}

bool dq_tucker_positions(const dq_node *node, const dq_tensor *tensors, int64_t *input, int64_t *output) {
  if (positions_of(node->inputs[0], tensors, input) && positions_of(node->outputs[0], tensors, output)) return true;
  int count;
  const int64_t *strides = dq_node_ints(node, "strides", &count);
  *input = *output = 1;
  for (int i = 0; i < count; i++)
    if (strides[i] < 1 || !dq_mul_i64(*input, strides[i], input)) *input = 1;
  return false;
}

int64_t dq_tucker_parameters(const dq_graph *graph) {
  int64_t count = 0;
  for (int i = 0; i < graph->initializer_count; i++) {
    const dq_tensor *tensor = graph->initializers[i]->constant;
    if (tensor->type > 0 && tensor->type < 32 && (DQ_TYPES_FLOAT & DQ_BIT(tensor->type)))
      count += dq_tensor_count(tensor);
  }
  return count;
}

// Multiply-accumulates of a node; false when they are not known.
static bool node_macs(const dq_graph *graph, const dq_node *node, dq_tensor *tensors, const dq_context *context,
                      dq_arena *arena, int64_t *macs) {
  dq_op op;
  *macs = 0;
  if (dq_op_bind(&op, graph, node, tensors, context, arena, NULL) != DQ_OK) return false;
  if (!op.row->macs) return true;
  for (int i = 0; i < op.input_count; i++)
    if (op.inputs[i] && op.inputs[i]->rank < 0) return false;
  for (int i = 0; i < op.output_count; i++)
    if (op.outputs[i] && op.outputs[i]->rank < 0) return false;
  *macs = op.row->macs(&op);
  return true;
}

dq_status dq_tucker_model_cost(const dq_graph *graph, const dq_tucker_options *options, dq_tensor *tensors,
                               dq_tucker_report *report, dq_error *error) {
  static const dq_context plain = {0};
  const dq_context *context = options->context ? options->context : &plain;
  dq_arena *scratch = dq_context_arena(context);
  if (!scratch) return dq_fail_memory(error, sizeof(dq_op));
  int64_t total = 0, macs;
  bool known = tensors != NULL;
  for (int n = 0; known && n < graph->node_count; n++) {
    const dq_node *node = graph->nodes[n];
    known = node_macs(graph, node, tensors, context, scratch, &macs) && dq_add_i64(total, macs, &total);
    if (!known) report->uncounted = dq_node_name(node);
  }
  dq_arena_free(scratch);
  report->macs_known = known;
  report->model_before = (dq_conv_cost){known ? total : 0, dq_tucker_parameters(graph)};
  return DQ_OK;
}
