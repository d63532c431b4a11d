// Reading the parts of a quantized operator.
#include "lib/integer/quantized_pattern.h"

#include <math.h>
#include <string.h>

// Scales for which the integer forms are the operators one by one: nothing overflows on the way.
static bool is_usable(float scale) { return scale > 0x1p-100f && scale < 0x1p100f; }

static bool are_usable(const dq_tensor *scale) {
  if (!scale || scale->type != DQ_F32 || scale->rank > 1 || !dq_tensor_count(scale)) return false;
  const float *values = scale->data;
  for (int64_t i = 0; i < dq_tensor_count(scale); i++)
    if (!is_usable(values[i])) return false;
  return true;
}

// The zero points of a node, of the type that the operators one by one ask for: one for each scale, of 8 bits, and
// those of a constant that DequantizeLinear reads, or those that QuantizeLinear is asked for. NULL: it has none like
// these.
static dq_value *zero_point_of(const dq_node *node, const dq_tensor *scale, int64_t type) {
  dq_value *given = dq_node_input(node, 2);
  const dq_tensor *zero = dq_constant_of(given);
  if (!zero || dq_node_int(node, "block_size", 0) || dq_tensor_count(zero) != dq_tensor_count(scale)) return NULL;
  return dq_dtype_is_8_bit(zero->type) && (!type || type == zero->type) ? given : NULL;
}

bool dq_read_dequantize(const dq_value *value, bool constant, dq_quantized *operand) {
  const dq_node *node = value ? value->producer : NULL;
  if (!node || !dq_node_is(node, "DequantizeLinear")) return false;
  const dq_tensor *scale = dq_constant_of(node->inputs[1]), *elements = dq_constant_of(node->inputs[0]);
  const int64_t to = dq_node_int(node, "output_dtype", 0);
  if (!are_usable(scale) || (to && to != DQ_F32)) return false;
  *operand =
      (dq_quantized){node->inputs[0], node->inputs[1], zero_point_of(node, scale, elements ? elements->type : 0)};
  if (!operand->zero_point) return false;
  return constant ? elements != NULL : dq_tensor_count(scale) == 1;
}

bool dq_sums_are_usable(const dq_quantized *x, const dq_quantized *w, const dq_quantized *y) {
  static const float one = 1;
  const float *scales = w ? w->scale->constant->data : &one, result = y ? dq_quantized_scale(y) : 1;
  const int64_t count = w ? dq_tensor_count(w->scale->constant) : 1;
  for (int64_t i = 0; i < count; i++) {
    const float step = dq_quantized_scale(x) * scales[i];
    if (!is_usable(step) || !is_usable(step / result)) return false;
  }
  return true;
}

bool dq_same_parameters(const dq_quantized *a, const dq_quantized *b) {
  const dq_tensor *x = a->zero_point->constant, *y = b->zero_point->constant;
  return x->type == y->type && dq_tensor_get_i64(x, 0) == dq_tensor_get_i64(y, 0) &&
         dq_quantized_scale(a) == dq_quantized_scale(b);
}

// A bound before quantization, as the quantized number it becomes.
static int64_t quantized_bound(float bound, const dq_quantized *y) {
  int type = dq_quantized_type(y);
  double lowest = (double)dq_dtype_low(type), highest = (double)dq_dtype_high(type);
  double q = nearbyint((double)(bound / dq_quantized_scale(y))) + dq_tensor_get(y->zero_point->constant, 0);
  return (int64_t)(q < lowest ? lowest : q > highest ? highest : q);
}

bool dq_read_end(dq_node *quantize, dq_quantized_end *end) {
  if (!dq_node_is(quantize, "QuantizeLinear")) return false;
  const dq_tensor *scale = dq_constant_of(quantize->inputs[1]);
  if (!are_usable(scale) || dq_tensor_count(scale) != 1) return false;
  const dq_value *from = quantize->inputs[0];
  dq_value *zero = zero_point_of(quantize, scale, dq_node_int(quantize, "output_dtype", 0));
  *end = (dq_quantized_end){.quantize = quantize, .node = from->producer, .alone = dq_is_private(from)};
  if (!zero) return false;
  end->y = (dq_quantized){quantize->outputs[0], quantize->inputs[1], zero};
  float low = -INFINITY, high = INFINITY;
  if (dq_clamp_of(end->node, &low, &high)) {
    from = end->node->inputs[0];
    end->node = from->producer;
    end->alone = end->alone && dq_is_private(from);
  }
  end->low = quantized_bound(low, &end->y);
  end->high = quantized_bound(high, &end->y);
  return low <= high;
}

dq_status dq_become(dq_graph *copy, dq_node *node, const char *op_type, dq_value *const *inputs, int count,
                    dq_error *error) {
  dq_value **kept = dq_arena_copy(copy->arena, inputs, (size_t)count * sizeof *inputs);
  if (!kept) return dq_fail_memory(error, (size_t)count * sizeof *inputs);
  node->inputs = kept;
  node->input_count = count - (count && !inputs[count - 1]);
  node->op_type = op_type;
  node->domain = "dq";
  node->attribute_count = 0;
  return DQ_OK;
}

dq_status dq_set_bounds(dq_graph *copy, dq_node *node, const dq_quantized_end *end, dq_error *error) {
  return dq_node_set_int(copy, node, "clamp_low", end->low) && dq_node_set_int(copy, node, "clamp_high", end->high)
             ? DQ_OK
             : dq_fail_memory(error, 0);
}

dq_status dq_apply_end(dq_graph *copy, const dq_quantized_end *end, const char *op_type, dq_value *const *inputs,
                       int count, dq_error *error) {
  dq_node *node = end->node, *activation = end->quantize->inputs[0]->producer;
  dq_attribute *attributes = node->attributes;
  int attribute_count = node->attribute_count;
  DQ_TRY(dq_become(copy, node, op_type, inputs, count, error));
  node->attributes = attributes;
  node->attribute_count = attribute_count;
  DQ_TRY(dq_set_bounds(copy, node, end, error));
  if (activation != node) dq_graph_remove_node(copy, activation);
  dq_graph_remove_node(copy, end->quantize);
  dq_node_set_output(node, end->y.value);
  return DQ_OK;
}
