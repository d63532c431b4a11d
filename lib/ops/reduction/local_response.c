// LRN: x / (bias + alpha / size * sum of squares of neighbouring channels) ^ beta.
#include "lib/base/sizes.h"
#include "lib/ops/common/elementwise.h"
#include "lib/ops/emit/emit.h"

#include <inttypes.h>

#include <tgmath.h>

typedef struct response_job {
  const dq_tensor *input;
  dq_tensor *output;
  int64_t channels, plane, size;
  double alpha, beta, bias;
} response_job;

enum { STRIP = 256 };

// `count` elements of one plane, `at` elements from the start of the picture; `first` to `last`: its neighbours. The
// usual power, 3 / 4, by square roots.
#define RESPONSE_STRIP(NAME, symbol, type)                                                                             \
  static void NAME##_##symbol(const response_job *job, int64_t picture, int64_t at, int64_t first, int64_t last,       \
                              int64_t count) {                                                                         \
    const type *in = (const type *)job->input->data + picture, *x = in + at;                                           \
    const type factor = (type)(job->alpha / (double)job->size), bias = (type)job->bias, beta = (type)job->beta;        \
    type *out = (type *)job->output->data + picture + at, sum[STRIP] = {0};                                            \
    const int64_t within = at % job->plane;                                                                            \
    for (int64_t c = first; c <= last; c++) {                                                                          \
      const type *neighbour = in + c * job->plane + within;                                                            \
      for (int64_t i = 0; i < count; i++) sum[i] += neighbour[i] * neighbour[i];                                       \
    }                                                                                                                  \
    for (int64_t i = 0; i < count; i++) sum[i] = bias + factor * sum[i];                                               \
    if (job->beta == 0.75)                                                                                             \
      for (int64_t i = 0; i < count; i++) sum[i] = sqrt(sum[i]) * sqrt(sqrt(sum[i]));                                  \
    else                                                                                                               \
      for (int64_t i = 0; i < count; i++) sum[i] = pow(sum[i], beta);                                                  \
    for (int64_t i = 0; i < count; i++) out[i] = x[i] / sum[i];                                                        \
  }
DQ_EACH_FLOAT(RESPONSE_STRIP, response)

static void response_span(void *argument, int64_t from, int64_t to) {
  const response_job *job = argument;
  for (int64_t row = from; row < to; row++) { // one channel of one picture
    int64_t channel = row % job->channels, picture = (row - channel) * job->plane;
    int64_t first = dq_max_i64(0, channel - (job->size - 1) / 2);
    int64_t last = dq_min_i64(job->channels - 1, channel + job->size / 2);
    for (int64_t i = 0; i < job->plane; i += STRIP) {
      int64_t at = channel * job->plane + i, count = dq_min_i64(STRIP, job->plane - i);
      if (job->input->type == DQ_F64) response_F64(job, picture, at, first, last, count);
      else response_F32(job, picture, at, first, last, count);
    }
  }
}

static dq_status infer_LRN(dq_op *op) {
  int64_t size = dq_node_int(op->node, "size", 0);
  if (op->inputs[0]->rank < 2)
    return dq_op_fail(op, DQ_BAD_INPUT, "the input has %d dimensions, expected at least 2", op->inputs[0]->rank);
  if (size < 1 || size > INT32_MAX)
    return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'size' is %lld, expected 1 or more", (long long)size);
  return dq_infer_same(op);
}

static dq_status run_LRN(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  DQ_TRY(infer_LRN(op));
  response_job job = {.input = input,
                      .output = op->outputs[0],
                      .channels = input->dims[1],
                      .plane = dq_tensor_product(input, 2, input->rank),
                      .size = dq_node_int(op->node, "size", 1),
                      .alpha = (double)dq_node_float(op->node, "alpha", 1e-4f),
                      .beta = (double)dq_node_float(op->node, "beta", 0.75f),
                      .bias = (double)dq_node_float(op->node, "bias", 1)};
  dq_spans(op->context, input->dims[0] * job.channels, DQ_GRAIN_FUNCTION / (job.plane + 1) + 1, response_span, &job);
  return DQ_OK;
}

static const char *constant_of(double value, bool wide, char text[48]) {
  return wide ? dq_emit_wide_literal(value, text) : dq_emit_real((float)value, text);
}

// Prints what the strips above compute, one element at a time, with one rounding in each statement.
static dq_status emit_LRN(dq_emission *to) {
  const dq_tensor *x = to->op->inputs[0];
  const dq_node *node = to->op->node;
  const int64_t size = dq_node_int(node, "size", 1), plane = dq_tensor_product(x, 2, x->rank), channels = x->dims[1];
  const double bias = (double)dq_node_float(node, "bias", 1), beta = (double)dq_node_float(node, "beta", 0.75f);
  const double factor = (double)dq_node_float(node, "alpha", 1e-4f) / (double)size;
  const bool wide = x->type == DQ_F64;
  const char *type = wide ? "double" : "float", *f = wide ? "" : "f";
  char text[48], element[100];
  dq_emit_need(to, DQ_EMIT_MATH);
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", x->dims[0]);
  dq_emit(to, "for (int32_t c = 0; c < %" PRId64 "; c++) {", channels);
  dq_emit(to, "const int32_t from = c < %" PRId64 " ? 0 : c - %" PRId64 ", last = c + %" PRId64 ";", (size - 1) / 2,
          (size - 1) / 2, size / 2);
  dq_emit(to, "const int32_t end = last < %" PRId64 " ? last + 1 : %" PRId64 ";", channels, channels);
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", plane);
  dq_emit(to, "const int32_t first = n * %" PRId64 " + i, at = first + c * %" PRId64 ";", channels * plane, plane);
  dq_emit(to, "%s sum = 0, root;", type);
  dq_emit(to, "for (int32_t k = from; k < end; k++) {");
  dq_emit(to, "const int32_t place = first + k * %" PRId64 ";", plane);
  dq_emit_element(to, 0, "place", element);
  dq_emit(to, "const %s x = %s, square = x * x;", type, element);
  dq_emit(to, "sum += square;");
  dq_emit(to, "}");
  dq_emit(to, "sum *= %s;", constant_of(factor, wide, text));
  dq_emit(to, "sum += %s;", constant_of(bias, wide, text));
  if (beta == 0.75) dq_emit(to, "root = sqrt%s(sum), sum = sqrt%s(root), sum *= root;", f, f);
  else dq_emit(to, "root = pow%s(sum, %s), sum = root;", f, constant_of(beta, wide, text));
  dq_emit_element(to, 0, "at", element);
  dq_emit(to, "root = %s / sum;", element);
  dq_emit_assign(to, 0, "at", "root");
  dq_emit_close(to, 3);
  return DQ_OK;
}

static const dq_attribute_rule attributes[] = {{"size", DQ_ATTRIBUTE_INT, true},
                                               {"alpha", DQ_ATTRIBUTE_FLOAT, false},
                                               {"beta", DQ_ATTRIBUTE_FLOAT, false},
                                               {"bias", DQ_ATTRIBUTE_FLOAT, false},
                                               {0}};
const dq_operator dq_op_LRN = {
    .name = "LRN",
    .since = {1, 13},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_TYPES_FLOAT,
    .attributes = attributes,
    .infer = infer_LRN,
    .run = run_LRN,
    .emit = emit_LRN,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_HALF,
};
