// Products of a quantized operand and a quantized weight: int32 sums, requantized.
#include <math.h>

#include "lib/base/sizes.h"
#include "lib/integer/quantized_pattern.h"

// Scales of a weight must run along `axis` (its output channels) or be one number.
static bool weight_axis_fits(const dq_value *dequantized, int axis) {
  const dq_node *node = dequantized->producer;
  const dq_tensor *scale = node->inputs[1]->constant, *weight = node->inputs[0]->constant;
  if (dq_tensor_count(scale) == 1) return true;
  if (!weight || axis >= weight->rank) return false;
  int64_t given = dq_node_int(node, "axis", 1);
  if (given < 0) given += weight->rank;
  return given == axis && scale->rank == 1 && scale->dims[0] == weight->dims[axis];
}

// The bias as int32 in steps of sx * sw: true with *bias NULL when there is none. A float bias is no
// integer and stays out.
static bool read_bias(const dq_value *value, const dq_quantized *x, const dq_quantized *w, dq_value **bias) {
  *bias = NULL;
  if (!value) return true;
  const dq_node *node = value->producer;
  if (!node || !dq_node_is(node, "DequantizeLinear")) return false;
  const dq_tensor *elements = dq_constant_of(node->inputs[0]);
  const dq_tensor *scale = dq_constant_of(node->inputs[1]), *zero = dq_constant_of(dq_node_input(node, 2));
  if (!elements || elements->type != DQ_I32 || !scale || scale->type != DQ_F32 || !dq_tensor_count(scale)) return false;
  if (dq_node_input(node, 2) && !zero) return false;
  for (int64_t i = 0; zero && i < dq_tensor_count(zero); i++)
    if (dq_tensor_get_i64(zero, i)) return false;
  const float *sx = x->scale->constant->data, *sw = w->scale->constant->data, *sb = scale->data;
  int64_t weights = dq_tensor_count(w->scale->constant), scales = dq_tensor_count(scale);
  int64_t count = weights > scales ? weights : scales;
  for (int64_t i = 0; i < count; i++) { // written by others in float32: a few roundings apart
    double product = (double)sx[0] * (double)sw[i % weights];
    if (!(fabs((double)sb[i % scales] - product) <= 1e-5 * product)) return false; // NaN too
  }
  *bias = node->inputs[0];
  return true;
}

// Which axis of the weight the scales may run along; DQ_MAX_RANK: one scale for all; -1: the form does not fit. Lays
// out the weight.
static int weight_axis(dq_product *view, const dq_quantized *w) {
  const dq_tensor *weight = dq_constant_of(w->value);
  if (!dq_product_is_plain(view)) return -1;
  if (!weight) return DQ_MAX_RANK;
  if (weight->rank > view->ranks[1] || (view->kind == DQ_CONVOLUTION && weight->rank > 4)) return -1;
  bool laid_out = dq_product_lay_out(view, weight);
  if (view->kind == DQ_MATRIX_PRODUCT && (!laid_out || view->stacked)) return DQ_MAX_RANK;
  return laid_out ? view->output_axis : -1;
}

typedef struct product {
  dq_quantized x, w;
  dq_value *bias; // NULL: none
  dq_product view;
} product;

// ---- Sums that fit int32 ----

// Whether no sum of output `output` of all groups, of matrix `matrix`, leaves int32.
static bool fits(const product *p, int64_t matrix, int64_t output, int64_t least_bias, int64_t most_bias) {
  const dq_tensor *w = p->w.value->constant, *zeros = p->w.zero_point->constant;
  const dq_product *view = &p->view;
  int64_t place = matrix * dq_product_outputs(view) + output;
  int64_t zero = dq_tensor_get_i64(zeros, place % dq_tensor_count(zeros)), low = least_bias, high = most_bias;
  int type = dq_quantized_type(&p->x);
  int64_t data_zero = dq_tensor_get_i64(p->x.zero_point->constant, 0);
  int64_t a = dq_dtype_low(type) - data_zero, b = dq_dtype_high(type) - data_zero;
  for (int64_t i = 0; i < view->inputs; i++)
    for (int64_t t = 0; t < view->taps; t++) {
      int64_t at = matrix * view->by_matrix + dq_product_at(view, output, i, t);
      int64_t weight = dq_tensor_get_i64(w, at) - zero;
      low += weight > 0 ? weight * a : weight * b;
      high += weight > 0 ? weight * b : weight * a;
    }
  return low >= INT32_MIN && high <= INT32_MAX;
}

// Whether no sum with its bias can leave int32, where it would wrap, which the file does not say.
static bool sums_fit(const product *p) {
  const dq_tensor *bias = p->bias ? dq_constant_of(p->bias) : NULL;
  const dq_product *view = &p->view;
  int64_t biases = bias ? dq_tensor_count(bias) : 0, least = 0, most = 0, outputs = dq_product_outputs(view);
  if (!outputs) return true;
  for (int64_t i = 0; i < biases; i++) {
    least = dq_min_i64(least, dq_tensor_get_i64(bias, i));
    most = dq_max_i64(most, dq_tensor_get_i64(bias, i));
  }
  int64_t factor = dq_dtype_high(DQ_U8); // the largest magnitude of a number of 8 bits minus a zero point
  int64_t largest = dq_product_depth(view) * factor * factor;
  if (least - largest >= INT32_MIN && most + largest <= INT32_MAX) return true; // whatever the weights are
  bool alone = biases == outputs;
  for (int64_t m = 0; m < view->matrices; m++)
    for (int64_t o = 0; o < outputs; o++) {
      int64_t own = alone ? dq_tensor_get_i64(bias, o) : 0;
      if (!fits(p, m, o, alone ? own : least, alone ? own : most)) return false;
    }
  return true;
}

// false: the form does not fit the operands.
static bool read_product(const dq_node *node, product *p) {
  if (!dq_product_of(node, &p->view) || p->view.at.weight != 1 || !dq_read_dequantize(node->inputs[0], false, &p->x) ||
      !(dq_read_dequantize(node->inputs[1], true, &p->w) ||
        (p->view.computed_weight && dq_read_dequantize(node->inputs[1], false, &p->w))) ||
      !read_bias(dq_node_input(node, p->view.at.bias), &p->x, &p->w, &p->bias))
    return false;
  int axis = weight_axis(&p->view, &p->w);
  return axis >= 0 && weight_axis_fits(node->inputs[1], axis) && sums_fit(p);
}

dq_status dq_form_product(dq_graph *copy, const dq_quantized_end *end, dq_error *error) {
  dq_node *node = end->node;
  product p;
  // Integer sums are not the float ones bit by bit, so nothing else may see what lies between.
  if (!end->alone || !read_product(node, &p) || !dq_sums_are_usable(&p.x, &p.w, &end->y)) return DQ_OK;
  if (p.view.kind == DQ_TRANSPOSED_CONVOLUTION) return dq_form_transposed(copy, end, &p.x, &p.w, p.bias, error);
  if (!p.view.integer_step) return DQ_OK;
  dq_value *inputs[] = {p.x.value,      p.x.scale,    p.x.zero_point,    p.w.value, p.w.scale,
                        p.w.zero_point, end->y.scale, end->y.zero_point, p.bias};
  return dq_apply_end(copy, end, p.view.integer_step, inputs, 9, error);
}

// What a convolution in float does at its end, or has folded into it, would be a step of its own behind sums.
static bool is_ended(const dq_node *node, dq_product_kind kind) {
  const dq_value *result = node->outputs[0];
  for (int u = 0; u < result->user_count; u++) {
    dq_integer_form form = dq_integer_form_of(result->users[u]);
    if (form == DQ_FORM_FUNCTION || form == DQ_FORM_PAIR) return kind == DQ_CONVOLUTION;
  }
  return false;
}

dq_status dq_form_float_product(dq_graph *copy, dq_node *node, dq_error *error) {
  product p;
  if (!read_product(node, &p) || !p.view.integer_step || is_ended(node, p.view.kind) ||
      !dq_sums_are_usable(&p.x, &p.w, NULL))
    return DQ_OK;
  dq_attribute *attributes = node->attributes;
  int attribute_count = node->attribute_count;
  dq_value *inputs[] = {p.x.value, p.x.scale, p.x.zero_point, p.w.value, p.w.scale, p.w.zero_point, NULL, NULL, p.bias};
  DQ_TRY(dq_become(copy, node, p.view.integer_step, inputs, p.bias ? 9 : 6, error));
  node->attributes = attributes;
  node->attribute_count = attribute_count;
  return DQ_OK;
}
