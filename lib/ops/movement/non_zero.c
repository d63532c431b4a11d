// NonZero: coordinates of the elements that are not zero, one column per element.
#include "lib/ops/common/strided.h"

// A scalar counts as a vector of one element.
static int columns_rank(const dq_tensor *input) { return input->rank ? input->rank : 1; }

static dq_status infer(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  if (!dq_op_readable(op, 0)) return dq_op_unknown(op, 0, DQ_I64);
  if (!dq_dtype_computable(input->type))
    return dq_op_fail(op, DQ_UNSUPPORTED, "elements of type %s are not supported", dq_dtype_name(input->type));
  int64_t count = dq_tensor_count(input), dims[2] = {columns_rank(input), 0};
  for (int64_t i = 0; i < count; i++) dims[1] += dq_tensor_get(input, i) != 0;
  return dq_op_shape(op, 0, DQ_I64, 2, dims);
}

static dq_status run(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int64_t count = dq_tensor_count(input), found = op->outputs[0]->dims[1], column = 0;
  int64_t *output = op->outputs[0]->data;
  for (int64_t i = 0; i < count && column < found; i++) {
    if (dq_tensor_get(input, i) == 0) continue;
    int64_t rest = i;
    for (int axis = columns_rank(input) - 1; axis >= 0; axis--) {
      int64_t dim = input->rank ? input->dims[axis] : 1;
      output[axis * found + column] = rest % dim;
      rest /= dim;
    }
    column++;
  }
  return DQ_OK;
}

const dq_operator dq_op_NonZero = {
    .name = "NonZero",
    .since = {9, 13},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .infer = infer,
    .run = run,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_NOT,
};
