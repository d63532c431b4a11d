// MaxUnpool: elements put back where MaxPool found them, zeros elsewhere.
#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/common/strided.h"
#include "lib/ops/common/window.h"

// Shape that the window geometry gives; the indices count in it.
static dq_status pooled_shape(const dq_op *op, int64_t *dims) {
  const dq_tensor *input = op->inputs[0];
  dq_window window;
  DQ_TRY(dq_window_lists(op, input->rank - 2, NULL, &window));
  DQ_TRY(dq_window_pads(op, &window));
  dims[0] = input->dims[0];
  dims[1] = input->dims[1];
  for (int i = 0; i < window.rank; i++) {
    int64_t reach;
    if (!dq_mul_i64(input->dims[2 + i] - 1, window.stride[i], &reach) ||
        !dq_add_i64(reach, window.kernel[i] - window.begin[i] - window.end[i], &dims[2 + i]) || dims[2 + i] < 0)
      return dq_op_fail(op, DQ_BAD_INPUT, "window and pads do not fit a dimension of %" PRId64, input->dims[2 + i]);
  }
  dq_tensor checked;
  return dq_tensor_shape(&checked, input->type, input->rank, dims, op->error);
}

static dq_status infer(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int64_t dims[DQ_MAX_RANK], given[DQ_MAX_INTS];
  int count;
  if (op->inputs[1]->type != DQ_I64 || !dq_tensor_same_shape(input, op->inputs[1]))
    return dq_op_fail(op, DQ_BAD_INPUT, "the indices are not int64 of the shape of the input");
  DQ_TRY(pooled_shape(op, dims));
  if (!dq_op_input(op, 2)) return dq_op_shape(op, 0, input->type, input->rank, dims);
  if (!dq_op_readable(op, 2)) return dq_op_unknown(op, 0, input->type);
  DQ_TRY(dq_op_read_ints(op, 2, given, &count));
  if (count != input->rank)
    return dq_op_fail(op, DQ_BAD_INPUT, "output_shape has %d elements, expected %d", count, input->rank);
  return dq_op_shape(op, 0, input->type, count, given);
}

static dq_status run(dq_op *op) {
  const dq_tensor *input = op->inputs[0], *output = op->outputs[0];
  dq_tensor pooled = *input;
  int64_t strides[DQ_MAX_RANK], count = dq_tensor_count(input);
  size_t size = dq_dtype_size(input->type);
  DQ_TRY(pooled_shape(op, pooled.dims));
  dq_strides(output->rank, output->dims, strides);
  int64_t places = dq_tensor_count(&pooled);
  if (dq_tensor_count(output)) memset(output->data, 0, dq_tensor_bytes(output));
  for (int64_t i = 0; i < count; i++) {
    int64_t index = ((const int64_t *)op->inputs[1]->data)[i], rest = index, to = 0;
    bool inside = index >= 0 && index < places;
    for (int axis = input->rank - 1; inside && axis >= 0; axis--) {
      int64_t at = rest % pooled.dims[axis];
      rest /= pooled.dims[axis];
      inside = at < output->dims[axis];
      to += at * strides[axis];
    }
    if (!inside) return dq_op_fail(op, DQ_BAD_INPUT, "index %" PRId64 " lies outside the output", index);
    memcpy((char *)output->data + (size_t)to * size, (const char *)input->data + (size_t)i * size, size);
  }
  return DQ_OK;
}

const dq_operator dq_op_MaxUnpool = {
    .name = "MaxUnpool",
    .since = {9, 11, 22},
    .inputs = {2, 3},
    .outputs = {1, 1},
    .types = DQ_TYPES_FLOAT,
    .attributes = (const dq_attribute_rule[]){{"kernel_shape", DQ_ATTRIBUTE_INTS, true},
                                              {"pads", DQ_ATTRIBUTE_INTS, false},
                                              {"strides", DQ_ATTRIBUTE_INTS, false},
                                              {0}},
    .infer = infer,
    .run = run,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_NOT,
};
