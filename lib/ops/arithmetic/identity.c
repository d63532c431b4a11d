// Operators that hand their input on: Identity, and Dropout at inference.
#include <string.h>

#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"

static void copy_elements(const dq_tensor *input, dq_tensor *output) {
  size_t bytes = dq_tensor_bytes(output);
  if (bytes && output->data != input->data) memcpy(output->data, input->data, bytes);
}

static dq_status run_Identity(dq_op *op) {
  copy_elements(op->inputs[0], op->outputs[0]);
  return DQ_OK;
}

const dq_operator dq_op_Identity = {
    .name = "Identity",
    .since = {1, 13, 14, 16, 19, 21, 23, 24, 25},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .infer = dq_infer_same,
    .run = run_Identity,
    .gradient = dq_gradient_view,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .flags = DQ_OP_VIEW | DQ_OP_IN_PLACE | DQ_OP_UNIFORM | DQ_OP_HOMOGENEOUS,
    .bound = DQ_BOUND_MOVE,
};

// The mask has the type of the input up to version 7 and is bool from 10.
static dq_status infer_Dropout(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  DQ_TRY(dq_op_shape(op, 1, op->version < 10 ? input->type : DQ_BOOL, input->rank, input->dims));
  return dq_infer_same(op);
}

static bool is_training(const dq_op *op) {
  if (op->version < 7) return !dq_node_int(op->node, "is_test", 0);
  return dq_op_known(op, 2) && dq_tensor_get(op->inputs[2], 0) != 0;
}

static float dropout_ratio(const dq_op *op) {
  if (op->version < 12) return dq_node_float(op->node, "ratio", 0.5f);
  return dq_op_known(op, 1) ? (float)dq_tensor_get(op->inputs[1], 0) : 0.5f;
}

static dq_status check_Dropout(const dq_op *op) {
  for (int i = 1; i < op->input_count; i++)
    if (op->inputs[i] && op->inputs[i]->rank >= 0 && dq_tensor_count(op->inputs[i]) != 1)
      return dq_op_fail(op, DQ_BAD_INPUT, "input %d is not a scalar", i);
  return DQ_OK;
}

static dq_status run_Dropout(dq_op *op) {
  DQ_TRY(check_Dropout(op));
  if (is_training(op) && dropout_ratio(op) != 0)
    return dq_op_fail(op, DQ_UNSUPPORTED, "Dropout in training mode is not supported");
  copy_elements(op->inputs[0], op->outputs[0]);
  dq_tensor *mask = dq_op_output(op, 1);
  int64_t count = mask ? dq_tensor_count(mask) : 0;
  for (int64_t i = 0; i < count; i++) dq_tensor_set(mask, i, 1);
  return DQ_OK;
}

static dq_status emit_Dropout(dq_emission *to) {
  const dq_op *op = to->op;
  const long long count = dq_tensor_count(op->inputs[0]);
  if (is_training(op) && dropout_ratio(op) != 0)
    return dq_op_fail(op, DQ_UNSUPPORTED, "Dropout in training mode is not supported");
  dq_emit(to, "for (int32_t i = 0; i < %lld; i++) y0[i] = x0[i];", count);
  if (dq_op_output(op, 1)) dq_emit(to, "for (int32_t i = 0; i < %lld; i++) y1[i] = 1;", count);
  return DQ_OK;
}

static const dq_attribute_rule dropout_attributes[] = {{"consumed_inputs", DQ_ATTRIBUTE_INTS, false},
                                                       {"is_test", DQ_ATTRIBUTE_INT, false},
                                                       {"ratio", DQ_ATTRIBUTE_FLOAT, false},
                                                       {"seed", DQ_ATTRIBUTE_INT, false},
                                                       {0}};
const dq_operator dq_op_Dropout = {
    .name = "Dropout",
    .since = {1, 6, 7, 10, 12, 13, 22},
    .inputs = {1, 3},
    .outputs = {1, 2},
    .types = DQ_TYPES_FLOAT,
    .attributes = dropout_attributes,
    .check = check_Dropout,
    .infer = infer_Dropout,
    .run = run_Dropout,
    .gradient = dq_gradient_view,
    .emit = emit_Dropout,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .integer_form = DQ_FORM_NONE,
    .flags = DQ_OP_IN_PLACE,
    .bound = DQ_BOUND_MOVE,
};
