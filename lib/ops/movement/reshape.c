// Operators that give the elements another shape and leave their order: Reshape, Flatten, Squeeze,
// Unsqueeze.
#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/common/strided.h"
#include "lib/ops/gradient/gradient.h"

// The target of Reshape, an attribute before version 5. *known is false while its elements are not.
static dq_status reshape_target(const dq_op *op, int64_t *target, int *count, bool *known) {
  *known = true;
  if (op->version >= 5) {
    if (!dq_op_input(op, 1)) return dq_op_fail(op, DQ_BAD_INPUT, "input 1 (shape) is missing");
    *known = dq_op_readable(op, 1);
    return *known ? dq_op_read_ints(op, 1, target, count) : DQ_OK;
  }
  const int64_t *shape = dq_node_ints(op->node, "shape", count);
  if (*count > DQ_MAX_RANK)
    return dq_op_fail(op, DQ_UNSUPPORTED, "%d dimensions, at most %d are supported", *count, DQ_MAX_RANK);
  if (shape) memcpy(target, shape, (size_t)*count * sizeof *shape);
  return DQ_OK;
}

// Replaces 0 by the input's dimension and -1 by what is left of the elements.
static dq_status resolve_target(const dq_op *op, int64_t *target, int count) {
  const dq_tensor *input = op->inputs[0];
  bool keep_zero = op->version >= 14 && dq_node_int(op->node, "allowzero", 0) != 0;
  int64_t elements = dq_tensor_count(input), product = 1;
  int guessed = -1;
  for (int i = 0; i < count; i++) {
    if (target[i] == 0 && !keep_zero) {
      if (i >= input->rank)
        return dq_op_fail(op, DQ_BAD_INPUT, "shape has 0 at %d, but the input has %d dimensions", i, input->rank);
      target[i] = input->dims[i];
    }
    if (target[i] < -1 || (target[i] == -1 && guessed >= 0))
      return dq_op_fail(op, DQ_BAD_INPUT, "shape holds %" PRId64 " at %d, expected 0 or more, or -1 once", target[i],
                        i);
    if (target[i] == -1) guessed = i;
    else if (!dq_mul_i64(product, target[i], &product))
      return dq_op_fail(op, DQ_BAD_INPUT, "the product of the dimensions overflows 64 bits");
  }
  if (guessed >= 0) {
    if (product == 0 && (elements != 0 || keep_zero))
      return dq_op_fail(op, DQ_BAD_INPUT, "shape has -1 beside a dimension of 0");
    target[guessed] = product ? elements / product : 0;
    product *= target[guessed];
  }
  if (product != elements)
    return dq_op_fail(op, DQ_BAD_INPUT, "shape asks for %" PRId64 " elements, the input has %" PRId64, product,
                      elements);
  return DQ_OK;
}

static dq_status infer_reshape(dq_op *op) {
  int64_t target[DQ_MAX_INTS];
  int count = 0;
  bool known;
  DQ_TRY(reshape_target(op, target, &count, &known));
  if (!known) return dq_op_unknown(op, 0, op->inputs[0]->type);
  DQ_TRY(resolve_target(op, target, count));
  return dq_op_shape(op, 0, op->inputs[0]->type, count, target);
}

static dq_status infer_flatten(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int64_t axis = dq_node_int(op->node, "axis", 1);
  if (axis < -input->rank || axis > input->rank)
    return dq_op_fail(op, DQ_BAD_INPUT, "axis %" PRId64 " is outside the %d dimensions", axis, input->rank);
  int at = (int)(axis < 0 ? axis + input->rank : axis);
  int64_t dims[2] = {dq_tensor_product(input, 0, at), dq_tensor_product(input, at, input->rank)};
  return dq_op_shape(op, 0, input->type, 2, dims);
}

// Marks the axes of a list in [0, rank), each at most once.
static dq_status mark_axes(const dq_op *op, const int64_t *axes, int count, int rank, bool *marked) {
  memset(marked, 0, (size_t)rank * sizeof *marked);
  for (int i = 0; i < count; i++) {
    int axis;
    DQ_TRY(dq_op_axis(op, axes[i], rank, &axis));
    if (marked[axis]) return dq_op_fail(op, DQ_BAD_INPUT, "axis %d is given twice", axis);
    marked[axis] = true;
  }
  return DQ_OK;
}

static dq_status infer_squeeze(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int64_t axes[DQ_MAX_INTS], dims[DQ_MAX_RANK];
  int count, rank = 0;
  bool known, marked[DQ_MAX_RANK];
  DQ_TRY(dq_op_axes(op, "axes", 1, axes, &count, &known));
  if (!known && !dq_op_readable(op, 1)) return dq_op_unknown(op, 0, input->type);
  DQ_TRY(mark_axes(op, axes, count > 0 ? count : 0, input->rank, marked));
  for (int i = 0; i < input->rank; i++) {
    if (marked[i] && input->dims[i] != 1)
      return dq_op_fail(op, DQ_BAD_INPUT, "axis %d has size %" PRId64 ", expected 1", i, input->dims[i]);
    if (!(count < 0 ? input->dims[i] == 1 : marked[i])) dims[rank++] = input->dims[i];
  }
  return dq_op_shape(op, 0, input->type, rank, dims);
}

static dq_status infer_unsqueeze(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int64_t axes[DQ_MAX_INTS], dims[DQ_MAX_RANK];
  int count;
  bool known, marked[DQ_MAX_RANK];
  DQ_TRY(dq_op_axes(op, "axes", 1, axes, &count, &known));
  if (!known && !dq_op_readable(op, 1)) return dq_op_unknown(op, 0, input->type);
  if (known && count < 0) return dq_op_fail(op, DQ_BAD_INPUT, "axes are missing");
  if (count < 0) count = 0;
  int rank = input->rank + count;
  if (rank > DQ_MAX_RANK)
    return dq_op_fail(op, DQ_UNSUPPORTED, "%d dimensions, at most %d are supported", rank, DQ_MAX_RANK);
  DQ_TRY(mark_axes(op, axes, count, rank, marked));
  for (int i = 0, next = 0; i < rank; i++) dims[i] = marked[i] ? 1 : input->dims[next++];
  return dq_op_shape(op, 0, input->type, rank, dims);
}

const dq_operator dq_op_Reshape = {
    .name = "Reshape",
    .since = {1, 5, 13, 14, 19, 21, 23, 24, 25},
    .inputs = {1, 2},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"allowzero", DQ_ATTRIBUTE_INT, false},
                                              {"consumed_inputs", DQ_ATTRIBUTE_INTS, false},
                                              {"shape", DQ_ATTRIBUTE_INTS, false},
                                              {0}},
    .infer = infer_reshape,
    .run = dq_run_copy,
    .gradient = dq_gradient_view,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .flags = DQ_OP_MOVES_8_BIT | DQ_OP_VIEW,
    .bound = DQ_BOUND_MOVE,
};

const dq_operator dq_op_Flatten = {
    .name = "Flatten",
    .since = {1, 9, 11, 13, 21, 23, 24, 25},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"axis", DQ_ATTRIBUTE_INT, false}, {0}},
    .infer = infer_flatten,
    .run = dq_run_copy,
    .gradient = dq_gradient_view,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .flags = DQ_OP_MOVES_8_BIT | DQ_OP_VIEW,
    .bound = DQ_BOUND_MOVE,
};

const dq_operator dq_op_Squeeze = {
    .name = "Squeeze",
    .since = {1, 11, 13, 21, 23, 24, 25},
    .inputs = {1, 2},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"axes", DQ_ATTRIBUTE_INTS, false}, {0}},
    .infer = infer_squeeze,
    .run = dq_run_copy,
    .gradient = dq_gradient_view,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .flags = DQ_OP_MOVES_8_BIT | DQ_OP_VIEW,
    .bound = DQ_BOUND_MOVE,
};

const dq_operator dq_op_Unsqueeze = {
    .name = "Unsqueeze",
    .since = {1, 11, 13, 21, 23, 24, 25},
    .inputs = {1, 2},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"axes", DQ_ATTRIBUTE_INTS, false}, {0}},
    .infer = infer_unsqueeze,
    .run = dq_run_copy,
    .gradient = dq_gradient_view,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .flags = DQ_OP_MOVES_8_BIT | DQ_OP_VIEW,
    .bound = DQ_BOUND_MOVE,
};
