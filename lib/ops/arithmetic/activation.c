// Activation functions. Relu, Clip and LeakyRelu are written as the epilogues of the kernels
// (lib/kernels), so that a fused activation gives the same bits.
#include "lib/kernels/array/array.h"
#include "lib/ops/common/elementwise.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"

#include <tgmath.h>

#define ROW(...) ROW_EMIT(dq_emit_formula, __VA_ARGS__)
#define ROW_EMIT(EMIT, NAME, VERSIONS, INPUTS, TYPES, QUANTIZATION, INFER, ATTRIBUTES, TRAITS, ...)                    \
  DQ_ELEMENTWISE_ROW(NAME, VERSIONS, INPUTS, TYPES, ATTRIBUTES, INFER, .category = DQ_FOLLOW,                          \
                     .quantization = QUANTIZATION, .emit = EMIT,                                                       \
                     .flags = DQ_OP_HALF | DQ_OP_IN_PLACE | DQ_OP_ELEMENTWISE | TRAITS, __VA_ARGS__)

static double parameter(const dq_op *op, const char *name, float fallback) {
  return (double)(name ? dq_node_float(op->node, name, fallback) : fallback);
}

// A function of x and one or two float attributes: a (FIRST, default A) and b (SECOND, default
// B, or NULL).
#define ACTIVATION(NAME, VERSIONS, GRAIN, FIRST, A, SECOND, B, EXPRESSION, TRAITS, ...)                                \
  DQ_EACH_FLOAT(DQ_LOOP1, NAME, EXPRESSION)                                                                            \
  LOOPED_ACTIVATION(NAME, VERSIONS, GRAIN, FIRST, A, SECOND, B, TRAITS, __VA_ARGS__)
// The same with an expression of f, the function that a kernel makes of `ARGUMENT`; WIDE is that function of float64.
#define KERNEL_ACTIVATION(NAME, VERSIONS, FIRST, A, SECOND, B, ARGUMENT, KERNEL, WIDE, EXPRESSION, TRAITS, ...)        \
  DQ_KERNEL_LOOP1(NAME, ARGUMENT, KERNEL, EXPRESSION)                                                                  \
  static inline double of_f_##NAME(double x, double a, double b, double f) {                                           \
    (void)a, (void)b;                                                                                                  \
    return EXPRESSION;                                                                                                 \
  }                                                                                                                    \
  DQ_LOOP1(NAME, of_f_##NAME(x, a, b, WIDE(ARGUMENT)), F64, double)                                                    \
  LOOPED_ACTIVATION(NAME, VERSIONS, DQ_GRAIN_FUNCTION, FIRST, A, SECOND, B, TRAITS, __VA_ARGS__)
#define LOOPED_ACTIVATION(NAME, VERSIONS, GRAIN, FIRST, A, SECOND, B, TRAITS, ...)                                     \
  static dq_loop *const loops_##NAME[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, NAME)};                            \
  static const dq_attribute_rule attributes_##NAME[] = {                                                               \
      DQ_CONSUMED_INPUTS, {FIRST, DQ_ATTRIBUTE_FLOAT, false}, {SECOND, DQ_ATTRIBUTE_FLOAT, false}, {0}};               \
  static dq_status run_##NAME(dq_op *op) {                                                                             \
    const double parameters[] = {parameter(op, FIRST, A), parameter(op, SECOND, B)};                                   \
    return dq_elementwise(op, loops_##NAME, parameters, GRAIN);                                                        \
  }                                                                                                                    \
  ROW(NAME, VERSIONS, (1, 1), DQ_TYPES_FLOAT, DQ_QUANTIZE_TABLE, dq_infer_same, attributes_##NAME, TRAITS, __VA_ARGS__)

// A function of x alone: with loops NAME_F32 and NAME_F64, or an expression.
#define LOOPED(NAME, VERSIONS, GRAIN, TRAITS, ...)                                                                     \
  static dq_loop *const loops_##NAME[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, NAME)};                            \
  DQ_RUN_LOOPS(NAME, GRAIN)                                                                                            \
  ROW(NAME, VERSIONS, (1, 1), DQ_TYPES_FLOAT, DQ_QUANTIZE_TABLE, dq_infer_same, dq_consumed_inputs, TRAITS, __VA_ARGS__)
#define FUNCTION(NAME, VERSIONS, GRAIN, EXPRESSION, TRAITS, ...)                                                       \
  DQ_EACH_FLOAT(DQ_LOOP1, NAME, EXPRESSION)                                                                            \
  LOOPED(NAME, VERSIONS, GRAIN, TRAITS, __VA_ARGS__)

#define UNIT_CLAMPED(y) ((y) < 0 ? 0 : (y) > 1 ? 1 : (y))
// ln(1 + e^x) of float64 without overflow. Formulas convert each result to its type, (T), where compilers compute in a
// wider one.
#define SOFTPLUS_C "(x > 0.0 ? (T)(x + log1p(exp(-x))) : log1p(exp(x)))"
#define SOFTPLUS(x) ((x) > 0 ? (x) + log1p(exp(-(x))) : log1p(exp(x)))

DQ_KERNEL_LOOP(Sigmoid_F32, dq_sigmoid_f32)
DQ_LOOP1(Sigmoid, 1 / (1 + exp(-x)), F64, double)
LOOPED(Sigmoid, (1, 6, 13), DQ_GRAIN, DQ_OP_UNIFORM, .formula = "dq_sigmoid_one(x)", .gradient = dq_gradient_by_output,
       .bound = DQ_BOUND_SQUEEZE, .range = {0, 1})
DQ_KERNEL_LOOP(Tanh_F32, dq_tanh_f32)
DQ_LOOP1(Tanh, tanh(x), F64, double)
LOOPED(Tanh, (1, 6, 13), DQ_GRAIN, DQ_OP_UNIFORM, .formula = "dq_tanh_one(x)", .gradient = dq_gradient_by_output,
       .bound = DQ_BOUND_SQUEEZE, .range = {-1, 1})
FUNCTION(HardSwish, (14, 22), DQ_GRAIN, x *UNIT_CLAMPED(x / 6 + (element)0.5), DQ_OP_UNIFORM,
         .formula = "x * dq_unit((T)(x / 6.0f) + 0.5f)", .gradient = dq_gradient_by_input, .bound = DQ_BOUND_SLOPE)
DQ_KERNEL_LOOP(Softplus_F32, dq_softplus_f32)
DQ_LOOP1(Softplus, SOFTPLUS(x), F64, double)
LOOPED(Softplus, (1, 22), DQ_GRAIN_FUNCTION, DQ_OP_UNIFORM, .formula = "dq_softplus_one(x)", .wide_formula = SOFTPLUS_C,
       .gradient = dq_gradient_by_input, .bound = DQ_BOUND_SQUEEZE, .range = {0, INFINITY})
FUNCTION(Softsign, (1, 22), DQ_GRAIN, x / (1 + fabs(x)), DQ_OP_UNIFORM, .formula = "x / (T)(1.0f + fabsf(x))",
         .bound = DQ_BOUND_SQUEEZE, .range = {-1, 1})
static void tanh_of_softplus(unsigned cpu, const float *input, float *output, int64_t count) {
  dq_softplus_f32(cpu, input, output, count);
  dq_tanh_f32(cpu, output, output, count);
}
DQ_KERNEL_LOOP1(Mish, x, tanh_of_softplus, x *f)
DQ_LOOP1(Mish, x *tanh(SOFTPLUS(x)), F64, double)
LOOPED(Mish, (18, 22), DQ_GRAIN_FUNCTION, DQ_OP_UNIFORM, .formula = "x * dq_tanh_one(dq_softplus_one(x))",
       .wide_formula = "x * tanh(" SOFTPLUS_C ")", .bound = DQ_BOUND_SLOPE)

static dq_slope slope_LeakyRelu(const dq_node *node) {
  return (dq_slope){DQ_NO_INPUT, dq_node_float(node, "alpha", 0.01f)};
}
ACTIVATION(LeakyRelu, (1, 6, 16), DQ_GRAIN, "alpha", 0.01f, NULL, 0, x < 0 ? a * x : x,
           DQ_OP_UNIFORM | DQ_OP_HOMOGENEOUS, .slope = slope_LeakyRelu, .gradient = dq_gradient_slope,
           .bound = DQ_BOUND_SLOPE)
KERNEL_ACTIVATION(Elu, (1, 6, 22), "alpha", 1, NULL, 0, x, dq_expm1_f32, expm1, x < 0 ? a * f : x, DQ_OP_UNIFORM,
                  .formula = "x < 0.0f ? $alpha:1; * dq_expm1_one(x) : x", .bound = DQ_BOUND_SQUEEZE,
                  .range = {-1, INFINITY})
KERNEL_ACTIVATION(Selu, (1, 6, 22), "alpha", 1.67326319217681884765625f, "gamma", 1.05070102214813232421875f, x,
                  dq_expm1_f32, expm1, x > 0 ? b * x : b * (a * f), DQ_OP_UNIFORM,
                  .formula = "x > 0.0f ? $gamma:1.05070102214813232421875; * x : $gamma:1.05070102214813232421875; * "
                             "(T)($alpha:1.67326319217681884765625; * dq_expm1_one(x))",
                  .bound = DQ_BOUND_UNKNOWN)
KERNEL_ACTIVATION(Celu, (12, 28), "alpha", 1, NULL, 0, x / a, dq_expm1_f32, expm1, x > 0 ? x : a * f, DQ_OP_UNIFORM,
                  .half_since = 28, .formula = "x > 0.0f ? x : $alpha:1; * dq_expm1_one(x / $alpha:1;)",
                  .bound = DQ_BOUND_UNKNOWN)
ACTIVATION(HardSigmoid, (1, 6, 22), DQ_GRAIN, "alpha", 0.2f, "beta", 0.5f, UNIT_CLAMPED(a *x + b), DQ_OP_UNIFORM,
           .formula = "dq_unit((T)($alpha:0.2; * x) + $beta:0.5;)", .gradient = dq_gradient_by_output,
           .bound = DQ_BOUND_SQUEEZE, .range = {0, 1})
ACTIVATION(ThresholdedRelu, (10, 22), DQ_GRAIN, "alpha", 1, NULL, 0, x > a ? x : 0, DQ_OP_UNIFORM,
           .formula = "x > $alpha:1; ? x : 0.0f", .bound = DQ_BOUND_UNKNOWN)
KERNEL_ACTIVATION(Swish, (24), "alpha", 1, NULL, 0, -a *x, dq_exp_f32, exp, x / (1 + f), DQ_OP_UNIFORM,
                  .formula = "x / (T)(1.0f + dq_exp_one(-$alpha:1; * x))", .bound = DQ_BOUND_SLOPE)

// ---- Relu: signed integers too ----

#define RELU x < 0.0f ? 0.0f : x
#define INTEGER_RELU x < 0 ? 0 : x
DQ_EACH_FLOAT(DQ_LOOP1, Relu, RELU)
DQ_EACH_SIGNED(DQ_LOOP1, Relu, INTEGER_RELU)
static dq_loop *const loops_Relu[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, Relu)
                                                       DQ_EACH_SIGNED(DQ_LOOP_ENTRY, Relu)};
DQ_RUN_LOOPS(Relu, DQ_GRAIN)
static bool clamp_Relu(const dq_node *node, float *low, float *high) {
  (void)node;
  *low = 0, *high = INFINITY;
  return true;
}
ROW(Relu, (1, 6, 13, 14), (1, 1), DQ_TYPES_FLOAT | DQ_TYPES_SIGNED, DQ_QUANTIZE_ABSORB, dq_infer_same,
    dq_consumed_inputs, DQ_OP_UNIFORM | DQ_OP_HOMOGENEOUS, .formula = DQ_FORMULA(RELU),
    .integer_formula = DQ_FORMULA(INTEGER_RELU), .clamp = clamp_Relu, .gradient = dq_gradient_clamp,
    .bound = DQ_BOUND_SQUEEZE, .range = {0, INFINITY})

// ---- Shrink: the bounds are floats for integers too ----

#define SHRINK(NAME, symbol, type)                                                                                     \
  static void NAME##_##symbol(const dq_lane *lane) {                                                                   \
    const type *in = lane->inputs[0];                                                                                  \
    type *out = lane->output;                                                                                          \
    const double lambd = lane->parameters[0], bias = lane->parameters[1];                                              \
    for (int64_t i = 0; i < lane->count; i++) {                                                                        \
      double x = (double)in[i];                                                                                        \
      out[i] = (type)(x < -lambd ? x + bias : x > lambd ? x - bias : 0);                                               \
    }                                                                                                                  \
  }
#define SHRINK_C                                                                                                       \
  "(T)((double)x < -(double)$lambd:0.5; ? (double)x + (double)$bias:0; : (double)x > (double)$lambd:0.5; ? (double)x " \
  "- "                                                                                                                 \
  "(double)$bias:0; : 0.0)"
DQ_EACH_NUMBER(SHRINK, Shrink)
static dq_loop *const loops_Shrink[DQ_LOOP_TYPES] = {DQ_EACH_NUMBER(DQ_LOOP_ENTRY, Shrink)};
static const dq_attribute_rule attributes_Shrink[] = {
    {"lambd", DQ_ATTRIBUTE_FLOAT, false}, {"bias", DQ_ATTRIBUTE_FLOAT, false}, {0}};
static dq_status run_Shrink(dq_op *op) {
  const double parameters[] = {(double)dq_node_float(op->node, "lambd", 0.5f),
                               (double)dq_node_float(op->node, "bias", 0)};
  return dq_elementwise(op, loops_Shrink, parameters, DQ_GRAIN);
}
ROW(Shrink, (9), (1, 1), DQ_TYPES_NUMBER, DQ_QUANTIZE_TABLE, dq_infer_same, attributes_Shrink, DQ_OP_UNIFORM,
    .formula = SHRINK_C, .integer_formula = SHRINK_C, .bound = DQ_BOUND_UNKNOWN)

// ---- Gelu: by the error function, or its approximation by tanh (a != 0) ----

#define SQRT_HALF 0.70710678118654752440
#define SQRT_2_PI 0.79788456080286535588
#define TANH_ARGUMENT (element) SQRT_2_PI *(x + (element)0.044715 * x * x * x)
DQ_KERNEL_LOOP1(GeluErf, x *(element)SQRT_HALF, dq_erf_f32, (element)0.5 * x * (1 + f))
DQ_KERNEL_LOOP1(GeluTanh, TANH_ARGUMENT, dq_tanh_f32, (element)0.5 * x * (1 + f))
DQ_LOOP1(GeluErf, (element)0.5 * x * (1 + erf(x * (element)SQRT_HALF)), F64, double)
DQ_LOOP1(GeluTanh, (element)0.5 * x * (1 + tanh(TANH_ARGUMENT)), F64, double)
static dq_status run_Gelu(dq_op *op) {
  static dq_loop *const by_erf[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, GeluErf)};
  static dq_loop *const by_tanh[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, GeluTanh)};
  const char *approximate = dq_node_string(op->node, "approximate", "none");
  bool tanh_form = !strcmp(approximate, "tanh");
  if (!tanh_form && strcmp(approximate, "none"))
    return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'approximate' is '%s', expected none or tanh", approximate);
  return dq_elementwise(op, tanh_form ? by_tanh : by_erf, NULL, DQ_GRAIN_FUNCTION);
}
static dq_status emit_Gelu(dq_emission *to) {
  if (strcmp(dq_node_string(to->op->node, "approximate", "none"), "tanh") != 0)
    return dq_emit_elements(to, "(T)(0.5f * x) * (T)(1.0f + dq_erf_one(x * (T)0.70710678118654752440f))");
  return dq_emit_elements(
      to, "(T)(0.5f * x) * (T)(1.0f + dq_tanh_one((T)0.79788456080286535588f * (T)(x + (T)((T)((T)((T)0.044715f "
          "* x) * x) * x))))");
}
static const dq_attribute_rule attributes_Gelu[] = {{"approximate", DQ_ATTRIBUTE_STRING, false}, {0}};
ROW_EMIT(emit_Gelu, Gelu, (20), (1, 1), DQ_TYPES_FLOAT, DQ_QUANTIZE_TABLE, dq_infer_same, attributes_Gelu,
         DQ_OP_UNIFORM, .bound = DQ_BOUND_SLOPE)

// ---- PRelu: a slope that broadcasts to the input ----

DQ_EACH_FLOAT(DQ_LOOP2_FAST, PRelu, x < 0 ? x * y : x)
DQ_LOOP2(PRelu, x < 0 ? (int64_t)x * y : x, I32, int32_t)
DQ_LOOP2(PRelu, x < 0 ? (int64_t)((uint64_t)x * (uint64_t)y) : x, I64, int64_t)
DQ_LOOP2(PRelu, x, U32, uint32_t)
DQ_LOOP2(PRelu, x, U64, uint64_t)
static dq_loop *const loops_PRelu[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, PRelu)[DQ_I32] = PRelu_I32,
                                                    [DQ_I64] = PRelu_I64, [DQ_U32] = PRelu_U32, [DQ_U64] = PRelu_U64};
DQ_RUN_LOOPS(PRelu, DQ_GRAIN)
static dq_slope slope_PRelu(const dq_node *node) {
  (void)node;
  return (dq_slope){.input = 1};
}
ROW(PRelu, (7, 9, 16), (2, 2), DQ_TYPES_FLOAT | DQ_BIT(DQ_I32) | DQ_BIT(DQ_I64) | DQ_BIT(DQ_U32) | DQ_BIT(DQ_U64),
    DQ_QUANTIZE_TABLE, dq_infer_unidirectional, NULL, DQ_OP_UNIFORM | DQ_OP_HOMOGENEOUS,
    .formula = "x < 0.0f ? x * y : x", .integer_formula = "x < 0 ? (T)((uint64_t)x * (uint64_t)y) : x",
    .natural_formula = "x", .slope = slope_PRelu, .gradient = dq_gradient_slope, .trained = 1 << 1,
    .bound = DQ_BOUND_SLOPE)

// ---- Clip: bounds as attributes up to version 6, as optional scalar inputs from 11 ----

#define CLIP(NAME, symbol, type)                                                                                       \
  static void NAME##_##symbol(const dq_lane *lane) {                                                                   \
    const type *in = lane->inputs[0];                                                                                  \
    const type low = *(const type *)lane->inputs[1], high = *(const type *)lane->inputs[2];                            \
    type *out = lane->output;                                                                                          \
    const int64_t n = lane->count;                                                                                     \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) {                                                             \
      type x = in[i] < low ? low : in[i];                                                                              \
      out[i] = x > high ? high : x;                                                                                    \
    }                                                                                                                  \
  }
DQ_EACH_NUMBER(CLIP, Clip)
static dq_loop *const loops_Clip[DQ_LOOP_TYPES] = {DQ_EACH_NUMBER(DQ_LOOP_ENTRY, Clip)};

// A bound that is not given: the end of the type.
static void end_of_type(dq_tensor *bound, bool highest) {
  if (bound->type == DQ_F32 || bound->type == DQ_F64) {
    dq_tensor_set(bound, 0, highest ? HUGE_VAL : -HUGE_VAL);
    return;
  }
  int bits = dq_dtype_bits(bound->type);
  bool with_sign = (DQ_TYPES_SIGNED & DQ_BIT(bound->type)) != 0;
  uint64_t value = with_sign ? (UINT64_MAX >> (65 - bits)) : (UINT64_MAX >> (64 - bits));
  if (!highest) value = with_sign ? ~value : 0;
  memcpy(bound->data, &value, (size_t)bits / 8); // little endian, as everywhere
}

static dq_status infer_Clip(dq_op *op) {
  DQ_TRY(dq_op_same_types(op, 0));
  for (int i = 1; i < op->input_count; i++)
    if (op->inputs[i] && dq_tensor_count(op->inputs[i]) != 1)
      return dq_op_fail(op, DQ_BAD_INPUT, "input %d is not a scalar", i);
  return dq_infer_same(op);
}

static dq_status run_Clip(dq_op *op) {
  DQ_TRY(infer_Clip(op));
  int type = op->inputs[0]->type;
  uint64_t elements[2];
  dq_tensor bounds[2];
  for (int i = 0; i < 2; i++) {
    const char *attribute = i ? "max" : "min";
    bounds[i] = (dq_tensor){.type = type, .data = &elements[i]};
    const dq_tensor *given = dq_op_input(op, i + 1);
    if (given) memcpy(&elements[i], given->data, dq_dtype_size(type));
    else if (op->version < 11 && dq_node_attribute(op->node, attribute))
      dq_tensor_set(&bounds[i], 0, (double)dq_node_float(op->node, attribute, 0));
    else end_of_type(&bounds[i], i == 1);
  }
  const dq_tensor *inputs[] = {op->inputs[0], &bounds[0], &bounds[1]};
  dq_broadcast_run(op->context, 3, inputs, op->outputs[0], loops_Clip[type], NULL, DQ_GRAIN);
  return DQ_OK;
}

static const dq_attribute_rule attributes_Clip[] = {
    DQ_CONSUMED_INPUTS, {"min", DQ_ATTRIBUTE_FLOAT, false}, {"max", DQ_ATTRIBUTE_FLOAT, false}, {0}};
// A bound that is an attribute before version 11 and an optional input since.
static bool read_bound(const dq_node *node, int input, const char *attribute, float fallback, float *bound) {
  const dq_value *given = dq_node_input(node, input);
  const dq_tensor *constant = dq_constant_of(given);
  *bound = constant ? (float)dq_tensor_get(constant, 0) : dq_node_float(node, attribute, fallback);
  if (!given) return true;
  return constant && (DQ_BIT(constant->type) & (DQ_BIT(DQ_F32) | DQ_BIT(DQ_F16))) && dq_tensor_count(constant) == 1;
}
static bool clamp_Clip(const dq_node *node, float *low, float *high) {
  return read_bound(node, 1, "min", -INFINITY, low) && read_bound(node, 2, "max", INFINITY, high);
}

// Bounds as run_Clip takes them: the last one wins where they cross.
static dq_status emit_Clip(dq_emission *to) {
  const dq_op *op = to->op;
  const bool low = dq_op_input(op, 1), high = dq_op_input(op, 2);
  char formula[192], low_text[20] = "y", high_text[20] = "z", inner[64] = "x";
  bool has_low = low || (op->version < 11 && dq_node_attribute(op->node, "min"));
  bool has_high = high || (op->version < 11 && dq_node_attribute(op->node, "max"));
  if (!low) strcpy(low_text, "(T)$min:0;");
  if (!high) strcpy(high_text, "(T)$max:0;");
  if (has_low) snprintf(inner, sizeof inner, "(x < %s ? %s : x)", low_text, low_text);
  if (has_high) snprintf(formula, sizeof formula, "%s > %s ? %s : %s", inner, high_text, high_text, inner);
  return dq_emit_elements(to, has_high ? formula : inner);
}
ROW_EMIT(emit_Clip, Clip, (1, 6, 11, 12, 13), (1, 3), DQ_TYPES_NUMBER, DQ_QUANTIZE_ABSORB, infer_Clip, attributes_Clip,
         DQ_OP_UNIFORM, .clamp = clamp_Clip, .gradient = dq_gradient_clamp, .bound = DQ_BOUND_SQUEEZE)
