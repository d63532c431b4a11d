// Normalizations: batch, instance, group, layer, mean and variance, Lp. Means and
// variances are taken in double, in two passes.
#include "lib/base/sizes.h"
#include "lib/ops/common/elementwise.h"
#include "lib/ops/common/quantized.h"
#include "lib/ops/common/reduction.h"
#include "lib/ops/emit/emit_reduce.h"
#include "lib/ops/gradient/gradient.h"

static inline double element(const void *data, bool wide, int64_t i) {
  return wide ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static inline void set_element(void *data, bool wide, int64_t i, double value) {
  if (wide) ((double *)data)[i] = value;
  else ((float *)data)[i] = (float)value;
}

// One set of elements that share a mean and a variance: rows of a reduction.
typedef struct moments {
  double mean, variance;
} moments;

static moments moments_of(const dq_tensor *input, const dq_reduction *plan, int64_t set) {
  const bool wide = input->type == DQ_F64;
  const void *data = input->data;
  const int64_t base = dq_reduction_set(plan, set), stride = plan->stride;
  const double count = (double)(plan->rows * plan->length);
  moments result = {0};
  double sum = 0;
  for (int64_t row = 0; row < plan->rows; row++) {
    int64_t start = base + dq_reduction_row(plan, row);
    for (int64_t i = 0; i < plan->length; i++) sum += element(data, wide, start + i * stride);
  }
  result.mean = sum / count;
  double squares = 0;
  for (int64_t row = 0; row < plan->rows; row++) {
    int64_t start = base + dq_reduction_row(plan, row);
    for (int64_t i = 0; i < plan->length; i++) {
      double deviation = element(data, wide, start + i * stride) - result.mean;
      squares += deviation * deviation;
    }
  }
  result.variance = squares / count;
  return result;
}

// y = x * factor + offset over `count` elements; float32 in float32.
static void affine_run(const dq_tensor *input, dq_tensor *output, int64_t start, int64_t count, double factor,
                       double offset) {
  if (input->type == DQ_F64) {
    const double *in = (const double *)input->data + start;
    double *out = (double *)output->data + start;
    _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++) out[i] = in[i] * factor + offset;
  } else {
    const float *in = (const float *)input->data + start, a = (float)factor, b = (float)offset;
    float *out = (float *)output->data + start;
    _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++) out[i] = in[i] * a + b;
  }
}

// y = (x - mean) * factor + offset for every element of a set, in double.
static void normalize_set(const dq_tensor *input, dq_tensor *output, const dq_reduction *plan, int64_t set, double mean,
                          double factor, double offset) {
  const bool wide = input->type == DQ_F64;
  const int64_t base = dq_reduction_set(plan, set);
  for (int64_t row = 0; row < plan->rows; row++) {
    int64_t start = base + dq_reduction_row(plan, row);
    for (int64_t i = 0; i < plan->length; i++) {
      int64_t at = start + i * plan->stride;
      set_element(output->data, wide, at, (element(input->data, wide, at) - mean) * factor + offset);
    }
  }
}

static dq_status check_vector(const dq_op *op, int i, int64_t length) {
  const dq_tensor *input = dq_op_input(op, i);
  if (!input || (input->rank == 1 && input->dims[0] == length)) return DQ_OK;
  char text[DQ_SHAPE_TEXT];
  return dq_op_fail(op, DQ_BAD_INPUT, "input %d has shape %s, expected a vector of %lld elements", i,
                    dq_tensor_shape_text(input, text, sizeof text), (long long)length);
}

static dq_status check_rank(const dq_op *op, int least) {
  if (op->inputs[0]->rank >= least) return DQ_OK;
  return dq_op_fail(op, DQ_BAD_INPUT, "the input has %d dimensions, expected at least %d", op->inputs[0]->rank, least);
}

#define ROW(NAME, INPUTS, OUTPUTS, COLOUR, QUANTIZATION, FLAGS)                                                        \
  .name = #NAME, .inputs = DQ_VERSIONS INPUTS, .outputs = DQ_VERSIONS OUTPUTS, .types = DQ_TYPES_FLOAT,                \
  .attributes = attributes_##NAME, .infer = infer_##NAME, .run = run_##NAME, .category = COLOUR,                       \
  .quantization = QUANTIZATION, .flags = FLAGS

// ---- BatchNormalization ----

typedef struct batch_job {
  const dq_op *op;
  int64_t channels, plane;
  double epsilon, momentum;
  dq_reduction plan; // training: one set per channel
} batch_job;

static bool spatial(const dq_op *op) { return op->version >= 9 || dq_node_int(op->node, "spatial", 1) != 0; }
static bool is_training(const dq_op *op) {
  if (op->version >= 14) return dq_node_int(op->node, "training_mode", 0) != 0;
  for (int i = 1; i < op->output_count; i++) // statistics are outputs in training only; some exporters name them anyway
    if (dq_value_is_read(dq_node_output(op->node, i))) return true;
  return false;
}

// Statistics per channel, or per element of a picture when not spatial.
static int64_t batch_channels(const dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  if (input->rank < 2) return 1;
  return spatial(op) ? input->dims[1] : dq_tensor_product(input, 1, input->rank);
}

// Constant statistics are vectors of one length.
static dq_status check_BatchNormalization(const dq_op *op) {
  const dq_tensor *first = NULL;
  for (int i = 1; i < 5 && spatial(op); i++) {
    const dq_tensor *given = op->inputs[i];
    if (given->rank < 0) continue;
    if (!first) first = given;
    DQ_TRY(check_vector(op, i, first->rank == 1 ? first->dims[0] : dq_tensor_count(first)));
  }
  return DQ_OK;
}

static dq_status infer_BatchNormalization(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int64_t channels = batch_channels(op);
  DQ_TRY(check_rank(op, 1));
  if (op->version >= 14 && op->output_count > 3)
    return dq_op_fail(op, DQ_BAD_INPUT, "%d outputs, expected at most 3", op->output_count);
  for (int i = 1; i < 5; i++) {
    if (spatial(op)) DQ_TRY(check_vector(op, i, channels));
    else if (dq_tensor_count(op->inputs[i]) != channels)
      return dq_op_fail(op, DQ_BAD_INPUT, "input %d has %lld elements, expected %lld", i,
                        (long long)dq_tensor_count(op->inputs[i]), (long long)channels);
  }
  for (int i = 1; i < op->output_count; i++) {
    const dq_tensor *like = op->inputs[op->version < 14 ? 3 + (i - 1) % 2 : 2 + i];
    DQ_TRY(dq_op_shape(op, i, like->type, like->rank, like->dims));
  }
  return dq_op_shape(op, 0, input->type, input->rank, input->dims);
}

static void batch_factors(const dq_op *op, int64_t channel, double *factor, double *offset) {
  const dq_tensor *const *in = op->inputs;
  double epsilon = (double)dq_node_float(op->node, "epsilon", 1e-5f);
  *factor = dq_tensor_get(in[1], channel) / sqrt(dq_tensor_get(in[4], channel) + epsilon);
  *offset = dq_tensor_get(in[2], channel) - dq_tensor_get(in[3], channel) * *factor;
}

static void batch_plane(void *argument, int64_t from, int64_t to) {
  const batch_job *job = argument;
  const dq_tensor *const *in = job->op->inputs;
  for (int64_t at = from; at < to; at++) {
    int64_t channel = at % job->channels;
    double factor, offset;
    batch_factors(job->op, channel, &factor, &offset);
    affine_run(in[0], job->op->outputs[0], at * job->plane, job->plane, factor, offset);
  }
}

// Statistics of the batch itself; the running ones move towards them.
static void batch_channel(void *argument, int64_t from, int64_t to) {
  const batch_job *job = argument;
  const dq_op *op = job->op;
  for (int64_t channel = from; channel < to; channel++) {
    moments batch = moments_of(op->inputs[0], &job->plan, channel);
    double factor = dq_tensor_get(op->inputs[1], channel) / sqrt(batch.variance + job->epsilon);
    normalize_set(op->inputs[0], op->outputs[0], &job->plan, channel, batch.mean, factor,
                  dq_tensor_get(op->inputs[2], channel));
    for (int i = 1; i < 3; i++)
      if (dq_op_output(op, i))
        dq_tensor_set(op->outputs[i], channel,
                      dq_tensor_get(op->inputs[2 + i], channel) * job->momentum +
                          (i == 1 ? batch.mean : batch.variance) * (1 - job->momentum));
  }
}

static dq_status run_BatchNormalization(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  if (is_training(op) && op->version < 14)
    return dq_op_fail(op, DQ_UNSUPPORTED,
                      "training outputs of BatchNormalization are supported "
                      "from version 14 on, this is %d",
                      op->version);
  batch_job job = {.op = op,
                   .channels = batch_channels(op),
                   .epsilon = (double)dq_node_float(op->node, "epsilon", 1e-5f),
                   .momentum = (double)dq_node_float(op->node, "momentum", 0.9f)};
  if (is_training(op)) {
    bool reduced[DQ_MAX_RANK];
    for (int axis = 0; axis < input->rank; axis++) reduced[axis] = axis != 1;
    dq_reduction_plan(input, reduced, &job.plan);
    dq_spans(op->context, job.channels, dq_reduction_grain(&job.plan), batch_channel, &job);
    return DQ_OK;
  }
  for (int i = 1; i < op->output_count && op->version >= 14; i++)
    if (op->outputs[i]) memcpy(op->outputs[i]->data, op->inputs[2 + i]->data, dq_tensor_bytes(op->outputs[i]));
  int64_t elements = dq_tensor_count(input);
  if (!elements) return DQ_OK;
  int64_t planes = (input->rank < 2 ? 1 : input->dims[0]) * job.channels;
  job.plane = elements / planes;
  dq_spans(op->context, planes, DQ_GRAIN / (job.plane + 1) + 1, batch_plane, &job);
  return DQ_OK;
}

static dq_status emit_batch(dq_emission *to) {
  return dq_emit_batch(to, batch_channels(to->op), is_training(to->op), batch_factors);
}

static const dq_attribute_rule attributes_BatchNormalization[] = {DQ_CONSUMED_INPUTS,
                                                                  {"epsilon", DQ_ATTRIBUTE_FLOAT, false},
                                                                  {"momentum", DQ_ATTRIBUTE_FLOAT, false},
                                                                  {"is_test", DQ_ATTRIBUTE_INT, false},
                                                                  {"spatial", DQ_ATTRIBUTE_INT, false},
                                                                  {"training_mode", DQ_ATTRIBUTE_INT, false},
                                                                  {0}};
const dq_operator dq_op_BatchNormalization = {.since = {1, 6, 7, 9, 14, 15},
                                              .check = check_BatchNormalization,
                                              .bound = DQ_BOUND_BATCH_NORM,
                                              .emit = emit_batch,
                                              .gradient = dq_gradient_batch_norm,
                                              .trained = 1 << 1 | 1 << 2,
                                              ROW(BatchNormalization, (5, 5), (1, 5), DQ_FOLLOW, DQ_QUANTIZE_TABLE,
                                                  DQ_OP_HALF | DQ_OP_IN_PLACE | DQ_OP_CHANNEL_VECTORS)};

// ---- InstanceNormalization, GroupNormalization: sets of whole planes of one picture ----

typedef struct group_job {
  const dq_op *op;
  int64_t groups, members, plane; // per picture; channels in a group; elements of a channel
  bool per_group;                 // scale and bias have one element per group, not per channel
  double epsilon;
} group_job;

static void group_span(void *argument, int64_t from, int64_t to) {
  const group_job *job = argument;
  const dq_tensor *const *in = job->op->inputs;
  int64_t size = job->members * job->plane;
  const dq_reduction set = {
      .rows = 1, .length = size, .stride = 1, .kept_rank = 1, .kept_dims = {INT64_MAX}, .kept_strides = {size}};
  for (int64_t at = from; at < to; at++) {
    moments own = moments_of(in[0], &set, at);
    for (int64_t member = 0; member < job->members; member++) {
      int64_t group = at % job->groups;
      int64_t channel = job->per_group ? group : group * job->members + member;
      const dq_reduction plane = {.rows = 1,
                                  .length = job->plane,
                                  .stride = 1,
                                  .kept_rank = 1,
                                  .kept_dims = {INT64_MAX},
                                  .kept_strides = {job->plane}};
      normalize_set(in[0], job->op->outputs[0], &plane, at * job->members + member, own.mean,
                    dq_tensor_get(in[1], channel) / sqrt(own.variance + job->epsilon), dq_tensor_get(in[2], channel));
    }
  }
}

static dq_status run_groups(dq_op *op, int64_t groups, bool per_group) {
  const dq_tensor *input = op->inputs[0];
  if (!dq_tensor_count(input)) return DQ_OK;
  group_job job = {.op = op,
                   .groups = groups,
                   .members = input->dims[1] / groups,
                   .plane = dq_tensor_product(input, 2, input->rank),
                   .per_group = per_group,
                   .epsilon = (double)dq_node_float(op->node, "epsilon", 1e-5f)};
  dq_spans(op->context, input->dims[0] * groups, DQ_GRAIN / (job.members * job.plane + 1) + 1, group_span, &job);
  return DQ_OK;
}

static dq_status infer_InstanceNormalization(dq_op *op) {
  DQ_TRY(check_rank(op, 2));
  DQ_TRY(check_vector(op, 1, op->inputs[0]->dims[1]));
  DQ_TRY(check_vector(op, 2, op->inputs[0]->dims[1]));
  return dq_infer_same(op);
}
static dq_status run_InstanceNormalization(dq_op *op) { return run_groups(op, op->inputs[0]->dims[1], false); }
static dq_status emit_InstanceNormalization(dq_emission *to) {
  return dq_emit_groups(to, to->op->inputs[0]->dims[1], false);
}
static const dq_attribute_rule attributes_InstanceNormalization[] = {
    DQ_CONSUMED_INPUTS, {"epsilon", DQ_ATTRIBUTE_FLOAT, false}, {0}};
const dq_operator dq_op_InstanceNormalization = {
    .since = {1, 6, 22},
    .bound = DQ_BOUND_NORM,
    .emit = emit_InstanceNormalization,
    ROW(InstanceNormalization, (3, 3), (1, 1), DQ_DENY, DQ_QUANTIZE_NOT, DQ_OP_HALF)};

static dq_status infer_GroupNormalization(dq_op *op) {
  DQ_TRY(check_rank(op, 2));
  int64_t groups = dq_node_int(op->node, "num_groups", 0), channels = op->inputs[0]->dims[1];
  if (groups < 1 || channels % groups)
    return dq_op_fail(op, DQ_BAD_INPUT, "%lld channels cannot be divided into %lld groups", (long long)channels,
                      (long long)groups);
  DQ_TRY(check_vector(op, 1, op->version < 21 ? groups : channels));
  DQ_TRY(check_vector(op, 2, op->version < 21 ? groups : channels));
  return dq_infer_same(op);
}
static dq_status run_GroupNormalization(dq_op *op) {
  return run_groups(op, dq_node_int(op->node, "num_groups", 1), op->version < 21);
}
static dq_status emit_GroupNormalization(dq_emission *to) {
  return dq_emit_groups(to, dq_node_int(to->op->node, "num_groups", 1), to->op->version < 21);
}
static const dq_attribute_rule attributes_GroupNormalization[] = {{"num_groups", DQ_ATTRIBUTE_INT, true},
                                                                  {"epsilon", DQ_ATTRIBUTE_FLOAT, false},
                                                                  {"stash_type", DQ_ATTRIBUTE_INT, false},
                                                                  {0}};
const dq_operator dq_op_GroupNormalization = {
    .since = {18, 21},
    .bound = DQ_BOUND_NORM,
    .emit = emit_GroupNormalization,
    ROW(GroupNormalization, (3, 3), (1, 1), DQ_DENY, DQ_QUANTIZE_NOT, DQ_OP_HALF)};

// ---- LayerNormalization: the dimensions from `axis` on; scale and bias broadcast ----

DQ_EACH_FLOAT(DQ_LOOP2_FAST, scaled, x *y)
DQ_EACH_FLOAT(DQ_LOOP2_FAST, shifted, x + y)
static dq_loop *const loops_scaled[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, scaled)};
static dq_loop *const loops_shifted[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, shifted)};

typedef struct layer_job {
  const dq_op *op;
  dq_reduction plan;
  double epsilon;
} layer_job;

static void layer_span(void *argument, int64_t from, int64_t to) {
  const layer_job *job = argument;
  const dq_op *op = job->op;
  for (int64_t set = from; set < to; set++) {
    moments own = moments_of(op->inputs[0], &job->plan, set);
    double factor = 1 / sqrt(own.variance + job->epsilon);
    normalize_set(op->inputs[0], op->outputs[0], &job->plan, set, own.mean, factor, 0);
    if (dq_op_output(op, 1)) dq_tensor_set(op->outputs[1], set, own.mean);
    if (dq_op_output(op, 2)) dq_tensor_set(op->outputs[2], set, factor);
  }
}

static dq_status infer_LayerNormalization(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int axis;
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", -1), input->rank, &axis));
  int64_t dims[DQ_MAX_RANK];
  for (int i = 0; i < input->rank; i++) dims[i] = i < axis ? input->dims[i] : 1;
  DQ_TRY(dq_op_shape(op, 1, DQ_F32, input->rank, dims));
  DQ_TRY(dq_op_shape(op, 2, DQ_F32, input->rank, dims));
  return dq_infer_unidirectional(op);
}

static dq_status run_LayerNormalization(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  layer_job job = {.op = op, .epsilon = (double)dq_node_float(op->node, "epsilon", 1e-5f)};
  int axis;
  bool reduced[DQ_MAX_RANK];
  DQ_TRY(dq_op_same_types(op, 0));
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", -1), input->rank, &axis));
  for (int i = 0; i < input->rank; i++) reduced[i] = i >= axis;
  dq_reduction_plan(input, reduced, &job.plan);
  dq_spans(op->context, job.plan.sets, dq_reduction_grain(&job.plan), layer_span, &job);
  const dq_tensor *pair[] = {op->outputs[0], op->inputs[1]};
  dq_broadcast_run(op->context, 2, pair, op->outputs[0], loops_scaled[input->type], NULL, DQ_GRAIN);
  pair[1] = dq_op_input(op, 2);
  if (pair[1]) dq_broadcast_run(op->context, 2, pair, op->outputs[0], loops_shifted[input->type], NULL, DQ_GRAIN);
  return DQ_OK;
}

static dq_status emit_LayerNormalization(dq_emission *to) {
  int axis;
  DQ_TRY(dq_op_axis(to->op, dq_node_int(to->op->node, "axis", -1), to->op->inputs[0]->rank, &axis));
  return dq_emit_layer(to, axis);
}
static const dq_attribute_rule attributes_LayerNormalization[] = {{"axis", DQ_ATTRIBUTE_INT, false},
                                                                  {"epsilon", DQ_ATTRIBUTE_FLOAT, false},
                                                                  {"stash_type", DQ_ATTRIBUTE_INT, false},
                                                                  {0}};
const dq_operator dq_op_LayerNormalization = {
    .since = {17},
    .bound = DQ_BOUND_NORM,
    .emit = emit_LayerNormalization,
    ROW(LayerNormalization, (2, 3), (1, 3), DQ_DENY, DQ_QUANTIZE_NOT, DQ_OP_HALF)};

// ---- MeanVarianceNormalization: (x - mean) / (standard deviation + 1e-9) over axes ----

static dq_status mvn_axes(const dq_op *op, bool *reduced) {
  static const int64_t standard[] = {0, 2, 3};
  int count, rank = op->inputs[0]->rank;
  const int64_t *axes = dq_node_ints(op->node, "axes", &count);
  if (!axes) axes = standard, count = 3;
  for (int i = 0; i < rank; i++) reduced[i] = false;
  for (int i = 0; i < count; i++) {
    int axis;
    DQ_TRY(dq_op_axis(op, axes[i], rank, &axis));
    reduced[axis] = true;
  }
  return DQ_OK;
}

static dq_status infer_MeanVarianceNormalization(dq_op *op) {
  bool reduced[DQ_MAX_RANK];
  DQ_TRY(mvn_axes(op, reduced));
  return dq_infer_same(op);
}

static dq_status run_MeanVarianceNormalization(dq_op *op) {
  bool reduced[DQ_MAX_RANK];
  DQ_TRY(mvn_axes(op, reduced));
  dq_reduction plan;
  dq_reduction_plan(op->inputs[0], reduced, &plan);
  for (int64_t set = 0; set < plan.sets; set++) {
    moments own = moments_of(op->inputs[0], &plan, set);
    normalize_set(op->inputs[0], op->outputs[0], &plan, set, own.mean, 1 / (sqrt(own.variance) + 1e-9), 0);
  }
  return DQ_OK;
}
static dq_status emit_MeanVarianceNormalization(dq_emission *to) {
  bool reduced[DQ_MAX_RANK];
  DQ_TRY(mvn_axes(to->op, reduced));
  return dq_emit_mean_variance(to, reduced);
}
static const dq_attribute_rule attributes_MeanVarianceNormalization[] = {{"axes", DQ_ATTRIBUTE_INTS, false}, {0}};
const dq_operator dq_op_MeanVarianceNormalization = {
    .since = {9, 13},
    .emit = emit_MeanVarianceNormalization,
    ROW(MeanVarianceNormalization, (1, 1), (1, 1), DQ_DENY, DQ_QUANTIZE_NOT, DQ_OP_HALF)};

// ---- LpNormalization: x / norm along an axis, 0 where the norm is 0 ----

static dq_status infer_LpNormalization(dq_op *op) {
  int axis;
  int64_t p = dq_node_int(op->node, "p", 2);
  if (p != 1 && p != 2) return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'p' is %lld, expected 1 or 2", (long long)p);
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", -1), op->inputs[0]->rank, &axis));
  return dq_infer_same(op);
}

static dq_status run_LpNormalization(dq_op *op) {
  DQ_TRY(infer_LpNormalization(op));
  const dq_tensor *input = op->inputs[0];
  int axis;
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", -1), input->rank, &axis));
  bool reduced[DQ_MAX_RANK] = {false}, absolute = dq_node_int(op->node, "p", 2) == 1;
  const bool wide = input->type == DQ_F64;
  reduced[axis] = true;
  dq_reduction plan;
  dq_reduction_plan(input, reduced, &plan);
  for (int64_t set = 0; set < plan.sets; set++) {
    int64_t base = dq_reduction_set(&plan, set);
    double norm = 0;
    for (int64_t i = 0; i < plan.length; i++) {
      double x = element(input->data, wide, base + i * plan.stride);
      norm += absolute ? fabs(x) : x * x;
    }
    if (!absolute) norm = sqrt(norm);
    normalize_set(input, op->outputs[0], &plan, set, 0, norm == 0 ? 0 : 1 / norm, 0);
  }
  return DQ_OK;
}
static dq_status emit_LpNormalization(dq_emission *to) {
  bool reduced[DQ_MAX_RANK] = {false};
  int axis;
  DQ_TRY(dq_op_axis(to->op, dq_node_int(to->op->node, "axis", -1), to->op->inputs[0]->rank, &axis));
  reduced[axis] = true;
  return dq_emit_lp(to, reduced, dq_node_int(to->op->node, "p", 2) == 1);
}
static const dq_attribute_rule attributes_LpNormalization[] = {
    {"axis", DQ_ATTRIBUTE_INT, false}, {"p", DQ_ATTRIBUTE_INT, false}, {0}};
const dq_operator dq_op_LpNormalization = {.since = {1, 22},
                                           .emit = emit_LpNormalization,
                                           ROW(LpNormalization, (1, 1), (1, 1), DQ_DENY, DQ_QUANTIZE_NOT, DQ_OP_HALF)};
