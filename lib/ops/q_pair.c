// QAdd, QSub, QMul: what execution copies contain where a file has two DequantizeLinear, Add, Sub or Mul,
// and QuantizeLinear, with bounds for a Relu or Clip. The bits are those of the operators one by one.
#include "lib/kernels/kernels.h"
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

// What the loops need, handed on as the numbers that lanes carry.
enum { SCALE_A, SCALE_B, SCALE, ZERO_A, ZERO_B, ZERO, SIGNED_A, SIGNED_B, LOW, HIGH, NUMBERS };

static dq_pair_row row_of(const dq_lane *lane) {
  const double *n = lane->parameters;
  return (dq_pair_row){.a = lane->inputs[0], .b = lane->inputs[1],
                       .a_step = (int)lane->strides[0], .b_step = (int)lane->strides[1],
                       .a_signed = n[SIGNED_A] != 0, .b_signed = n[SIGNED_B] != 0,
                       .a_scale = (float)n[SCALE_A], .b_scale = (float)n[SCALE_B], .scale = (float)n[SCALE],
                       .a_zero_point = (int32_t)n[ZERO_A], .b_zero_point = (int32_t)n[ZERO_B],
                       .zero_point = (int32_t)n[ZERO], .low = (int32_t)n[LOW], .high = (int32_t)n[HIGH],
                       .output = lane->output, .count = lane->count};
}

static void add(const dq_lane *lane) {
  dq_pair_row row = row_of(lane);
  dq_add_8(lane->cpu, &row);
}

static void multiply(const dq_lane *lane) {
  dq_pair_row row = row_of(lane);
  dq_multiply_8(lane->cpu, &row);
}

static dq_status run(dq_op *op, dq_loop *loop, double sign_of_b) {
  double numbers[NUMBERS];
  const int from[] = {A_SCALE, B_SCALE, Y_SCALE, A_ZERO, B_ZERO, Y_ZERO};
  for (int i = 0; i < 6; i++) numbers[i] = dq_tensor_get(op->inputs[from[i]], 0);
  numbers[SCALE_B] *= sign_of_b;
  numbers[SIGNED_A] = op->inputs[A]->type == DQ_I8;
  numbers[SIGNED_B] = op->inputs[B]->type == DQ_I8;
  int32_t low, high;
  DQ_TRY(dq_read_bounds(op, op->outputs[0]->type == DQ_I8, &low, &high));
  numbers[LOW] = low;
  numbers[HIGH] = high;
  const dq_tensor *operands[] = {op->inputs[A], op->inputs[B]};
  dq_broadcast_run(op->context, 2, operands, op->outputs[0], loop, numbers, DQ_GRAIN);
  return DQ_OK;
}

static dq_status run_QAdd(dq_op *op) { return run(op, add, 1); }
static dq_status run_QSub(dq_op *op) { return run(op, add, -1); }
static dq_status run_QMul(dq_op *op) { return run(op, multiply, 1); }

static const dq_attribute_rule attributes[] = {
    {"clamp_high", DQ_ATTRIBUTE_INT, false}, {"clamp_low", DQ_ATTRIBUTE_INT, false}, {0}};

#define ROW(NAME)                                                                                  \
  const dq_operator dq_op_##NAME = {                                                               \
      .name = #NAME,                                                                               \
      .domain = "dq",                                                                              \
      .since = {1},                                                                                \
      .inputs = {INPUTS, INPUTS},                                                                  \
      .outputs = {1, 1},                                                                           \
      .types = TYPES_8_BIT,                                                                        \
      .attributes = attributes,                                                                    \
      .infer = infer,                                                                              \
      .run = run_##NAME,                                                                           \
      .colour = DQ_DENY,                                                                           \
      .quantization = DQ_QUANTIZE_NOT,                                                             \
      .flags = DQ_OP_IN_PLACE,                                                                     \
  };
ROW(QAdd)
ROW(QSub)
ROW(QMul)
