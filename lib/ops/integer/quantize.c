// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear with the arithmetic of ONNX Runtime:
//   q = saturate(round_half_even(x / scale) + zero_point)
//   x = (q - zero_point) * scale in float32
// Scales are one for the tensor, one per index of an axis, or one per block of indices.
#include <inttypes.h>

#include "lib/base/sizes.h"
#include "lib/kernels/array/array.h"
#include "lib/ops/common/elementwise.h"
#include "lib/ops/emit/emit.h"

typedef struct linear {
  const dq_tensor *input, *scale, *zero_point; // zero_point NULL: zeros
  dq_tensor *output;
  unsigned cpu;
  int64_t length;             // elements in a row that share their parameters
  int64_t size, inner, block; // of the axis; elements inside of it; indices per block (0: none)
} linear;

// Position in scale and zero_point of the elements from `at` on.
static int64_t parameter_index(const linear *job, int64_t at) {
  if (!job->size) return 0;
  int64_t index = at / job->inner % job->size;
  if (!job->block) return index;
  int64_t blocks = (job->size - 1) / job->block + 1, outer = at / job->inner / job->size;
  return (outer * blocks + index / job->block) * job->inner + at % job->inner;
}

// Checks that there are as many zero points as scales, where both are known.
static dq_status check_zero_point(const dq_op *op) {
  const dq_tensor *scale = op->inputs[1], *zero_point = dq_op_input(op, 2);
  if (!zero_point || zero_point->rank < 0 || scale->rank < 0 || dq_tensor_count(zero_point) == dq_tensor_count(scale))
    return DQ_OK;
  return dq_op_fail(op, DQ_BAD_INPUT, "the zero point has another shape than the scale");
}

// How the elements are laid over the parameters, from the shapes; bad input when they do not fit.
static dq_status lay_out(const dq_op *op, linear *job) {
  const dq_tensor *input = job->input, *scale = job->scale;
  job->length = dq_max_i64(dq_tensor_count(input), 1);
  int64_t block = dq_node_int(op->node, "block_size", 0);
  if (block < 0 || block > INT32_MAX)
    return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'block_size' is %" PRId64 ", expected 0 or more", block);
  DQ_TRY(check_zero_point(op));
  if (!block && scale->rank <= 1 && dq_tensor_count(scale) == 1) return DQ_OK;
  int axis;
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", 1), input->rank, &axis));
  bool fits = block ? scale->rank == input->rank : scale->rank == 1;
  for (int i = 0; fits && i < scale->rank; i++) {
    int64_t size = input->dims[block ? i : axis];
    if (block && i == axis) size = (size + block - 1) / block;
    fits = scale->dims[i] == size;
  }
  if (!fits) {
    char of_scale[DQ_SHAPE_TEXT], of_input[DQ_SHAPE_TEXT];
    return dq_op_fail(op, DQ_BAD_INPUT, "scale of shape %s does not fit input of shape %s, axis %d",
                      dq_tensor_shape_text(scale, of_scale, sizeof of_scale),
                      dq_tensor_shape_text(input, of_input, sizeof of_input), axis);
  }
  job->size = input->dims[axis];
  job->inner = dq_tensor_product(input, axis + 1, input->rank);
  job->block = block;
  job->length = block ? 1 : job->inner;
  return DQ_OK;
}

typedef void row_function(const linear *job, int64_t at, int64_t count, int64_t parameter);

static void for_rows(const linear *job, int64_t from, int64_t to, row_function *function) {
  while (from < to) {
    int64_t count = dq_min_i64(job->length - from % job->length, to - from);
    function(job, from, count, parameter_index(job, from));
    from += count;
  }
}

static int32_t zero_point_at(const linear *job, int64_t parameter) {
  return job->zero_point ? (int32_t)dq_tensor_get_i64(job->zero_point, parameter) : 0;
}

// ---- QuantizeLinear ----

enum { NARROW = (1 << DQ_U8) | (1 << DQ_I8) | (1 << DQ_U16) | (1 << DQ_I16) };

static void quantize_row(const linear *job, int64_t at, int64_t count, int64_t parameter) {
  float scale = (float)dq_tensor_get(job->scale, parameter);
  int32_t zero = zero_point_at(job, parameter);
  if (job->input->type == DQ_F32) {
    const float *in = (const float *)job->input->data + at;
    if (job->output->type == DQ_U8) {
      dq_quantize_u8(job->cpu, in, scale, zero, (uint8_t *)job->output->data + at, count);
      return;
    }
    if (job->output->type == DQ_I8) {
      dq_quantize_s8(job->cpu, in, scale, zero, (int8_t *)job->output->data + at, count);
      return;
    }
  }
  for (int64_t i = at; i < at + count; i++) {
    float x = (float)dq_tensor_get(job->input, i) / scale;
    double q = (double)rintf(x) + zero;
    dq_tensor_set(job->output, i, q == q ? q : -HUGE_VAL); // NaN: lowest, as the kernels
  }
}

static void quantize_span(void *argument, int64_t from, int64_t to) { for_rows(argument, from, to, quantize_row); }

static dq_status quantized_type(const dq_op *op, int *type) {
  const dq_tensor *zero_point = dq_op_input(op, 2);
  int64_t asked = dq_node_int(op->node, "output_dtype", 0);
  *type = zero_point ? zero_point->type : asked ? (int)asked : DQ_U8;
  if (asked < 0 || asked > INT32_MAX || (zero_point && asked && asked != zero_point->type))
    return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'output_dtype' is %" PRId64 ", the zero point is %s", asked,
                      zero_point ? dq_dtype_name(zero_point->type) : "left out");
  return DQ_OK;
}

// Fails unless the type is one of `types`, which quantized numbers of the operator may have.
static dq_status check_quantized(const dq_op *op, int type, unsigned types) {
  if (dq_dtype_computable(type) && (types & DQ_BIT(type))) return DQ_OK;
  return dq_op_fail(op, DQ_UNSUPPORTED, "%s with numbers of type %s is not supported", op->row->name,
                    dq_dtype_name(type));
}

// ---- C ----

// Constant float32 scales, one for all elements or one for each index of the axis.
static bool has_plain_scales(const linear *job) {
  return job->scale->type == DQ_F32 && job->scale->data && (!job->zero_point || job->zero_point->data) && !job->block;
}

// Opens a loop over the elements i, with their scale and zero point as `scale` and `zero`, for scales of any kind.
static void open_elements(dq_emission *to, const linear *job) {
  char element[100];
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", dq_tensor_count(job->input));
  if (!job->size) dq_emit(to, "const int32_t at = 0;");
  else if (!job->block) dq_emit(to, "const int32_t at = i / %" PRId64 " %% %" PRId64 ";", job->inner, job->size);
  else
    dq_emit(to,
            "const int32_t at = (i / %" PRId64 " * %" PRId64 " + i / %" PRId64 " %% %" PRId64 " / %" PRId64
            ") * %" PRId64 " + i %% %" PRId64 ";",
            job->inner * job->size, (job->size - 1) / job->block + 1, job->inner, job->size, job->block, job->inner,
            job->inner);
  dq_emit_element(to, 1, "at", element);
  dq_emit(to, "const float scale = %s;", element);
  if (job->zero_point) dq_emit_element(to, 2, "at", element);
  dq_emit(to, "const int32_t zero = (int32_t)%s;", job->zero_point ? element : "0");
}

// Opens the loops over rows of elements that share scale and zero point, which are declared as `scale` and `zero`.
static dq_status emit_rows(dq_emission *to, const linear *job, int *loops) {
  int64_t count = dq_tensor_count(job->input), channels = job->size ? job->size : 1;
  int64_t inner = job->size ? job->inner : count, outer = inner ? count / inner / channels : 0;
  int32_t *zeros = DQ_NEW_ARRAY(to->arena, channels, int32_t);
  if (!zeros) return dq_fail_memory(to->op->error, 0);
  for (int64_t c = 0; c < channels; c++) zeros[c] = zero_point_at(job, c);
  int scales = dq_emit_constant(to, DQ_F32, job->scale->data, channels);
  int zero_points = dq_emit_constant(to, DQ_I32, zeros, channels);
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", outer * channels);
  dq_emit(to, "const float scale = c%d[n %% %" PRId64 "];", scales, channels);
  dq_emit(to, "const int32_t zero = c%d[n %% %" PRId64 "];", zero_points, channels);
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", inner);
  *loops = 2;
  return DQ_OK;
}

// One scale for all elements. False: nothing was printed.
static bool emit_with_one_scale(dq_emission *to, const linear *job, int32_t low, int32_t high) {
  char text[48];
  float scale = dq_tensor_count(job->scale) == 1 ? (float)dq_tensor_get(job->scale, 0) : 0;
  int32_t zero = dq_tensor_count(job->scale) == 1 ? zero_point_at(job, 0) : 0;
  if (!(scale > 0)) return false;
  if (to->target != DQ_EMIT_DSP) return dq_emit_levels(to, dq_tensor_count(job->input), scale, zero, low, high);
  dq_emit_need(to, DQ_EMIT_NEAR);
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", dq_tensor_count(job->input));
  dq_emit(to, "y0[i] = (%s)dq_near(x0[i] / %s, %d, %d, %d);", dq_emit_type(to->op->outputs[0]->type),
          dq_emit_real(scale, text), zero, low, high);
  dq_emit(to, "}");
  return true;
}

static dq_status emit_QuantizeLinear(dq_emission *to) {
  int loops, type = to->op->outputs[0]->type;
  linear job = {.input = to->op->inputs[0], .scale = to->op->inputs[1], .zero_point = dq_op_input(to->op, 2)};
  char element[100];
  DQ_TRY(lay_out(to->op, &job));
  DQ_TRY(check_quantized(to->op, type, NARROW));
  int64_t inner = job.size ? job.inner : dq_tensor_count(job.input);
  const bool narrow = dq_dtype_bits(type) == 8, plain = has_plain_scales(&job) && job.input->type == DQ_F32;
  int32_t low = type == DQ_I8 ? INT8_MIN : type == DQ_I16 ? INT16_MIN : 0;
  int32_t high = type == DQ_I8 ? INT8_MAX : type == DQ_U8 ? UINT8_MAX : type == DQ_I16 ? INT16_MAX : UINT16_MAX;
  if (plain && narrow && emit_with_one_scale(to, &job, low, high)) return DQ_OK;
  dq_emit_need(to, DQ_EMIT_ROUND);
  if (!plain) {
    open_elements(to, &job);
    dq_emit_element(to, 0, "i", element);
    dq_emit(to, "y0[i] = (%s)dq_round((float)%s / scale, zero, %d, %d);", dq_emit_type(type), element, low, high);
    dq_emit_close(to, 1);
    return DQ_OK;
  }
  DQ_TRY(emit_rows(to, &job, &loops));
  dq_emit(to, "y0[n * %" PRId64 " + i] = (%s)dq_round(x0[n * %" PRId64 " + i] / scale, zero, %d, %d);", inner,
          dq_emit_type(type), inner, low, high);
  dq_emit_close(to, loops);
  return DQ_OK;
}

static dq_status emit_DequantizeLinear(dq_emission *to) {
  int loops;
  linear job = {.input = to->op->inputs[0], .scale = to->op->inputs[1], .zero_point = dq_op_input(to->op, 2)};
  char element[100], value[200];
  DQ_TRY(lay_out(to->op, &job));
  DQ_TRY(check_quantized(to->op, job.input->type, NARROW | DQ_BIT(DQ_I32)));
  int64_t inner = job.size ? job.inner : dq_tensor_count(job.input);
  char name[16];
  if (!has_plain_scales(&job) || to->op->outputs[0]->type != DQ_F32 || job.input->type == DQ_I32) {
    open_elements(to, &job);
    dq_emit_element(to, 0, "i", element);
    snprintf(value, sizeof value, "(float)(%s%s - zero) * scale", job.input->type == DQ_I32 ? "(int64_t)" : "",
             element);
    dq_emit_assign(to, 0, "i", value);
    dq_emit_close(to, 1);
    return DQ_OK;
  }
  dq_emit_input(to, 0, name);
  DQ_TRY(emit_rows(to, &job, &loops));
  dq_emit(to, "const int32_t level = (int32_t)%s[n * %" PRId64 " + i] - zero;", name, inner);
  dq_emit(to, "y0[n * %" PRId64 " + i] = (float)level * scale;", inner);
  dq_emit_close(to, loops);
  return DQ_OK;
}

// The range of all elements, and 0, decides.
static dq_status emit_DynamicQuantizeLinear(dq_emission *to) {
  const int64_t count = dq_tensor_count(to->op->inputs[0]);
  char x[100];
  dq_emit_element(to, 0, "i", x);
  dq_emit_need(to, DQ_EMIT_ROUND);
  dq_emit(to, "float low = 0.0f, high = 0.0f, scale, zero;");
  dq_emit(to, "int32_t zero_point;");
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", count);
  dq_emit(to, "low = %s < low ? %s : low;", x, x);
  dq_emit(to, "high = %s > high ? %s : high;", x, x);
  dq_emit(to, "}");
  dq_emit(to, "high -= low;");
  dq_emit(to, "scale = high == 0.0f ? 1.0f : high / 255.0f;");
  dq_emit(to, "zero = -low / scale;");
  dq_emit(to, "zero_point = dq_round(zero, 0, 0, 255);");
  if (to->op->outputs[0])
    dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) y0[i] = (uint8_t)dq_round(%s / scale, zero_point, 0, 255);",
            count, x);
  if (to->op->outputs[1]) dq_emit(to, "y1[0] = scale;");
  if (to->op->outputs[2]) dq_emit(to, "y2[0] = (uint8_t)zero_point;");
  return DQ_OK;
}

static dq_status infer_QuantizeLinear(dq_op *op) {
  int type;
  linear job = {.input = op->inputs[0], .scale = op->inputs[1], .zero_point = dq_op_input(op, 2)};
  DQ_TRY(quantized_type(op, &type));
  DQ_TRY(lay_out(op, &job));
  return dq_op_shape(op, 0, type, job.input->rank, job.input->dims);
}

static dq_status run_linear(dq_op *op, dq_span_work *work) {
  linear job = {.input = op->inputs[0],
                .scale = op->inputs[1],
                .zero_point = dq_op_input(op, 2),
                .output = op->outputs[0],
                .cpu = op->context ? op->context->cpu : 0};
  DQ_TRY(lay_out(op, &job));
  dq_spans(op->context, dq_tensor_count(job.input), DQ_GRAIN, work, &job);
  return DQ_OK;
}

static dq_status run_QuantizeLinear(dq_op *op) {
  DQ_TRY(check_quantized(op, op->outputs[0]->type, NARROW));
  return run_linear(op, quantize_span);
}

static const dq_attribute_rule linear_attributes[] = {
    {"axis", DQ_ATTRIBUTE_INT, false},         {"block_size", DQ_ATTRIBUTE_INT, false},
    {"output_dtype", DQ_ATTRIBUTE_INT, false}, {"precision", DQ_ATTRIBUTE_INT, false},
    {"saturate", DQ_ATTRIBUTE_INT, false},     {0}};
const dq_operator dq_op_QuantizeLinear = {
    .name = "QuantizeLinear",
    .since = {10, 13, 19, 21, 23, 24, 25, 28},
    .inputs = {2, 3},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F16) | DQ_BIT(DQ_I32),
    .attributes = linear_attributes,
    .check = check_zero_point,
    .infer = infer_QuantizeLinear,
    .run = run_QuantizeLinear,
    .emit = emit_QuantizeLinear,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_HALF,
};

// ---- DequantizeLinear ----

static void dequantize_row(const linear *job, int64_t at, int64_t count, int64_t parameter) {
  float scale = (float)dq_tensor_get(job->scale, parameter);
  int32_t zero = zero_point_at(job, parameter);
  float *out = (float *)job->output->data + at;
  if (job->input->type == DQ_U8) {
    dq_dequantize_u8(job->cpu, (const uint8_t *)job->input->data + at, scale, zero, out, count);
  } else if (job->input->type == DQ_I8) {
    dq_dequantize_s8(job->cpu, (const int8_t *)job->input->data + at, scale, zero, out, count);
  } else {
    for (int64_t i = 0; i < count; i++) out[i] = (float)(dq_tensor_get_i64(job->input, at + i) - zero) * scale;
  }
}

static void dequantize_span(void *argument, int64_t from, int64_t to) { for_rows(argument, from, to, dequantize_row); }

static dq_status infer_DequantizeLinear(dq_op *op) {
  linear job = {.input = op->inputs[0], .scale = op->inputs[1], .zero_point = dq_op_input(op, 2)};
  DQ_TRY(lay_out(op, &job));
  if (job.zero_point && job.zero_point->type != job.input->type)
    return dq_op_fail(op, DQ_BAD_INPUT, "the zero point is of type %s, the input of type %s",
                      dq_dtype_name(job.zero_point->type), dq_dtype_name(job.input->type));
  int64_t asked = dq_node_int(op->node, "output_dtype", 0);
  return dq_op_shape(op, 0, asked > 0 && asked <= INT32_MAX ? (int)asked : job.scale->type, job.input->rank,
                     job.input->dims);
}

static dq_status run_DequantizeLinear(dq_op *op) {
  DQ_TRY(check_quantized(op, op->inputs[0]->type, NARROW | DQ_BIT(DQ_I32)));
  if (op->outputs[0]->type != DQ_F32)
    return dq_op_fail(op, DQ_UNSUPPORTED, "dequantizing to %s is not supported", dq_dtype_name(op->outputs[0]->type));
  return run_linear(op, dequantize_span);
}

const dq_operator dq_op_DequantizeLinear = {
    .name = "DequantizeLinear",
    .since = {10, 13, 19, 21, 23, 24, 25, 28},
    .inputs = {2, 3},
    .outputs = {1, 1},
    .types = NARROW | DQ_BIT(DQ_I32),
    .attributes = linear_attributes,
    .check = check_zero_point,
    .infer = infer_DequantizeLinear,
    .run = run_DequantizeLinear,
    .emit = emit_DequantizeLinear,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_HALF,
};

// ---- DynamicQuantizeLinear: uint8 with the scale and zero point of the range found ----

static dq_status infer_DynamicQuantizeLinear(dq_op *op) {
  DQ_TRY(dq_op_shape(op, 0, DQ_U8, op->inputs[0]->rank, op->inputs[0]->dims));
  DQ_TRY(dq_op_shape(op, 1, DQ_F32, 0, NULL));
  return dq_op_shape(op, 2, DQ_U8, 0, NULL);
}

static dq_status run_DynamicQuantizeLinear(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  linear job = {.input = input, .output = op->outputs[0], .cpu = op->context ? op->context->cpu : 0};
  job.length = dq_max_i64(dq_tensor_count(input), 1);
  dq_range range = dq_find_range(job.cpu, input->data, dq_tensor_count(input));
  float low = range.minimum < 0 ? range.minimum : 0, high = range.maximum > 0 ? range.maximum : 0;
  float scale = low == high ? 1.0f : (high - low) / 255;
  float zero = rintf(-low / scale);
  uint8_t zero_point = zero > 255 ? 255 : zero > 0 ? (uint8_t)zero : 0;
  dq_tensor scale_tensor = {.type = DQ_F32, .data = &scale};
  dq_tensor zero_tensor = {.type = DQ_U8, .data = &zero_point};
  job.scale = &scale_tensor;
  job.zero_point = &zero_tensor;
  if (op->outputs[0]) dq_spans(op->context, dq_tensor_count(input), DQ_GRAIN, quantize_span, &job);
  if (op->outputs[1]) memcpy(op->outputs[1]->data, &scale, sizeof scale);
  if (op->outputs[2]) memcpy(op->outputs[2]->data, &zero_point, sizeof zero_point);
  return DQ_OK;
}

const dq_operator dq_op_DynamicQuantizeLinear = {
    .name = "DynamicQuantizeLinear",
    .since = {11},
    .inputs = {1, 1},
    .outputs = {3, 3},
    .types = DQ_BIT(DQ_F32),
    .infer = infer_DynamicQuantizeLinear,
    .run = run_DynamicQuantizeLinear,
    .emit = emit_DynamicQuantizeLinear,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};
