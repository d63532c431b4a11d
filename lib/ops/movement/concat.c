// Concat: inputs joined along an axis.
#include <inttypes.h>

#include "lib/base/sizes.h"
#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"

static dq_status read_axis(const dq_op *op, int *axis) {
  if (op->version >= 4 && !dq_node_attribute(op->node, "axis"))
    return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'axis' is missing");
  return dq_op_axis_of_input(op, 1, axis);
}

static dq_status check_input(const dq_op *op, int i, int axis) {
  const dq_tensor *first = op->inputs[0], *input = op->inputs[i];
  if (!input) return dq_op_fail(op, DQ_BAD_INPUT, "input %d is left out", i);
  if (input->type != first->type)
    return dq_op_fail(op, DQ_BAD_INPUT, "input %d has type %s, input 0 has %s; expected one type", i,
                      dq_dtype_name(input->type), dq_dtype_name(first->type));
  bool same = input->rank == first->rank;
  for (int d = 0; same && d < first->rank; d++) same = d == axis || input->dims[d] == first->dims[d];
  char own[DQ_SHAPE_TEXT], expected[DQ_SHAPE_TEXT];
  return same ? DQ_OK
              : dq_op_fail(op, DQ_BAD_INPUT, "input %d of shape %s does not fit %s along axis %d", i,
                           dq_tensor_shape_text(input, own, sizeof own),
                           dq_tensor_shape_text(first, expected, sizeof expected), axis);
}

static dq_status infer(dq_op *op) {
  int axis;
  dq_tensor joined = *op->inputs[0];
  DQ_TRY(read_axis(op, &axis));
  for (int i = 1; i < op->input_count; i++) {
    DQ_TRY(check_input(op, i, axis));
    if (!dq_add_i64(joined.dims[axis], op->inputs[i]->dims[axis], &joined.dims[axis]))
      return dq_op_fail(op, DQ_BAD_INPUT, "the dimensions overflow 64 bits");
  }
  return dq_op_shape(op, 0, joined.type, joined.rank, joined.dims);
}

static dq_status run(dq_op *op) {
  const dq_tensor *output = op->outputs[0];
  size_t size = dq_dtype_size(output->type);
  int axis;
  DQ_TRY(read_axis(op, &axis));
  int64_t outer = dq_tensor_product(output, 0, axis);
  int64_t row = dq_tensor_product(output, axis, output->rank), at = 0;
  for (int i = 0; i < op->input_count; i++) {
    const dq_tensor *input = op->inputs[i];
    int64_t count = dq_tensor_product(input, axis, input->rank);
    if (dq_tensor_count(input) == 0) continue;
    dq_strided plan = {2, {outer, count}, {count, 1}, {row, 1}};
    char *to = (char *)output->data + (size_t)at * size;
    if (input->data != to) dq_strided_copy(op, &plan, size, input->data, to);
    at += count;
  }
  return DQ_OK;
}

static dq_status emit(dq_emission *to) {
  const dq_tensor *y = to->op->outputs[0];
  int axis;
  int64_t at = 0;
  char name[16];
  DQ_TRY(read_axis(to->op, &axis));
  int64_t outer = dq_tensor_product(y, 0, axis), row = dq_tensor_product(y, axis, y->rank);
  for (int i = 0; i < to->op->input_count; i++) {
    int64_t count = dq_tensor_product(to->op->inputs[i], axis, y->rank);
    if (!to->placed[i] && count) {
      dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", outer);
      dq_emit(to, "(void)memcpy(y0 + n * %" PRId64 " + %" PRId64 ", %s + n * %" PRId64 ", %" PRId64 ");", row, at,
              dq_emit_input(to, i, name), count, count * (int64_t)dq_dtype_size(y->type));
      dq_emit(to, "}");
    }
    at += count;
  }
  return DQ_OK;
}

const dq_operator dq_op_Concat = {
    .name = "Concat",
    .since = {1, 4, 11, 13},
    .inputs = {1, DQ_ANY_NUMBER},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"axis", DQ_ATTRIBUTE_INT, false}, {0}},
    .infer = infer,
    .run = run,
    .gradient = dq_gradient_concat,
    .emit = emit,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_COMBINE,
    .integer_form = DQ_FORM_CONCAT,
    .flags = DQ_OP_JOIN,
    .bound = DQ_BOUND_JOIN,
};
