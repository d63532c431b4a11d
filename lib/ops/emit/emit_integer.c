// C of convolutions and products of integers by plain loops: over up to three axes, with weights, zero points and
// scales that may be computed. Requantization is that of the definition in float32.
#include <inttypes.h>
#include <stdio.h>

#include "lib/ops/emit/emit_integer.h"

// Declares a constant of the type `type` with the element of input `i` at an index: the only one, or one of each row,
// channel or column, repeated. An input that is left out is 0.
static void declare_parameter(dq_emission *to, int i, const char *type, const char *name, const char *index) {
  const dq_tensor *input = i == DQ_NO_INPUT ? NULL : dq_op_input(to->op, i);
  char element[100] = "0", place[80] = "0";
  if (input && dq_tensor_count(input) != 1)
    snprintf(place, sizeof place, "(%s) %% %" PRId64, index, dq_tensor_count(input));
  if (input) dq_emit_element(to, i, place, element);
  dq_emit(to, "const %s %s = (%s)%s;", type, name, type, element);
}

// Declares all parameters of a sum, by the expressions of its row, of its channel or column, and of its row of the
// result.
static void declare_parameters(dq_emission *to, const dq_integer_inputs *at, const char *row, const char *channel,
                               const char *result) {
  const dq_requantization_inputs *in = at->requantization;
  declare_parameter(to, at->x_zero_point, "int32_t", "x_zero", row);
  declare_parameter(to, at->w_zero_point, "int32_t", "w_zero", channel);
  declare_parameter(to, in ? in->bias : DQ_NO_INPUT, "uint32_t", "bias", channel);
  if (!in) return;
  declare_parameter(to, in->x_scale, "float", "x_scale", row);
  declare_parameter(to, in->w_scale, "float", "w_scale", channel);
  dq_emit(to, "const float scale = x_scale * w_scale;");
  if (dq_result_is_float(to->op, in)) return;
  declare_parameter(to, in->y_scale, "float", "y_scale", result);
  declare_parameter(to, in->y_zero_point, "int32_t", "y_zero", result);
  dq_emit(to, "const float factor = scale / y_scale;");
}

static dq_status store_sum(dq_emission *to, const dq_integer_inputs *at, const char *place) {
  const dq_tensor *y = to->op->outputs[0];
  int32_t low, high;
  if (!at->requantization) {
    dq_emit(to, "y0[%s] = (int32_t)sum;", place);
  } else if (dq_result_is_float(to->op, at->requantization)) {
    dq_emit(to, "y0[%s] = (float)(int32_t)sum * scale;", place);
  } else {
    DQ_TRY(dq_read_bounds(to->op, y->type == DQ_I8, &low, &high));
    dq_emit_need(to, DQ_EMIT_ROUND);
    dq_emit(to, "y0[%s] = (%s)dq_round((float)(int32_t)sum * factor, y_zero, %d, %d);", place, dq_emit_type(y->type),
            low, high);
  }
  return DQ_OK;
}

dq_status dq_emit_integer_convolution(dq_emission *to, const dq_convolution *shape, const dq_integer_inputs *at) {
  const dq_window w = dq_window_three(&shape->window);
  const int64_t inputs = shape->in_channels / shape->groups, outputs = shape->out_channels / shape->groups;
  const int64_t plane = w.input[0] * w.input[1] * w.input[2], taps = w.kernel[0] * w.kernel[1] * w.kernel[2];
  char x[100], weight[100];
  dq_emit_element(to, at->x, "from", x);
  dq_emit_element(to, at->w, "tap", weight);
  dq_emit(to, "int32_t at = 0;");
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", shape->batch);
  dq_emit(to, "for (int32_t o = 0; o < %" PRId64 "; o++) {", shape->out_channels);
  dq_emit(to, "const int32_t image = (n * %" PRId64 " + o / %" PRId64 " * %" PRId64 ") * %" PRId64 ";",
          shape->in_channels, outputs, inputs, plane);
  declare_parameters(to, at, "0", "o", "0");
  for (int a = 0; a < 3; a++) dq_emit(to, "for (int32_t o%d = 0; o%d < %" PRId64 "; o%d++) {", a, a, w.output[a], a);
  dq_emit(to, "uint32_t sum = bias;");
  for (int a = 0; a < 3; a++) dq_emit_positions(to, &w, a);
  dq_emit(to, "int32_t from = image + (p0 * %" PRId64 " + p1) * %" PRId64 " + p2;", w.input[1], w.input[2]);
  dq_emit(to, "int32_t tap = o * %" PRId64 " + (k0 * %" PRId64 " + k1) * %" PRId64 " + k2;", inputs * taps, w.kernel[1],
          w.kernel[2]);
  dq_emit(to, "for (int32_t c = 0; c < %" PRId64 "; c++, from += %" PRId64 ", tap += %" PRId64 ") {", inputs, plane,
          taps);
  dq_emit(to, "sum += (uint32_t)((%s - x_zero) * (%s - w_zero));", x, weight);
  dq_emit_close(to, 4);
  DQ_TRY(store_sum(to, at, "at++"));
  dq_emit_close(to, 5);
  return DQ_OK;
}

dq_status dq_emit_integer_product(dq_emission *to, const dq_matmul *shape, const dq_integer_inputs *at,
                                  bool transpose_b) {
  char row[80];
  const dq_emit_matrices matrices = {.a = at->x,
                                     .b = at->w,
                                     .rows = shape->rows,
                                     .columns = shape->columns,
                                     .depth = shape->depth,
                                     .a_row = shape->depth,
                                     .a_column = 1,
                                     .b_row = transpose_b ? 1 : shape->columns,
                                     .b_column = transpose_b ? shape->depth : 1,
                                     .step = "sum += (uint32_t)((x - x_zero) * (y - w_zero));"};
  for (int i = 0; i < to->op->input_count; i++)
    if (dq_op_input(to->op, i) && to->op->inputs[i]->type == DQ_F16)
      return dq_op_fail(to->op, DQ_UNSUPPORTED, "C is written for computed scales of float32 only");
  dq_emit(to, "const int32_t depth = %" PRId64 ";", shape->depth);
  dq_emit(to, "(void)depth;");
  int stack = dq_emit_stack(to, shape);
  dq_emit_matrices_open(to, &matrices);
  snprintf(row, sizeof row, "product * %" PRId64 " + r", shape->rows);
  declare_parameters(to, at, "a / depth + r", "b / depth + o", row);
  dq_emit(to, "uint32_t sum = bias;");
  dq_emit_matrices_sum(to, &matrices);
  DQ_TRY(store_sum(to, at, "place"));
  dq_emit_close(to, 2);
  dq_emit(to, "product++;");
  dq_emit_close(to, stack);
  return DQ_OK;
}
