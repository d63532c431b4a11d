// CenterCropPad: axes cropped or padded with zeros on both sides to given sizes.
#include <inttypes.h>
#include <string.h>

#include "lib/ops/common/strided.h"

static dq_status infer(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int64_t dims[DQ_MAX_RANK], sizes[DQ_MAX_INTS];
  int count, axis_count;
  const int64_t *axes = dq_node_ints(op->node, "axes", &axis_count);
  if (!dq_op_readable(op, 1)) return dq_op_unknown(op, 0, input->type);
  DQ_TRY(dq_op_read_ints(op, 1, sizes, &count));
  if (count != (axes ? axis_count : input->rank))
    return dq_op_fail(op, DQ_BAD_INPUT, "shape has %d elements, expected %d", count, axes ? axis_count : input->rank);
  memcpy(dims, input->dims, sizeof dims);
  for (int i = 0; i < count; i++) {
    int axis;
    DQ_TRY(dq_op_axis(op, axes ? axes[i] : i, input->rank, &axis));
    dims[axis] = sizes[i];
  }
  return dq_op_shape(op, 0, input->type, input->rank, dims);
}

static dq_status run(dq_op *op) {
  const dq_tensor *input = op->inputs[0], *output = op->outputs[0];
  size_t size = dq_dtype_size(input->type);
  dq_strided plan = {.rank = input->rank};
  int64_t from = 0, to = 0;
  dq_strides(input->rank, input->dims, plan.from);
  dq_strides(input->rank, output->dims, plan.to);
  for (int i = 0; i < input->rank; i++) {
    int64_t more = output->dims[i] - input->dims[i]; // the odd element goes to the end
    plan.dims[i] = more < 0 ? output->dims[i] : input->dims[i];
    from += (more < 0 ? -more / 2 : 0) * plan.from[i];
    to += (more > 0 ? more / 2 : 0) * plan.to[i];
  }
  if (dq_tensor_count(output) == 0) return DQ_OK;
  memset(output->data, 0, dq_tensor_bytes(output));
  if (dq_tensor_count(input) == 0) return DQ_OK;
  dq_strided_copy(op, &plan, size, (const char *)input->data + (size_t)from * size,
                  (char *)output->data + (size_t)to * size);
  return DQ_OK;
}

const dq_operator dq_op_CenterCropPad = {
    .name = "CenterCropPad",
    .since = {18},
    .inputs = {2, 2},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"axes", DQ_ATTRIBUTE_INTS, false}, {0}},
    .infer = infer,
    .run = run,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_NOT,
};
