// Where: elements of input 1 where the condition holds, of input 2 elsewhere; all broadcast.
#include "lib/ops/common/elementwise.h"
#include "lib/ops/emit/emit.h"

// Elements are only moved: one loop per size serves all types.
#define WHERE(size)                                                                                                    \
  static void where_##size(const dq_lane *lane) {                                                                      \
    const uint8_t *condition = lane->inputs[0];                                                                        \
    const uint##size##_t *p = lane->inputs[1], *q = lane->inputs[2];                                                   \
    const int64_t r = lane->strides[0], s = lane->strides[1], t = lane->strides[2];                                    \
    uint##size##_t *out = lane->output;                                                                                \
    for (int64_t i = 0; i < lane->count; i++) {                                                                        \
      const uint##size##_t x = p[i * s], y = q[i * t];                                                                 \
      out[i] = condition[i * r] ? x : y;                                                                               \
    }                                                                                                                  \
  }
WHERE(8)
WHERE(16)
WHERE(32)
WHERE(64)

static dq_status infer_Where(dq_op *op) {
  DQ_TRY(dq_op_same_types(op, 1));
  if (op->inputs[0]->type != DQ_BOOL)
    return dq_op_fail(op, DQ_BAD_INPUT, "the condition is of type %s, expected bool",
                      dq_dtype_name(op->inputs[0]->type));
  int rank;
  int64_t dims[DQ_MAX_RANK];
  DQ_TRY(dq_op_broadcast(op, 3, &rank, dims));
  return dq_op_shape(op, 0, op->inputs[1]->type, rank, dims);
}

static dq_status run_Where(dq_op *op) {
  static dq_loop *const loops[] = {[1] = where_8, [2] = where_16, [4] = where_32, [8] = where_64};
  DQ_TRY(dq_op_same_types(op, 1));
  int type = op->inputs[1]->type;
  if (!dq_dtype_computable(type))
    return dq_op_fail(op, DQ_UNSUPPORTED, "operator Where of %s is not supported", dq_dtype_name(type));
  dq_broadcast_run(op->context, 3, op->inputs, op->outputs[0], loops[dq_dtype_size(type)], NULL, DQ_GRAIN);
  return DQ_OK;
}

static dq_status emit_Where(dq_emission *to) { return dq_emit_elements(to, "x != 0 ? y : z"); }

const dq_operator dq_op_Where = {
    .name = "Where",
    .since = {9, 16},
    .inputs = {3, 3},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_BOOL),
    .infer = infer_Where,
    .run = run_Where,
    .emit = emit_Where,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_NOT,
    .bound = DQ_BOUND_COMBINE,
};
