// Zero points, scales and requantization as operators on 8-bit operands are given them.
#include "lib/ops/common/quantized.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"

dq_status dq_check_input_type(const dq_op *op, int i, unsigned types) {
  const dq_tensor *input = dq_op_input(op, i);
  if (!input) return dq_op_fail(op, DQ_BAD_INPUT, "input %d is left out but required", i);
  bool known = input->type > 0 && input->type < 32;
  if (known && (types & DQ_BIT(input->type))) return DQ_OK;
  return dq_op_fail(op, dq_dtype_computable(input->type) ? DQ_BAD_INPUT : DQ_UNSUPPORTED,
                    "input %d is of type %s, which the operator does not take", i, dq_dtype_name(input->type));
}

bool dq_op_known_but(const dq_op *op, int except) {
  for (int i = 0; i < op->input_count; i++)
    if (i != except && op->inputs[i] && !op->inputs[i]->data) return false;
  return true;
}

// How many numbers to hold for a parameter with one, `channels` or stacked * channels elements.
static dq_status parameter_count(const dq_op *op, int i, int64_t channels, int64_t stacked, int64_t *count) {
  const dq_tensor *input = op->inputs[i];
  int64_t found = dq_tensor_count(input), all;
  char shape[DQ_SHAPE_TEXT];
  bool fits = dq_mul_i64(channels, stacked, &all) && found > 0;
  *count = found == 1 ? 1 : all;
  if (fits && (found == 1 || found == channels || found == all)) return DQ_OK;
  return dq_op_fail(op, DQ_BAD_INPUT, "input %d has shape %s, expected one element or %" PRId64, i,
                    dq_tensor_shape_text(input, shape, sizeof shape), channels);
}

dq_status dq_read_zero_points(const dq_op *op, int i, int type, int64_t channels, int64_t stacked, dq_arena *arena,
                              dq_zero_points *zero_points) {
  *zero_points = (dq_zero_points){NULL, 0};
  if (!dq_op_input(op, i)) return DQ_OK;
  DQ_TRY(dq_check_input_type(op, i, DQ_BIT(type)));
  DQ_TRY(parameter_count(op, i, channels, stacked, &zero_points->count));
  zero_points->values = DQ_NEW_ARRAY(arena, zero_points->count, int32_t);
  if (!zero_points->values) return dq_fail_memory(op->error, (size_t)zero_points->count * sizeof(int32_t));
  dq_fill_zero_points(op, i, zero_points);
  return DQ_OK;
}

void dq_fill_zero_points(const dq_op *op, int i, const dq_zero_points *zero_points) {
  const dq_tensor *input = op->inputs[i];
  if (!input->data) return;
  int64_t found = dq_tensor_count(input);
  for (int64_t k = 0; k < zero_points->count; k++)
    zero_points->values[k] = (int32_t)dq_tensor_get_i64(input, k % found);
}

dq_status dq_read_scales(const dq_op *op, int i, int64_t channels, int64_t stacked, dq_arena *arena,
                         dq_scales *scales) {
  DQ_TRY(dq_check_input_type(op, i, DQ_BIT(DQ_F32)));
  DQ_TRY(parameter_count(op, i, channels, stacked, &scales->count));
  float *values = DQ_NEW_ARRAY(arena, scales->count, float);
  if (!values) return dq_fail_memory(op->error, (size_t)scales->count * sizeof *values);
  int64_t found = dq_tensor_count(op->inputs[i]);
  const float *from = op->inputs[i]->data;
  for (int64_t k = 0; k < scales->count; k++) values[k] = from[k % found];
  scales->values = values;
  return DQ_OK;
}

dq_status dq_read_bounds(const dq_op *op, bool is_signed, int32_t *lower, int32_t *upper) {
  int64_t lowest = is_signed ? INT8_MIN : 0;
  int64_t highest = is_signed ? INT8_MAX : UINT8_MAX;
  int64_t low = lowest, high = highest;
  if (op->row->domain) {
    low = dq_node_int(op->node, "clamp_low", lowest);
    high = dq_node_int(op->node, "clamp_high", highest);
  }
  if (low < lowest || high > highest || low > high)
    return dq_op_fail(op, DQ_BAD_INPUT,
                      "bounds %" PRId64 " and %" PRId64 " are not ordered within %" PRId64 " to %" PRId64, low, high,
                      lowest, highest);
  *lower = (int32_t)low;
  *upper = (int32_t)high;
  return DQ_OK;
}

static dq_status read_bias(const dq_op *op, int i, int64_t channels, dq_arena *arena, dq_requantization *r) {
  int64_t count;
  if (i == DQ_NO_INPUT || !dq_op_input(op, i)) return DQ_OK;
  DQ_TRY(dq_check_input_type(op, i, DQ_BIT(DQ_I32)));
  DQ_TRY(parameter_count(op, i, channels, 1, &count));
  int32_t *bias = DQ_NEW_ARRAY(arena, channels, int32_t);
  if (!bias) return dq_fail_memory(op->error, (size_t)channels * sizeof *bias);
  const int32_t *from = op->inputs[i]->data;
  for (int64_t c = 0; c < channels; c++) bias[c] = from[count == 1 ? 0 : c];
  r->bias = bias;
  return DQ_OK;
}

bool dq_result_is_float(const dq_op *op, const dq_requantization_inputs *inputs) {
  return op->row->domain && !strcmp(op->row->domain, "dq") && !dq_op_input(op, inputs->y_scale);
}

dq_status dq_result_type(const dq_op *op, const dq_requantization_inputs *inputs, int *type) {
  *type = DQ_F32;
  if (dq_result_is_float(op, inputs)) return DQ_OK;
  DQ_TRY(dq_check_input_type(op, inputs->y_zero_point, DQ_BIT(DQ_U8) | DQ_BIT(DQ_I8)));
  *type = op->inputs[inputs->y_zero_point]->type;
  return DQ_OK;
}

// Scale, zero point and bounds of the result.
static dq_status read_result(const dq_op *op, const dq_requantization_inputs *inputs, dq_arena *arena, float *scale,
                             dq_requantization *r) {
  dq_scales y;
  dq_zero_points zero;
  int type;
  *scale = 1;
  if (dq_result_is_float(op, inputs)) return DQ_OK;
  DQ_TRY(dq_read_scales(op, inputs->y_scale, 1, 1, arena, &y));
  DQ_TRY(dq_result_type(op, inputs, &type));
  DQ_TRY(dq_read_zero_points(op, inputs->y_zero_point, type, 1, 1, arena, &zero));
  *scale = y.values[0];
  r->zero_point = zero.values[0];
  r->output_signed = type == DQ_I8;
  return dq_read_bounds(op, r->output_signed, &r->low, &r->high);
}

dq_product_operands dq_integer_operands(int data, int data_zero_point, int weight, int weight_zero_point,
                                        const dq_requantization_inputs *requantization) {
  static const dq_requantization_inputs none = {DQ_NO_INPUT, DQ_NO_INPUT, DQ_NO_INPUT, DQ_NO_INPUT, DQ_NO_INPUT};
  const dq_requantization_inputs *scales = requantization ? requantization : &none;
  return (dq_product_operands){.data = data,
                               .weight = weight,
                               .bias = scales->bias,
                               .data_scale = scales->x_scale,
                               .weight_scale = scales->w_scale,
                               .result_scale = scales->y_scale,
                               .data_zero_point = data_zero_point,
                               .weight_zero_point = weight_zero_point,
                               .result_zero_point = scales->y_zero_point};
}

dq_status dq_read_requantization(const dq_op *op, const dq_requantization_inputs *inputs, int64_t channels,
                                 dq_arena *arena, dq_requantization *r) {
  dq_scales x, w;
  float scale;
  memset(r, 0, sizeof *r);
  DQ_TRY(dq_read_scales(op, inputs->x_scale, 1, 1, arena, &x));
  DQ_TRY(dq_read_scales(op, inputs->w_scale, channels, 1, arena, &w));
  DQ_TRY(read_result(op, inputs, arena, &scale, r));
  float *multipliers = DQ_NEW_ARRAY(arena, w.count, float);
  if (!multipliers) return dq_fail_memory(op->error, (size_t)w.count * sizeof *multipliers);
  for (int64_t c = 0; c < w.count; c++) multipliers[c] = (x.values[0] * w.values[c]) / scale;
  r->multipliers = multipliers;
  r->multiplier_count = w.count;
  return read_bias(op, inputs->bias, channels, arena, r);
}
