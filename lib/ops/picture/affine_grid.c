// AffineGrid: for GridSample, the grid of positions that an affine map gives each element of a
// picture of two or three dimensions.
#include <inttypes.h>

#include "lib/ops/common/strided.h"

static dq_status infer(dq_op *op) {
  const dq_tensor *theta = op->inputs[0];
  int64_t size[DQ_MAX_INTS], dims[DQ_MAX_RANK];
  int count;
  if (!dq_op_known(op, 1)) return dq_op_unknown(op, 0, theta->type);
  DQ_TRY(dq_op_read_ints(op, 1, size, &count));
  int axes = count - 2;
  if (axes < 2 || axes > 3 || theta->rank != 3 || theta->dims[0] != size[0] || theta->dims[1] != axes ||
      theta->dims[2] != axes + 1)
    return dq_op_fail(op, DQ_BAD_INPUT, "theta is not N x 2 x 3 or N x 3 x 4 for a size of %d elements", count);
  dims[0] = size[0];
  for (int i = 0; i < axes; i++) dims[1 + i] = size[2 + i];
  dims[1 + axes] = axes;
  return dq_op_shape(op, 0, theta->type, axes + 2, dims);
}

static dq_status run(dq_op *op) {
  const dq_tensor *theta = op->inputs[0];
  dq_tensor *output = op->outputs[0];
  bool align = dq_node_int(op->node, "align_corners", 0) != 0;
  int axes = output->rank - 2;
  int64_t points = dq_tensor_product(output, 1, 1 + axes);
  int64_t count = output->dims[0] * points;
  for (int64_t i = 0; i < count; i++) {
    double position[4] = {0, 0, 0, 0};
    int64_t rest = i % points, batch = i / points;
    for (int a = 0; a < axes; a++) { // x, the last axis, comes first
      int64_t size = output->dims[axes - a], at = rest % size;
      rest /= size;
      position[a] = !align      ? (2.0 * (double)at + 1) / (double)size - 1
                    : size == 1 ? -1
                                : 2.0 * (double)at / (double)(size - 1) - 1;
    }
    position[axes] = 1;
    for (int r = 0; r < axes; r++) {
      double sum = 0;
      for (int c = 0; c <= axes; c++) sum += dq_tensor_get(theta, (batch * axes + r) * (axes + 1) + c) * position[c];
      dq_tensor_set(output, i * axes + r, sum);
    }
  }
  return DQ_OK;
}

const dq_operator dq_op_AffineGrid = {
    .name = "AffineGrid",
    .since = {20},
    .inputs = {2, 2},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64),
    .attributes = (const dq_attribute_rule[]){{"align_corners", DQ_ATTRIBUTE_INT, false}, {0}},
    .infer = infer,
    .run = run,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_HALF,
};
