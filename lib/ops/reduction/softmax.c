// Softmax, LogSoftmax and Hardmax. Before version 13 they see the input as a matrix cut at `axis`,
// from 13 on they work along that axis.
#include "lib/base/sizes.h"
#include "lib/kernels/array/array.h"
#include "lib/ops/common/elementwise.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"

#include <inttypes.h>
#include <tgmath.h>

// `outer` blocks of `length` rows of `inner` columns; the functions work down each column.
typedef struct columns {
  const dq_tensor *input;
  dq_tensor *output;
  int64_t outer, length, inner, strips; // strips of WIDTH columns in a block
  bool logarithm;
  unsigned cpu;
} columns;

enum { WIDTH = 64 };

// e^x of `count` numbers.
static void powers_F32(unsigned cpu, const float *x, float *powers, int64_t count) {
  dq_exp_f32(cpu, x, powers, count);
}

static void powers_F64(unsigned cpu, const double *x, double *powers, int64_t count) {
  (void)cpu;
  for (int64_t i = 0; i < count; i++) powers[i] = exp(x[i]);
}

#define SOFTMAX_STRIP(NAME, symbol, type)                                                                              \
  static void NAME##_##symbol(const columns *job, int64_t start, int64_t width) {                                      \
    const type *in = (const type *)job->input->data + start;                                                           \
    type *out = (type *)job->output->data + start, peak[WIDTH], total[WIDTH], x[WIDTH], powers[WIDTH];                 \
    double sum[WIDTH] = {0};                                                                                           \
    for (int64_t i = 0; i < width; i++) peak[i] = in[i];                                                               \
    for (int64_t k = 1; k < job->length; k++)                                                                          \
      for (int64_t i = 0; i < width; i++)                                                                              \
        peak[i] = in[k * job->inner + i] > peak[i] ? in[k * job->inner + i] : peak[i];                                 \
    for (int64_t k = 0; k < job->length; k++) {                                                                        \
      for (int64_t i = 0; i < width; i++) x[i] = in[k * job->inner + i] - peak[i];                                     \
      powers_##symbol(job->cpu, x, powers, width);                                                                     \
      for (int64_t i = 0; i < width; i++) sum[i] += (double)powers[i];                                                 \
      memcpy(out + k * job->inner, job->logarithm ? x : powers, (size_t)width * sizeof *x);                            \
    }                                                                                                                  \
    for (int64_t i = 0; i < width; i++) total[i] = (type)(job->logarithm ? log(sum[i]) : sum[i]);                      \
    for (int64_t k = 0; k < job->length; k++)                                                                          \
      for (int64_t i = 0; i < width; i++) {                                                                            \
        type *at = &out[k * job->inner + i];                                                                           \
        *at = job->logarithm ? *at - total[i] : *at / total[i];                                                        \
      }                                                                                                                \
  }
DQ_EACH_FLOAT(SOFTMAX_STRIP, softmax)

// A single column lies in a row: the same sums through the exp kernel.
static void softmax_row_span(void *argument, int64_t from, int64_t to) {
  enum { CHUNK = 256 };
  const columns *job = argument;
  const int64_t length = job->length;
  for (int64_t row = from; row < to; row++) {
    const float *in = (const float *)job->input->data + row * length;
    float *out = (float *)job->output->data + row * length, peak = in[0];
    double sum = 0;
    for (int64_t k = 1; k < length; k++) peak = in[k] > peak ? in[k] : peak;
    for (int64_t at = 0; at < length; at += CHUNK) {
      const int64_t count = dq_min_i64(CHUNK, length - at);
      float powers[CHUNK];
      for (int64_t k = 0; k < count; k++) out[at + k] = in[at + k] - peak;
      dq_exp_f32(job->cpu, out + at, powers, count);
      for (int64_t k = 0; k < count; k++) sum += (double)powers[k];
      if (!job->logarithm) memcpy(out + at, powers, (size_t)count * sizeof *powers);
    }
    const float total = (float)(job->logarithm ? log(sum) : sum);
    for (int64_t k = 0; k < length; k++) out[k] = job->logarithm ? out[k] - total : out[k] / total;
  }
}

// One in the place of the first largest element, zero elsewhere.
#define HARDMAX_STRIP(NAME, symbol, type)                                                                              \
  static void NAME##_##symbol(const columns *job, int64_t start, int64_t width) {                                      \
    for (int64_t i = start; i < start + width; i++) {                                                                  \
      const type *in = (const type *)job->input->data + i;                                                             \
      type *out = (type *)job->output->data + i;                                                                       \
      int64_t best = 0;                                                                                                \
      for (int64_t k = 1; k < job->length; k++)                                                                        \
        if (in[k * job->inner] > in[best * job->inner]) best = k;                                                      \
      for (int64_t k = 0; k < job->length; k++) out[k * job->inner] = k == best;                                       \
    }                                                                                                                  \
  }
DQ_EACH_FLOAT(HARDMAX_STRIP, hardmax)

// A span of strips, in one of these four ways.
#define STRIP_SPAN(NAME, symbol, type)                                                                                 \
  static void NAME##_span_##symbol(void *argument, int64_t from, int64_t to) {                                         \
    const columns *job = argument;                                                                                     \
    for (int64_t strip = from; strip < to; strip++) {                                                                  \
      int64_t column = strip % job->strips * WIDTH;                                                                    \
      NAME##_##symbol(job, strip / job->strips * job->length * job->inner + column,                                    \
                      dq_min_i64(WIDTH, job->inner - column));                                                         \
    }                                                                                                                  \
  }
DQ_EACH_FLOAT(STRIP_SPAN, softmax)
DQ_EACH_FLOAT(STRIP_SPAN, hardmax)

static dq_status infer_softmax(dq_op *op) {
  int axis;
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", op->version < 13 ? 1 : -1), op->inputs[0]->rank, &axis));
  return dq_infer_same(op);
}

// Loops over the columns; in them element k of the input is x[k * *step]. Returns the number of braces.
static dq_status open_columns(dq_emission *to, int64_t *length, int64_t *step) {
  const dq_op *op = to->op;
  const dq_tensor *input = op->inputs[0];
  int axis;
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", op->version < 13 ? 1 : -1), input->rank, &axis));
  int end = op->version < 13 ? input->rank : axis + 1;
  const char *type = dq_emit_type(input->type);
  *length = dq_tensor_product(input, axis, end), *step = dq_tensor_product(input, end, input->rank);
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", dq_tensor_product(input, 0, axis));
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", *step);
  dq_emit(to, "const %s *x = x0 + n * %" PRId64 " + i;", type, *length * *step);
  dq_emit(to, "%s *y = y0 + n * %" PRId64 " + i;", type, *length * *step);
  return DQ_OK;
}

// Element `index` of a column: float for float16.
static const char *column_element(dq_emission *to, const char *index, int64_t step, char text[80]) {
  const bool half = dq_emit_is_half(to, to->op->inputs[0]);
  if (half) dq_emit_need(to, DQ_EMIT_FROM_HALF);
  snprintf(text, 80, half ? "dq_half_to_float(x[%s * %" PRId64 "])" : "x[%s * %" PRId64 "]", index, step);
  return text;
}

// Stores an expression of k in each element of the column.
static void store_column(dq_emission *to, int64_t length, int64_t step, const char *value) {
  const bool half = dq_emit_is_half(to, to->op->outputs[0]);
  if (half) dq_emit_need(to, DQ_EMIT_TO_HALF);
  dq_emit(to,
          half ? "for (int32_t k = 0; k < %" PRId64 "; k++) y[k * %" PRId64 "] = dq_float_to_half(%s);"
               : "for (int32_t k = 0; k < %" PRId64 "; k++) y[k * %" PRId64 "] = %s;",
          length, step, value);
}

// Prints what the columns above compute: the largest element is taken off, and powers are added in double. Powers of
// float16 are computed twice, as the result does not hold them.
static dq_status emit_powers(dq_emission *to, bool logarithm) {
  int64_t length, n;
  char element[80], less[100], power[140], kept[60], value[200];
  DQ_TRY(open_columns(to, &length, &n));
  const bool wide = to->op->inputs[0]->type == DQ_F64, half = dq_emit_is_half(to, to->op->inputs[0]);
  const char *type = wide ? "double" : "float";
  dq_emit_need(to, wide ? DQ_EMIT_MATH : DQ_EMIT_EXP);
  if (logarithm) dq_emit_need(to, DQ_EMIT_MATH);
  dq_emit(to, "%s peak = %s, total;", type, column_element(to, "0", n, element));
  dq_emit(to, "double sum = 0.0;");
  column_element(to, "k", n, element);
  snprintf(less, sizeof less, "(%s)(%s - peak)", type, element);
  snprintf(power, sizeof power, "%s(%s)", wide ? "exp" : "dq_exp_one", less);
  snprintf(kept, sizeof kept, "y[k * %" PRId64 "]", n);
  dq_emit(to, "for (int32_t k = 1; k < %" PRId64 "; k++) peak = %s > peak ? %s : peak;", length, element, element);
  dq_emit(to, "for (int32_t k = 0; k < %" PRId64 "; k++) {", length);
  dq_emit(to, "const %s power = %s;", type, power);
  if (!half) dq_emit(to, "%s = %s;", kept, logarithm ? less : "power");
  dq_emit(to, "sum += (double)power;");
  dq_emit(to, "}");
  dq_emit(to, "total = (%s)%s;", type, logarithm ? "log(sum)" : "sum");
  snprintf(value, sizeof value, "%s %s total", !half ? kept : logarithm ? less : power, logarithm ? "-" : "/");
  store_column(to, length, n, value);
  dq_emit_close(to, 2);
  return DQ_OK;
}
static dq_status emit_softmax(dq_emission *to) { return emit_powers(to, false); }
static dq_status emit_log_softmax(dq_emission *to) { return emit_powers(to, true); }

static dq_status emit_hardmax(dq_emission *to) {
  int64_t length, n;
  char element[80], best[80];
  DQ_TRY(open_columns(to, &length, &n));
  dq_emit(to, "int32_t best = 0;");
  dq_emit(to, "for (int32_t k = 1; k < %" PRId64 "; k++) best = %s > %s ? k : best;", length,
          column_element(to, "k", n, element), column_element(to, "best", n, best));
  store_column(to, length, n, "k == best ? 1.0f : 0.0f");
  dq_emit_close(to, 2);
  return DQ_OK;
}

static dq_status run_columns(dq_op *op, dq_span_work *work32, dq_span_work *work64, bool logarithm) {
  const dq_tensor *input = op->inputs[0];
  int axis;
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", op->version < 13 ? 1 : -1), input->rank, &axis));
  columns job = {
      .input = input, .output = op->outputs[0], .logarithm = logarithm, .cpu = op->context ? op->context->cpu : 0};
  int end = op->version < 13 ? input->rank : axis + 1;
  job.outer = dq_tensor_product(input, 0, axis);
  job.length = dq_tensor_product(input, axis, end);
  job.inner = dq_tensor_product(input, end, input->rank);
  if (!job.outer || !job.length || !job.inner) return DQ_OK;
  job.strips = (job.inner - 1) / WIDTH + 1;
  int64_t grain = DQ_GRAIN / (job.length * dq_min_i64(WIDTH, job.inner) + 1) + 1;
  dq_span_work *work = input->type == DQ_F64 ? work64 : work32;
  if (work == softmax_span_F32 && job.inner == 1) work = softmax_row_span;
  dq_spans(op->context, job.outer * job.strips, grain, work, &job);
  return DQ_OK;
}

static dq_status run_Softmax(dq_op *op) { return run_columns(op, softmax_span_F32, softmax_span_F64, false); }
static dq_status run_LogSoftmax(dq_op *op) { return run_columns(op, softmax_span_F32, softmax_span_F64, true); }
static dq_status run_Hardmax(dq_op *op) { return run_columns(op, hardmax_span_F32, hardmax_span_F64, false); }

static const dq_attribute_rule softmax_attributes[] = {{"axis", DQ_ATTRIBUTE_INT, false}, {0}};
#define ROW(NAME, ...)                                                                                                 \
  const dq_operator dq_op_##NAME = {.name = #NAME,                                                                     \
                                    .since = {1, 11, 13},                                                              \
                                    .inputs = {1, 1},                                                                  \
                                    .outputs = {1, 1},                                                                 \
                                    .types = DQ_TYPES_FLOAT,                                                           \
                                    .attributes = softmax_attributes,                                                  \
                                    .infer = infer_softmax,                                                            \
                                    .run = run_##NAME,                                                                 \
                                    .category = DQ_DENY,                                                               \
                                    .quantization = DQ_QUANTIZE_NOT,                                                   \
                                    .flags = DQ_OP_HALF,                                                               \
                                    __VA_ARGS__};
ROW(Softmax, .emit = emit_softmax, .gradient = dq_gradient_softmax, .bound = DQ_BOUND_SQUEEZE, .range = {0, 1})
ROW(LogSoftmax, .emit = emit_log_softmax, .gradient = dq_gradient_softmax, .bound = DQ_BOUND_UNKNOWN)
ROW(Hardmax, .emit = emit_hardmax, .bound = DQ_BOUND_SQUEEZE, .range = {0, 1})
