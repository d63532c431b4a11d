// Transpose: the axes in another order.
#include <inttypes.h>

#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"

static dq_status read_perm(const dq_op *op, int *perm) {
  int count, rank = op->inputs[0]->rank;
  unsigned seen = 0;
  const int64_t *ints = dq_node_ints(op->node, "perm", &count);
  if (ints && count != rank)
    return dq_op_fail(op, DQ_BAD_INPUT, "perm has %d elements, the input has %d dimensions", count, rank);
  for (int i = 0; i < rank; i++) {
    int64_t axis = ints ? ints[i] : rank - 1 - i;
    if (axis < 0 || axis >= rank || (seen & (1u << axis)))
      return dq_op_fail(op, DQ_BAD_INPUT, "perm holds %" PRId64 " at %d, expected each axis once", axis, i);
    seen |= 1u << axis;
    perm[i] = (int)axis;
  }
  return DQ_OK;
}

static dq_status infer(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int perm[DQ_MAX_RANK];
  int64_t dims[DQ_MAX_RANK];
  DQ_TRY(read_perm(op, perm));
  for (int i = 0; i < input->rank; i++) dims[i] = input->dims[perm[i]];
  return dq_op_shape(op, 0, input->type, input->rank, dims);
}

static dq_status run(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int perm[DQ_MAX_RANK];
  dq_strided plan;
  DQ_TRY(read_perm(op, perm));
  dq_strided_permute(&plan, input->rank, input->dims, perm);
  dq_strided_copy(op, &plan, dq_dtype_size(input->type), input->data, op->outputs[0]->data);
  return DQ_OK;
}

const dq_operator dq_op_Transpose = {
    .name = "Transpose",
    .since = {1, 13, 21, 23, 24, 25},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"perm", DQ_ATTRIBUTE_INTS, false}, {0}},
    .infer = infer,
    .run = run,
    .gradient = dq_gradient_transpose,
    .emit = dq_emit_move,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .flags = DQ_OP_MOVES_8_BIT | DQ_OP_MOVES_CHANNELS,
    .bound = DQ_BOUND_MOVE,
};
