// Operators of domain com.microsoft on 8-bit operands, run as they are defined: the float operator
// between dequantizing and quantizing. Execution copies have the explicit form instead
// (lib/passes/raise_qoperator.c), where integer steps are found.
#include "lib/ops/integer/qlinear.h"

#include <string.h>

#include "lib/base/sizes.h"
#include "lib/kernels/array/array.h"
#include "lib/ops/common/quantized.h"

static const dq_qlinear forms[] = {
#define DQ_QLINEAR(name, domain, of, operand, operands, bias, result)                                                  \
  {#name, domain, #of, operand, operands, bias, result},
#include "lib/ops/integer/qlinear.def"
#undef DQ_QLINEAR
};

enum { FORMS = DQ_COUNT(forms), OPSET = 13 };

const dq_qlinear *dq_qlinear_find(const char *domain, const char *name) {
  for (int i = 0; i < FORMS; i++)
    if (!strcmp(forms[i].name, name) && !strcmp(forms[i].domain, domain)) return &forms[i];
  return NULL;
}

const dq_qlinear *dq_qlinear_of(const char *float_operator) {
  for (int i = 0; i < FORMS; i++)
    if (!strcmp(forms[i].of, float_operator)) return &forms[i];
  return NULL;
}

int dq_qlinear_operands(const dq_qlinear *form, const dq_node *node) {
  return form->operands ? form->operands : (node->input_count - form->operand) / 3;
}

// The node as its float operator sees it. Elements are filled when it runs.
typedef struct float_form {
  const dq_qlinear *form;
  dq_op op;
  dq_tensor *inputs; // of op
  dq_tensor output;
} float_form;

static dq_status open_form(const dq_op *op, dq_arena *arena, float_form *f) {
  f->form = dq_qlinear_find(op->node->domain, op->node->op_type);
  int count = dq_qlinear_operands(f->form, op->node);
  f->op = *op;
  f->op.row = dq_operator_find("", f->form->of);
  f->op.version = dq_operator_version(f->op.row, dq_node_int(op->node, "opset", OPSET));
  f->inputs = DQ_NEW_ARRAY(arena, count, dq_tensor);
  const dq_tensor **inputs = DQ_NEW_ARRAY(arena, count, const dq_tensor *);
  dq_tensor **outputs = DQ_NEW(arena, dq_tensor *);
  if (!f->inputs || !inputs || !outputs) return dq_fail_memory(op->error, sizeof *f);
  f->output = (dq_tensor){0};
  for (int i = 0; i < count; i++) {
    int at = f->form->operand + 3 * i;
    DQ_TRY(dq_check_input_type(op, at, DQ_TYPES_8_BIT));
    f->inputs[i] = *op->inputs[at];
    f->inputs[i].type = DQ_F32;
    f->inputs[i].data = NULL;
    inputs[i] = &f->inputs[i];
  }
  *outputs = &f->output;
  f->op.inputs = inputs, f->op.input_count = count;
  f->op.outputs = outputs, f->op.output_count = 1;
  return DQ_OK;
}

static dq_status infer_in(dq_op *op, dq_arena *arena, float_form *f) {
  if (dq_node_int(op->node, "channels_last", 0))
    return dq_op_fail(op, DQ_UNSUPPORTED, "attribute 'channels_last' is not supported");
  DQ_TRY(open_form(op, arena, f));
  if (!f->op.version) return dq_op_fail(op, DQ_UNSUPPORTED, "attribute 'opset' is not supported");
  DQ_TRY(f->op.row->infer(&f->op));
  DQ_TRY(dq_check_input_type(op, f->form->result, DQ_BIT(DQ_F32)));
  const dq_tensor *zero = dq_op_input(op, f->form->result + 1);
  if (zero) DQ_TRY(dq_check_input_type(op, f->form->result + 1, DQ_TYPES_8_BIT));
  int type = zero ? zero->type : op->inputs[f->form->operand]->type;
  if (f->output.rank < 0) return dq_op_unknown(op, 0, type);
  return dq_op_shape(op, 0, type, f->output.rank, f->output.dims);
}

// Scale and zero point from input i on: one number each.
static dq_status read_step(const dq_op *op, int i, int type, dq_arena *arena, float *scale, int32_t *zero) {
  dq_scales scales;
  dq_zero_points zeros;
  DQ_TRY(dq_read_scales(op, i, 1, 1, arena, &scales));
  DQ_TRY(dq_read_zero_points(op, i + 1, type, 1, 1, arena, &zeros));
  *scale = scales.values[0];
  *zero = zeros.count ? zeros.values[0] : 0;
  return DQ_OK;
}

static dq_status dequantize(const dq_op *op, int at, dq_arena *arena, dq_tensor *to) {
  const dq_tensor *from = op->inputs[at];
  int64_t count = dq_tensor_count(from);
  unsigned cpu = op->context ? op->context->cpu : 0;
  float scale;
  int32_t zero;
  DQ_TRY(read_step(op, at + 1, from->type, arena, &scale, &zero));
  if (!(to->data = DQ_NEW_ARRAY(arena, count, float))) return dq_fail_memory(op->error, dq_tensor_bytes(to));
  if (from->type == DQ_U8) dq_dequantize_u8(cpu, from->data, scale, zero, to->data, count);
  else dq_dequantize_s8(cpu, from->data, scale, zero, to->data, count);
  return DQ_OK;
}

static dq_status run_in(dq_op *op, dq_arena *arena, float_form *f) {
  DQ_TRY(infer_in(op, arena, f));
  for (int i = 0; i < f->op.input_count; i++) DQ_TRY(dequantize(op, f->form->operand + 3 * i, arena, &f->inputs[i]));
  dq_tensor *output = op->outputs[0];
  int64_t count = dq_tensor_count(output);
  unsigned cpu = op->context ? op->context->cpu : 0;
  if (!(f->output.data = DQ_NEW_ARRAY(arena, count, float))) return dq_fail_memory(op->error, (size_t)count);
  DQ_TRY(f->op.row->run(&f->op));
  float scale;
  int32_t zero;
  DQ_TRY(read_step(op, f->form->result, output->type, arena, &scale, &zero));
  if (output->type == DQ_U8) dq_quantize_u8(cpu, f->output.data, scale, zero, output->data, count);
  else dq_quantize_s8(cpu, f->output.data, scale, zero, output->data, count);
  return DQ_OK;
}

static dq_status in_arena(dq_op *op, dq_status (*work)(dq_op *, dq_arena *, float_form *)) {
  dq_arena *arena = dq_context_arena(op->context);
  if (!arena) return dq_fail_memory(op->error, 0);
  float_form form;
  dq_status status = work(op, arena, &form);
  dq_arena_free(arena);
  return status;
}

static dq_status infer(dq_op *op) { return in_arena(op, infer_in); }
static dq_status run(dq_op *op) { return in_arena(op, run_in); }

#define CHANNELS                                                                                                       \
  { "channels_last", DQ_ATTRIBUTE_INT, false }
static const dq_attribute_rule none[] = {{0}};
static const dq_attribute_rule alpha[] = {{"alpha", DQ_ATTRIBUTE_FLOAT, false}, {0}};
static const dq_attribute_rule axis[] = {{"axis", DQ_ATTRIBUTE_INT, true}, {0}};
static const dq_attribute_rule softmax[] = {{"axis", DQ_ATTRIBUTE_INT, false}, {"opset", DQ_ATTRIBUTE_INT, true}, {0}};
static const dq_attribute_rule channels[] = {CHANNELS, {0}};
static const dq_attribute_rule window[] = {{"auto_pad", DQ_ATTRIBUTE_STRING, false},
                                           {"ceil_mode", DQ_ATTRIBUTE_INT, false},
                                           CHANNELS,
                                           {"count_include_pad", DQ_ATTRIBUTE_INT, false},
                                           {"kernel_shape", DQ_ATTRIBUTE_INTS, true},
                                           {"pads", DQ_ATTRIBUTE_INTS, false},
                                           {"strides", DQ_ATTRIBUTE_INTS, false},
                                           {0}};

// Zero points in the middle may be left out: what must be there beyond the first inputs is checked here.
#define ROW(NAME, LEAST, MOST, TYPES, ATTRIBUTES)                                                                      \
  const dq_operator dq_op_##NAME = {                                                                                   \
      .name = #NAME,                                                                                                   \
      .domain = "com.microsoft",                                                                                       \
      .since = {1},                                                                                                    \
      .inputs = {LEAST, MOST},                                                                                         \
      .outputs = {1, 1},                                                                                               \
      .types = TYPES,                                                                                                  \
      .attributes = ATTRIBUTES,                                                                                        \
      .infer = infer,                                                                                                  \
      .run = run,                                                                                                      \
      .category = DQ_DENY,                                                                                             \
      .quantization = DQ_QUANTIZE_NOT,                                                                                 \
  };
ROW(QLinearAdd, 2, 8, DQ_TYPES_8_BIT, none)
ROW(QLinearAveragePool, 2, 5, DQ_TYPES_8_BIT, window)
ROW(QLinearConcat, 5, DQ_ANY_NUMBER, DQ_BIT(DQ_F32), axis)
ROW(QLinearGlobalAveragePool, 5, 5, DQ_TYPES_8_BIT, channels)
ROW(QLinearLeakyRelu, 2, 5, DQ_TYPES_8_BIT, alpha)
ROW(QLinearMul, 2, 8, DQ_TYPES_8_BIT, none)
ROW(QLinearSigmoid, 2, 5, DQ_TYPES_8_BIT, none)
ROW(QLinearSoftmax, 5, 5, DQ_TYPES_8_BIT, softmax)
