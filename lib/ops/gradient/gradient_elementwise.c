// Gradients of functions of single elements. The derivative of each is one loop over the gradient of the output and the
// input or the output of the function: x is the gradient, y the other.
#include <math.h>
#include <stdio.h>

#include "lib/ops/common/elementwise.h"
#include "lib/ops/gradient/gradient.h"

// The row dq.<NAME>Grad, with attributes FIRST and SECOND (NULL: none) as a and b in the expression.
#define DERIVATIVE(NAME, GRAIN, FIRST, A, SECOND, B, EXPRESSION)                                                       \
  DQ_EACH_FLOAT(DERIVATIVE_LOOP, NAME, EXPRESSION)                                                                     \
  static dq_status run_##NAME##Grad(dq_op *op) {                                                                       \
    static dq_loop *const loops[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, NAME)};                                 \
    const double parameters[] = {parameter(op, FIRST, A), parameter(op, SECOND, B)};                                   \
    return dq_elementwise(op, loops, parameters, GRAIN);                                                               \
  }                                                                                                                    \
  static const dq_attribute_rule attributes_##NAME[] = {                                                               \
      {FIRST, DQ_ATTRIBUTE_FLOAT, false}, {SECOND, DQ_ATTRIBUTE_FLOAT, false}, {0}};                                   \
  DQ_ELEMENTWISE_ROW(NAME##Grad, (1), (2, 2), DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64), attributes_##NAME, dq_infer_binary,     \
                     .domain = "dq", .flags = DQ_OP_IN_PLACE)

#define DERIVATIVE_LOOP(name, expression, symbol, type)                                                                \
  static void name##_##symbol(const dq_lane *lane) {                                                                   \
    typedef type element __attribute__((unused));                                                                      \
    const type *gradients = lane->inputs[0], *values = lane->inputs[1];                                                \
    const type a = (type)lane->parameters[0], b = (type)lane->parameters[1];                                           \
    type *out = lane->output;                                                                                          \
    const int64_t n = lane->count;                                                                                     \
    (void)a, (void)b;                                                                                                  \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) {                                                             \
      const type x = gradients[i], y = values[i];                                                                      \
      out[i] = (type)(expression);                                                                                     \
    }                                                                                                                  \
  }

static double parameter(const dq_op *op, const char *name, double fallback) {
  return name ? (double)dq_node_float(op->node, name, (float)fallback) : 0;
}

DERIVATIVE(Clamp, DQ_GRAIN, "low", -HUGE_VAL, "high", HUGE_VAL, y > a && y < b ? x : 0)
DERIVATIVE(LeakyRelu, DQ_GRAIN, "alpha", 0.01, NULL, 0, y < 0 ? a * x : x)
DERIVATIVE(Sigmoid, DQ_GRAIN, NULL, 0, NULL, 0, x *(y *(1 - y)))
DERIVATIVE(Tanh, DQ_GRAIN, NULL, 0, NULL, 0, x *(1 - y * y))
DERIVATIVE(HardSwish, DQ_GRAIN, NULL, 0, NULL, 0, y <= -3 ? 0 : y >= 3 ? x : x * (y / 3 + (element)0.5))
DERIVATIVE(HardSigmoid, DQ_GRAIN, "alpha", 0.2, NULL, 0, y > 0 && y < 1 ? a * x : 0)
DERIVATIVE(Softplus, DQ_GRAIN_FUNCTION, NULL, 0, NULL, 0, x / (1 + DQ_EXP(-y)))
DERIVATIVE(Abs, DQ_GRAIN, NULL, 0, NULL, 0, y > 0 ? x : y < 0 ? -x : 0)

static dq_value *named(const dq_gradient *gradient, const char *function, dq_value *value, const char *attribute,
                       double parameter) {
  char name[64];
  snprintf(name, sizeof name, "dq.%sGrad", function);
  dq_value *inputs[] = {gradient->outputs[0], value};
  dq_node *node = dq_gradient_node(gradient, name, 2, inputs, 1);
  if (attribute) node = dq_gradient_float(gradient, node, attribute, parameter);
  return dq_gradient_result(node);
}

// The attribute "alpha" is the only one that derivatives share with their functions.
static dq_value *derivative(const dq_gradient *gradient, dq_value *value) {
  const dq_attribute *alpha = dq_node_attribute(gradient->op->node, "alpha");
  return named(gradient, gradient->op->row->name, value, alpha ? "alpha" : NULL, alpha ? (double)alpha->f : 0);
}

dq_status dq_gradient_by_input(const dq_gradient *gradient) {
  return dq_gradient_set(gradient, 0, derivative(gradient, dq_gradient_input(gradient, 0)));
}

dq_status dq_gradient_by_output(const dq_gradient *gradient) {
  return dq_gradient_set(gradient, 0, derivative(gradient, dq_gradient_output(gradient, 0)));
}

// Where the result lies between the bounds, so did the input.
dq_status dq_gradient_clamp(const dq_gradient *gradient) {
  float low, high;
  if (!gradient->op->row->clamp(gradient->op->node, &low, &high))
    return dq_op_fail(gradient->op, DQ_UNSUPPORTED, "training needs bounds that are constant");
  dq_value *inputs[] = {gradient->outputs[0], dq_gradient_output(gradient, 0)};
  dq_node *node = dq_gradient_node(gradient, "dq.ClampGrad", 2, inputs, 1);
  node = dq_gradient_float(gradient, node, "low", (double)low);
  return dq_gradient_set(gradient, 0, dq_gradient_result(dq_gradient_float(gradient, node, "high", (double)high)));
}

// A slope for each channel: the gradient times 1 or the slope is that times the slope everywhere, corrected where x is
// above 0.
static dq_status many_slopes(const dq_gradient *gradient, int slope) {
  dq_value *x = dq_gradient_input(gradient, 0), *from = gradient->outputs[0];
  dq_value *above = dq_gradient_of(gradient, "Relu", x);
  if (dq_gradient_wants(gradient, 0)) {
    dq_value *inside[] = {from, above};
    dq_value *upper = dq_gradient_result(
        dq_gradient_float(gradient, dq_gradient_node(gradient, "dq.ClampGrad", 2, inside, 1), "low", 0));
    dq_value *lower = dq_gradient_of_two(gradient, "Mul", dq_gradient_of_two(gradient, "Sub", from, upper),
                                         dq_gradient_input(gradient, slope));
    DQ_TRY(dq_gradient_set(gradient, 0, dq_gradient_of_two(gradient, "Add", upper, lower)));
  }
  if (!dq_gradient_wants(gradient, slope)) return DQ_OK;
  dq_value *product = dq_gradient_of_two(gradient, "Mul", from, dq_gradient_of_two(gradient, "Sub", x, above));
  return dq_gradient_set(gradient, slope, dq_gradient_sum_to(gradient, product, slope));
}

// The result has the sign of the input where the slope is above 0.
dq_status dq_gradient_slope(const dq_gradient *gradient) {
  dq_slope slope = gradient->op->row->slope(gradient->op->node);
  if (slope.input != DQ_NO_INPUT) return many_slopes(gradient, slope.input);
  dq_value *sign = slope.every > 0 ? dq_gradient_output(gradient, 0) : dq_gradient_input(gradient, 0);
  return dq_gradient_set(gradient, 0, named(gradient, "LeakyRelu", sign, "alpha", (double)slope.every));
}

// ---- Arithmetic of two operands that broadcast ----

dq_status dq_gradient_add(const dq_gradient *gradient) {
  for (int i = 0; i < 2; i++)
    if (dq_gradient_wants(gradient, i))
      DQ_TRY(dq_gradient_set(gradient, i, dq_gradient_sum_to(gradient, gradient->outputs[0], i)));
  return DQ_OK;
}

dq_status dq_gradient_sub(const dq_gradient *gradient) {
  dq_value *from = gradient->outputs[0];
  if (dq_gradient_wants(gradient, 0)) DQ_TRY(dq_gradient_set(gradient, 0, dq_gradient_sum_to(gradient, from, 0)));
  if (!dq_gradient_wants(gradient, 1)) return DQ_OK;
  return dq_gradient_set(gradient, 1, dq_gradient_of(gradient, "Neg", dq_gradient_sum_to(gradient, from, 1)));
}

dq_status dq_gradient_mul(const dq_gradient *gradient) {
  for (int i = 0; i < 2; i++) {
    if (!dq_gradient_wants(gradient, i)) continue;
    dq_value *product = dq_gradient_of_two(gradient, "Mul", gradient->outputs[0], dq_gradient_input(gradient, !i));
    DQ_TRY(dq_gradient_set(gradient, i, dq_gradient_sum_to(gradient, product, i)));
  }
  return DQ_OK;
}

// a / b: 1 / b and -(a / b) / b.
dq_status dq_gradient_div(const dq_gradient *gradient) {
  dq_value *share = dq_gradient_of_two(gradient, "Div", gradient->outputs[0], dq_gradient_input(gradient, 1));
  if (dq_gradient_wants(gradient, 0)) DQ_TRY(dq_gradient_set(gradient, 0, dq_gradient_sum_to(gradient, share, 0)));
  if (!dq_gradient_wants(gradient, 1)) return DQ_OK;
  dq_value *product = dq_gradient_of_two(gradient, "Mul", share, dq_gradient_output(gradient, 0));
  return dq_gradient_set(gradient, 1, dq_gradient_of(gradient, "Neg", dq_gradient_sum_to(gradient, product, 1)));
}

dq_status dq_gradient_neg(const dq_gradient *gradient) {
  return dq_gradient_set(gradient, 0, dq_gradient_of(gradient, "Neg", gradient->outputs[0]));
}
