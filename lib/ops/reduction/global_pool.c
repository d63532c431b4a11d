// GlobalAveragePool, GlobalMaxPool, GlobalLpPool: one number per channel.
#include <inttypes.h>
#include <math.h>

#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"

enum { LANES = 8 };

typedef enum pool_kind { POOL_AVERAGE, POOL_MAXIMUM, POOL_LP } pool_kind;

typedef struct pool_job {
  pool_kind kind;
  const dq_tensor *input;
  dq_tensor *output;
  int64_t size; // elements per channel
  int64_t power;
} pool_job;

static dq_status infer(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int64_t dims[DQ_MAX_RANK];
  if (input->rank < 2)
    return dq_op_fail(op, DQ_BAD_INPUT, "the input has %d dimensions, expected 3 or more", input->rank);
  const int64_t p = dq_node_int(op->node, "p", 2);
  if (p < 1) return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'p' is %lld, expected 1 or more", (long long)p);
  for (int i = 0; i < input->rank; i++) dims[i] = i < 2 ? input->dims[i] : 1;
  return dq_op_shape(op, 0, input->type, input->rank, dims);
}

// Lanes are summed apart and joined in a fixed order, which vectorises and loses few digits.
static float sum(const float *x, int64_t count) {
  float lanes[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int l = 0; l < LANES; l++) lanes[l] += x[i + l];
  for (int l = 0; i < count; i++, l++) lanes[l] += x[i];
  for (int step = LANES / 2; step; step /= 2)
    for (int l = 0; l < step; l++) lanes[l] += lanes[l + step];
  return lanes[0];
}

static double reduce(const pool_job *job, int64_t first) {
  double result = job->kind == POOL_MAXIMUM ? -(double)INFINITY : 0;
  for (int64_t i = first; i < first + job->size; i++) {
    double x = dq_tensor_get(job->input, i);
    if (job->kind == POOL_MAXIMUM) result = x > result ? x : result;
    else if (job->kind == POOL_AVERAGE) result += x;
    else result += pow(fabs(x), (double)job->power);
  }
  if (job->kind == POOL_AVERAGE) return result / (double)job->size;
  return job->kind == POOL_LP ? pow(result, 1.0 / (double)job->power) : result;
}

static void pool_channel(void *argument, int64_t channel, int thread) {
  (void)thread;
  const pool_job *job = argument;
  int64_t first = channel * job->size;
  if (job->kind == POOL_AVERAGE && job->input->type == DQ_F32)
    ((float *)job->output->data)[channel] = sum((const float *)job->input->data + first, job->size) / (float)job->size;
  else dq_tensor_set(job->output, channel, reduce(job, first));
}

static dq_status run_pool(dq_op *op, pool_kind kind) {
  const dq_tensor *input = op->inputs[0];
  pool_job job = {kind, input, op->outputs[0], dq_tensor_product(input, 2, input->rank), dq_node_int(op->node, "p", 2)};
  dq_op_parallel(op, input->dims[0] * input->dims[1], job.size, pool_channel, &job);
  return DQ_OK;
}

static dq_status run_average(dq_op *op) { return run_pool(op, POOL_AVERAGE); }
static dq_status run_max(dq_op *op) { return run_pool(op, POOL_MAXIMUM); }
static dq_status run_lp(dq_op *op) { return run_pool(op, POOL_LP); }

// ---- C ----

static void open_channels(dq_emission *to, int64_t *size) {
  const dq_tensor *input = to->op->inputs[0];
  *size = dq_tensor_product(input, 2, input->rank);
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", input->dims[0] * input->dims[1]);
  dq_emit(to, "const %s *x = x0 + n * %" PRId64 ";", dq_emit_type(input->type), *size);
}

// Element i of a channel: float for float16.
static const char *element_of(dq_emission *to) {
  if (!dq_emit_is_half(to, to->op->inputs[0])) return "x[i]";
  dq_emit_need(to, DQ_EMIT_FROM_HALF);
  return "dq_half_to_float(x[i])";
}

// The lanes of `sum`; float64 is summed in order.
static dq_status emit_average(dq_emission *to) {
  const bool wide = to->op->inputs[0]->type == DQ_F64;
  char result[48];
  int64_t size;
  open_channels(to, &size);
  if (wide) {
    dq_emit(to, "double sum = 0.0;");
    dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) sum += x[i];", size);
    dq_emit(to, "y0[n] = sum / %" PRId64 ".0;", size);
    dq_emit_close(to, 1);
    return DQ_OK;
  }
  dq_emit(to, "float lanes[%d] = {0};", LANES);
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) lanes[i %% %d] += %s;", size, LANES, element_of(to));
  for (int step = LANES / 2; step; step /= 2)
    dq_emit(to, "for (int32_t l = 0; l < %d; l++) lanes[l] += lanes[l + %d];", step, step);
  snprintf(result, sizeof result, "lanes[0] / %" PRId64 ".0f", size);
  dq_emit_assign(to, 0, "n", result);
  dq_emit_close(to, 1);
  return DQ_OK;
}

static dq_status emit_maximum(dq_emission *to) {
  const dq_tensor *input = to->op->inputs[0];
  const bool half = dq_emit_is_half(to, input);
  const char *type = half ? "float" : dq_emit_type(input->type);
  const char *least = DQ_BIT(input->type) & DQ_TYPES_FLOAT ? "(-1.0f / 0.0f)" : input->type == DQ_I8 ? "-128" : "0";
  int64_t size;
  open_channels(to, &size);
  dq_emit(to, "%s largest = %s;", type, least);
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", size);
  dq_emit(to, "const %s value = %s;", type, element_of(to));
  dq_emit(to, "largest = value > largest ? value : largest;");
  dq_emit(to, "}");
  dq_emit_assign(to, 0, "n", "largest");
  dq_emit_close(to, 1);
  return DQ_OK;
}

static dq_status emit_lp(dq_emission *to) {
  const int64_t p = dq_node_int(to->op->node, "p", 2);
  char result[80];
  int64_t size;
  dq_emit_need(to, DQ_EMIT_MATH);
  open_channels(to, &size);
  dq_emit(to, "double sum = 0.0;");
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) sum += pow(fabs((double)%s), %" PRId64 ".0);", size,
          element_of(to), p);
  snprintf(result, sizeof result, "(%s)pow(sum, 1.0 / %" PRId64 ".0)",
           to->op->inputs[0]->type == DQ_F64 ? "double" : "float", p);
  dq_emit_assign(to, 0, "n", result);
  dq_emit_close(to, 1);
  return DQ_OK;
}

const dq_operator dq_op_GlobalAveragePool = {
    .name = "GlobalAveragePool",
    .since = {1, 22},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64),
    .infer = infer,
    .run = run_average,
    .gradient = dq_gradient_global_average,
    .emit = emit_average,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_COMBINE,
    .integer_form = DQ_FORM_AVERAGE,
    .flags = DQ_OP_HALF | DQ_OP_UNIFORM | DQ_OP_HOMOGENEOUS,
    .bound = DQ_BOUND_MOVE,
};

const dq_operator dq_op_GlobalMaxPool = {
    .name = "GlobalMaxPool",
    .since = {1, 22},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64) | DQ_BIT(DQ_I8) | DQ_BIT(DQ_U8),
    .infer = infer,
    .run = run_max,
    .emit = emit_maximum,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .flags = DQ_OP_HALF | DQ_OP_UNIFORM | DQ_OP_HOMOGENEOUS | DQ_OP_LARGEST,
    .bound = DQ_BOUND_MOVE,
};

const dq_operator dq_op_GlobalLpPool = {
    .name = "GlobalLpPool",
    .since = {2, 22},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64),
    .attributes = (const dq_attribute_rule[]){{"p", DQ_ATTRIBUTE_INT, false}, {0}},
    .infer = infer,
    .run = run_lp,
    .emit = emit_lp,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_HALF,
};
