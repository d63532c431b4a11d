// Batch normalization in training, its gradient, and that of softmax functions.
#include <math.h>

#include "lib/base/sizes.h"
#include "lib/kernels/reference/shards.h"
#include "lib/kernels/table/kernel_table.h"
#include "lib/ops/common/elementwise.h"
#include "lib/ops/common/picture_sums.h"
#include "lib/ops/common/prepare.h"
#include "lib/ops/gradient/gradient.h"

enum { GRADIENT_TYPES = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64) };

// Planes of a batch: pictures x channels x plane.
typedef struct planes {
  const dq_op *op;
  int64_t batch, channels, plane;
  double epsilon;
  bool training;
  double count; // elements that a statistic is taken of
  int64_t first_shard;
  double *blocks;  // [blocks][channels]: of the sums over all processes, two of each in the gradient
  double *sums[2]; // [channels]
} planes;

static planes planes_of(const dq_op *op, const dq_tensor *x) {
  return (planes){.op = op,
                  .batch = x->dims[0],
                  .channels = x->dims[1],
                  .plane = dq_tensor_product(x, 2, x->rank),
                  .epsilon = (double)dq_node_float(op->node, "epsilon", 1e-5f),
                  .training = dq_node_int(op->node, "training", 0) != 0,
                  .count = dq_batch_ratio(op) * (double)(x->dims[0] * dq_tensor_product(x, 2, x->rank)),
                  .first_shard = dq_first_shard(op, x->dims[0])};
}

// Sums of one channel over the batch, of the planes of a shard at a time; sums[1] of products only.
static void add_planes(const planes *p, dq_planes form, dq_shard_sums sums[2]) {
  dq_plane_sums_function *add = DQ_KERNEL_FUNCTION(plane_sums, p->op->context ? p->op->context->cpu : 0);
  const int64_t shard = DQ_SHARD * form.step;
  for (int64_t n = 0; n < p->batch; n += DQ_SHARD, form.x += shard) {
    double totals[2];
    form.planes = dq_min_i64(DQ_SHARD, p->batch - n);
    add(&form, totals);
    dq_shard_add(&sums[0], totals[0]);
    if (!form.y) continue;
    dq_shard_add(&sums[1], totals[1]);
    form.y += shard;
  }
}

// Defines a function that sums `term`, an expression of the elements x and y of two tensors at the same place, in
// float64.
#define DEFINE_CHANNEL_SUM(name, term)                                                                                 \
  static dq_shard_sums name(const planes *p, const double *xs, const double *ys, int64_t channel, double mean) {       \
    dq_shard_sums sums = {.first = p->first_shard};                                                                    \
    (void)mean;                                                                                                        \
    for (int64_t n = 0; n < p->batch;) {                                                                               \
      double total = 0;                                                                                                \
      for (int64_t end = dq_min_i64(p->batch, n + DQ_SHARD); n < end; n++) {                                           \
        const double *x = xs + (n * p->channels + channel) * p->plane;                                                 \
        const double *y = ys + (n * p->channels + channel) * p->plane;                                                 \
        (void)y;                                                                                                       \
        DQ_LANE_SUM(double, p->plane, term, total);                                                                    \
      }                                                                                                                \
      dq_shard_add(&sums, total);                                                                                      \
    }                                                                                                                  \
    return sums;                                                                                                       \
  }
DEFINE_CHANNEL_SUM(sum, x[i])
DEFINE_CHANNEL_SUM(squares, (x[i] - mean) * (x[i] - mean))
DEFINE_CHANNEL_SUM(products, (x[i] - mean) * y[i])

// sums[0] of the terms of one channel, and with products sums[1] of y; y: NULL without products.
static void add_channel(const planes *p, dq_plane_terms kind, const dq_tensor *x, const dq_tensor *y, int64_t channel,
                        double mean, dq_shard_sums sums[2]) {
  const int64_t at = channel * p->plane;
  sums[0] = sums[1] = (dq_shard_sums){.first = p->first_shard};
  if (x->type == DQ_F32) {
    const dq_planes form = {.x = (const float *)x->data + at,
                            .y = y ? (const float *)y->data + at : NULL,
                            .elements = p->plane,
                            .step = p->channels * p->plane,
                            .mean = (float)mean,
                            .kind = kind};
    add_planes(p, form, sums);
  } else if (y) {
    sums[0] = products(p, x->data, y->data, channel, mean);
    sums[1] = sum(p, y->data, y->data, channel, 0);
  } else {
    sums[0] = (kind == DQ_PLANE_SUM ? sum : squares)(p, x->data, x->data, channel, mean);
  }
}

// z = a (x - mean) + b y + c over the planes of a channel; terms: a, b, c, mean.
static void combine(const planes *p, const dq_tensor *x, const dq_tensor *y, int64_t channel, const double *terms) {
  dq_combine_function *rows = DQ_KERNEL_FUNCTION(combine, p->op->context ? p->op->context->cpu : 0);
  const float rounded[] = {(float)terms[0], (float)terms[1], (float)terms[2], (float)terms[3]};
  void *z = p->op->outputs[0]->data;
  for (int64_t n = 0; n < p->batch; n++) {
    const int64_t at = (n * p->channels + channel) * p->plane;
    if (x->type == DQ_F32)
      rows((const float *)x->data + at, (const float *)y->data + at, (float *)z + at, p->plane, rounded);
    for (int64_t i = at; x->type == DQ_F64 && i < at + p->plane; i++)
      ((double *)z)[i] =
          terms[0] * (((const double *)x->data)[i] - terms[3]) + terms[1] * ((const double *)y->data)[i] + terms[2];
  }
}

static dq_status check_vectors(const dq_op *op, int first, const dq_tensor *x) {
  if (x->rank < 2) return dq_op_fail(op, DQ_BAD_INPUT, "the input has %d dimensions, expected 2 or more", x->rank);
  for (int i = first; i < op->input_count; i++)
    if (op->inputs[i]->rank != 1 || op->inputs[i]->dims[0] != x->dims[1])
      return dq_op_fail(op, DQ_BAD_INPUT, "input %d is no vector of the %lld channels", i, (long long)x->dims[1]);
  return DQ_OK;
}

static dq_status infer_channels(dq_op *op, const dq_tensor *x, int first) {
  DQ_TRY(check_vectors(op, first, x));
  for (int i = 1; i < 3; i++) DQ_TRY(dq_op_shape(op, i, x->type, 1, &x->dims[1]));
  return dq_op_shape(op, 0, x->type, x->rank, x->dims);
}

// ---- Sums of channels, of one process or of all processes ----

// Stores a sum: the whole one in sums[which], or where processes have to add it its blocks, of `all` sums that are
// added together.
static void store_sum(const planes *p, dq_shard_sums *sums, int which, int all, int64_t channel) {
  if (!p->blocks) p->sums[which][channel] = dq_shard_total(sums);
  else
    for (int b = 0; b < sums->depth; b++) p->blocks[(b * all + which % all) * p->channels + channel] = sums->waiting[b];
}

// Two sums for each channel, and with processes the blocks of both.
static dq_status prepare_sums(dq_op *op, dq_arena *arena) {
  const int64_t blocks = dq_adds_over_processes(op) ? dq_process_blocks(op, op->inputs[0]->dims[0]) : 0;
  (void)arena;
  op->scratch_bytes = (size_t)(2 * (1 + blocks) * op->inputs[0]->dims[1]) * sizeof(double);
  return DQ_OK;
}

static void give_scratch(planes *p) {
  p->sums[0] = p->op->scratch;
  p->sums[1] = p->sums[0] + p->channels;
  p->blocks = dq_adds_over_processes(p->op) ? p->sums[1] + p->channels : NULL;
}

// A step that computes channels. Several processes run the steps one after the other for all channels, and behind each
// step they add `all` sums for each channel, from sums[which] on. One process runs all steps for a channel while its
// planes are in the cache.
typedef struct stage {
  dq_span_work *work;
  int which, all;
} stage;

typedef struct stages {
  planes *p;
  const stage *list;
  int count;
} stages;

static void run_stages(void *argument, int64_t from, int64_t to) {
  const stages *s = argument;
  for (int64_t channel = from; channel < to; channel++)
    for (int i = 0; i < s->count; i++) s->list[i].work(s->p, channel, channel + 1);
}

static dq_status over_channels(planes *p, const stage *list, int count) {
  const int64_t grain = DQ_GRAIN / (p->batch * p->plane + 1) + 1;
  give_scratch(p);
  stages all = {p, list, count};
  if (!p->blocks) dq_spans(p->op->context, p->channels, grain, run_stages, &all);
  for (int i = 0; p->blocks && i < count; i++) {
    dq_spans(p->op->context, p->channels, grain, list[i].work, p);
    if (list[i].all)
      DQ_TRY(
          dq_add_over_processes(p->op, p->batch, DQ_F64, p->blocks, list[i].all * p->channels, p->sums[list[i].which]));
  }
  return DQ_OK;
}

// ---- BatchNormTrain(x, scale, bias): the result, and mean and variance of each channel ----

static void sum_span(void *argument, int64_t from, int64_t to) {
  const planes *p = argument;
  const dq_tensor *x = p->op->inputs[0];
  dq_shard_sums sums[2];
  for (int64_t channel = from; channel < to; channel++) {
    add_channel(p, DQ_PLANE_SUM, x, NULL, channel, 0, sums);
    store_sum(p, &sums[0], 0, 1, channel);
  }
}

static void squares_span(void *argument, int64_t from, int64_t to) {
  const planes *p = argument;
  const dq_tensor *x = p->op->inputs[0];
  dq_shard_sums sums[2];
  for (int64_t channel = from; channel < to; channel++) {
    add_channel(p, DQ_PLANE_SQUARES, x, NULL, channel, p->sums[0][channel] / p->count, sums);
    store_sum(p, &sums[0], 1, 1, channel);
  }
}

static void normalize_span(void *argument, int64_t from, int64_t to) {
  const planes *p = argument;
  const dq_tensor *x = p->op->inputs[0];
  for (int64_t channel = from; channel < to; channel++) {
    const double mean = p->sums[0][channel] / p->count, variance = p->sums[1][channel] / p->count;
    const double factor = dq_tensor_get(p->op->inputs[1], channel) / sqrt(variance + p->epsilon);
    const double terms[] = {factor, 0, dq_tensor_get(p->op->inputs[2], channel), mean};
    combine(p, x, x, channel, terms);
    dq_tensor_set(p->op->outputs[1], channel, mean);
    dq_tensor_set(p->op->outputs[2], channel, variance);
  }
}

static dq_status infer_train(dq_op *op) { return infer_channels(op, op->inputs[0], 1); }

static dq_status run_train(dq_op *op) {
  static const stage list[] = {{sum_span, 0, 1}, {squares_span, 1, 1}, {normalize_span, 0, 0}};
  planes p = planes_of(op, op->inputs[0]);
  if (!op->scratch) return dq_op_run_unprepared(op);
  return over_channels(&p, list, 3);
}

// ---- BatchNormGrad(gradient, x, scale, mean, variance): gradients of x, scale and bias ----

// The gradient of x is s f g, where y = s (x - mean) f + bias, f = 1 / sqrt(variance + epsilon) and g is the gradient
// of y. In training, where mean and variance depend on x, it is s f (g - mean(g) - (x - mean) f mean(g (x - mean) f))
// (Ioffe and Szegedy 2015, section 3).
static void products_span(void *argument, int64_t from, int64_t to) {
  const planes *p = argument;
  const dq_tensor *const *in = p->op->inputs, *g = in[0], *x = in[1];
  dq_shard_sums sums[2];
  for (int64_t channel = from; channel < to; channel++) {
    add_channel(p, DQ_PLANE_PRODUCTS, x, g, channel, dq_tensor_get(in[3], channel), sums);
    store_sum(p, &sums[1], 0, 2, channel);
    store_sum(p, &sums[0], 1, 2, channel);
  }
}

static void gradient_span(void *argument, int64_t from, int64_t to) {
  const planes *p = argument;
  const dq_tensor *const *in = p->op->inputs, *g = in[0], *x = in[1];
  for (int64_t channel = from; channel < to; channel++) {
    const double mean = dq_tensor_get(in[3], channel);
    const double factor = 1 / sqrt(dq_tensor_get(in[4], channel) + p->epsilon);
    const double sum = p->sums[0][channel], product = p->sums[1][channel] * factor;
    const double step = dq_tensor_get(in[2], channel) * factor;
    double terms[] = {0, step, 0, mean};
    if (p->training) terms[0] = -step * factor * product / p->count, terms[2] = -step * sum / p->count;
    combine(p, x, g, channel, terms);
    dq_tensor_set(p->op->outputs[1], channel, product);
    dq_tensor_set(p->op->outputs[2], channel, sum);
  }
}

static dq_status infer_gradient(dq_op *op) { return infer_channels(op, op->inputs[1], 2); }

static dq_status run_gradient(dq_op *op) {
  static const stage list[] = {{products_span, 0, 2}, {gradient_span, 0, 0}};
  planes p = planes_of(op, op->inputs[1]);
  if (!op->scratch) return dq_op_run_unprepared(op);
  return over_channels(&p, list, 2);
}

static dq_status normalization_gradient(const dq_gradient *gradient, dq_value *mean, dq_value *variance,
                                        bool training) {
  dq_value *inputs[] = {gradient->outputs[0], dq_gradient_input(gradient, 0), dq_gradient_input(gradient, 1), mean,
                        variance};
  dq_node *node = dq_gradient_node(gradient, "dq.BatchNormGrad", 5, inputs, 3);
  node = dq_gradient_float(gradient, node, "epsilon", (double)dq_node_float(gradient->op->node, "epsilon", 1e-5f));
  node = dq_gradient_int(gradient, node, "training", training);
  for (int i = 0; i < 3; i++)
    if (dq_gradient_wants(gradient, i)) DQ_TRY(dq_gradient_set(gradient, i, node ? node->outputs[i] : NULL));
  return DQ_OK;
}

dq_status dq_gradient_batch_norm(const dq_gradient *gradient) {
  if (gradient->op->inputs[0]->rank < 2 || dq_tensor_count(gradient->op->inputs[1]) != gradient->op->inputs[0]->dims[1])
    return dq_op_fail(gradient->op, DQ_UNSUPPORTED, "training needs one scale for each channel");
  return normalization_gradient(gradient, dq_gradient_input(gradient, 3), dq_gradient_input(gradient, 4), false);
}

static dq_status train_gradient(const dq_gradient *gradient) {
  return normalization_gradient(gradient, dq_gradient_output(gradient, 1), dq_gradient_output(gradient, 2), true);
}

// ---- SoftmaxGrad(gradient, result) and LogSoftmaxGrad: columns of `length` elements, `inner` apart ----

typedef struct columns {
  const dq_op *op;
  int64_t length, inner;
  bool logarithm;
} columns;

// The gradient is y (g - sum(g y)), where y is the result and g its gradient; of the logarithm it is
// g - exp(y) sum(g).
#define DEFINE_COLUMN(name, type)                                                                                      \
  static void name(const columns *c, int64_t at) {                                                                     \
    const type *g = (const type *)c->op->inputs[0]->data + at, *y = (const type *)c->op->inputs[1]->data + at;         \
    type *out = (type *)c->op->outputs[0]->data + at;                                                                  \
    double sum = 0;                                                                                                    \
    for (int64_t k = 0; k < c->length * c->inner; k += c->inner)                                                       \
      sum += (double)g[k] * (c->logarithm ? 1 : (double)y[k]);                                                         \
    for (int64_t k = 0; k < c->length * c->inner; k += c->inner)                                                       \
      out[k] = c->logarithm ? (type)((double)g[k] - exp((double)y[k]) * sum) : y[k] * (type)((double)g[k] - sum);      \
  }
DEFINE_COLUMN(column_F32, float)
DEFINE_COLUMN(column_F64, double)
#define BY_TYPE(name, tensor) ((tensor)->type == DQ_F64 ? name##_F64 : name##_F32)

static void column_span(void *argument, int64_t from, int64_t to) {
  const columns *c = argument;
  for (int64_t i = from; i < to; i++)
    BY_TYPE(column, c->op->inputs[0])(c, i / c->inner * c->length * c->inner + i % c->inner);
}

// Attribute "axes": the columns run over so many axes, from "axis" on.
static dq_status run_columns(dq_op *op, bool logarithm) {
  const dq_tensor *y = op->inputs[1];
  int axis = (int)dq_node_int(op->node, "axis", 0), end = axis + (int)dq_node_int(op->node, "axes", 1);
  columns c = {.op = op,
               .length = dq_tensor_product(y, axis, end),
               .inner = dq_tensor_product(y, end, y->rank),
               .logarithm = logarithm};
  if (dq_tensor_count(y))
    dq_spans(op->context, dq_tensor_product(y, 0, axis) * c.inner, DQ_GRAIN_FUNCTION / c.length + 1, column_span, &c);
  return DQ_OK;
}
static dq_status run_SoftmaxGrad(dq_op *op) { return run_columns(op, false); }
static dq_status run_LogSoftmaxGrad(dq_op *op) { return run_columns(op, true); }

dq_status dq_gradient_softmax(const dq_gradient *gradient) {
  const dq_op *op = gradient->op;
  const bool old = op->version < 13; // all axes from this one on are one
  int axis, rank = op->inputs[0]->rank;
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", old ? 1 : -1), rank, &axis));
  const char *name = op->row->name[0] == 'L' ? "dq.LogSoftmaxGrad" : "dq.SoftmaxGrad";
  dq_value *inputs[] = {gradient->outputs[0], dq_gradient_output(gradient, 0)};
  dq_node *node = dq_gradient_int(gradient, dq_gradient_node(gradient, name, 2, inputs, 1), "axis", axis);
  return dq_gradient_set(gradient, 0,
                         dq_gradient_result(dq_gradient_int(gradient, node, "axes", old ? rank - axis : 1)));
}

#define ROW(NAME, INPUTS, OUTPUTS, INFER, RUN, ...)                                                                    \
  const dq_operator dq_op_##NAME = {.name = #NAME,                                                                     \
                                    .domain = "dq",                                                                    \
                                    .since = {1},                                                                      \
                                    .inputs = {INPUTS, INPUTS},                                                        \
                                    .outputs = {OUTPUTS, OUTPUTS},                                                     \
                                    .types = GRADIENT_TYPES,                                                           \
                                    .infer = INFER,                                                                    \
                                    .run = RUN,                                                                        \
                                    __VA_ARGS__};
static const dq_attribute_rule norm_attributes[] = {
    {"epsilon", DQ_ATTRIBUTE_FLOAT, false}, {"training", DQ_ATTRIBUTE_INT, false}, DQ_PROCESSES_ATTRIBUTE, {0}};
static const dq_attribute_rule column_attributes[] = {
    {"axis", DQ_ATTRIBUTE_INT, false}, {"axes", DQ_ATTRIBUTE_INT, false}, {0}};
ROW(BatchNormTrain, 3, 3, infer_train, run_train, .attributes = norm_attributes, .gradient = train_gradient,
    .prepare = prepare_sums, .trained = 1 << 1 | 1 << 2, .pictures = DQ_PICTURES_MEASURED)
ROW(BatchNormGrad, 5, 3, infer_gradient, run_gradient, .attributes = norm_attributes, .prepare = prepare_sums,
    .pictures = DQ_PICTURES_MEASURED)
ROW(SoftmaxGrad, 2, 1, dq_infer_same, run_SoftmaxGrad, .attributes = column_attributes)
ROW(LogSoftmaxGrad, 2, 1, dq_infer_same, run_LogSoftmaxGrad, .attributes = column_attributes)
