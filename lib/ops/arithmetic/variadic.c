// Max, Min, Sum and Mean of any number of inputs that broadcast: one input after the other.
#include "lib/ops/common/elementwise.h"
#include "lib/ops/emit/emit.h"

// NaN wins over numbers, as in numpy and ONNX Runtime.
#define MAX x > y || x != x ? x : y
#define INTEGER_MAX x > y ? x : y
#define MIN x < y || x != x ? x : y
#define INTEGER_MIN x < y ? x : y
#define SUM x + y
DQ_EACH_FLOAT(DQ_LOOP2_FAST, Max, MAX)
DQ_EACH_INTEGER(DQ_LOOP2, Max, INTEGER_MAX)
DQ_EACH_FLOAT(DQ_LOOP2_FAST, Min, MIN)
DQ_EACH_INTEGER(DQ_LOOP2, Min, INTEGER_MIN)
DQ_EACH_FLOAT(DQ_LOOP2_FAST, Sum, SUM)
DQ_EACH_FLOAT(DQ_LOOP1, Divide, x / a)
DQ_EACH_NUMBER(DQ_LOOP2, First, x) // spreads the first input over the output
static dq_loop *const loops_Max[DQ_LOOP_TYPES] = {DQ_EACH_NUMBER(DQ_LOOP_ENTRY, Max)};
static dq_loop *const loops_Min[DQ_LOOP_TYPES] = {DQ_EACH_NUMBER(DQ_LOOP_ENTRY, Min)};
static dq_loop *const loops_Sum[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, Sum)};
static dq_loop *const loops_Divide[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, Divide)};
static dq_loop *const loops_First[DQ_LOOP_TYPES] = {DQ_EACH_NUMBER(DQ_LOOP_ENTRY, First)};

static dq_status check_inputs(const dq_op *op) {
  for (int i = 0; i < op->input_count; i++)
    if (!op->inputs[i]) return dq_op_fail(op, DQ_BAD_INPUT, "input %d is left out", i);
  return dq_op_same_types(op, 0);
}

static dq_status infer_variadic(dq_op *op) {
  DQ_TRY(check_inputs(op));
  return dq_infer_broadcast(op);
}

static dq_status accumulate(dq_op *op, dq_loop *const *loops) {
  DQ_TRY(check_inputs(op));
  int type = op->inputs[0]->type;
  if (!loops[type])
    return dq_op_fail(op, DQ_UNSUPPORTED, "operator %s of %s is not supported", op->row->name, dq_dtype_name(type));
  dq_tensor *output = op->outputs[0];
  const dq_tensor *pair[] = {op->inputs[0], op->inputs[op->input_count > 1]};
  dq_broadcast_run(op->context, 2, pair, output, (op->input_count > 1 ? loops : loops_First)[type], NULL, DQ_GRAIN);
  pair[0] = output;
  for (int i = 2; i < op->input_count; i++) {
    pair[1] = op->inputs[i];
    dq_broadcast_run(op->context, 2, pair, output, loops[type], NULL, DQ_GRAIN);
  }
  return DQ_OK;
}

static dq_status run_Max(dq_op *op) { return accumulate(op, loops_Max); }
static dq_status run_Min(dq_op *op) { return accumulate(op, loops_Min); }
static dq_status run_Sum(dq_op *op) { return accumulate(op, loops_Sum); }

static dq_status run_Mean(dq_op *op) {
  DQ_TRY(accumulate(op, loops_Sum));
  const double divisor[] = {op->input_count, 0};
  const dq_tensor *sum = op->outputs[0];
  dq_broadcast_run(op->context, 1, &sum, op->outputs[0], loops_Divide[sum->type], divisor, DQ_GRAIN);
  return DQ_OK;
}

static dq_status emit_fold(dq_emission *to) { return dq_emit_fold(to, "x"); }
static dq_status emit_Mean(dq_emission *to) {
  char end[32];
  snprintf(end, sizeof end, "x / %d", to->op->input_count);
  return dq_emit_fold(to, end);
}

#define ROW(NAME, VERSIONS, TYPES, COLOUR, QUANTIZATION, FORM, BOUND, ...)                                             \
  const dq_operator dq_op_##NAME = {.name = #NAME,                                                                     \
                                    .since = DQ_VERSIONS VERSIONS,                                                     \
                                    .inputs = {1, DQ_ANY_NUMBER},                                                      \
                                    .outputs = {1, 1},                                                                 \
                                    .types = TYPES,                                                                    \
                                    .attributes = dq_consumed_inputs,                                                  \
                                    .infer = infer_variadic,                                                           \
                                    .run = run_##NAME,                                                                 \
                                    .category = COLOUR,                                                                \
                                    .quantization = QUANTIZATION,                                                      \
                                    .integer_form = FORM,                                                              \
                                    .flags = DQ_OP_HALF,                                                               \
                                    .bound = BOUND,                                                                    \
                                    __VA_ARGS__};

ROW(Max, (1, 6, 8, 12, 13), DQ_TYPES_NUMBER, DQ_FOLLOW, DQ_QUANTIZE_NOT, DQ_FORM_FUNCTION, DQ_BOUND_COMBINE,
    .emit = emit_fold, .formula = DQ_FORMULA(MAX), .integer_formula = DQ_FORMULA(INTEGER_MAX))
ROW(Min, (1, 6, 8, 12, 13), DQ_TYPES_NUMBER, DQ_FOLLOW, DQ_QUANTIZE_NOT, DQ_FORM_FUNCTION, DQ_BOUND_COMBINE,
    .emit = emit_fold, .formula = DQ_FORMULA(MIN), .integer_formula = DQ_FORMULA(INTEGER_MIN))
ROW(Sum, (1, 6, 8, 13), DQ_TYPES_FLOAT, DQ_FOLLOW, DQ_QUANTIZE_COMBINE, DQ_FORM_NONE, DQ_BOUND_COMBINE,
    .emit = emit_fold, .formula = DQ_FORMULA(SUM))
ROW(Mean, (1, 6, 8, 13), DQ_TYPES_FLOAT, DQ_DENY, DQ_QUANTIZE_NOT, DQ_FORM_NONE, DQ_BOUND_UNKNOWN, .emit = emit_Mean,
    .formula = DQ_FORMULA(SUM))
