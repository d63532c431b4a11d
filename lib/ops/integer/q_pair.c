// QAdd, QSub, QMul: what execution copies contain where a file has two DequantizeLinear, Add, Sub or Mul,
// and QuantizeLinear, with bounds for a Relu or Clip. The bits are those of the operators one by one.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/kernels/array/array.h"
#include "lib/kernels/reference/scalar.h"
#include "lib/ops/common/elementwise.h"
#include "lib/ops/common/quantized.h"
#include "lib/ops/emit/emit.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO, INPUTS };

static dq_status infer(dq_op *op) {
  const int operands[] = {A, A_ZERO, B, B_ZERO, Y_ZERO}, scales[] = {A_SCALE, B_SCALE, Y_SCALE};
  for (int i = 0; i < 5; i++) DQ_TRY(dq_check_input_type(op, operands[i], DQ_TYPES_8_BIT));
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
  enum { WORTH = 1 << 12 };
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
  WEIGHT_A,
  WEIGHT_B,
  UNIT,
  START,
  EXCEPTION_COUNT,
  EXCEPTIONS,
  NUMBERS = EXCEPTIONS + DQ_PAIR_EXCEPTIONS
};

static dq_pair_row row_of(const dq_lane *lane) {
  const double *n = lane->parameters;
  dq_pair_row row = {.a = lane->inputs[0],
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
                     .a_weight = (int32_t)n[WEIGHT_A],
                     .b_weight = (int32_t)n[WEIGHT_B],
                     .unit = (float)n[UNIT],
                     .start = (float)n[START],
                     .exception_count = (int)n[EXCEPTION_COUNT],
                     .output = lane->output,
                     .count = lane->count};
  for (int e = 0; e < row.exception_count; e++) row.exceptions[e] = (uint32_t)n[EXCEPTIONS + e];
  return row;
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
  double numbers[NUMBERS] = {[SCALE_A] = row.a_scale,
                             [SCALE_B] = row.b_scale,
                             [SCALE] = row.scale,
                             [ZERO_A] = row.a_zero_point,
                             [ZERO_B] = row.b_zero_point,
                             [ZERO] = row.zero_point,
                             [SIGNED_A] = row.a_signed,
                             [SIGNED_B] = row.b_signed,
                             [LOW] = row.low,
                             [HIGH] = row.high,
                             [SHORT] = row.is_short,
                             [FACTOR_A] = row.a_factor,
                             [FACTOR_B] = row.b_factor,
                             [OFFSET] = row.offset,
                             [WEIGHT_A] = row.a_weight,
                             [WEIGHT_B] = row.b_weight,
                             [UNIT] = row.unit,
                             [START] = row.start,
                             [EXCEPTION_COUNT] = row.exception_count};
  for (int e = 0; e < row.exception_count; e++) numbers[EXCEPTIONS + e] = row.exceptions[e];
  const dq_tensor *operands[] = {op->inputs[A], op->inputs[B]};
  dq_broadcast_run(op->context, 2, operands, op->outputs[0], loop, numbers, DQ_GRAIN);
  return DQ_OK;
}

static dq_status run_sum(dq_op *op) { return run_loop(op, add); }
static dq_status run_product(dq_op *op) { return run_loop(op, multiply); }

// ---- C ----

// The result of the definition for two stored numbers, which are bytes.
static uint8_t result_of(const dq_pair_row *row, bool product, uint8_t a, uint8_t b) {
  dq_pair_row one = *row;
  uint8_t output;
  one.a = &a, one.b = &b, one.output = &output, one.count = 1, one.a_step = one.b_step = 0;
  if (product) dq_multiply_8(0, &one);
  else dq_add_8(0, &one);
  return output;
}

enum { PAIRS = 1 << 16, MOST_EXCEPTIONS = 8 };

// A pair of stored numbers of which the form gives another result than the definition, and what is added to it.
typedef struct pair_exception {
  int32_t a, b, correction;
} pair_exception;

// q = (a * factor_a + b * factor_b + offset) >> shift, or of a product (a - zero)(b - zero) * factor_a.
typedef struct pair_form {
  int32_t factor_a, factor_b;
  int64_t offset;
  int shift, exception_count;
  pair_exception exceptions[MOST_EXCEPTIONS];
} pair_form;

// The pair `i`, its result by the definition, and what the form shifts for it, without offset.
typedef struct pair_case {
  int32_t a, b, q;
  int64_t sum;
} pair_case;

static pair_case case_of(const dq_pair_row *row, bool product, const pair_form *form, int i) {
  uint8_t left = (uint8_t)(i >> 8), right = (uint8_t)i;
  pair_case c = {dq_int8_value(left, row->a_signed), dq_int8_value(right, row->b_signed),
                 dq_int8_value(result_of(row, product, left, right), row->low < 0), 0};
  c.sum = product ? (int64_t)(c.a - row->a_zero_point) * (c.b - row->b_zero_point) * form->factor_a
                  : (int64_t)c.a * form->factor_a + (int64_t)c.b * form->factor_b;
  return c;
}

// Finds an offset with which the form gives the result of the definition for all pairs.
static bool find_offset(const dq_pair_row *row, bool product, pair_form *form) {
  int64_t lowest = INT64_MIN, highest = INT64_MAX;
  for (int i = 0; i < PAIRS; i++) {
    const pair_case c = case_of(row, product, form, i);
    int64_t at_least = c.q * (INT64_C(1) << form->shift) - c.sum;
    int64_t at_most = at_least + (INT64_C(1) << form->shift) - 1;
    if (c.q > row->low && at_least > lowest) lowest = at_least;
    if (c.q < row->high && at_most < highest) highest = at_most;
  }
  // A side is open where no result lies beyond the other end of the integers.
  if (lowest == INT64_MIN) form->offset = highest == INT64_MAX ? 0 : highest;
  else form->offset = highest == INT64_MAX ? lowest : lowest + (highest - lowest) / 2;
  return lowest <= highest;
}

// Finds the pairs that are exceptions with the offset that exact arithmetic has. False: there are too many.
static bool find_exceptions(const dq_pair_row *row, bool product, pair_form *form) {
  form->offset = ((int64_t)2 * row->zero_point + 1) * (INT64_C(1) << (form->shift - 1));
  if (!product)
    form->offset -= (int64_t)row->a_zero_point * form->factor_a + (int64_t)row->b_zero_point * form->factor_b;
  for (int i = 0; i < PAIRS; i++) {
    const pair_case c = case_of(row, product, form, i);
    const int64_t q = dq_min_i64(dq_max_i64((c.sum + form->offset) >> form->shift, row->low), row->high);
    if (q == c.q) continue;
    if (form->exception_count == MOST_EXCEPTIONS) return false;
    form->exceptions[form->exception_count++] = (pair_exception){c.a, c.b, c.q - (int32_t)q};
  }
  return true;
}

// The form with the least shift, without exceptions where there is one.
static bool find_form(const dq_pair_row *row, bool product, pair_form *form) {
  static bool (*const finds[])(const dq_pair_row *, bool, pair_form *) = {find_offset, find_exceptions};
  static const int shifts[] = {16, 20, 30};
  double a = (double)row->a_scale / (double)row->scale, b = (double)row->b_scale / (double)row->scale;
  if (product) a *= (double)row->b_scale, b = 0;
  for (int f = 0; f < 2; f++)
    for (int i = 0; i < DQ_COUNT(shifts); i++) {
      double factor_a = rint(ldexp(a, shifts[i])), factor_b = rint(ldexp(b, shifts[i]));
      if (!(fabs(factor_a) < 0x1p31) || !(fabs(factor_b) < 0x1p31)) break;
      *form = (pair_form){.factor_a = (int32_t)factor_a, .factor_b = (int32_t)factor_b, .shift = shifts[i]};
      if (finds[f](row, product, form)) return true;
    }
  return false;
}

// Whether 32 bits hold the sum with its offset, and the results of all multiplications.
static bool fits_32_bits(const dq_pair_row *row, bool product, const pair_form *form) {
  int64_t most = 0;
  for (int i = 0; i < PAIRS; i++) {
    const pair_case c = case_of(row, product, form, i);
    const int64_t by_a = product ? c.sum : (int64_t)c.a * form->factor_a, by_b = c.sum - by_a;
    most = dq_max_i64(most, dq_max_i64(llabs(c.sum), llabs(c.sum + form->offset)));
    most = dq_max_i64(most, dq_max_i64(llabs(by_a), llabs(by_b)));
  }
  return most <= INT32_MAX;
}

static void emit_form(dq_emission *to, const dq_pair_row *row, bool product, const pair_form *form,
                      const char *target) {
  const bool narrow = fits_32_bits(row, product, form);
  const char *type = narrow ? "int32_t" : "int64_t", *cast = narrow ? "" : "(int64_t)";
  if (product)
    dq_emit(to, "const %s sum = %s(a - %d) * (b - %d) * %d;", type, cast, row->a_zero_point, row->b_zero_point,
            form->factor_a);
  else dq_emit(to, "const %s sum = %sa * %d + %sb * %d;", type, cast, form->factor_a, cast, form->factor_b);
  dq_emit(to, "%s%s q = (sum %c %lld) >> %d;", form->exception_count ? "" : "const ", type,
          form->offset < 0 ? '-' : '+', llabs(form->offset), form->shift);
  for (int e = 0; e < form->exception_count; e++) {
    dq_emit(to, "if (a == %d && b == %d) {", form->exceptions[e].a, form->exceptions[e].b);
    dq_emit(to, "q += %d;", form->exceptions[e].correction);
    dq_emit(to, "}");
  }
  dq_emit(to, "%s = (%s)(q < %d ? %d : q > %d ? %d : q);", target, row->low < 0 ? "int8_t" : "uint8_t", row->low,
          row->low, row->high, row->high);
}

// Prints the statement behind `const int32_t a, b`.
static void emit_result(dq_emission *to, const dq_pair_row *row, bool product, const char *target) {
  pair_form form;
  char scales[3][48];
  to->channels++;
  if (find_form(row, product, &form)) {
    emit_form(to, row, product, &form, target);
    to->exceptions += form.exception_count;
    return;
  }
  to->slow_channels++;
  dq_emit_need(to, DQ_EMIT_ROUND);
  dq_emit(to, "const float x = (float)(a - %d) * %s, y = (float)(b - %d) * %s;", row->a_zero_point,
          dq_emit_real(row->a_scale, scales[0]), row->b_zero_point, dq_emit_real(row->b_scale, scales[1]));
  dq_emit(to, "const float sum = x %c y;", product ? '*' : '+');
  dq_emit(to, "%s = (%s)dq_round(sum / %s, %d, %d, %d);", target, row->low < 0 ? "int8_t" : "uint8_t",
          dq_emit_real(row->scale, scales[2]), row->zero_point, row->low, row->high);
}

static dq_status emit(dq_emission *to) {
  const dq_op *op = to->op;
  const dq_tensor *y = op->outputs[0];
  dq_pair_row row;
  char a[16], b[16], index[DQ_EMIT_OPERANDS][160], target[200];
  for (int i = 0; i < INPUTS; i++)
    if (i != A && i != B && !dq_op_known(op, i)) return dq_op_fail(op, DQ_UNSUPPORTED, "its parameters are computed");
  DQ_TRY(read_row(op, sign_of_b(op), &row));
  dq_emit_nest nest = dq_emit_nest_of(y->rank, y->dims);
  dq_emit_broadcast(&nest, op->inputs[A]);
  dq_emit_broadcast(&nest, op->inputs[B]);
  dq_emit_input(to, A, a);
  dq_emit_input(to, B, b);
  int loops = dq_emit_loops(to, &nest, index);
  dq_emit(to, "const int32_t a = %s[%s], b = %s[%s];", a, index[1], b, index[2]);
  snprintf(target, sizeof target, "y0[%s]", index[0]);
  emit_result(to, &row, !strcmp(op->row->name, "QMul"), target);
  dq_emit_close(to, loops);
  return DQ_OK;
}

static const dq_attribute_rule attributes[] = {
    {"clamp_high", DQ_ATTRIBUTE_INT, false}, {"clamp_low", DQ_ATTRIBUTE_INT, false}, {0}};

#define ROW(NAME, run_of, prepare_of)                                                                                  \
  const dq_operator dq_op_##NAME = {                                                                                   \
      .name = #NAME,                                                                                                   \
      .domain = "dq",                                                                                                  \
      .since = {1},                                                                                                    \
      .inputs = {INPUTS, INPUTS},                                                                                      \
      .outputs = {1, 1},                                                                                               \
      .types = DQ_TYPES_8_BIT,                                                                                         \
      .attributes = attributes,                                                                                        \
      .infer = infer,                                                                                                  \
      .run = run_of,                                                                                                   \
      .prepare = prepare_of,                                                                                           \
      .emit = emit,                                                                                                    \
      .category = DQ_DENY,                                                                                             \
      .quantization = DQ_QUANTIZE_NOT,                                                                                 \
      .flags = DQ_OP_IN_PLACE,                                                                                         \
  };
ROW(QAdd, run_sum, prepare_sum)
ROW(QSub, run_sum, prepare_sum)
ROW(QMul, run_product, NULL)
