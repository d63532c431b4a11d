// Conv in float, and FusedConv, which execution copies contain: Conv with an activation at its end, and
// an operand of the output's shape added behind it, with an activation behind that.
#include <stdio.h>

#include "lib/kernels/array/array.h"
#include "lib/ops/common/convolution.h"
#include "lib/ops/common/prepare.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"
#include "lib/text/find_row.h"

enum { INPUT, WEIGHT, BIAS, ADDEND };

typedef struct conv_state {
  dq_conv_plan plan;
  void *packed;
  bool varies; // the weights are no constants
} conv_state;

// The attributes of an activation, whose names begin with `what`.
static dq_status read_activation(const dq_op *op, const char *what, int kinds, dq_activation *activation) {
  static const char *const names[] = {"", "Relu", "Clip", "LeakyRelu", "Silu"};
  char low[32], high[32], alpha[32];
  snprintf(low, sizeof low, "%s_low", what);
  snprintf(high, sizeof high, "%s_high", what);
  snprintf(alpha, sizeof alpha, "%s_alpha", what);
  const char *name = dq_node_string(op->node, what, "");
  *activation = (dq_activation){.low = dq_node_float(op->node, low, 0.0f),
                                .high = dq_node_float(op->node, high, 0.0f),
                                .alpha = dq_node_float(op->node, alpha, 0.01f)};
  const int found = dq_find_row(name, names, sizeof *names, kinds);
  if (found < 0) return dq_op_fail(op, DQ_UNSUPPORTED, "activation '%s' is not supported", name);
  activation->kind = (dq_activation_kind)found;
  return DQ_OK;
}

// What FusedConv ends with; Conv has none of it.
static dq_status read_end(const dq_op *op, dq_conv_parameters *parameters) {
  if (!op->row->domain) return DQ_OK;
  parameters->adds = dq_op_input(op, ADDEND) != NULL;
  DQ_TRY(read_activation(op, "activation", DQ_ACTIVATION_SILU + 1, &parameters->activation));
  return read_activation(op, "sum_activation", DQ_ACTIVATION_SILU, &parameters->sum_activation);
}

static dq_status infer(dq_op *op) {
  const dq_tensor *input = op->inputs[INPUT], *bias = dq_op_input(op, BIAS);
  int type = input->type;
  if (op->inputs[WEIGHT]->type != type || (bias && bias->type != type))
    return dq_op_fail(op, DQ_BAD_INPUT, "input has type %s but %s has %s; expected one type", dq_dtype_name(type),
                      bias && bias->type != type ? "bias" : "weight",
                      dq_dtype_name(bias && bias->type != type ? bias->type : op->inputs[WEIGHT]->type));
  DQ_TRY(dq_convolution_infer(op, INPUT, WEIGHT, BIAS, type));
  const dq_tensor *addend = dq_op_input(op, ADDEND);
  if (addend && (addend->type != type || !dq_tensor_same_shape(addend, op->outputs[0])))
    return dq_op_fail(op, DQ_BAD_INPUT, "the operand to be added has another type or shape than the output");
  return DQ_OK;
}

static dq_status check(const dq_op *op) { return dq_convolution_check(op, WEIGHT, BIAS); }

static bool is_half(const dq_op *op) { return op->inputs[INPUT]->type == DQ_F16; }

static bool has_kernel(const dq_op *op) {
  return (op->inputs[INPUT]->type == DQ_F32 || is_half(op)) && op->inputs[INPUT]->rank <= 4;
}

// Weights that steps compute or that change between runs are packed in every run.
static bool is_constant(const dq_op *op) {
  return dq_op_known(op, WEIGHT) && (!dq_op_input(op, BIAS) || dq_op_known(op, BIAS));
}

static void pack(const dq_op *op, const conv_state *state) {
  const dq_tensor *bias = dq_op_input(op, BIAS);
  const void *weights = op->inputs[WEIGHT]->data, *offsets = bias ? bias->data : NULL;
  if (is_half(op)) dq_conv_f16_pack(&state->plan, weights, offsets, state->packed);
  else dq_conv_f32_pack(&state->plan, weights, offsets, state->packed);
}

static dq_status make_plan(const dq_op *op, const dq_conv_parameters *parameters, dq_arena *arena, conv_state *state) {
  unsigned cpu = op->context->cpu;
  if (is_half(op)) DQ_TRY(dq_conv_f16_plan(parameters, op->context->half_sums, cpu, &state->plan, op->error));
  else DQ_TRY(dq_conv_f32_plan(parameters, cpu, &state->plan, op->error));
  state->varies = !is_constant(op);
  return dq_op_alloc(op, arena, dq_conv_packed_bytes(&state->plan), &state->packed);
}

static dq_status prepare(dq_op *op, dq_arena *arena) {
  if (!has_kernel(op) || op->inputs[INPUT]->dims[0] == 0) return DQ_OK;
  dq_convolution convolution;
  DQ_TRY(dq_convolution_read(op, INPUT, WEIGHT, BIAS, &convolution));
  dq_conv_parameters parameters = dq_convolution_parameters(&convolution);
  DQ_TRY(read_end(op, &parameters));
  conv_state *state = DQ_NEW(arena, conv_state);
  if (!state) return dq_fail_memory(op->error, sizeof *state);
  dq_convolution_ask(op, &parameters);
  DQ_TRY(make_plan(op, &parameters, arena, state));
  if (!state->varies) pack(op, state);
  op->state = state;
  if (!state->varies) op->packed = 1u << WEIGHT;
  dq_convolution_report(op, &state->plan, state->packed);
  op->scratch_bytes = dq_conv_scratch_bytes(&state->plan, dq_pool_threads(op->context->pool));
  return DQ_OK;
}

static dq_status emit(dq_emission *to) {
  const dq_op *op = to->op;
  const dq_tensor *bias = dq_op_input(op, BIAS), *weight = op->inputs[WEIGHT];
  dq_convolution shape;
  char addend[16];
  if (!has_kernel(op) || !weight->data || (bias && !bias->data))
    return dq_op_fail(op, DQ_UNSUPPORTED,
                      "C is written for float32 and float16, one or two spatial axes and constant weights only");
  if (is_half(op)) dq_emit_need(to, DQ_EMIT_HALF);
  DQ_TRY(dq_convolution_read(op, INPUT, WEIGHT, BIAS, &shape));
  dq_emit_convolution convolution = {.shape = dq_convolution_parameters(&shape), .bias = -1};
  DQ_TRY(read_end(op, &convolution.shape));
  convolution.weights = dq_emit_constant(to, weight->type, weight->data, dq_tensor_count(weight));
  if (bias) convolution.bias = dq_emit_constant(to, bias->type, bias->data, dq_tensor_count(bias));
  if (convolution.shape.adds) convolution.addend = dq_emit_input(to, ADDEND, addend);
  return dq_emit_convolution_body(to, &convolution);
}

static dq_status run_direct(dq_op *op) {
  const dq_tensor *input = op->inputs[INPUT], *bias = dq_op_input(op, BIAS);
  dq_tensor *output = op->outputs[0];
  dq_convolution convolution;
  dq_conv_parameters end = {0};
  DQ_TRY(dq_convolution_read(op, INPUT, WEIGHT, BIAS, &convolution));
  DQ_TRY(read_end(op, &end));
  dq_convolution_direct(&convolution, input->type, op->inputs[WEIGHT]->data, bias ? bias->data : NULL, input->data,
                        output->data, op->context->pool);
  int64_t count = dq_tensor_count(output);
  if (end.activation.kind != DQ_ACTIVATION_NONE) dq_activate_f32(&end.activation, output->data, output->data, count);
  if (!end.adds) return DQ_OK;
  dq_add_f32(output->data, op->inputs[ADDEND]->data, output->data, count);
  dq_activate_f32(&end.sum_activation, output->data, output->data, count);
  return DQ_OK;
}

static dq_status run(dq_op *op) {
  if (!dq_tensor_count(op->outputs[0])) return DQ_OK;
  if (!has_kernel(op)) return run_direct(op);
  if (!op->state) return dq_op_run_unprepared(op);
  const conv_state *state = op->state;
  if (state->varies) pack(op, state);
  const void *input = op->inputs[INPUT]->data;
  if (is_half(op))
    dq_conv_f16_run(&state->plan, state->packed, input, op->outputs[0]->data, op->scratch, op->context->pool);
  else
    dq_conv_f32_run(&state->plan, state->packed, input, state->plan.tail.adds ? op->inputs[ADDEND]->data : NULL,
                    op->outputs[0]->data, op->scratch, op->context->pool);
  return DQ_OK;
}

static int64_t macs(const dq_op *op) { return dq_convolution_macs(op, WEIGHT); }

static void product(const dq_node *node, dq_product *to) {
  dq_describe_convolution(node, DQ_CONVOLUTION, DQ_FLOAT_OPERANDS(BIAS), to);
}

static const dq_attribute_rule attributes[] = {DQ_WINDOW_ATTRIBUTES(false), {"group", DQ_ATTRIBUTE_INT, false}, {0}};

const dq_operator dq_op_Conv = {
    .name = "Conv",
    .since = {1, 11, 22},
    .inputs = {2, 3},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64),
    .attributes = attributes,
    .check = check,
    .infer = infer,
    .run = run,
    .prepare = prepare,
    .emit = emit,
    .product = product,
    .macs = macs,
    .gradient = dq_gradient_conv,
    .trained = 1 << WEIGHT | 1 << BIAS,
    .category = DQ_ALLOW,
    .quantization = DQ_QUANTIZE_COMPUTE,
    .flags = DQ_OP_HALF | DQ_OP_HALF_KERNEL,
    .bound = DQ_BOUND_PRODUCT,
};

static const dq_attribute_rule fused_attributes[] = {DQ_WINDOW_ATTRIBUTES(false),
                                                     {"activation", DQ_ATTRIBUTE_STRING, false},
                                                     {"activation_alpha", DQ_ATTRIBUTE_FLOAT, false},
                                                     {"activation_high", DQ_ATTRIBUTE_FLOAT, false},
                                                     {"activation_low", DQ_ATTRIBUTE_FLOAT, false},
                                                     {"group", DQ_ATTRIBUTE_INT, false},
                                                     {"sum_activation", DQ_ATTRIBUTE_STRING, false},
                                                     {"sum_activation_alpha", DQ_ATTRIBUTE_FLOAT, false},
                                                     {"sum_activation_high", DQ_ATTRIBUTE_FLOAT, false},
                                                     {"sum_activation_low", DQ_ATTRIBUTE_FLOAT, false},
                                                     {0}};

const dq_operator dq_op_FusedConv = {
    .name = "FusedConv",
    .domain = "dq",
    .since = {1},
    .inputs = {2, 4},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32),
    .attributes = fused_attributes,
    .infer = infer,
    .run = run,
    .prepare = prepare,
    .emit = emit,
    .product = product,
    .macs = macs,
    .category = DQ_ALLOW,
    .quantization = DQ_QUANTIZE_COMPUTE,
    .flags = DQ_OP_HALF | DQ_OP_HALF_KERNEL,
};
