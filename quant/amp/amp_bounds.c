#include "quant/amp/amp_bounds.h"

#include <math.h>
#include <string.h>

#include "lib/ops/table/operator.h"

static const dq_channel_bound UNKNOWN = {-INFINITY, INFINITY, 0, INFINITY};

static const dq_channel_bound *at(const dq_bound *bound, int64_t channel) {
  return bound->channels ? &bound->channel[bound->channels == 1 ? 0 : channel] : &UNKNOWN;
}

static dq_status make(dq_arena *arena, int64_t channels, dq_bound *output) {
  *output = (dq_bound){channels, DQ_NEW_ARRAY(arena, channels, dq_channel_bound)};
  return output->channel ? DQ_OK : DQ_SYSTEM;
}

// Everything that elements of either may be.
static dq_channel_bound either(dq_channel_bound a, dq_channel_bound b) {
  double mean = (a.mean + b.mean) / 2;
  return (dq_channel_bound){fmin(a.low, b.low), fmax(a.high, b.high), mean,
                            fmax(a.deviation, b.deviation) + fabs(a.mean - mean)};
}

// An interval bounds a deviation: no distribution on it has more (Bhatia and Davis, American Mathematical
// Monthly 107, 2000).
static dq_channel_bound tightened(dq_channel_bound m) {
  m.mean = fmin(fmax(m.mean, m.low), m.high);
  if (isfinite(m.low) && isfinite(m.high)) m.deviation = fmin(m.deviation, sqrt((m.high - m.mean) * (m.mean - m.low)));
  return m;
}

static dq_channel_bound all_channels(const dq_bound *bound) {
  if (!bound->channels) return UNKNOWN;
  dq_channel_bound m = bound->channel[0];
  double sum = 0, square = 0;
  for (int64_t c = 0; c < bound->channels; c++) {
    const dq_channel_bound *of = &bound->channel[c];
    m.low = fmin(m.low, of->low), m.high = fmax(m.high, of->high);
    sum += of->mean, square += of->mean * of->mean + of->deviation * of->deviation;
  }
  m.mean = sum / (double)bound->channels;
  m.deviation = sqrt(fmax(square / (double)bound->channels - m.mean * m.mean, 0));
  return m;
}

dq_status dq_bound_range(double low, double high, dq_arena *arena, dq_bound *output) {
  if (make(arena, 1, output) != DQ_OK) return DQ_SYSTEM;
  output->channel[0] = (dq_channel_bound){low, high, (low + high) / 2, (high - low) / sqrt(12)};
  return DQ_OK;
}

dq_status dq_bound_constant(const dq_tensor *tensor, int rank, dq_arena *arena, dq_bound *output) {
  int64_t count = dq_tensor_count(tensor), channels = 1;
  int axis = tensor->rank - (rank - 1); // dimension 1 of the result
  if (axis >= 0 && axis < tensor->rank && tensor->dims[axis] == count) channels = count;
  if (!count) return DQ_OK;
  DQ_TRY(make(arena, channels, output));
  const float *elements = tensor->data;
  for (int64_t c = 0; c < channels; c++)
    output->channel[c] = (dq_channel_bound){elements[c], elements[c], elements[c], 0};
  for (int64_t i = channels; i < count; i++) {
    dq_channel_bound *m = &output->channel[0];
    m->low = fmin(m->low, elements[i]), m->high = fmax(m->high, elements[i]);
    m->mean = (m->low + m->high) / 2, m->deviation = (m->high - m->low) / 2;
  }
  return DQ_OK;
}

double dq_bound_largest(const dq_bound *bound, bool *proven) {
  double largest = 0;
  *proven = true;
  for (int64_t c = 0; c < bound->channels; c++) {
    const dq_channel_bound *m = &bound->channel[c];
    double interval = fmax(fabs(m->low), fabs(m->high));
    double estimate = fabs(m->mean) + DQ_BOUND_DEVIATIONS * m->deviation;
    double here = fmin(interval, estimate);
    if (!(here > largest)) continue;
    largest = here;
    *proven = interval <= estimate;
  }
  return bound->channels ? largest : INFINITY;
}

// ---- Sums with constant weights: Conv, ConvTranspose, Gemm, MatMul ----

typedef struct sum_job {
  const float *weights, *bias;
  const dq_product *product;
  bool padded; // elements beyond the border are 0
} sum_job;

static void add_channel(const sum_job *job, dq_channel_bound x, int64_t output, int64_t input, dq_channel_bound *sum) {
  double total = 0, square = 0;
  if (job->padded) x.low = fmin(x.low, 0), x.high = fmax(x.high, 0);
  for (int64_t t = 0; t < job->product->taps; t++) {
    double weight = (double)job->product->alpha * (double)job->weights[dq_product_at(job->product, output, input, t)];
    if (weight == 0) continue;
    sum->low += weight * (weight > 0 ? x.low : x.high);
    sum->high += weight * (weight > 0 ? x.high : x.low);
    total += weight, square += weight * weight;
  }
  sum->mean += total * x.mean;
  if (square > 0) sum->deviation += fmax(square, total * total) * x.deviation * x.deviation; // a variance here
}

static dq_status sums(const dq_bound_node *in, const sum_job *job, dq_bound *output) {
  const dq_bound *x = &in->bounds[in->node->inputs[0]->index];
  const dq_product *p = job->product;
  int64_t channels = dq_product_outputs(p);
  if (!x->channels) return DQ_OK;
  dq_bound one = {1, DQ_NEW(in->arena, dq_channel_bound)};
  if (!one.channel) return DQ_SYSTEM;
  one.channel[0] = all_channels(x);
  if (x->channels != dq_product_inputs(p)) x = &one;
  DQ_TRY(make(in->arena, channels, output));
  for (int64_t o = 0; o < channels; o++) {
    dq_channel_bound sum = {0};
    for (int64_t i = 0; i < p->inputs; i++) add_channel(job, *at(x, o / p->outputs * p->inputs + i), o, i, &sum);
    double bias = job->bias ? (double)p->beta * (double)job->bias[o] : 0;
    output->channel[o] =
        tightened((dq_channel_bound){sum.low + bias, sum.high + bias, sum.mean + bias, sqrt(sum.deviation)});
  }
  return DQ_OK;
}

static const dq_tensor *elements_of(const dq_bound_node *in, int i) {
  const dq_value *value = dq_node_input(in->node, i);
  const dq_tensor *tensor = value ? &in->tensors[value->index] : NULL;
  return tensor && tensor->data && tensor->type == DQ_F32 ? tensor : NULL;
}

// The bias of `channels`; false: there is one that is not known.
static bool find_bias(const dq_bound_node *in, const dq_product *product, const float **bias) {
  const dq_value *value = dq_node_input(in->node, product->at.bias);
  const dq_tensor *tensor = value ? elements_of(in, product->at.bias) : NULL;
  *bias = tensor ? tensor->data : NULL;
  return !value || (tensor && dq_tensor_count(tensor) == dq_product_outputs(product));
}

// Convolutions and products with one matrix.
static dq_status bound_product(const dq_bound_node *in, dq_bound *output) {
  const dq_tensor *w = elements_of(in, 1);
  dq_product product;
  if (!w || !dq_product_of(in->node, &product) || product.at.weight != 1 || !dq_product_lay_out(&product, w) ||
      product.stacked)
    return DQ_OK;
  bool matrix = product.kind == DQ_MATRIX_PRODUCT;
  sum_job job = {.weights = w->data, .product = &product, .padded = !matrix};
  if ((matrix && product.data_axis != -1) || !find_bias(in, &product, &job.bias)) return DQ_OK;
  DQ_TRY(sums(in, &job, output));
  const dq_tensor *result = &in->tensors[in->node->outputs[0]->index];
  if (matrix && output->channels && result->rank != 2) output->channel[0] = all_channels(output), output->channels = 1;
  return DQ_OK;
}

static dq_status bound_batch_norm(const dq_bound_node *in, dq_bound *output) {
  const dq_tensor *p[4];
  for (int i = 0; i < 4; i++)
    if (!(p[i] = elements_of(in, i + 1))) return DQ_OK;
  int64_t channels = dq_tensor_count(p[0]);
  DQ_TRY(make(in->arena, channels, output));
  double epsilon = (double)dq_node_float(in->node, "epsilon", 1e-5f);
  const dq_bound *x = &in->bounds[in->node->inputs[0]->index];
  for (int64_t c = 0; c < channels; c++) {
    double gamma = (double)((const float *)p[0]->data)[c], beta = (double)((const float *)p[1]->data)[c];
    double a = gamma / sqrt(fmax((double)((const float *)p[3]->data)[c], 0) + epsilon);
    double shift = beta - a * (double)((const float *)p[2]->data)[c];
    const dq_channel_bound *m = at(x, c);
    double ends[] = {a * m->low + shift, a * m->high + shift};
    if (a == 0) ends[0] = ends[1] = shift;
    output->channel[c] =
        tightened((dq_channel_bound){fmin(ends[0], ends[1]), fmax(ends[0], ends[1]), beta, fabs(gamma)});
  }
  return DQ_OK;
}

void dq_bound_normalize(dq_bound *bound, const dq_tensor *scale, const dq_tensor *shift) {
  if (bound->channels != dq_tensor_count(scale) || bound->channels != dq_tensor_count(shift)) return;
  for (int64_t c = 0; c < bound->channels; c++) {
    dq_channel_bound *m = &bound->channel[c];
    m->mean = (double)((const float *)shift->data)[c];
    m->deviation = fabs((double)((const float *)scale->data)[c]);
    *m = tightened(*m);
  }
}

void dq_bound_limit(dq_bound *bound, double largest) {
  for (int64_t c = 0; c < bound->channels; c++) {
    dq_channel_bound *m = &bound->channel[c];
    if (fabs(m->mean) + DQ_BOUND_DEVIATIONS * m->deviation <= DQ_BOUND_DEVIATIONS * largest) continue;
    m->mean = 0, m->deviation = largest;
    *m = tightened(*m);
  }
}

// Layer, instance and group normalization: n elements of deviation 1 are sqrt(n) at most.
static dq_status bound_norm(const dq_bound_node *in, dq_bound *output) {
  const dq_tensor *gamma = elements_of(in, 1), *beta = elements_of(in, 2),
                  *x = &in->tensors[in->node->inputs[0]->index];
  if (!gamma || x->rank < 0 || (dq_node_input(in->node, 2) && !beta)) return DQ_OK;
  double scale = 0, shift = 0, reach = sqrt((double)dq_tensor_count(x));
  for (int64_t i = 0; i < dq_tensor_count(gamma); i++)
    scale = fmax(scale, fabs((double)((const float *)gamma->data)[i]));
  for (int64_t i = 0; beta && i < dq_tensor_count(beta); i++)
    shift = fmax(shift, fabs((double)((const float *)beta->data)[i]));
  DQ_TRY(make(in->arena, 1, output));
  output->channel[0] = (dq_channel_bound){-scale * reach - shift, scale * reach + shift, 0, scale + shift};
  return DQ_OK;
}

// ---- Element by element ----

// Mean and deviation of max(x, 0) for a normal x.
static void rectify(dq_channel_bound *m) {
  if (!(m->deviation > 0) || !isfinite(m->deviation)) {
    m->mean = fmax(m->mean, 0);
    return;
  }
  double z = m->mean / m->deviation, above = 0.5 * erfc(-z / sqrt(2));
  double density = exp(-z * z / 2) / sqrt(2 * 3.14159265358979323846);
  double mean = m->mean * above + m->deviation * density;
  double square = (m->mean * m->mean + m->deviation * m->deviation) * above + m->mean * m->deviation * density;
  m->mean = mean;
  m->deviation = sqrt(fmax(square - mean * mean, 0));
}

// A function that never spreads values: its deviation is not above that of its argument.
static dq_channel_bound squeezed(dq_channel_bound m, double low, double high) {
  m.low = fmin(fmax(m.low, low), high), m.high = fmax(fmin(m.high, high), low);
  if (low == 0) rectify(&m);
  return tightened(m);
}

static void clip_bounds(const dq_bound_node *in, double *low, double *high) {
  const dq_tensor *least = elements_of(in, 1), *most = elements_of(in, 2);
  *low = least && dq_tensor_count(least) ? (double)*(const float *)least->data
                                         : (double)dq_node_float(in->node, "min", -INFINITY);
  *high = most && dq_tensor_count(most) ? (double)*(const float *)most->data
                                        : (double)dq_node_float(in->node, "max", INFINITY);
}

static dq_status bound_squeeze(const dq_bound_node *in, dq_bound *output) {
  const dq_bound *x = &in->bounds[in->node->inputs[0]->index];
  const double *range = dq_operator_find("", in->node->op_type)->range;
  double low = range[0], high = range[1];
  if (dq_node_is(in->node, "Clip")) clip_bounds(in, &low, &high);
  if (dq_node_is(in->node, "Elu")) low = -fabs((double)dq_node_float(in->node, "alpha", 1));
  bool known = isfinite(low) && isfinite(high); // whatever comes in
  if (!x->channels && !known) return DQ_OK;
  DQ_TRY(make(in->arena, x->channels ? x->channels : 1, output));
  bool whole = known && !dq_node_is(in->node, "Clip"); // anywhere in the range
  for (int64_t c = 0; c < output->channels; c++)
    output->channel[c] =
        whole ? (dq_channel_bound){low, high, (low + high) / 2, (high - low) / 2} : squeezed(*at(x, c), low, high);
  if (dq_node_is(in->node, "Softplus"))
    for (int64_t c = 0; c < output->channels; c++) output->channel[c].high += log(2), output->channel[c].mean += log(2);
  return DQ_OK;
}

// LeakyRelu, PRelu, x * sigmoid(x) and kin: below 0 a slope of at most `slope` in magnitude, of any sign where several
// are given.
static dq_status bound_leaky(const dq_bound_node *in, dq_bound *output) {
  const dq_bound *x = &in->bounds[in->node->inputs[0]->index];
  double slope = 1;
  dq_slope given = {DQ_NO_INPUT, 1};
  if (dq_slope_of(in->node, &given)) slope = fabs((double)given.every);
  bool several = given.input != DQ_NO_INPUT;
  const dq_tensor *slopes = several ? elements_of(in, given.input) : NULL;
  for (int64_t i = 0; slopes && i < dq_tensor_count(slopes); i++)
    slope = fmax(i ? slope : 0, fabs((double)((const float *)slopes->data)[i]));
  if (!x->channels || (several && !slopes)) return DQ_OK;
  bool rises = several || given.every < 0;
  DQ_TRY(make(in->arena, x->channels, output));
  for (int64_t c = 0; c < x->channels; c++) {
    dq_channel_bound m = x->channel[c];
    double reach = slope * fmax(-m.low, 0);
    dq_channel_bound result = {-reach, fmax(fmax(m.high, 0), rises ? reach : 0), m.mean, m.deviation * fmax(1, slope)};
    output->channel[c] = tightened(result);
  }
  return DQ_OK;
}

static dq_channel_bound product(dq_channel_bound a, dq_channel_bound b) {
  double p[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  dq_channel_bound m = {p[0], p[0], a.mean * b.mean, 0};
  for (int i = 0; i < 4; i++) {
    if (isnan(p[i])) p[i] = 0; // 0 times infinity: the other products say the rest
    m.low = fmin(m.low, p[i]), m.high = fmax(m.high, p[i]);
  }
  double most_a = fmax(fabs(a.low), fabs(a.high)), most_b = fmax(fabs(b.low), fabs(b.high));
  double size_a = hypot(a.mean, a.deviation), size_b = hypot(b.mean, b.deviation);
  double left = most_a * size_b, right = most_b * size_a;
  m.deviation = a.deviation == 0   ? fabs(a.mean) * b.deviation
                : b.deviation == 0 ? fabs(b.mean) * a.deviation
                                   : fmin(left, right);
  if (isnan(m.deviation)) m.deviation = INFINITY;
  return tightened(m);
}

static dq_channel_bound combined(const dq_node *node, dq_channel_bound a, dq_channel_bound b) {
  if (dq_node_is(node, "Mul")) return product(a, b);
  if (dq_node_is(node, "Sub")) b = (dq_channel_bound){-b.high, -b.low, -b.mean, b.deviation};
  if (dq_node_is(node, "Max") || dq_node_is(node, "Min") || dq_node_is(node, "Where")) return either(a, b);
  if (dq_node_is(node, "Div")) {
    if (!(b.low > 0) && !(b.high < 0)) return UNKNOWN;
    return product(a, (dq_channel_bound){1 / b.high, 1 / b.low, 1 / b.mean, fabs(1 / b.low - 1 / b.high)});
  }
  // Deviations add up when the parts move together, and no sum has more.
  return tightened((dq_channel_bound){a.low + b.low, a.high + b.high, a.mean + b.mean, a.deviation + b.deviation});
}

// x * Sigmoid(x): lies between Relu and Relu less 0.28.
static bool is_silu(const dq_node *node) {
  for (int i = 0; i < 2 && dq_node_is(node, "Mul") && node->input_count == 2; i++) {
    const dq_node *gate = node->inputs[i]->producer;
    if (gate && dq_node_is(gate, "Sigmoid") && gate->inputs[0] == node->inputs[1 - i]) return true;
  }
  return false;
}

static dq_status bound_silu(const dq_bound_node *in, dq_bound *output) {
  const dq_value *a = in->node->inputs[0], *b = in->node->inputs[1];
  bool first = a->producer && dq_node_is(a->producer, "Sigmoid") && a->producer->inputs[0] == b;
  const dq_bound *x = &in->bounds[(first ? b : a)->index];
  if (!x->channels) return DQ_OK;
  DQ_TRY(make(in->arena, x->channels, output));
  for (int64_t c = 0; c < x->channels; c++) {
    dq_channel_bound m = squeezed(x->channel[c], 0, INFINITY);
    output->channel[c] = (dq_channel_bound){m.low - 0.28, m.high, m.mean, m.deviation + 0.28};
  }
  return DQ_OK;
}

static dq_status bound_combine(const dq_bound_node *in, dq_bound *output) {
  if (is_silu(in->node)) return bound_silu(in, output);
  int64_t channels = 1;
  int first = dq_node_is(in->node, "Where") ? 1 : 0, rank = in->tensors[in->node->outputs[0]->index].rank;
  for (int i = first; i < in->node->input_count; i++) {
    const dq_bound *x = &in->bounds[in->node->inputs[i]->index];
    if (!x->channels || in->tensors[in->node->inputs[i]->index].rank < 0) return DQ_OK;
    if (x->channels > channels && in->tensors[in->node->inputs[i]->index].rank == rank) channels = x->channels;
  }
  DQ_TRY(make(in->arena, channels, output));
  for (int64_t c = 0; c < channels; c++) {
    for (int i = first; i < in->node->input_count; i++) {
      const dq_value *value = in->node->inputs[i];
      const dq_bound *x = &in->bounds[value->index];
      bool aligned = x->channels == channels || x->channels == 1;
      dq_channel_bound m = aligned ? *at(x, c) : all_channels(x);
      output->channel[c] = i == first ? m : combined(in->node, output->channel[c], m);
    }
  }
  return DQ_OK;
}

// ---- Elements moved, chosen or averaged ----

static dq_status bound_move(const dq_bound_node *in, dq_bound *output) {
  const dq_node *node = in->node;
  const dq_value *from = node->inputs[0], *to = node->outputs[0];
  const dq_bound *x = &in->bounds[from->index];
  const dq_tensor *a = &in->tensors[from->index], *b = &in->tensors[to->index];
  if (!x->channels || (dq_node_is(node, "Resize") && !strcmp(dq_node_string(node, "mode", "nearest"), "cubic")))
    return DQ_OK;
  unsigned flags = dq_node_flags(node);
  bool mixed = a->rank < 2 || b->rank < 2 || a->dims[1] != b->dims[1] || x->channels != b->dims[1] ||
               (flags & DQ_OP_MOVES_CHANNELS);
  DQ_TRY(make(in->arena, mixed ? 1 : x->channels, output));
  bool border = dq_node_is(node, "Pad") || dq_node_is(node, "AveragePool");
  bool largest = flags & DQ_OP_LARGEST;
  const dq_tensor *fill = dq_node_is(node, "Pad") ? elements_of(in, 2) : NULL;
  double value =
      fill && dq_tensor_count(fill) ? (double)*(const float *)fill->data : (double)dq_node_float(node, "value", 0);
  for (int64_t c = 0; c < output->channels; c++) {
    dq_channel_bound m = mixed ? all_channels(x) : x->channel[c];
    if (border) m.low = fmin(m.low, value), m.high = fmax(m.high, value);
    if (largest && isfinite(m.deviation)) m.mean = fmin(m.mean + 1.5 * m.deviation, m.high); // of nine normal ones
    output->channel[c] = m;
  }
  return DQ_OK;
}

static dq_status bound_concat(const dq_bound_node *in, dq_bound *output) {
  const dq_node *node = in->node;
  int rank = in->tensors[node->outputs[0]->index].rank;
  int64_t axis = dq_node_int(node, "axis", 1), total = 0;
  for (int i = 0; i < node->input_count; i++) {
    const dq_tensor *tensor = &in->tensors[node->inputs[i]->index];
    if (!in->bounds[node->inputs[i]->index].channels || tensor->rank < 2) return DQ_OK;
    total += tensor->dims[1];
  }
  bool channels = rank >= 2 && (axis < 0 ? axis + rank : axis) == 1;
  DQ_TRY(make(in->arena, channels ? total : 1, output));
  int64_t next = 0;
  for (int i = 0; i < node->input_count; i++) {
    const dq_bound *x = &in->bounds[node->inputs[i]->index];
    int64_t count = in->tensors[node->inputs[i]->index].dims[1];
    if (!channels) output->channel[0] = i ? either(output->channel[0], all_channels(x)) : all_channels(x);
    for (int64_t c = 0; channels && c < count; c++)
      output->channel[next++] = x->channels == count ? x->channel[c] : all_channels(x);
  }
  return DQ_OK;
}

static dq_status bound_nothing(const dq_bound_node *in, dq_bound *output) {
  (void)in, (void)output;
  return DQ_OK;
}

dq_status dq_bound_output(const dq_bound_node *in, dq_bound *output) {
  static dq_status (*const rules[])(const dq_bound_node *, dq_bound *) = {
      [DQ_BOUND_UNKNOWN] = bound_nothing, [DQ_BOUND_PRODUCT] = bound_product, [DQ_BOUND_BATCH_NORM] = bound_batch_norm,
      [DQ_BOUND_NORM] = bound_norm,       [DQ_BOUND_SQUEEZE] = bound_squeeze, [DQ_BOUND_SLOPE] = bound_leaky,
      [DQ_BOUND_COMBINE] = bound_combine, [DQ_BOUND_JOIN] = bound_concat,     [DQ_BOUND_MOVE] = bound_move};
  const dq_operator *row = dq_operator_find(in->node->domain, in->node->op_type);
  *output = (dq_bound){0};
  return row && !row->domain && dq_node_input(in->node, 0) ? rules[row->bound](in, output) : DQ_OK;
}
