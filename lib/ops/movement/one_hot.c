// OneHot: a new axis that holds the on value where the index says and the off value elsewhere.
#include <inttypes.h>
#include <string.h>

#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"

static dq_status infer(dq_op *op) {
  const dq_tensor *indices = op->inputs[0], *values = op->inputs[2];
  int axis;
  int64_t dims[2 * DQ_MAX_RANK];
  char shape[DQ_SHAPE_TEXT];
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", -1), indices->rank + 1, &axis));
  if (values->rank != 1 || values->dims[0] != 2)
    return dq_op_fail(op, DQ_BAD_INPUT, "values has shape %s, expected 2",
                      dq_tensor_shape_text(values, shape, sizeof shape));
  if (dq_tensor_count(op->inputs[1]) != 1 || !(DQ_BIT(op->inputs[1]->type) & DQ_TYPES_NUMBER))
    return dq_op_fail(op, DQ_BAD_INPUT, "depth is of type %s and has %lld elements, expected one number",
                      dq_dtype_name(op->inputs[1]->type), (long long)dq_tensor_count(op->inputs[1]));
  if (!dq_op_known(op, 1)) return dq_op_unknown(op, 0, values->type);
  double depth = dq_tensor_get(op->inputs[1], 0);
  if (!(depth >= 0 && depth <= INT32_MAX))
    return dq_op_fail(op, DQ_BAD_INPUT, "depth is %g, expected 0 or more", depth);
  for (int i = 0; i <= indices->rank; i++) dims[i] = i == axis ? (int64_t)depth : indices->dims[i < axis ? i : i - 1];
  return dq_op_shape(op, 0, values->type, indices->rank + 1, dims);
}

static dq_status run(dq_op *op) {
  const dq_tensor *indices = op->inputs[0], *values = op->inputs[2], *output = op->outputs[0];
  size_t size = dq_dtype_size(values->type);
  int axis;
  if (!size) return dq_op_fail(op, DQ_UNSUPPORTED, "values of type %s are not supported", dq_dtype_name(values->type));
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", -1), output->rank, &axis));
  int64_t depth = output->dims[axis], inner = dq_tensor_product(output, axis + 1, output->rank);
  int64_t count = dq_tensor_count(indices);
  dq_fill_elements(output->data, dq_tensor_count(output), size, values->data);
  for (int64_t i = 0; i < count; i++) {
    double index = dq_tensor_get(indices, i);
    if (index < 0) index += (double)depth;
    if (!(index >= 0 && index < (double)depth)) continue; // all off
    int64_t at = (i / inner * depth + (int64_t)index) * inner + i % inner;
    memcpy((char *)output->data + (size_t)at * size, (const char *)values->data + size, size);
  }
  return DQ_OK;
}

static dq_status emit(dq_emission *to) {
  const dq_op *op = to->op;
  const dq_tensor *output = op->outputs[0];
  char index[100], values[100];
  int axis;
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", -1), output->rank, &axis));
  const int64_t depth = output->dims[axis], inner = dq_tensor_product(output, axis + 1, output->rank);
  dq_emit_element(to, 0, "n * inner + i", index);
  dq_emit_element(to, 2, "hit", values);
  dq_emit(to, "const int32_t inner = %" PRId64 ";", inner);
  dq_emit(to, "int32_t at = 0;");
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", dq_tensor_product(output, 0, axis));
  dq_emit(to, "for (int32_t d = 0; d < %" PRId64 "; d++) {", depth);
  dq_emit(to, "for (int32_t i = 0; i < inner; i++) {");
  dq_emit(to, "const double given = (double)%s, index = given < 0.0 ? given + %" PRId64 ".0 : given;", index, depth);
  dq_emit(to, "const int hit = index >= (double)d && index < (double)d + 1.0;");
  dq_emit(to, "y0[at++] = %s;", values);
  dq_emit_close(to, 3);
  return DQ_OK;
}

const dq_operator dq_op_OneHot = {
    .name = "OneHot",
    .since = {9, 11, 28},
    .inputs = {3, 3},
    .outputs = {1, 1},
    .types = DQ_TYPES_NUMBER,
    .attributes = (const dq_attribute_rule[]){{"axis", DQ_ATTRIBUTE_INT, false}, {0}},
    .infer = infer,
    .run = run,
    .emit = emit,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_NOT,
};
