// Fake quantization, for training: float32 values on the grid of QuantizeLinear and DequantizeLinear, with the
// straight-through gradient by the values and the gradient by the scale of Esser et al., Learned Step Size
// Quantization, 2020, sections 2.1 and 2.2. With t = x / s and bounds low - z and high - z:
//   y = s round(t) inside of the bounds, which count as inside, else s times the bound that t passes
//   dy/dx = 1 inside, else 0;  dy/ds = round(t) - t inside, else the bound
// So that a training sees the integers of an execution on 8 bits, bit by bit, FakeQuantize may be given the exact sums
// of a product in place of its values: t is then the sum times f / s, f the scale of the sums, as in requantization.
#include <math.h>

#include "lib/base/sizes.h"
#include "lib/kernels/reference/scalar.h"
#include "lib/ops/common/elementwise.h"
#include "lib/ops/gradient/gradient.h"

typedef struct grid {
  const float *x, *gradient, *scales, *factors; // factors NULL: x are no sums
  const dq_tensor *zero_point;                  // NULL: 0
  float *y, *second;                            // second output: levels or terms; NULL: there is none
  double low, high, clip_low, clip_high;        // levels; values
  int64_t length, scale_count, factor_count;    // neighbours that share all parameters
} grid;

// Inputs from `x` on: values, scale, zero point.
static grid grid_of(const dq_op *op, int x) {
  const dq_tensor *values = op->inputs[x], *factor = x ? NULL : dq_op_input(op, 3);
  const dq_tensor *second = dq_op_output(op, 1);
  grid g = {.x = values->data,
            .gradient = op->inputs[0]->data,
            .scales = op->inputs[x + 1]->data,
            .factors = factor ? factor->data : NULL,
            .zero_point = dq_op_input(op, x + 2),
            .y = op->outputs[0]->data,
            .second = second ? second->data : NULL,
            .low = (double)dq_node_int(op->node, "low", 0),
            .high = (double)dq_node_int(op->node, "high", 0),
            .clip_low = (double)dq_node_float(op->node, "clip_low", -INFINITY),
            .clip_high = (double)dq_node_float(op->node, "clip_high", INFINITY),
            .length = dq_max_i64(1, dq_tensor_count(values)),
            .scale_count = dq_tensor_count(op->inputs[x + 1]),
            .factor_count = factor ? dq_tensor_count(factor) : 1};
  if (g.scale_count > 1 || g.factor_count > 1)
    g.length = dq_tensor_product(values, (int)dq_node_int(op->node, "axis", 0) + 1, values->rank);
  return g;
}

typedef struct bounds {
  float scale, lower, upper;
} bounds;

static bounds bounds_at(const grid *g, int64_t at) {
  const int64_t channel = at / g->length % g->scale_count;
  const int64_t zeros = g->zero_point ? dq_tensor_count(g->zero_point) : 0;
  const double zero = zeros ? dq_tensor_get(g->zero_point, zeros == 1 ? 0 : channel) : 0;
  const float scale = g->scales[channel];
  return (bounds){scale, fmaxf((float)(g->low - zero), (float)g->clip_low / scale),
                  fminf((float)(g->high - zero), (float)g->clip_high / scale)};
}

static void quantize(const grid *g, int64_t at, int64_t count) {
  const bounds b = bounds_at(g, at);
  const float *x = g->x + at;
  float *y = g->y + at, *levels = g->second ? g->second + at : y;
  const float multiplier = g->factors ? g->factors[at / g->length % g->factor_count] / b.scale : 0;
  const bool wide = g->high > 0x1p22; // levels of 32 bits, which dq_round_even is not for
  for (int64_t i = 0; i < count; i++) {
    float t = multiplier != 0 ? x[i] * multiplier : x[i] / b.scale;
    t = t > b.lower ? t : b.lower;
    t = t < b.upper ? t : b.upper;
    levels[i] = wide ? rintf(t) : dq_round_even(t);
  }
  for (int64_t i = 0; i < count; i++) y[i] = levels[i] * b.scale;
}

static void derive(const grid *g, int64_t at, int64_t count) {
  const bounds b = bounds_at(g, at);
  const float *x = g->x + at, *gradient = g->gradient + at;
  float *y = g->y + at, *terms = g->second + at;
  for (int64_t i = 0; i < count; i++) {
    const float t = x[i] / b.scale, up = t > b.lower ? t : b.lower, inner = up < b.upper ? up : b.upper;
    const float outside = dq_round_even(inner), inside = outside - t;
    y[i] = t == inner ? gradient[i] : 0;
    terms[i] = gradient[i] * (t == inner ? inside : outside);
  }
}

#define DEFINE_SPAN(NAME, ROW)                                                                                         \
  static void NAME(void *argument, int64_t from, int64_t to) {                                                         \
    const grid *g = argument;                                                                                          \
    while (from < to) {                                                                                                \
      const int64_t count = dq_min_i64(g->length - from % g->length, to - from);                                       \
      ROW(g, from, count);                                                                                             \
      from += count;                                                                                                   \
    }                                                                                                                  \
  }
DEFINE_SPAN(quantize_span, quantize)
DEFINE_SPAN(derive_span, derive)

static dq_status check_fit(const dq_op *op, const dq_tensor *values, int parameter) {
  const dq_tensor *numbers = dq_op_input(op, parameter);
  const int64_t axis = dq_node_int(op->node, "axis", 0);
  if (!numbers || dq_tensor_count(numbers) == 1) return DQ_OK;
  if (numbers->rank == 1 && axis >= 0 && axis < values->rank && numbers->dims[0] == values->dims[axis]) return DQ_OK;
  return dq_op_fail(op, DQ_BAD_INPUT, "input %d has %lld elements, which do not fit axis %lld of the values", parameter,
                    (long long)dq_tensor_count(numbers), (long long)axis);
}

static dq_status infer_FakeQuantize(dq_op *op) {
  const dq_tensor *values = op->inputs[0];
  DQ_TRY(check_fit(op, values, 1));
  DQ_TRY(check_fit(op, values, 3));
  for (int i = 0; i < op->output_count; i++) DQ_TRY(dq_op_shape(op, i, DQ_F32, values->rank, values->dims));
  return DQ_OK;
}

static dq_status infer_FakeQuantizeGrad(dq_op *op) {
  const dq_tensor *values = op->inputs[1];
  DQ_TRY(check_fit(op, values, 2));
  for (int i = 0; i < op->output_count; i++) DQ_TRY(dq_op_shape(op, i, DQ_F32, values->rank, values->dims));
  return DQ_OK;
}

static dq_status run_FakeQuantize(dq_op *op) {
  grid g = grid_of(op, 0);
  dq_spans(op->context, dq_tensor_count(op->outputs[0]), DQ_GRAIN, quantize_span, &g);
  return DQ_OK;
}

static dq_status run_FakeQuantizeGrad(dq_op *op) {
  grid g = grid_of(op, 1);
  dq_spans(op->context, dq_tensor_count(op->outputs[0]), DQ_GRAIN, derive_span, &g);
  return DQ_OK;
}

// 1 / sqrt(N Q), which keeps the steps of a scale in proportion to those of the values (section 2.2). N: values that
// share a scale, of one picture where they are of a batch.
static double step_share(const dq_gradient *gradient) {
  const dq_tensor *values = gradient->op->inputs[0];
  const dq_node *node = gradient->op->node;
  const bool batched = dq_node_int(node, "batched", 0) && values->rank > 0;
  const double shared =
      (double)dq_tensor_product(values, batched, values->rank) / (double)dq_tensor_count(gradient->op->inputs[1]);
  return 1 / sqrt(fmax(1, shared) * (double)dq_node_int(node, "high", 1));
}

static dq_value *by_scale(const dq_gradient *gradient, dq_value *terms) {
  const dq_tensor *values = gradient->op->inputs[0], *scale = gradient->op->inputs[1];
  int64_t dims[DQ_MAX_RANK];
  for (int i = 0; i < values->rank; i++) dims[i] = 1;
  if (dq_tensor_count(scale) > 1) dims[dq_node_int(gradient->op->node, "axis", 0)] = dq_tensor_count(scale);
  dq_node *sum = dq_gradient_node(gradient, "dq.SumTo", 1, &terms, 1);
  dq_value *sums = dq_gradient_result(dq_gradient_ints(gradient, sum, "shape", dims, values->rank));
  return dq_gradient_reshaped(gradient, dq_gradient_scaled(gradient, sums, step_share(gradient)), 1);
}

static dq_status gradient_FakeQuantize(const dq_gradient *gradient) {
  const dq_node *from = gradient->op->node;
  dq_value *inputs[4] = {gradient->outputs[0]};
  for (int i = 0; i < from->input_count; i++) inputs[1 + i] = from->inputs[i];
  dq_node *node = dq_gradient_node(gradient, "dq.FakeQuantizeGrad", 1 + from->input_count, inputs, 2);
  static const char *const names[] = {"axis", "low", "high"};
  for (int i = 0; i < 3; i++) node = dq_gradient_int(gradient, node, names[i], dq_node_int(from, names[i], 0));
  if (!node) return dq_fail_memory(gradient->op->error, 0);
  if (dq_gradient_wants(gradient, 0)) DQ_TRY(dq_gradient_set(gradient, 0, node->outputs[0]));
  if (!dq_gradient_wants(gradient, 1) || !dq_node_int(from, "learned", 1)) return DQ_OK;
  return dq_gradient_set(gradient, 1, by_scale(gradient, node->outputs[1]));
}

static const dq_attribute_rule attributes[] = {
    {"axis", DQ_ATTRIBUTE_INT, false},        {"low", DQ_ATTRIBUTE_INT, true},
    {"high", DQ_ATTRIBUTE_INT, true},         {"batched", DQ_ATTRIBUTE_INT, false},
    {"learned", DQ_ATTRIBUTE_INT, false},     {"clip_low", DQ_ATTRIBUTE_FLOAT, false},
    {"clip_high", DQ_ATTRIBUTE_FLOAT, false}, {0}};

// Inputs: values, scales of one number or one for each index of `axis`, zero points; where the values are sums of
// levels, their scales likewise, and the attributes are bounds that an activation has in front of the quantizer.
// Outputs: the values on the grid, and their levels minus the zero point. `learned` 0: the scale gets no gradient.
// `batched`: pictures are counted by the first dimension.
const dq_operator dq_op_FakeQuantize = {
    .name = "FakeQuantize",
    .domain = "dq",
    .since = {1},
    .inputs = {2, 4},
    .outputs = {1, 2},
    .types = DQ_BIT(DQ_F32),
    .attributes = attributes,
    .pictures = DQ_PICTURES_EACH,
    .infer = infer_FakeQuantize,
    .run = run_FakeQuantize,
    .gradient = gradient_FakeQuantize,
};

// Inputs: gradient of the result, then those of FakeQuantize. Outputs: the gradient of the values, and the terms whose
// sums are those of the scales.
const dq_operator dq_op_FakeQuantizeGrad = {
    .name = "FakeQuantizeGrad",
    .domain = "dq",
    .since = {1},
    .inputs = {3, 4},
    .outputs = {2, 2},
    .types = DQ_BIT(DQ_F32),
    .attributes = attributes,
    .pictures = DQ_PICTURES_EACH,
    .infer = infer_FakeQuantizeGrad,
    .run = run_FakeQuantizeGrad,
};
