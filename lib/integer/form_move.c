// Operators that only move elements, computed on 8 bits: DequantizeLinear goes from before them to behind
// them, where it meets the QuantizeLinear that undoes it, or the next mover. Exact whatever reads the
// result, since each element is dequantized alone. MaxPool is one of them: scales are above 0, so the
// largest quantized number stands for the largest number.
#include <string.h>

#include "lib/integer/quantized_pattern.h"

static bool is_word(const dq_node *node, const char *attribute, const char *fallback, const char *word) {
  return !strcmp(dq_node_string(node, attribute, fallback), word);
}

// Interpolation computes, and so does filling what lies outside.
static bool only_moves(const dq_node *node) {
  if (dq_node_is(node, "Resize") || dq_node_is(node, "Upsample"))
    return is_word(node, "mode", "nearest", "nearest") &&
           !is_word(node, "coordinate_transformation_mode", "", "tf_crop_and_resize");
  return true;
}

static bool computes_8_bit(const dq_node *node, int type) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  return row && (row->types & DQ_BIT(type));
}

// The value that Pad fills with, as a quantized number that stands for exactly it. NULL: there is none.
static dq_tensor *quantized_fill(dq_graph *copy, const dq_node *node, const dq_quantized *x) {
  float fill = dq_node_float(node, "value", 0);
  const dq_value *given = dq_node_input(node, 2);
  if (given) {
    const dq_tensor *constant = dq_constant_of(given);
    if (!constant || constant->type != DQ_F32 || dq_tensor_count(constant) != 1) return NULL;
    memcpy(&fill, constant->data, sizeof fill);
  }
  int type = dq_quantized_type(x), high = (int)dq_dtype_high(type);
  int zero = (int)dq_tensor_get_i64(x->zero_point->constant, 0);
  for (int q = (int)dq_dtype_low(type); q <= high; q++) {
    float number = (float)(q - zero) * dq_quantized_scale(x);
    if (!memcmp(&number, &fill, sizeof fill)) return dq_tensor_scalar_i8(copy->arena, type, q);
  }
  return NULL;
}

// Pad reads its fill value from input 2, or before version 11 from an attribute. *fits: as it should be.
static dq_status refill_pad(dq_graph *copy, dq_node *node, const dq_quantized *x, bool *fits, dq_error *error) {
  *fits = true;
  if (!is_word(node, "mode", "constant", "constant")) return DQ_OK;
  dq_tensor *fill = quantized_fill(copy, node, x);
  *fits = fill != NULL;
  if (!fill) return DQ_OK;
  if (dq_graph_opset(copy, "") < 11) {
    bool set = dq_node_set_float(copy, node, "value", (float)dq_tensor_get(fill, 0));
    return set ? DQ_OK : dq_fail_memory(error, 0);
  }
  dq_value *inputs[] = {node->inputs[0], dq_node_input(node, 1), dq_graph_add_constant(copy, "fill", fill),
                        dq_node_input(node, 3)};
  node->inputs = dq_arena_copy(copy->arena, inputs, sizeof inputs);
  if (!node->inputs || !inputs[2]) return dq_fail_memory(error, sizeof inputs);
  node->input_count = inputs[3] ? 4 : 3;
  return DQ_OK;
}

// Output i of the node becomes 8 bits; DequantizeLinear makes what it was.
static dq_status dequantize_output(dq_graph *copy, dq_node *node, int i, const dq_quantized *x, dq_error *error) {
  dq_value *output = node->outputs[i], *moved = dq_graph_fresh_value(copy, output->name);
  if (!moved) return dq_fail_memory(error, sizeof *moved);
  dq_value *inputs[] = {moved, x->scale, x->zero_point};
  const char *name = dq_graph_fresh_name(copy, node->name);
  dq_node *dequantize =
      name ? dq_graph_add_node(copy, node->index + 1, "DequantizeLinear", name, 3, inputs, 1, &output) : NULL;
  if (!dequantize) return dq_fail_memory(error, sizeof *dequantize);
  node->outputs[i] = moved;
  moved->producer = node;
  output->producer = dequantize;
  return DQ_OK;
}

dq_status dq_form_move(dq_graph *copy, dq_node *node, dq_error *error) {
  dq_quantized x;
  if (!only_moves(node) || !dq_read_dequantize(node->inputs[0], false, &x) ||
      !computes_8_bit(node, dq_quantized_type(&x)))
    return DQ_OK;
  bool split = dq_node_is(node, "Split"), fits = true;
  if (!split && dq_node_output(node, 1)) return DQ_OK; // indices of a MaxPool
  if (dq_node_is(node, "Pad")) DQ_TRY(refill_pad(copy, node, &x, &fits, error));
  if (!fits) return DQ_OK;
  node->inputs[0] = x.value;
  for (int i = 0; i < (split ? node->output_count : 1); i++)
    if (node->outputs[i]) DQ_TRY(dequantize_output(copy, node, i, &x, error));
  return DQ_OK;
}
