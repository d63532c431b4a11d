// Functions of two values that broadcast: arithmetic, bits, logic, comparison.
#include "lib/ops/common/elementwise.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"

#include <tgmath.h>

static const dq_attribute_rule fmod_attributes[] = {{"fmod", DQ_ATTRIBUTE_INT, false}, {0}};
static const dq_attribute_rule shift_attributes[] = {{"direction", DQ_ATTRIBUTE_STRING, true}, {0}};

#define ROW(NAME, VERSIONS, TYPES, ATTRIBUTES, INFER, COLOUR, QUANTIZATION, ...)                                       \
  DQ_ELEMENTWISE_ROW(NAME, VERSIONS, (2, 2), TYPES, ATTRIBUTES, INFER, .category = COLOUR,                             \
                     .quantization = QUANTIZATION, .flags = __VA_ARGS__)

// ---- Arithmetic. Integers wrap modulo 2^bits, so they are computed unsigned. ----

#define ARITHMETIC(NAME, SIGN, QUANTIZATION, TRAITS, ...)                                                              \
  DQ_EACH_FLOAT(DQ_LOOP2_FAST, NAME, x SIGN y)                                                                         \
  DQ_EACH_INTEGER(DQ_LOOP2, NAME, (uint64_t)x SIGN(uint64_t) y)                                                        \
  static dq_loop *const loops_##NAME[DQ_LOOP_TYPES] = {DQ_EACH_NUMBER(DQ_LOOP_ENTRY, NAME)};                           \
  DQ_RUN_LOOPS(NAME, DQ_GRAIN)                                                                                         \
  ROW(NAME, (7, 13, 14), DQ_TYPES_NUMBER, NULL, dq_infer_binary, DQ_FOLLOW, QUANTIZATION,                              \
      DQ_OP_HALF | DQ_OP_IN_PLACE | DQ_OP_ELEMENTWISE | (TRAITS), .integer_form = DQ_FORM_PAIR,                        \
      .bound = DQ_BOUND_COMBINE, .emit = dq_emit_formula, .formula = "x " #SIGN " y",                                  \
      .integer_formula = "(uint64_t)x " #SIGN " (uint64_t)y", __VA_ARGS__)

// Truncating division; what C leaves undefined is 0 (by zero) and wraps (most negative by -1).
#define DIVIDE_SIGNED(NAME, symbol, type)                                                                              \
  DQ_LOOP2(NAME, y == 0 ? 0 : y == -1 ? (element)(0u - (uint64_t)x) : x / y, symbol, type)
#define DIVIDE_UNSIGNED(NAME, symbol, type) DQ_LOOP2(NAME, y == 0 ? 0 : x / y, symbol, type)

ARITHMETIC(Add, +, DQ_QUANTIZE_COMBINE, DQ_OP_ADDS, .gradient = dq_gradient_add, .trained = 1 << 0 | 1 << 1)
ARITHMETIC(Sub, -, DQ_QUANTIZE_NOT, 0, .gradient = dq_gradient_sub)
ARITHMETIC(Mul, *, DQ_QUANTIZE_COMBINE, 0, .gradient = dq_gradient_mul)

DQ_EACH_FLOAT(DQ_LOOP2_FAST, Div, x / y)
DQ_EACH_SIGNED(DIVIDE_SIGNED, Div)
DQ_EACH_UNSIGNED(DIVIDE_UNSIGNED, Div)
static dq_loop *const loops_Div[DQ_LOOP_TYPES] = {DQ_EACH_NUMBER(DQ_LOOP_ENTRY, Div)};
DQ_RUN_LOOPS(Div, DQ_GRAIN)
ROW(Div, (7, 13, 14), DQ_TYPES_NUMBER, NULL, dq_infer_binary, DQ_FOLLOW, DQ_QUANTIZE_NOT,
    DQ_OP_HALF | DQ_OP_IN_PLACE | DQ_OP_ELEMENTWISE, .integer_form = DQ_FORM_FUNCTION, .bound = DQ_BOUND_COMBINE,
    .emit = dq_emit_formula, .gradient = dq_gradient_div, .formula = "x / y",
    .integer_formula = "y == 0 ? (T)0 : y == -1 ? (T)(0u - (uint64_t)x) : (T)(x / y)",
    .natural_formula = "y == 0 ? 0u : x / y")

// ---- Mod: the sign of the divisor, or with fmod that of the dividend ----
// Float elements without fmod are an error before opset 28; they are taken as it defines them.

#define REMAINDER(NAME, symbol, type) DQ_LOOP2(NAME, y == 0 || y == (element)-1 ? 0 : x % y, symbol, type)
#define REMAINDER_UNSIGNED(NAME, symbol, type) DQ_LOOP2(NAME, y == 0 ? 0 : x % y, symbol, type)
#define MODULO(NAME, symbol, type)                                                                                     \
  DQ_LOOP2(NAME, y == 0 || y == -1 ? 0 : x % y && (x % y < 0) != (y < 0) ? x % y + y : x % y, symbol, type)

// Computes Python's %: a remainder of 0 has the sign of the divisor.
static double python_modulo(double x, double y) {
  double remainder = fmod(x, y);
  if (remainder == 0) return copysign(0, y);
  return (remainder < 0) != (y < 0) ? remainder + y : remainder;
}

DQ_EACH_FLOAT(DQ_LOOP2, Fmod, fmod(x, y))
DQ_EACH_FLOAT(DQ_LOOP2, Mod, python_modulo((double)x, (double)y))
DQ_EACH_SIGNED(REMAINDER, Fmod)
DQ_EACH_UNSIGNED(REMAINDER_UNSIGNED, Fmod)
DQ_EACH_SIGNED(MODULO, Mod)
static dq_loop *const loops_Fmod[DQ_LOOP_TYPES] = {DQ_EACH_NUMBER(DQ_LOOP_ENTRY, Fmod)};
static dq_loop *const loops_Mod[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, Mod) DQ_EACH_SIGNED(DQ_LOOP_ENTRY, Mod)
                                                      DQ_EACH_UNSIGNED(DQ_LOOP_ENTRY, Fmod)};
static dq_status run_Mod(dq_op *op) {
  bool like_dividend = dq_node_int(op->node, "fmod", 0) != 0;
  return dq_elementwise(op, like_dividend ? loops_Fmod : loops_Mod, NULL, DQ_GRAIN);
}

static dq_status emit_Mod(dq_emission *to) {
  bool like_dividend = dq_node_int(to->op->node, "fmod", 0) != 0;
  unsigned type = DQ_BIT(to->op->inputs[0]->type);
  if (type & DQ_TYPES_FLOAT)
    return dq_emit_elements(to, like_dividend ? "fmodf(x, y)" : "(T)dq_modulo((double)x, (double)y)");
  if (type & DQ_TYPES_UNSIGNED) return dq_emit_elements(to, "y == 0 ? 0u : x % y");
  return dq_emit_elements(to, like_dividend
                                  ? "y == 0 || y == -1 ? 0 : x % y"
                                  : "y == 0 || y == -1 ? 0 : x % y != 0 && (x % y < 0) != (y < 0) ? x % y + y "
                                    ": x % y");
}
ROW(Mod, (10, 13, 28), DQ_TYPES_NUMBER, fmod_attributes, dq_infer_binary, DQ_DENY, DQ_QUANTIZE_NOT,
    DQ_OP_HALF | DQ_OP_IN_PLACE | DQ_OP_ELEMENTWISE, .emit = emit_Mod)

// ---- Bits ----

#define BITS(NAME, SIGN)                                                                                               \
  DQ_EACH_INTEGER(DQ_LOOP2, NAME, x SIGN y)                                                                            \
  static dq_loop *const loops_##NAME[DQ_LOOP_TYPES] = {DQ_EACH_INTEGER(DQ_LOOP_ENTRY, NAME)};                          \
  DQ_RUN_LOOPS(NAME, DQ_GRAIN)                                                                                         \
  ROW(NAME, (18), DQ_TYPES_INTEGER, NULL, dq_infer_binary, DQ_FOLLOW, DQ_QUANTIZE_NOT, DQ_OP_IN_PLACE,                 \
      .emit = dq_emit_formula, .integer_formula = "x " #SIGN " y")

BITS(BitwiseAnd, &)
BITS(BitwiseOr, |)
BITS(BitwiseXor, ^)

// Shifting out all bits, or by less than none, gives 0, or -1 of a negative number to the right.
#define SHIFT(x, operation, y) ((y) < 8 * sizeof(x) ? (uint64_t)(x)operation(y) : 0)
DQ_EACH_UNSIGNED(DQ_LOOP2, ShiftLeft, SHIFT(x, <<, y))
DQ_EACH_UNSIGNED(DQ_LOOP2, ShiftRight, SHIFT(x, >>, y))
#define WITHIN(x, y) ((y) >= 0 && (y) < (int)(8 * sizeof(x)))
DQ_EACH_SIGNED(DQ_LOOP2, ShiftLeft, WITHIN(x, y) ? (int64_t)((uint64_t)x << y) : 0)
DQ_EACH_SIGNED(DQ_LOOP2, ShiftRight, WITHIN(x, y) ? x >> y : x < 0 ? -1 : 0)
static dq_loop *const loops_ShiftLeft[DQ_LOOP_TYPES] = {DQ_EACH_UNSIGNED(DQ_LOOP_ENTRY, ShiftLeft)
                                                            DQ_EACH_SIGNED(DQ_LOOP_ENTRY, ShiftLeft)};
static dq_loop *const loops_ShiftRight[DQ_LOOP_TYPES] = {DQ_EACH_UNSIGNED(DQ_LOOP_ENTRY, ShiftRight)
                                                             DQ_EACH_SIGNED(DQ_LOOP_ENTRY, ShiftRight)};
static dq_status run_BitShift(dq_op *op) {
  const char *direction = dq_node_string(op->node, "direction", "");
  bool left = !strcmp(direction, "LEFT");
  if (!left && strcmp(direction, "RIGHT"))
    return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'direction' is '%s', expected LEFT or RIGHT", direction);
  return dq_elementwise(op, left ? loops_ShiftLeft : loops_ShiftRight, NULL, DQ_GRAIN);
}

static dq_status emit_BitShift(dq_emission *to) {
  bool left = !strcmp(dq_node_string(to->op->node, "direction", ""), "LEFT");
  if (DQ_BIT(to->op->inputs[0]->type) & DQ_TYPES_UNSIGNED)
    return dq_emit_elements(to, left ? "y < BITS ? (uint64_t)x << y : 0u" : "y < BITS ? (uint64_t)x >> y : 0u");
  return dq_emit_elements(to, left ? "y >= 0 && y < BITS ? (uint64_t)x << y : 0u"
                                   : "y >= 0 && y < BITS ? x >> y : x < 0 ? -1 : 0");
}
ROW(BitShift, (11, 28), DQ_TYPES_INTEGER, shift_attributes, dq_infer_binary, DQ_FOLLOW, DQ_QUANTIZE_NOT, DQ_OP_IN_PLACE,
    .emit = emit_BitShift)

// ---- Logic ----

#define LOGIC(NAME, EXPRESSION)                                                                                        \
  DQ_LOOP2(NAME, EXPRESSION, BOOL, uint8_t)                                                                            \
  static dq_loop *const loops_##NAME[DQ_LOOP_TYPES] = {[DQ_BOOL] = NAME##_BOOL};                                       \
  DQ_RUN_LOOPS(NAME, DQ_GRAIN)                                                                                         \
  ROW(NAME, (7), DQ_BIT(DQ_BOOL), NULL, dq_infer_comparison, DQ_FOLLOW, DQ_QUANTIZE_NOT, DQ_OP_IN_PLACE,               \
      .emit = dq_emit_formula, .integer_formula = #EXPRESSION)

LOGIC(And, x != 0 && y != 0)
LOGIC(Or, x != 0 || y != 0)
LOGIC(Xor, (x != 0) != (y != 0))

// ---- Comparison ----

#define COMPARISON(NAME, VERSIONS, SIGN)                                                                               \
  DQ_EACH_NUMBER(DQ_LOOP2_TO, uint8_t, NAME, x SIGN y)                                                                 \
  static dq_loop *const loops_##NAME[DQ_LOOP_TYPES] = {DQ_EACH_NUMBER(DQ_LOOP_ENTRY, NAME)};                           \
  DQ_RUN_LOOPS(NAME, DQ_GRAIN)                                                                                         \
  ROW(NAME, VERSIONS, DQ_TYPES_NUMBER, NULL, dq_infer_comparison, DQ_FOLLOW, DQ_QUANTIZE_NOT, DQ_OP_HALF,              \
      .emit = dq_emit_formula, .formula = "x " #SIGN " y", .integer_formula = "x " #SIGN " y")

COMPARISON(Less, (7, 9, 13), <)
COMPARISON(Greater, (7, 9, 13), >)
COMPARISON(LessOrEqual, (12, 16), <=)
COMPARISON(GreaterOrEqual, (12, 16), >=)

#define EQUAL x == y
DQ_EACH_NUMBER(DQ_LOOP2_TO, uint8_t, Equal, EQUAL)
DQ_LOOP2(Equal, !x == !y, BOOL, uint8_t)
static dq_loop *const loops_Equal[DQ_LOOP_TYPES] = {DQ_EACH_NUMBER(DQ_LOOP_ENTRY, Equal)[DQ_BOOL] = Equal_BOOL};
DQ_RUN_LOOPS(Equal, DQ_GRAIN)
ROW(Equal, (7, 11, 13, 19), DQ_TYPES_ALL, NULL, dq_infer_comparison, DQ_FOLLOW, DQ_QUANTIZE_NOT, DQ_OP_HALF,
    .emit = dq_emit_formula, .formula = DQ_FORMULA(EQUAL), .integer_formula = DQ_FORMULA(EQUAL))
