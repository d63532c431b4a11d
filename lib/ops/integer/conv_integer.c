// ConvInteger and QLinearConv: convolutions of 8-bit operands with int32 sums.
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/kernels/array/array.h"
#include "lib/ops/common/convolution.h"
#include "lib/ops/common/prepare.h"
#include "lib/ops/common/quantized.h"
#include "lib/ops/emit/emit_integer.h"

typedef struct operands {
  int x, x_zero_point, w, w_zero_point, bias;
  bool requantize; // else the output is int32 sums
  dq_requantization_inputs requantization;
} operands;

static const operands integer_operands = {.x = 0, .w = 1, .x_zero_point = 2, .w_zero_point = 3, .bias = DQ_NO_INPUT};

static const operands qlinear_operands = {
    .x = 0,
    .x_zero_point = 2,
    .w = 3,
    .w_zero_point = 5,
    .bias = 8,
    .requantize = true,
    .requantization = {.x_scale = 1, .w_scale = 4, .y_scale = 6, .y_zero_point = 7, .bias = 8}};

static dq_status infer(dq_op *op, const operands *from) {
  int type = DQ_I32;
  DQ_TRY(dq_check_input_type(op, from->x, DQ_TYPES_8_BIT));
  DQ_TRY(dq_check_input_type(op, from->w, DQ_TYPES_8_BIT));
  if (from->requantize) DQ_TRY(dq_result_type(op, &from->requantization, &type));
  if (from->bias != DQ_NO_INPUT && dq_op_input(op, from->bias))
    DQ_TRY(dq_check_input_type(op, from->bias, DQ_BIT(DQ_I32)));
  return dq_convolution_infer(op, from->x, from->w, from->bias, type);
}

typedef struct integer_state {
  dq_convolution shape;
  dq_requantization requantization; // unless the output is sums
  bool floats;                      // sums first, then scaled in place
  dq_conv_plan plan;                // one or two spatial axes
  void *packed;
  int32_t *weights; // three axes: the weights less their zero points
  int32_t input_zero_point;
} integer_state;

static bool has_kernel(const integer_state *state) { return state->shape.window.rank <= 2; }

// Plain loops take int32 operands that have had their zero points subtracted.
static dq_status prepare_direct(dq_op *op, const operands *from, const dq_zero_points *zero, integer_state *state,
                                dq_arena *arena) {
  const dq_tensor *x = op->inputs[from->x], *w = op->inputs[from->w];
  int64_t count = dq_tensor_count(w), plane = count / w->dims[0];
  state->weights = DQ_NEW_ARRAY(arena, count, int32_t);
  if (!state->weights) return dq_fail_memory(op->error, (size_t)count * sizeof(int32_t));
  for (int64_t i = 0; i < count; i++) {
    int64_t channel = zero->count > 1 ? i / plane : 0;
    int32_t offset = zero->count ? zero->values[channel] : 0;
    state->weights[i] = (int32_t)dq_tensor_get_i64(w, i) - offset;
  }
  size_t elements;
  if (!dq_add_size((size_t)dq_tensor_count(x), (size_t)dq_tensor_count(op->outputs[0]), &elements) ||
      !dq_mul_size(elements, sizeof(int32_t), &op->scratch_bytes))
    return dq_fail_memory(op->error, elements);
  return DQ_OK;
}

static dq_status prepare_kernel(dq_op *op, const operands *from, const dq_zero_points *zero, integer_state *state,
                                dq_arena *arena) {
  dq_conv_int8_parameters parameters = {
      .shape = dq_convolution_parameters(&state->shape),
      .input_signed = op->inputs[from->x]->type == DQ_I8,
      .weight_signed = op->inputs[from->w]->type == DQ_I8,
      .input_zero_point = state->input_zero_point,
      .weight_zero_points = zero->values,
      .weight_zero_point_count = zero->count,
  };
  dq_convolution_ask(op, &parameters.shape);
  parameters.weights = op->inputs[from->w]->data;
  parameters.pairs_safe = dq_conv_pairs_safe(&parameters, op->inputs[from->w]->data);
  DQ_TRY(dq_conv_int8_plan(&parameters, op->context->cpu, &state->plan, op->error));
  DQ_TRY(dq_op_alloc(op, arena, dq_conv_packed_bytes(&state->plan), &state->packed));
  dq_conv_int8_pack(&state->plan, op->inputs[from->w]->data, state->packed);
  op->scratch_bytes = dq_conv_scratch_bytes(&state->plan, dq_pool_threads(op->context->pool));
  dq_convolution_report(op, &state->plan, state->packed);
  return DQ_OK;
}

static dq_status prepare(dq_op *op, const operands *from, dq_arena *arena) {
  if (!dq_op_known_but(op, from->x) || op->inputs[from->x]->dims[0] == 0) return DQ_OK;
  dq_zero_points x_zero, w_zero;
  integer_state *state = DQ_NEW(arena, integer_state);
  if (!state) return dq_fail_memory(op->error, sizeof *state);
  DQ_TRY(dq_convolution_read(op, from->x, from->w, from->bias, &state->shape));
  int64_t channels = state->shape.out_channels;
  DQ_TRY(dq_read_zero_points(op, from->x_zero_point, op->inputs[from->x]->type, 1, 1, arena, &x_zero));
  DQ_TRY(dq_read_zero_points(op, from->w_zero_point, op->inputs[from->w]->type, channels, 1, arena, &w_zero));
  state->input_zero_point = x_zero.count ? x_zero.values[0] : 0;
  if (from->requantize)
    DQ_TRY(dq_read_requantization(op, &from->requantization, channels, arena, &state->requantization));
  state->floats = from->requantize && dq_result_is_float(op, &from->requantization);
  DQ_TRY(has_kernel(state) ? prepare_kernel(op, from, &w_zero, state, arena)
                           : prepare_direct(op, from, &w_zero, state, arena));
  op->state = state;
  return DQ_OK;
}

static void run_direct(dq_op *op, const operands *from, bool requantize) {
  const integer_state *state = op->state;
  const dq_tensor *x = op->inputs[from->x];
  int64_t count = dq_tensor_count(x), channels = state->shape.out_channels;
  int32_t *input = op->scratch, *sums = input + count;
  for (int64_t i = 0; i < count; i++) input[i] = (int32_t)dq_tensor_get_i64(x, i) - state->input_zero_point;
  if (!requantize) sums = op->outputs[0]->data;
  dq_convolution_direct(&state->shape, DQ_I32, state->weights, NULL, input, sums, op->context->pool);
  if (!requantize) return;
  int64_t picture = dq_tensor_count(op->outputs[0]) / state->shape.batch;
  int64_t plane = picture / channels;
  for (int64_t n = 0; n < state->shape.batch; n++)
    dq_requantize(&state->requantization, op->context->cpu, true, channels, plane, sums + n * picture, plane,
                  (uint8_t *)op->outputs[0]->data + n * picture, plane);
}

static void scale_picture(void *argument, int64_t n, int thread) {
  dq_op *op = argument;
  const integer_state *state = op->state;
  int64_t picture = dq_tensor_count(op->outputs[0]) / state->shape.batch, channels = state->shape.out_channels;
  (void)thread;
  dq_dequantize_sums(&state->requantization, true, channels, picture / channels,
                     (float *)op->outputs[0]->data + n * picture);
}

static dq_status run(dq_op *op, const operands *from) {
  if (!dq_tensor_count(op->outputs[0])) return DQ_OK;
  if (!op->state) return dq_op_run_unprepared(op);
  const integer_state *state = op->state;
  bool requantize = from->requantize && !state->floats;
  if (has_kernel(state))
    dq_conv_int8_run(&state->plan, state->packed, op->inputs[from->x]->data, op->outputs[0]->data,
                     requantize ? &state->requantization : NULL, op->scratch, op->context->pool);
  else run_direct(op, from, requantize);
  if (state->floats) dq_pool_run(op->context->pool, state->shape.batch, scale_picture, op);
  return DQ_OK;
}

static dq_status emit_direct(dq_emission *to, const operands *from) {
  const dq_integer_inputs at = {.x = from->x,
                                .x_zero_point = from->x_zero_point,
                                .w = from->w,
                                .w_zero_point = from->w_zero_point,
                                .requantization = from->requantize ? &from->requantization : NULL};
  dq_convolution shape;
  DQ_TRY(dq_convolution_read(to->op, from->x, from->w, from->bias, &shape));
  return dq_emit_integer_convolution(to, &shape, &at);
}

static dq_status emit_integer(dq_emission *to) { return emit_direct(to, &integer_operands); }

dq_status dq_emit_qlinear_conv(dq_emission *to) {
  const dq_op *op = to->op;
  const operands *from = &qlinear_operands;
  const dq_tensor *x = op->inputs[from->x], *w = op->inputs[from->w];
  dq_convolution shape;
  dq_zero_points x_zero, w_zero;
  dq_requantization requantization;
  DQ_TRY(dq_convolution_read(op, from->x, from->w, from->bias, &shape));
  if (shape.window.rank > 2 || x->data || !dq_op_known_but(op, from->x)) return emit_direct(to, from);
  DQ_TRY(dq_read_zero_points(op, from->x_zero_point, x->type, 1, 1, to->arena, &x_zero));
  DQ_TRY(dq_read_zero_points(op, from->w_zero_point, w->type, shape.out_channels, 1, to->arena, &w_zero));
  DQ_TRY(dq_read_requantization(op, &from->requantization, shape.out_channels, to->arena, &requantization));
  int32_t padding = x_zero.count ? x_zero.values[0] : 0;
  int64_t depth = dq_tensor_product(w, 1, w->rank);
  dq_emit_convolution convolution = {.shape = dq_convolution_parameters(&shape)};
  bool columns = dq_emit_suits_columns(to, &convolution.shape);
  dq_emit_weights weights = {.weights = w,
                             .channels = shape.out_channels,
                             .depth = depth,
                             .channel_stride = depth,
                             .depth_stride = 1,
                             .zero_points = w_zero.values,
                             .zero_point_count = w_zero.count,
                             .data_zero_point = padding,
                             .data_signed = x->type == DQ_I8};
  dq_emit_sums sums = {.requantization = &requantization, .floats = dq_result_is_float(op, &from->requantization)};
  convolution.sums = &sums, convolution.padding = padding;
  if (columns) dq_emit_columns_layout(to, &convolution.shape, &weights, &sums);
  DQ_TRY(dq_emit_weights_prepare(to, &weights, &sums, &convolution.weights));
  DQ_TRY(dq_emit_sums_prepare(to, &sums));
  if (columns) return dq_emit_columns_body(to, &convolution);
  if (dq_emit_suits_planes(&convolution.shape)) return dq_emit_planes_body(to, &convolution);
  return dq_emit_convolution_body(to, &convolution);
}

static dq_status integer_infer(dq_op *op) { return infer(op, &integer_operands); }
static dq_status integer_prepare(dq_op *op, dq_arena *arena) { return prepare(op, &integer_operands, arena); }
static dq_status integer_run(dq_op *op) { return run(op, &integer_operands); }
static int64_t integer_macs(const dq_op *op) { return dq_convolution_macs(op, integer_operands.w); }

dq_status dq_qlinear_conv_infer(dq_op *op) { return infer(op, &qlinear_operands); }
dq_status dq_qlinear_conv_prepare(dq_op *op, dq_arena *arena) { return prepare(op, &qlinear_operands, arena); }
dq_status dq_qlinear_conv_run(dq_op *op) { return run(op, &qlinear_operands); }
int64_t dq_qlinear_conv_macs(const dq_op *op) { return dq_convolution_macs(op, qlinear_operands.w); }

static void describe(const dq_node *node, const operands *from, dq_product *to) {
  const dq_requantization_inputs *requantization = from->requantize ? &from->requantization : NULL;
  dq_describe_convolution(node, DQ_CONVOLUTION,
                          dq_integer_operands(from->x, from->x_zero_point, from->w, from->w_zero_point, requantization),
                          to);
}
static void integer_product(const dq_node *node, dq_product *to) { describe(node, &integer_operands, to); }
void dq_qlinear_conv_product(const dq_node *node, dq_product *to) { describe(node, &qlinear_operands, to); }

static dq_status check_integer(const dq_op *op) { return dq_convolution_check(op, integer_operands.w, DQ_NO_INPUT); }

static dq_status check_qlinear(const dq_op *op) {
  return dq_convolution_check(op, qlinear_operands.w, qlinear_operands.bias);
}

static const dq_attribute_rule attributes[] = {DQ_WINDOW_ATTRIBUTES(false), {"group", DQ_ATTRIBUTE_INT, false}, {0}};

const dq_operator dq_op_ConvInteger = {
    .name = "ConvInteger",
    .since = {10},
    .inputs = {2, 4},
    .outputs = {1, 1},
    .types = DQ_TYPES_8_BIT,
    .attributes = attributes,
    .check = check_integer,
    .infer = integer_infer,
    .run = integer_run,
    .prepare = integer_prepare,
    .emit = emit_integer,
    .product = integer_product,
    .macs = integer_macs,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};

const dq_operator dq_op_QLinearConv = {
    .name = "QLinearConv",
    .since = {10},
    .inputs = {8, 9},
    .outputs = {1, 1},
    .types = DQ_TYPES_8_BIT,
    .attributes = attributes,
    .check = check_qlinear,
    .infer = dq_qlinear_conv_infer,
    .run = dq_qlinear_conv_run,
    .prepare = dq_qlinear_conv_prepare,
    .emit = dq_emit_qlinear_conv,
    .product = dq_qlinear_conv_product,
    .macs = dq_qlinear_conv_macs,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};
