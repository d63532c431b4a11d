// Compress: the slices along an axis, or elements, whose condition is true.
#include <inttypes.h>
#include <string.h>

#include "lib/ops/common/strided.h"

// Axis, or -1 for the flattened input; how many slices the condition speaks of; what is taken.
static dq_status read_compress(const dq_op *op, int *axis, int64_t *size) {
  const dq_tensor *input = op->inputs[0], *condition = op->inputs[1];
  *axis = -1;
  if (dq_node_attribute(op->node, "axis")) DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", 0), input->rank, axis));
  *size = *axis < 0 ? dq_tensor_count(input) : input->dims[*axis];
  if (condition->type != DQ_BOOL || condition->rank != 1 || condition->dims[0] > *size)
    return dq_op_fail(op, DQ_BAD_INPUT, "the condition is no vector of at most %" PRId64 " bool elements", *size);
  return DQ_OK;
}

static dq_status infer(dq_op *op) {
  const dq_tensor *input = op->inputs[0], *condition = op->inputs[1];
  int axis;
  int64_t size, taken = 0, dims[DQ_MAX_RANK];
  DQ_TRY(read_compress(op, &axis, &size));
  if (!dq_op_readable(op, 1)) return dq_op_unknown(op, 0, input->type);
  for (int64_t i = 0; i < condition->dims[0]; i++) taken += ((const uint8_t *)condition->data)[i] != 0;
  if (axis < 0) return dq_op_shape(op, 0, input->type, 1, &taken);
  memcpy(dims, input->dims, sizeof dims);
  dims[axis] = taken;
  return dq_op_shape(op, 0, input->type, input->rank, dims);
}

static dq_status run(dq_op *op) {
  const dq_tensor *input = op->inputs[0], *condition = op->inputs[1];
  int axis;
  int64_t size;
  DQ_TRY(read_compress(op, &axis, &size));
  int64_t outer = axis < 0 ? 1 : dq_tensor_product(input, 0, axis);
  int64_t inner = axis < 0 ? 1 : dq_tensor_product(input, axis + 1, input->rank);
  size_t bytes = (size_t)inner * dq_dtype_size(input->type);
  if (!bytes) return DQ_OK;
  char *to = op->outputs[0]->data;
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < condition->dims[0]; i++) {
      if (!((const uint8_t *)condition->data)[i]) continue;
      memcpy(to, (const char *)input->data + (size_t)(o * size + i) * bytes, bytes);
      to += bytes;
    }
  return DQ_OK;
}

const dq_operator dq_op_Compress = {
    .name = "Compress",
    .since = {9, 11, 28},
    .inputs = {2, 2},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"axis", DQ_ATTRIBUTE_INT, false}, {0}},
    .infer = infer,
    .run = run,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
};
