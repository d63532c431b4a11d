// Pow. The exponent may have any type of number.
//
// Of floats, exponents of 2, 1, -1 and 1/2 are a product, x, a quotient and a root: the nearest number to the power,
// which the function of the C library misses at times, and which compilers put in its place where they know the
// exponent.
#include "lib/ops/common/elementwise.h"
#include "lib/ops/emit/emit.h"

#include <math.h>

#define POWER(NAME, type, root, power)                                                                                 \
  static type NAME(type x, type y) {                                                                                   \
    if (y == 2) return x * x;                                                                                          \
    if (y == 1) return x;                                                                                              \
    if (y == -1) return 1 / x;                                                                                         \
    if (y != (type)0.5) return power(x, y);                                                                            \
    if (x < 0) return x - x == 0 ? root(x) : -x; /* infinity of -infinity */                                           \
    return root(x) + 0;                          /* 0 of -0 */                                                         \
  }
POWER(power_single, float, sqrtf, powf)
POWER(power_double, double, sqrt, pow)

// The same in C of x and y, or of (double)x and (double)y.
#define POWER_C(X, Y, F, POW)                                                                                          \
  "(" Y " == 2.0" F " ? " X " * " X " : " Y " == 1.0" F " ? " X " : " Y " == -1.0" F " ? 1.0" F " / " X " : " Y        \
  " != 0.5" F " ? " POW "(" X ", " Y ") : " X " < 0.0" F " && " X " - " X " != 0.0" F " ? -" X " : " X " < 0.0" F      \
  " ? sqrt" F "(" X ") : sqrt" F "(" X ") + 0.0" F ")"
#define SAME_POWER_C POWER_C("x", "y", "f", "powf")
#define WIDE_POWER_C POWER_C("(double)x", "(double)y", "", "pow")

static int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  uint64_t result = 1, factor = (uint64_t)base;
  for (; exponent; exponent >>= 1, factor *= factor)
    if (exponent & 1) result *= factor;
  return (int64_t)result;
}

// Parameter 0 of the loops is the type of the exponent.
static dq_tensor exponent_of(const dq_lane *lane) {
  return (dq_tensor){.type = (int)lane->parameters[0], .data = (void *)(uintptr_t)lane->inputs[1]};
}

// A number as int64, without what C leaves undefined.
static int64_t saturated(double value) {
  if (value != value) return 0;
  return value >= 0x1p63 ? INT64_MAX : value < -0x1p63 ? INT64_MIN : (int64_t)value;
}

#define POW_LOOP(NAME, EXPRESSION, symbol, ctype)                                                                      \
  static void NAME##_##symbol(const dq_lane *lane) {                                                                   \
    const ctype *in = lane->inputs[0];                                                                                 \
    ctype *out = lane->output;                                                                                         \
    const dq_tensor exponent = exponent_of(lane);                                                                      \
    for (int64_t i = 0; i < lane->count; i++) {                                                                        \
      const ctype x = in[i * lane->strides[0]];                                                                        \
      const int64_t at = i * lane->strides[1];                                                                         \
      out[i] = (ctype)(EXPRESSION);                                                                                    \
    }                                                                                                                  \
  }
#define FLOAT_POWER power_double((double)x, dq_tensor_get(&exponent, at))
#define INTEGER_POWER                                                                                                  \
  (DQ_TYPES_INTEGER & DQ_BIT(exponent.type) ? integer_power(x, dq_tensor_get_i64(&exponent, at))                       \
                                            : saturated(FLOAT_POWER))
DQ_LOOP2(SamePow, power_single(x, y), F32, float)
DQ_LOOP2(SamePow, power_double(x, y), F64, double)
DQ_EACH_FLOAT(DQ_LOOP2_FAST, Square, x *y)
DQ_EACH_FLOAT(POW_LOOP, Pow, FLOAT_POWER)
POW_LOOP(Pow, INTEGER_POWER, I32, int32_t)
POW_LOOP(Pow, INTEGER_POWER, I64, int64_t)
static dq_loop *const loops_Pow[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, Pow)[DQ_I32] = Pow_I32, [DQ_I64] =
                                                                                                           Pow_I64};
static dq_loop *const loops_SamePow[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, SamePow)};
static dq_loop *const loops_Square[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, Square)};

// Whether the exponent is one number that is known, and it is `number`.
static bool is_number(const dq_tensor *exponent, double number) {
  return exponent->data && dq_tensor_count(exponent) == 1 && dq_tensor_get(exponent, 0) == number;
}

static dq_status run_Pow(dq_op *op) {
  int base = op->inputs[0]->type, exponent = op->inputs[1]->type;
  if (!(DQ_TYPES_NUMBER & DQ_BIT(exponent)) || !dq_dtype_computable(exponent))
    return dq_op_fail(op, DQ_UNSUPPORTED, "an exponent of type %s is not supported", dq_dtype_name(exponent));
  const double parameters[] = {exponent, 0};
  if (loops_Square[base] && is_number(op->inputs[1], 2)) {
    const dq_tensor *twice[] = {op->inputs[0], op->inputs[0]};
    dq_broadcast_run(op->context, 2, twice, op->outputs[0], loops_Square[base], NULL, DQ_GRAIN);
    return DQ_OK;
  }
  dq_loop *same = base == exponent ? loops_SamePow[base] : NULL;
  dq_broadcast_run(op->context, 2, op->inputs, op->outputs[0], same ? same : loops_Pow[base], parameters,
                   DQ_GRAIN_FUNCTION);
  return DQ_OK;
}

static dq_status emit_Pow(dq_emission *to) {
  const dq_tensor *power = to->op->inputs[1];
  unsigned base = DQ_BIT(to->op->inputs[0]->type), exponent = DQ_BIT(power->type);
  if (base & DQ_TYPES_FLOAT && is_number(power, 2)) return dq_emit_elements(to, "x * x");
  if (base == exponent && base & DQ_TYPES_FLOAT) return dq_emit_elements(to, SAME_POWER_C);
  if (base & DQ_TYPES_FLOAT) return dq_emit_elements(to, "(T)" WIDE_POWER_C);
  return dq_emit_elements(to, exponent & DQ_TYPES_INTEGER ? "dq_power((int64_t)x, (int64_t)y)"
                                                          : "dq_saturated" WIDE_POWER_C);
}
DQ_ELEMENTWISE_ROW(Pow, (7, 12, 13, 15), (2, 2), DQ_TYPES_FLOAT | DQ_BIT(DQ_I32) | DQ_BIT(DQ_I64), NULL,
                   dq_infer_broadcast, .category = DQ_DENY, .quantization = DQ_QUANTIZE_NOT,
                   .flags = DQ_OP_HALF | DQ_OP_IN_PLACE | DQ_OP_ELEMENTWISE, .integer_form = DQ_FORM_FUNCTION,
                   .emit = emit_Pow)
