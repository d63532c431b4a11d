// QAdd, QSub, QMul: what execution copies contain where a file has two DequantizeLinear, Add, Sub or Mul,
// and QuantizeLinear, with bounds for a Relu or Clip. The bits are those of the operators one by one.
#include <string.h>

#include "lib/kernels/array/array.h"
#include "lib/ops/elementwise.h"
#include "lib/ops/quantized.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO, INPUTS };
enum { TYPES_8_BIT = DQ_BIT(DQ_U8) | DQ_BIT(DQ_I8) };

static dq_status infer(dq_op *op) {
  const int operands[] = {A, A_ZERO, B, B_ZERO, Y_ZERO}, scales[] = {A_SCALE, B_SCALE, Y_SCALE};
  for (int i = 0; i < 5; i++) DQ_TRY(dq_check_input_type(op, operands[i], TYPES_8_BIT));
  for (int i = 0; i < 3; i++) DQ_TRY(dq_check_input_type(op, scales[i], DQ_BIT(DQ_F32)));
  dq_op pair = *op; // shapes of the operands alone
  const dq_tensor *tensors[] = {op->inputs[A], op->inputs[B]};
  pair.inputs = tensors;
  pair.input_count = 2;
  int rank;
  int64_t dims[DQ_MAX_RANK];
  DQ_TRY(dq_op_broadcast(&pair, 2, &rank, dims));
  return dq_op_shape(op, 0, op->inputs[Y_ZERO]->type, rank, dims);
}

// Parameters of the rows.
static dq_status read_row(const dq_op *op, double sign_of_b, dq_pair_row *row) {
  *row = (dq_pair_row){.a_signed = op->inputs[A]->type == DQ_I8,
                       .b_signed = op->inputs[B]->type == DQ_I8,
                       .a_scale = (float)dq_tensor_get(op->inputs[A_SCALE], 0),
                       .b_scale = (float)(dq_tensor_get(op->inputs[B_SCALE], 0) * sign_of_b),
                       .scale = (float)dq_tensor_get(op->inputs[Y_SCALE], 0),
                       .a_zero_point = (int32_t)dq_tensor_get_i64(op->inputs[A_ZERO], 0),
                       .b_zero_point = (int32_t)dq_tensor_get_i64(op->inputs[B_ZERO], 0),
                       .zero_point = (int32_t)dq_tensor_get_i64(op->inputs[Y_ZERO], 0)};
  return dq_read_bounds(op, op->inputs[Y_ZERO]->type == DQ_I8, &row->low, &row->high);
}

static double sign_of_b(const dq_op *op) { return !strcmp(op->row->name, "QSub") ? -1 : 1; }

// Looking for the short way takes as long as adding some ten thousand elements.
static dq_status prepare_sum(dq_op *op, dq_arena *arena) {
  enum { WORTH = 1 << 14 };
  for (int i = 0; i < INPUTS; i++)
    if (i != A && i != B && !dq_op_known(op, i)) return DQ_OK;
  dq_pair_row *row = DQ_NEW(arena, dq_pair_row);
  if (!row) return dq_fail_memory(op->error, sizeof *row);
  DQ_TRY(read_row(op, sign_of_b(op), row));
  if (dq_tensor_count(op->outputs[0]) >= WORTH) dq_add_8_shorten(op->context->cpu, row);
  op->state = row;
  return DQ_OK;
}

// What the loops need, handed on as the numbers that lanes carry.
enum {
  SCALE_A,
  SCALE_B,
  SCALE,
  ZERO_A,
  ZERO_B,
  ZERO,
  SIGNED_A,
  SIGNED_B,
  LOW,
  HIGH,
  SHORT,
  FACTOR_A,
  FACTOR_B,
  OFFSET,
  NUMBERS
};

static dq_pair_row row_of(const dq_lane *lane) {
  const double *n = lane->parameters;
  return (dq_pair_row){.a = lane->inputs[0],
                       .b = lane->inputs[1],
                       .a_step = (int)lane->strides[0],
                       .b_step = (int)lane->strides[1],
                       .a_signed = n[SIGNED_A] != 0,
                       .b_signed = n[SIGNED_B] != 0,
                       .a_scale = (float)n[SCALE_A],
                       .b_scale = (float)n[SCALE_B],
                       .scale = (float)n[SCALE],
                       .a_zero_point = (int32_t)n[ZERO_A],
                       .b_zero_point = (int32_t)n[ZERO_B],
                       .zero_point = (int32_t)n[ZERO],
                       .low = (int32_t)n[LOW],
                       .high = (int32_t)n[HIGH],
                       .is_short = n[SHORT] != 0,
                       .a_factor = (float)n[FACTOR_A],
                       .b_factor = (float)n[FACTOR_B],
                       .offset = (float)n[OFFSET],
                       .output = lane->output,
                       .count = lane->count};
}

static void add(const dq_lane *lane) {
  dq_pair_row row = row_of(lane);
  dq_add_8(lane->cpu, &row);
}

static void multiply(const dq_lane *lane) {
  dq_pair_row row = row_of(lane);
  dq_multiply_8(lane->cpu, &row);
}

static dq_status run_loop(dq_op *op, dq_loop *loop) {
  dq_pair_row row;
  if (op->state) row = *(const dq_pair_row *)op->state;
  else DQ_TRY(read_row(op, sign_of_b(op), &row));
  const double numbers[NUMBERS] = {[SCALE_A] = row.a_scale,     [SCALE_B] = row.b_scale,     [SCALE] = row.scale,
                                   [ZERO_A] = row.a_zero_point, [ZERO_B] = row.b_zero_point, [ZERO] = row.zero_point,
                                   [SIGNED_A] = row.a_signed,   [SIGNED_B] = row.b_signed,   [LOW] = row.low,
                                   [HIGH] = row.high,           [SHORT] = row.is_short,      [FACTOR_A] = row.a_factor,
                                   [FACTOR_B] = row.b_factor,   [OFFSET] = row.offset};
  const dq_tensor *operands[] = {op->inputs[A], op->inputs[B]};
  dq_broadcast_run(op->context, 2, operands, op->outputs[0], loop, numbers, DQ_GRAIN);
  return DQ_OK;
}

static dq_status run_sum(dq_op *op) { return run_loop(op, add); }
static dq_status run_product(dq_op *op) { return run_loop(op, multiply); }

static const dq_attribute_rule attributes[] = {
    {"clamp_high", DQ_ATTRIBUTE_INT, false}, {"clamp_low", DQ_ATTRIBUTE_INT, false}, {0}};

#define ROW(NAME, run_of, prepare_of)                                                                                  \
  const dq_operator dq_op_##NAME = {                                                                                   \
      .name = #NAME,                                                                                                   \
      .domain = "dq",                                                                                                  \
      .since = {1},                                                                                                    \
      .inputs = {INPUTS, INPUTS},                                                                                      \
      .outputs = {1, 1},                                                                                               \
      .types = TYPES_8_BIT,                                                                                            \
      .attributes = attributes,                                                                                        \
      .infer = infer,                                                                                                  \
      .run = run_of,                                                                                                   \
      .prepare = prepare_of,                                                                                           \
      .category = DQ_DENY,                                                                                             \
      .quantization = DQ_QUANTIZE_NOT,                                                                                 \
      .flags = DQ_OP_IN_PLACE,                                                                                         \
  };
ROW(QAdd, run_sum, prepare_sum)
ROW(QSub, run_sum, prepare_sum)
ROW(QMul, run_product, NULL)
