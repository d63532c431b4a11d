// Split: a tensor cut along an axis.
#include <inttypes.h>

#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"

// Size of part i when no sizes are given: equal parts, from version 18 on with a smaller last one.
static dq_status equal_part(const dq_op *op, int64_t dim, int i, int64_t *size) {
  int count = op->output_count;
  int64_t part = (dim + count - 1) / count;
  if (dim % count && op->version < 18)
    return dq_op_fail(op, DQ_BAD_INPUT, "%" PRId64 " elements do not split into %d equal parts", dim, count);
  *size = i < count - 1 ? part : dim - part * (count - 1);
  if (*size < 0)
    return dq_op_fail(op, DQ_BAD_INPUT, "%" PRId64 " elements are too few for %d parts of %" PRId64, dim, count, part);
  return DQ_OK;
}

// Sizes given by the attribute or, from version 13 on and in version 1, by input 1. NULL elements:
// none given.
typedef struct given_sizes {
  const int64_t *ints;
  const dq_tensor *tensor;
  int64_t count;
} given_sizes;

static dq_status read_sizes(const dq_op *op, given_sizes *given) {
  int count;
  *given = (given_sizes){.ints = dq_node_ints(op->node, "split", &count)};
  given->count = count;
  const dq_tensor *input = dq_op_input(op, 1);
  if (input) {
    if ((input->type != DQ_I64 && input->type != DQ_I32) || input->rank > 1)
      return dq_op_fail(op, DQ_BAD_INPUT, "input 1 (split) is %s of rank %d, expected int64 of 1",
                        dq_dtype_name(input->type), input->rank);
    *given = (given_sizes){.tensor = input, .count = dq_tensor_count(input)};
  }
  if ((given->ints || given->tensor) && given->count != op->output_count)
    return dq_op_fail(op, DQ_BAD_INPUT, "split has %" PRId64 " elements, the node %d outputs", given->count,
                      op->output_count);
  return DQ_OK;
}

static dq_status infer(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int axis;
  int64_t dims[DQ_MAX_RANK], sum = 0;
  given_sizes given;
  DQ_TRY(dq_op_axis_of_input(op, 0, &axis));
  DQ_TRY(read_sizes(op, &given));
  int64_t parts = dq_node_int(op->node, "num_outputs", op->output_count);
  if (parts != op->output_count)
    return dq_op_fail(op, DQ_BAD_INPUT, "num_outputs is %" PRId64 ", the node has %d outputs", parts, op->output_count);
  for (int i = 0; i < input->rank; i++) dims[i] = input->dims[i];
  for (int i = 0; i < op->output_count; i++) {
    if (given.tensor && !dq_op_readable(op, 1)) {
      DQ_TRY(dq_op_unknown(op, i, input->type));
      continue;
    }
    if (given.tensor) dims[axis] = dq_tensor_get_i64(given.tensor, i);
    else if (given.ints) dims[axis] = given.ints[i];
    else DQ_TRY(equal_part(op, input->dims[axis], i, &dims[axis]));
    if (dims[axis] < 0 || dims[axis] > input->dims[axis] - sum)
      return dq_op_fail(op, DQ_BAD_INPUT, "part %d of %" PRId64 " exceeds the %" PRId64 " elements", i, dims[axis],
                        input->dims[axis]);
    sum += dims[axis];
    DQ_TRY(dq_op_shape(op, i, input->type, input->rank, dims));
    if (i == op->output_count - 1 && sum != input->dims[axis])
      return dq_op_fail(op, DQ_BAD_INPUT, "the parts add up to %" PRId64 " of %" PRId64 " elements", sum,
                        input->dims[axis]);
  }
  return DQ_OK;
}

static dq_status run(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  size_t size = dq_dtype_size(input->type);
  int axis;
  given_sizes given;
  DQ_TRY(dq_op_axis_of_input(op, 0, &axis));
  DQ_TRY(read_sizes(op, &given));
  int64_t outer = dq_tensor_product(input, 0, axis), at = 0;
  int64_t inner = dq_tensor_product(input, axis + 1, input->rank);
  int64_t row = input->dims[axis] * inner;
  for (int i = 0; i < op->output_count; i++) {
    int64_t part = 0;
    if (given.tensor) part = dq_tensor_get_i64(given.tensor, i);
    else if (given.ints) part = given.ints[i];
    else DQ_TRY(equal_part(op, input->dims[axis], i, &part));
    if (op->outputs[i] && dq_tensor_count(op->outputs[i])) {
      dq_strided plan = {2, {outer, part * inner}, {row, 1}, {part * inner, 1}};
      dq_strided_copy(op, &plan, size, (const char *)input->data + (size_t)at * size, op->outputs[i]->data);
    }
    at += part * inner;
  }
  return DQ_OK;
}

// The sum of the parts at their places.
static dq_status gradient(const dq_gradient *gradient) {
  const dq_op *op = gradient->op;
  int64_t starts[DQ_MAX_RANK] = {0};
  dq_value *sum = NULL;
  int axis;
  DQ_TRY(dq_op_axis_of_input(op, 0, &axis));
  for (int i = 0; i < op->output_count; i++) {
    dq_value *part = gradient->outputs[i];
    if (part && !(part = dq_gradient_placed(gradient, part, 0, starts, NULL))) return dq_fail_memory(op->error, 0);
    if (part) sum = sum ? dq_gradient_of_two(gradient, "Add", sum, part) : part;
    if (part && !sum) return dq_fail_memory(op->error, 0);
    if (op->outputs[i]) starts[axis] += op->outputs[i]->dims[axis];
  }
  return dq_gradient_set(gradient, 0, sum);
}

const dq_operator dq_op_Split = {
    .name = "Split",
    .since = {1, 2, 11, 13, 18},
    .inputs = {1, 2},
    .outputs = {1, DQ_ANY_NUMBER},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"axis", DQ_ATTRIBUTE_INT, false},
                                              {"num_outputs", DQ_ATTRIBUTE_INT, false},
                                              {"split", DQ_ATTRIBUTE_INTS, false},
                                              {0}},
    .infer = infer,
    .run = run,
    .gradient = gradient,
    .emit = dq_emit_move,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .flags = DQ_OP_MOVES_CHANNELS,
    .bound = DQ_BOUND_MOVE,
};
