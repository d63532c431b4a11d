// DequantizeLinear on the operands of Conv or Gemm and QuantizeLinear behind it become one integer step
// (dq QConv, dq QGemm), with Relu or Clip in between as bounds of the result. Files written by anybody
// in the QDQ form run this way; what does not fit the pattern runs in float between its conversions.
#include <math.h>
#include <string.h>

#include "lib/passes/passes_internal.h"

// A DequantizeLinear of 8-bit elements with constant parameters.
typedef struct quantized {
  dq_value *value, *scale, *zero_point; // zero_point may be NULL in the file; never here
} quantized;

static bool is_8_bit(int type) { return type == DQ_U8 || type == DQ_I8; }

// A zero-point operand where the file leaves it out (uint8 0).
static dq_value *zero_point_of(dq_graph *copy, const dq_node *node, int type) {
  dq_value *given = dq_node_input(node, 2);
  if (given) return dq_constant_of(given) ? given : NULL;
  return dq_graph_add_constant(copy, "zero_point", dq_tensor_scalar_i8(copy->arena, type, 0));
}

// Type of the elements a DequantizeLinear reads: of its zero point, or of the constant.
static int quantized_type(const dq_node *node) {
  const dq_value *zero_point = dq_node_input(node, 2);
  if (zero_point && zero_point->constant) return zero_point->constant->type;
  const dq_value *value = node->inputs[0];
  if (value->constant) return value->constant->type;
  return zero_point ? 0 : DQ_U8;
}

static bool read_dequantize(dq_graph *copy, const dq_value *value, bool constant,
                            quantized *operand) {
  const dq_node *node = value ? value->producer : NULL;
  if (!node || !dq_node_is(node, "DequantizeLinear") || dq_node_int(node, "block_size", 0))
    return false;
  int type = quantized_type(node);
  const dq_tensor *scale = dq_constant_of(node->inputs[1]);
  if (!is_8_bit(type) || !scale || scale->type != DQ_F32) return false;
  *operand = (quantized){node->inputs[0], node->inputs[1], zero_point_of(copy, node, type)};
  if (!operand->zero_point) return false;
  if (constant) return dq_constant_of(operand->value) != NULL;
  return dq_tensor_count(scale) == 1;
}

// Scales of a weight must run along `axis` (its output channels) or be one number.
static bool weight_axis_fits(const dq_value *dequantized, int axis) {
  const dq_node *node = dequantized->producer;
  const dq_tensor *scale = node->inputs[1]->constant, *weight = node->inputs[0]->constant;
  if (dq_tensor_count(scale) == 1) return true;
  int64_t given = dq_node_int(node, "axis", 1);
  if (given < 0) given += weight->rank;
  return given == axis && scale->rank == 1 && scale->dims[0] == weight->dims[axis];
}

// The bias as int32 in steps of sx * sw: true with *bias NULL when there is none. A float bias is no
// integer and stays out.
static bool read_bias(const dq_value *value, const quantized *x, const quantized *w,
                      dq_value **bias) {
  *bias = NULL;
  if (!value) return true;
  const dq_node *node = value->producer;
  if (!node || !dq_node_is(node, "DequantizeLinear")) return false;
  const dq_tensor *elements = dq_constant_of(node->inputs[0]);
  const dq_tensor *scale = dq_constant_of(node->inputs[1]), *zero = dq_constant_of(dq_node_input(node, 2));
  if (!elements || elements->type != DQ_I32 || !scale || scale->type != DQ_F32) return false;
  if (dq_node_input(node, 2) && !zero) return false;
  for (int64_t i = 0; zero && i < dq_tensor_count(zero); i++)
    if (dq_tensor_get_i64(zero, i)) return false;
  const float *sx = x->scale->constant->data, *sw = w->scale->constant->data, *sb = scale->data;
  int64_t weights = dq_tensor_count(w->scale->constant), scales = dq_tensor_count(scale);
  int64_t count = weights > scales ? weights : scales;
  for (int64_t i = 0; i < count; i++) { // written by others in float32: a few roundings apart
    double product = (double)sx[0] * (double)sw[weights > 1 ? i : 0];
    if (fabs((double)sb[scales > 1 ? i : 0] - product) > 1e-5 * product) return false;
  }
  *bias = node->inputs[0];
  return true;
}

// What lies behind the product: an optional Relu or Clip, then the QuantizeLinear.
typedef struct quantized_end {
  dq_node *activation; // NULL: none
  dq_node *quantize;
  dq_value *scale, *zero_point;
  float low, high; // bounds before quantization
} quantized_end;

static bool read_clip(const dq_node *node, quantized_end *to) {
  if (dq_node_is(node, "Relu")) {
    to->low = 0;
    return true;
  }
  if (!dq_node_is(node, "Clip")) return false;
  float *bounds[] = {&to->low, &to->high};
  const char *const names[] = {"min", "max"};
  for (int i = 0; i < 2; i++) {
    const dq_value *given = dq_node_input(node, i + 1);
    const dq_tensor *bound = dq_constant_of(given);
    if (given && (!bound || bound->type != DQ_F32 || dq_tensor_count(bound) != 1)) return false;
    *bounds[i] = bound ? *(const float *)bound->data : dq_node_float(node, names[i], *bounds[i]);
  }
  return true;
}

static bool read_epilogue(dq_graph *copy, const dq_value *product, quantized_end *to) {
  *to = (quantized_end){.low = -INFINITY, .high = INFINITY};
  dq_node *next = dq_only_user(product);
  if (next && read_clip(next, to)) {
    to->activation = next;
    next = dq_only_user(next->outputs[0]);
  }
  if (!next || !dq_node_is(next, "QuantizeLinear") || dq_node_int(next, "block_size", 0)) return false;
  const dq_tensor *scale = dq_constant_of(next->inputs[1]);
  if (!scale || scale->type != DQ_F32 || dq_tensor_count(scale) != 1) return false;
  to->quantize = next;
  to->scale = next->inputs[1];
  to->zero_point = zero_point_of(copy, next, DQ_U8);
  return to->zero_point && is_8_bit(to->zero_point->constant->type);
}

// A bound before quantization, as the quantized number it becomes.
static int64_t quantized_bound(float bound, const quantized_end *end) {
  int type = end->zero_point->constant->type;
  double lowest = type == DQ_U8 ? 0 : -128, highest = type == DQ_U8 ? 255 : 127;
  float scale = *(const float *)end->scale->constant->data;
  double q = nearbyint((double)(bound / scale)) + dq_tensor_get(end->zero_point->constant, 0);
  return (int64_t)(q < lowest ? lowest : q > highest ? highest : q);
}

static dq_status replace(dq_graph *copy, dq_node *node, const char *op_type, const quantized *x,
                         const quantized *w, const quantized_end *end, dq_value *bias,
                         dq_error *error) {
  dq_value *inputs[] = {x->value, x->scale,        x->zero_point,        w->value, w->scale,
                        w->zero_point, end->scale, end->zero_point, bias};
  dq_value **kept = dq_arena_copy(copy->arena, inputs, sizeof inputs);
  if (!kept) return dq_fail_memory(error, sizeof inputs);
  node->inputs = kept;
  node->input_count = bias ? 9 : 8;
  node->op_type = op_type;
  node->domain = "dq";
  if (!dq_node_set_int(copy, node, "clamp_low", quantized_bound(end->low, end)) ||
      !dq_node_set_int(copy, node, "clamp_high", quantized_bound(end->high, end)))
    return dq_fail_memory(error, 0);
  dq_take_output(node, end->quantize->outputs[0]);
  if (end->activation) dq_graph_remove_node(copy, end->activation);
  dq_graph_remove_node(copy, end->quantize);
  return DQ_OK;
}

static bool is_matrix_product(const dq_node *node, const quantized *w) {
  return w->value->constant->rank == 2 && !dq_node_int(node, "transA", 0) &&
         dq_node_float(node, "alpha", 1) == 1 && dq_node_float(node, "beta", 1) == 1;
}

static dq_status fuse_node(dq_graph *copy, dq_node *node, dq_error *error) {
  bool conv = dq_node_is(node, "Conv"), gemm = dq_node_is(node, "Gemm");
  quantized x, w;
  quantized_end end;
  dq_value *bias;
  if ((!conv && !gemm) || !read_dequantize(copy, node->inputs[0], false, &x) ||
      !read_dequantize(copy, node->inputs[1], true, &w) ||
      !read_bias(dq_node_input(node, 2), &x, &w, &bias) ||
      !read_epilogue(copy, node->outputs[0], &end))
    return DQ_OK;
  if (gemm && !is_matrix_product(node, &w)) return DQ_OK;
  if (conv && w.value->constant->rank > 4) return DQ_OK;
  int axis = gemm && !dq_node_int(node, "transB", 0) ? 1 : 0;
  if (!weight_axis_fits(node->inputs[1], axis)) return DQ_OK;
  return replace(copy, node, conv ? "QConv" : "QGemm", &x, &w, &end, bias, error);
}

dq_status dq_pass_fuse_quantized(dq_graph *copy, const dq_context *context, dq_error *error) {
  (void)context;
  for (int n = 0; n < copy->node_count; n++)
    if (!copy->nodes[n]->removed) DQ_TRY(fuse_node(copy, copy->nodes[n], error));
  return DQ_OK;
}
