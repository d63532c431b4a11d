// Functions of one value: arithmetic, rounding, trigonometry, tests.
#include "lib/kernels/array/array.h"
#include "lib/kernels/reference/function_wide.h"
#include "lib/ops/common/elementwise.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"

#include <tgmath.h> // sinh and so on in the type of x

// Expressions of loops are the formulas of emitted C as well, which name the functions of float32; in loops each is the
// function of the type of x.
#define TYPED(NAME, x) _Generic((x), float : (NAME##f), default : (NAME))(x)
#define ceilf(x) TYPED(ceil, x)
#define cosf(x) TYPED(cos, x)
#define fabsf(x) TYPED(fabs, x)
#define floorf(x) TYPED(floor, x)
#define logf(x) TYPED(log, x)
#define nearbyintf(x) TYPED(nearbyint, x)
#define sinf(x) TYPED(sin, x)
#define sqrtf(x) TYPED(sqrt, x)

#define ROW(NAME, VERSIONS, TYPES, COLOUR, INFER, ATTRIBUTES, ...)                                                     \
  DQ_ELEMENTWISE_ROW(NAME, VERSIONS, (1, 1), TYPES, ATTRIBUTES, INFER, .category = COLOUR,                             \
                     .quantization = DQ_QUANTIZE_NOT, .flags = __VA_ARGS__)

// An operator on floats only.
#define FLOAT_FUNCTION(NAME, VERSIONS, COLOUR, GRAIN, EXPRESSION, ...)                                                 \
  DQ_EACH_FLOAT(DQ_LOOP1, NAME, EXPRESSION)                                                                            \
  LOOPED(NAME, VERSIONS, COLOUR, GRAIN, .emit = dq_emit_formula, .formula = #EXPRESSION, __VA_ARGS__)
// The same with loops NAME_F32 and NAME_F64 written already.
#define LOOPED(NAME, VERSIONS, COLOUR, GRAIN, ...)                                                                     \
  static dq_loop *const loops_##NAME[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, NAME)};                            \
  DQ_RUN_LOOPS(NAME, GRAIN)                                                                                            \
  ROW(NAME, VERSIONS, DQ_TYPES_FLOAT, COLOUR, dq_infer_same, dq_consumed_inputs,                                       \
      DQ_OP_HALF | DQ_OP_IN_PLACE | DQ_OP_ELEMENTWISE | DQ_OP_UNIFORM, __VA_ARGS__)

// The loop of float32 calls the function of function_wide.h, that of float64 the one of the C library.
#define WIDE_FUNCTION(NAME, VERSIONS, FUNCTION)                                                                        \
  DQ_LOOP1(NAME, dq_##FUNCTION##_one(x), F32, float)                                                                   \
  DQ_LOOP1(NAME, FUNCTION(x), F64, double)                                                                             \
  LOOPED(NAME, VERSIONS, DQ_DENY, DQ_GRAIN_FUNCTION, .emit = dq_emit_formula, .formula = "dq_" #FUNCTION "_one(x)",    \
         .bound = DQ_BOUND_UNKNOWN)

FLOAT_FUNCTION(Ceil, (1, 6, 13), DQ_FOLLOW, DQ_GRAIN, ceilf(x), .integer_form = DQ_FORM_FUNCTION,
               .bound = DQ_BOUND_UNKNOWN)
FLOAT_FUNCTION(Floor, (1, 6, 13), DQ_FOLLOW, DQ_GRAIN, floorf(x), .integer_form = DQ_FORM_FUNCTION,
               .bound = DQ_BOUND_UNKNOWN)
FLOAT_FUNCTION(Round, (11, 22), DQ_FOLLOW, DQ_GRAIN, nearbyintf(x), .integer_form = DQ_FORM_FUNCTION,
               .bound = DQ_BOUND_UNKNOWN) // ties to even
FLOAT_FUNCTION(Sqrt, (1, 6, 13), DQ_FOLLOW, DQ_GRAIN, sqrtf(x), .integer_form = DQ_FORM_FUNCTION,
               .bound = DQ_BOUND_UNKNOWN)
FLOAT_FUNCTION(Reciprocal, (1, 6, 13), DQ_DENY, DQ_GRAIN, 1.0f / x, .integer_form = DQ_FORM_FUNCTION,
               .bound = DQ_BOUND_UNKNOWN)
DQ_KERNEL_LOOP(Exp_F32, dq_exp_f32)
DQ_LOOP1(Exp, exp(x), F64, double)
LOOPED(Exp, (1, 6, 13), DQ_DENY, DQ_GRAIN, .emit = dq_emit_formula, .formula = "dq_exp_one(x)",
       .integer_form = DQ_FORM_FUNCTION, .bound = DQ_BOUND_UNKNOWN)
FLOAT_FUNCTION(Log, (1, 6, 13), DQ_DENY, DQ_GRAIN_FUNCTION, logf(x), .integer_form = DQ_FORM_FUNCTION,
               .bound = DQ_BOUND_UNKNOWN)
DQ_KERNEL_LOOP(Erf_F32, dq_erf_f32)
DQ_LOOP1(Erf, erf(x), F64, double)
LOOPED(Erf, (9, 13), DQ_DENY, DQ_GRAIN_FUNCTION, .emit = dq_emit_formula, .formula = "dq_erf_one(x)",
       .integer_form = DQ_FORM_FUNCTION, .bound = DQ_BOUND_SQUEEZE, .range = {-1, 1})
FLOAT_FUNCTION(Sin, (7, 22), DQ_DENY, DQ_GRAIN_FUNCTION, sinf(x), .bound = DQ_BOUND_UNKNOWN)
FLOAT_FUNCTION(Cos, (7, 22), DQ_DENY, DQ_GRAIN_FUNCTION, cosf(x), .bound = DQ_BOUND_UNKNOWN)
WIDE_FUNCTION(Tan, (7, 22), tan)
WIDE_FUNCTION(Asin, (7, 22), asin)
WIDE_FUNCTION(Acos, (7, 22), acos)
WIDE_FUNCTION(Atan, (7, 22), atan)
WIDE_FUNCTION(Sinh, (9, 22), sinh)
WIDE_FUNCTION(Cosh, (9, 22), cosh)
WIDE_FUNCTION(Asinh, (9, 22), asinh)
WIDE_FUNCTION(Acosh, (9, 22), acosh)
WIDE_FUNCTION(Atanh, (9, 22), atanh)

// ---- With integers ----

// Negation modulo 2^bits, so that the most negative number is no overflow.
#define NEGATED(type) (type)(0u - (uint64_t)x)
#define ABS_SIGNED(NAME, symbol, type) DQ_LOOP1(NAME, x < 0 ? NEGATED(type) : x, symbol, type)
#define NEG_SIGNED(NAME, symbol, type) DQ_LOOP1(NAME, NEGATED(type), symbol, type)

DQ_EACH_FLOAT(DQ_LOOP1, Abs, fabsf(x))
DQ_EACH_SIGNED(ABS_SIGNED, Abs)
DQ_EACH_UNSIGNED(DQ_LOOP1, Abs, x)
static dq_loop *const loops_Abs[DQ_LOOP_TYPES] = {DQ_EACH_NUMBER(DQ_LOOP_ENTRY, Abs)};
DQ_RUN_LOOPS(Abs, DQ_GRAIN)
ROW(Abs, (1, 6, 13), DQ_TYPES_NUMBER, DQ_FOLLOW, dq_infer_same, dq_consumed_inputs,
    DQ_OP_HALF | DQ_OP_IN_PLACE | DQ_OP_ELEMENTWISE | DQ_OP_UNIFORM, .emit = dq_emit_formula, .formula = "fabsf(x)",
    .gradient = dq_gradient_by_input, .integer_formula = "x < 0 ? 0u - (uint64_t)x : (uint64_t)x",
    .natural_formula = "x", .integer_form = DQ_FORM_FUNCTION)

DQ_EACH_FLOAT(DQ_LOOP1, Neg, -x)
DQ_EACH_SIGNED(NEG_SIGNED, Neg)
static dq_loop *const loops_Neg[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, Neg) DQ_EACH_SIGNED(DQ_LOOP_ENTRY, Neg)};
DQ_RUN_LOOPS(Neg, DQ_GRAIN)
ROW(Neg, (1, 6, 13), DQ_TYPES_FLOAT | DQ_TYPES_SIGNED, DQ_FOLLOW, dq_infer_same, dq_consumed_inputs,
    DQ_OP_HALF | DQ_OP_IN_PLACE | DQ_OP_ELEMENTWISE | DQ_OP_UNIFORM, .emit = dq_emit_formula, .formula = "-x",
    .gradient = dq_gradient_neg, .integer_formula = "0u - (uint64_t)x", .integer_form = DQ_FORM_FUNCTION)

#define SIGN x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? 0.0f : x
#define INTEGER_SIGN x > 0 ? 1 : x < 0 ? -1 : 0
#define NATURAL_SIGN x != 0
DQ_EACH_FLOAT(DQ_LOOP1, Sign, SIGN)
DQ_EACH_SIGNED(DQ_LOOP1, Sign, INTEGER_SIGN)
DQ_EACH_UNSIGNED(DQ_LOOP1, Sign, NATURAL_SIGN)
static dq_loop *const loops_Sign[DQ_LOOP_TYPES] = {DQ_EACH_NUMBER(DQ_LOOP_ENTRY, Sign)};
DQ_RUN_LOOPS(Sign, DQ_GRAIN)
ROW(Sign, (9, 13), DQ_TYPES_NUMBER, DQ_FOLLOW, dq_infer_same, NULL,
    DQ_OP_HALF | DQ_OP_IN_PLACE | DQ_OP_ELEMENTWISE | DQ_OP_UNIFORM, .emit = dq_emit_formula,
    .formula = DQ_FORMULA(SIGN), .integer_formula = DQ_FORMULA(INTEGER_SIGN),
    .natural_formula = DQ_FORMULA(NATURAL_SIGN), .bound = DQ_BOUND_SQUEEZE, .range = {-1, 1})

DQ_EACH_INTEGER(DQ_LOOP1, BitwiseNot, ~x)
static dq_loop *const loops_BitwiseNot[DQ_LOOP_TYPES] = {DQ_EACH_INTEGER(DQ_LOOP_ENTRY, BitwiseNot)};
DQ_RUN_LOOPS(BitwiseNot, DQ_GRAIN)
ROW(BitwiseNot, (18), DQ_TYPES_INTEGER, DQ_FOLLOW, dq_infer_same, NULL, DQ_OP_IN_PLACE, .emit = dq_emit_formula,
    .integer_formula = "~x")

#define NOT x == 0
DQ_LOOP1(Not, NOT, BOOL, uint8_t)
static dq_loop *const loops_Not[DQ_LOOP_TYPES] = {[DQ_BOOL] = Not_BOOL};
DQ_RUN_LOOPS(Not, DQ_GRAIN)
ROW(Not, (1), DQ_BIT(DQ_BOOL), DQ_FOLLOW, dq_infer_same, NULL, DQ_OP_IN_PLACE, .emit = dq_emit_formula,
    .integer_formula = DQ_FORMULA(NOT))

// ---- Tests ----

#define NOT_ITSELF x != x
DQ_EACH_FLOAT(DQ_LOOP1_TO, uint8_t, IsNaN, NOT_ITSELF)
static dq_loop *const loops_IsNaN[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, IsNaN)};
DQ_RUN_LOOPS(IsNaN, DQ_GRAIN)
ROW(IsNaN, (9, 13, 20), DQ_TYPES_FLOAT, DQ_FOLLOW, dq_infer_comparison, NULL, DQ_OP_HALF, .emit = dq_emit_formula,
    .formula = DQ_FORMULA(NOT_ITSELF))

static const dq_attribute_rule isinf_attributes[] = {
    {"detect_negative", DQ_ATTRIBUTE_INT, false}, {"detect_positive", DQ_ATTRIBUTE_INT, false}, {0}};
DQ_EACH_FLOAT(DQ_LOOP1_TO, uint8_t, IsInf, (x > 0 && isinf(x) && b != 0) || (x < 0 && isinf(x) && a != 0))
static dq_loop *const loops_IsInf[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, IsInf)};
static dq_status run_IsInf(dq_op *op) {
  const double detect[] = {dq_node_int(op->node, "detect_negative", 1) != 0,
                           dq_node_int(op->node, "detect_positive", 1) != 0};
  return dq_elementwise(op, loops_IsInf, detect, DQ_GRAIN);
}

// A half of an infinite number is that number, which holds for no other but 0.
static dq_status emit_IsInf(dq_emission *to) {
  bool negative = dq_node_int(to->op->node, "detect_negative", 1) != 0;
  bool positive = dq_node_int(to->op->node, "detect_positive", 1) != 0;
  return dq_emit_elements(to, negative && positive ? "x * 0.5f == x && (x < 0.0f || x > 0.0f)"
                              : negative           ? "x * 0.5f == x && x < 0.0f"
                              : positive           ? "x * 0.5f == x && x > 0.0f"
                                                   : "(void)x, 0");
}
ROW(IsInf, (10, 20), DQ_TYPES_FLOAT, DQ_FOLLOW, dq_infer_comparison, isinf_attributes, DQ_OP_HALF, .half_since = 20,
    .emit = emit_IsInf)
