// Tile and Expand: a tensor repeated along its axes.
#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"

// Repetitions per axis.
static dq_status read_repeats(const dq_op *op, int64_t *repeats, bool *known) {
  const dq_tensor *input = op->inputs[0];
  int count;
  int64_t values[DQ_MAX_INTS];
  *known = dq_op_readable(op, 1);
  if (!*known) return DQ_OK;
  DQ_TRY(dq_op_read_ints(op, 1, values, &count));
  if (count != input->rank)
    return dq_op_fail(op, DQ_BAD_INPUT, "%d repeats for %d dimensions, expected equal numbers", count, input->rank);
  memcpy(repeats, values, (size_t)count * sizeof *values);
  for (int i = 0; i < input->rank; i++)
    if (repeats[i] < 0)
      return dq_op_fail(op, DQ_BAD_INPUT, "%" PRId64 " repeats along axis %d, expected 0 or more", repeats[i], i);
  return DQ_OK;
}

static dq_status infer_tile(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int64_t repeats[DQ_MAX_RANK], dims[DQ_MAX_RANK];
  bool known;
  DQ_TRY(read_repeats(op, repeats, &known));
  if (!known) return dq_op_unknown(op, 0, input->type);
  for (int i = 0; i < input->rank; i++)
    if (!dq_mul_i64(input->dims[i], repeats[i], &dims[i]))
      return dq_op_fail(op, DQ_BAD_INPUT, "dimension %d overflows 64 bits", i);
  return dq_op_shape(op, 0, input->type, input->rank, dims);
}

static dq_status run_tile(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int64_t repeats[DQ_MAX_RANK], strides[DQ_MAX_RANK];
  bool known;
  DQ_TRY(read_repeats(op, repeats, &known));
  dq_strided plan = {.rank = 2 * input->rank};
  dq_strides(input->rank, input->dims, strides);
  for (int i = 0; i < input->rank; i++) {
    plan.dims[2 * i] = repeats[i];
    plan.dims[2 * i + 1] = input->dims[i];
    plan.from[2 * i + 1] = strides[i];
  }
  dq_strides(plan.rank, plan.dims, plan.to);
  dq_strided_copy(op, &plan, dq_dtype_size(input->type), input->data, op->outputs[0]->data);
  return DQ_OK;
}

static dq_status infer_expand(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int64_t shape[DQ_MAX_INTS];
  int count;
  if (!dq_op_readable(op, 1)) return dq_op_unknown(op, 0, input->type);
  DQ_TRY(dq_op_read_ints(op, 1, shape, &count));
  int rank = count > input->rank ? count : input->rank;
  int64_t dims[DQ_MAX_INTS];
  for (int i = 0; i < rank; i++) {
    int own = i - (rank - input->rank), asked = i - (rank - count);
    int64_t dim = own < 0 ? 1 : input->dims[own], target = asked < 0 ? 1 : shape[asked];
    if (target < 0 || (dim != target && dim != 1 && target != 1))
      return dq_op_fail(op, DQ_BAD_INPUT, "dimension of %" PRId64 " does not expand to %" PRId64, dim, target);
    dims[i] = dim == 1 ? target : dim;
  }
  return dq_op_shape(op, 0, input->type, rank, dims);
}

static dq_status run_expand(dq_op *op) {
  const dq_tensor *input = op->inputs[0], *output = op->outputs[0];
  int64_t strides[DQ_MAX_RANK];
  dq_strided plan = {.rank = output->rank};
  dq_strides(input->rank, input->dims, strides);
  for (int i = 0; i < output->rank; i++) {
    int own = i - (output->rank - input->rank);
    plan.dims[i] = output->dims[i];
    plan.from[i] = own < 0 || input->dims[own] == 1 ? 0 : strides[own];
  }
  dq_strides(plan.rank, plan.dims, plan.to);
  dq_strided_copy(op, &plan, dq_dtype_size(input->type), input->data, output->data);
  return DQ_OK;
}

const dq_operator dq_op_Tile = {
    .name = "Tile",
    .since = {6, 13},
    .inputs = {2, 2},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .infer = infer_tile,
    .run = run_tile,
    .emit = dq_emit_move,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .bound = DQ_BOUND_MOVE,
};

const dq_operator dq_op_Expand = {
    .name = "Expand",
    .since = {8, 13},
    .inputs = {2, 2},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .infer = infer_expand,
    .run = run_expand,
    .gradient = dq_gradient_expand,
    .emit = dq_emit_move,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .bound = DQ_BOUND_MOVE,
};
