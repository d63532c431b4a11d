// Weights to float16 without data so that their errors cancel.
//
// Each weight becomes one of its two neighbours in float16. For an output channel with weights w, input x and errors
// e, noise is E[(sum e x + shift)^2], where shift is what the layers before already changed. Of E[x x^T] the means
// and variances are taken: (sum e m + shift)^2 + sum e^2 v. Rounded to nearest, the second part is least, and the
// first is what is mostly left of the error of a network, since values behind activations have means. From nearest
// on, the weight is turned to its other neighbour that lowers the sum of both most, again and again. Layer after
// layer, m and v are measured on noise in the network whose layers before are rounded already (amp_probe.c).
//
// The aim is that of adaptive rounding (Nagel et al., Up or Down? Adaptive Rounding for Post-Training Quantization,
// ICML 2020) with a matrix of rank one and a diagonal, one for each kind of noise.
#include <math.h>
#include <string.h>

#include "lib/base/half.h"
#include "quant/amp/amp_internal.h"

enum { MOST_FLIPS = 64 }; // of an output channel
#define ENOUGH 1e-14      // of the output's energy: less is not gained

// One output channel: its weights in the order of the input's channels and taps, then its bias, whose input is 1.
typedef struct choice {
  int64_t count;
  double *weight, *error, *step, *cost; // error: of its float16; step: to its other neighbour, 0 when there is none
  uint16_t *half;
  int64_t *listed, listed_count;
} choice;

// A node whose weights are chosen.
typedef struct layer {
  const dq_node *node;
  const dq_value *input, *weight, *bias; // bias NULL: none to choose
  int64_t groups, outputs, inputs, taps; // of a group
  dq_product product;
  int axis; // channels of the input
  // Means of the inputs in the network as it is (`exact`) and in the rounded one (`mean`), and their variances in the
  // rounded one, for each kind of noise, group and element of a choice.
  double *exact[DQ_AMP_PROBES], *mean[DQ_AMP_PROBES], *variance[DQ_AMP_PROBES];
  uint16_t *to, *bias_to;
  choice *choices;      // by thread
  int64_t *not_nearest; // by output channel
} layer;

// ---- Which layers ----

// An initializer of float32 that this node alone reads, and as float16.
static const dq_value *private_constant(const dq_amp_job *job, const dq_node *node, int i, int64_t count) {
  const dq_value *value = dq_node_input(node, i);
  if (!value || !value->constant || !dq_amp_constant(job, value) || value->user_count != 1) return NULL;
  if (dq_amp_read_as_float(job, value) || (count && dq_tensor_count(value->constant) != count)) return NULL;
  return value;
}

// A constant per channel that an Add behind the node brings, as old exporters write a bias; NULL: none.
static const dq_value *added_bias(const dq_amp_job *job, const layer *l) {
  const dq_value *output = l->node->outputs[0];
  const dq_node *add = output->user_count == 1 && !output->is_output ? output->users[0] : NULL;
  if (!add || !(dq_node_flags(add) & DQ_OP_ADDS) || add->mark != DQ_AMP_HALF) return NULL;
  const dq_value *bias = private_constant(job, add, add->inputs[0] == output, l->groups * l->outputs);
  int from_right = l->product.kind == DQ_CONVOLUTION ? job->tensors[output->index].rank - 1 : 1;
  if (!bias || bias->constant->rank < from_right) return NULL;
  bool by_channel = bias->constant->dims[bias->constant->rank - from_right] == l->groups * l->outputs;
  return by_channel ? bias : NULL;
}

static bool read_layer(const dq_amp_job *job, const dq_node *node, layer *l) {
  *l = (layer){.node = node};
  dq_product *p = &l->product;
  if (node->mark != DQ_AMP_HALF || !dq_float_product(node, p) || !dq_product_is_plain(p) || p->stacked ||
      p->kind == DQ_TRANSPOSED_CONVOLUTION || !(l->weight = private_constant(job, node, 1, 0)))
    return false;
  l->input = node->inputs[0];
  const dq_tensor *x = &job->tensors[l->input->index];
  l->groups = p->groups, l->outputs = p->outputs, l->inputs = p->inputs, l->taps = p->taps;
  l->axis = p->data_axis < 0 ? x->rank + p->data_axis : p->data_axis;
  if (l->input == l->weight || dq_amp_constant(job, l->input) || x->rank < 2) return false;
  if (x->rank <= l->axis || x->dims[l->axis] != dq_product_inputs(p)) return false;
  if (dq_node_input(node, p->at.bias)) l->bias = private_constant(job, node, p->at.bias, dq_product_outputs(p));
  else l->bias = added_bias(job, l);
  return true;
}

// ---- One output channel ----

// The neighbour of a float16 on the other side of x; the same when it is exact, or when that were 0 or infinite.
static uint16_t other_neighbour(double x, uint16_t half) {
  double found = fabs((double)dq_half_to_float(half));
  uint16_t other = (uint16_t)(found > fabs(x) ? half - 1 : half + 1);
  if (found == fabs(x) || !(other & 0x7fff) || (other & 0x7c00) == 0x7c00) return half;
  return other;
}

static int64_t weight_at(const layer *l, int64_t channel, int64_t i) {
  return dq_product_at(&l->product, channel, i / l->taps, i % l->taps);
}

static void start(const layer *l, int64_t channel, choice *c) {
  const float *weights = l->weight->constant->data, *biases = l->bias ? l->bias->constant->data : NULL;
  for (int64_t i = 0; i < c->count; i++) {
    float x = i < l->inputs * l->taps ? weights[weight_at(l, channel, i)] : biases ? biases[channel] : 0;
    c->weight[i] = (double)x;
    c->half[i] = dq_float_to_half(x);
    c->error[i] = (double)dq_half_to_float(c->half[i]) - c->weight[i];
    c->step[i] = (double)dq_half_to_float(other_neighbour(c->weight[i], c->half[i])) - c->weight[i] - c->error[i];
  }
}

typedef struct balance {
  const double *mean[DQ_AMP_PROBES], *variance[DQ_AMP_PROBES]; // of the elements
  double shift[DQ_AMP_PROBES], scale[DQ_AMP_PROBES];           // scale: 1 over the output's energy, 0: there is none
} balance;

static balance find_balance(const layer *l, int64_t channel, const choice *c) {
  balance b;
  for (int k = 0; k < DQ_AMP_PROBES; k++) {
    const int64_t first = channel / l->outputs * c->count;
    const double *exact = l->exact[k] + first, *mean = b.mean[k] = l->mean[k] + first;
    const double *variance = b.variance[k] = l->variance[k] + first;
    double sum = 0, spread = 0, shift = 0;
    for (int64_t i = 0; i < c->count; i++) {
      sum += c->weight[i] * mean[i], spread += c->weight[i] * c->weight[i] * variance[i];
      shift += c->weight[i] * (mean[i] - exact[i]) + c->error[i] * mean[i];
    }
    double energy = sum * sum + spread;
    bool known = energy > 0 && isfinite(energy) && isfinite(shift);
    b.scale[k] = known ? 1 / energy : 0, b.shift[k] = known ? shift : 0;
  }
  return b;
}

// What turning an element costs apart from what it does to the shift there is: the square of its own step, and the
// noise it adds.
static double cost_of(const balance *b, const choice *c, int64_t i) {
  double square = 0, variance = 0, not_nearest = c->error[i] + c->step[i];
  for (int k = 0; k < DQ_AMP_PROBES; k++) {
    square += b->mean[k][i] * b->mean[k][i] * b->scale[k];
    variance += b->variance[k][i] * b->scale[k];
  }
  return square * c->step[i] * c->step[i] + (not_nearest * not_nearest - c->error[i] * c->error[i]) * variance;
}

// The listed element that is best turned, -1: none; those that would not help leave the list.
static int64_t find_flip(const balance *b, choice *c) {
  double factor[DQ_AMP_PROBES], best = 0;
  for (int k = 0; k < DQ_AMP_PROBES; k++) factor[k] = 2 * b->shift[k] * b->scale[k];
  int64_t found = -1, kept = 0;
  for (int64_t at = 0; at < c->listed_count; at++) {
    const int64_t i = c->listed[at];
    double slope = 0;
    for (int k = 0; k < DQ_AMP_PROBES; k++) slope += factor[k] * b->mean[k][i];
    double gain = slope * c->step[i] + c->cost[i];
    if (gain > -ENOUGH) continue;
    c->listed[kept++] = i;
    if (gain < best) best = gain, found = i;
  }
  c->listed_count = kept;
  return found;
}

static void flip(balance *b, choice *c, int64_t i) {
  for (int k = 0; k < DQ_AMP_PROBES; k++) b->shift[k] += c->step[i] * b->mean[k][i];
  c->half[i] = other_neighbour(c->weight[i], c->half[i]);
  c->error[i] += c->step[i], c->step[i] = -c->step[i];
  c->cost[i] = cost_of(b, c, i);
}

static void turn_all(balance *b, choice *c) {
  for (int64_t i = 0; i < c->count; i++) c->cost[i] = cost_of(b, c, i);
  for (int flips = 0; flips < MOST_FLIPS;) {
    c->listed_count = 0;
    for (int64_t i = 0; i < c->count; i++)
      if (c->step[i] != 0) c->listed[c->listed_count++] = i;
    int64_t i = find_flip(b, c);
    if (i < 0) return;
    for (; i >= 0 && flips < MOST_FLIPS; flips++, i = find_flip(b, c)) flip(b, c, i);
  }
}

static void choose_channel(void *argument, int64_t channel, int thread) {
  const layer *l = argument;
  choice *c = &l->choices[thread];
  start(l, channel, c);
  balance b = find_balance(l, channel, c);
  turn_all(&b, c);
  for (int64_t i = 0; i < c->count; i++) {
    l->not_nearest[channel] += c->half[i] != dq_float_to_half((float)c->weight[i]);
    if (i < l->inputs * l->taps) l->to[weight_at(l, channel, i)] = c->half[i];
    else if (l->bias_to) l->bias_to[channel] = c->half[i];
  }
}

// ---- Means and variances of an input ----

// Stores mean and variance of the input of every element of a choice, group after group; that of the bias is 1.
// `variance` may be NULL.
static void find_moments(const layer *l, const dq_tensor *x, double *mean, double *variance) {
  int64_t outer = 1, inner = 1, channels = x->dims[l->axis];
  for (int d = 0; d < l->axis; d++) outer *= x->dims[d];
  for (int d = l->axis + 1; d < x->rank; d++) inner *= x->dims[d];
  for (int64_t c = 0, at = 0; c < channels; c++) {
    double sum = 0, square = 0, count = (double)(outer * inner);
    for (int64_t o = 0; o < outer; o++) {
      const float *elements = (const float *)x->data + (o * channels + c) * inner;
      for (int64_t i = 0; i < inner; i++)
        sum += (double)elements[i], square += (double)elements[i] * (double)elements[i];
    }
    for (int64_t t = 0; t < l->taps; t++, at++) {
      mean[at] = sum / count;
      if (variance) variance[at] = fmax(square / count - mean[at] * mean[at], 0);
    }
    if ((c + 1) % l->inputs) continue;
    mean[at] = 1;
    if (variance) variance[at] = 0;
    at++;
  }
}

static dq_status measure(const dq_amp_probe *probe, dq_arena *arena, layer *l) {
  const int64_t count = l->groups * (l->inputs * l->taps + 1);
  for (int k = 0; k < DQ_AMP_PROBES; k++) {
    l->exact[k] = DQ_NEW_ARRAY(arena, count, double);
    l->mean[k] = DQ_NEW_ARRAY(arena, count, double);
    l->variance[k] = DQ_NEW_ARRAY(arena, count, double);
    if (!l->exact[k] || !l->mean[k] || !l->variance[k]) return DQ_SYSTEM;
    find_moments(l, dq_amp_probe_value(probe, k, false, l->input->name), l->exact[k], NULL);
    find_moments(l, dq_amp_probe_value(probe, k, true, l->input->name), l->mean[k], l->variance[k]);
  }
  return DQ_OK;
}

// ---- Layer after layer ----

static dq_status make_choices(layer *l, int threads, dq_arena *arena) {
  const int64_t count = l->inputs * l->taps + 1;
  l->choices = DQ_NEW_ARRAY(arena, threads, choice);
  for (int t = 0; l->choices && t < threads; t++) {
    double *numbers = DQ_NEW_ARRAY(arena, 4 * count, double);
    choice *c = &l->choices[t];
    *c = (choice){.count = count,
                  .weight = numbers,
                  .half = DQ_NEW_ARRAY(arena, count, uint16_t),
                  .listed = DQ_NEW_ARRAY(arena, count, int64_t)};
    if (!numbers || !c->half || !c->listed) return DQ_SYSTEM;
    c->error = numbers + count, c->step = c->error + count, c->cost = c->step + count;
  }
  return l->choices ? DQ_OK : DQ_SYSTEM;
}

static dq_status use(dq_amp_probe *probe, const dq_value *value, const uint16_t *halves, dq_arena *arena) {
  int64_t count = dq_tensor_count(value->constant);
  float *floats = DQ_NEW_ARRAY(arena, count, float);
  if (!floats) return DQ_SYSTEM;
  for (int64_t i = 0; i < count; i++) floats[i] = dq_half_to_float(halves[i]);
  dq_amp_probe_set(probe, value->name, floats);
  return DQ_OK;
}

static dq_status choose_layer(dq_amp_job *job, dq_amp_probe *probe, layer *l, dq_arena *arena) {
  int64_t channels = l->groups * l->outputs;
  DQ_TRY(measure(probe, arena, l));
  DQ_TRY(make_choices(l, dq_pool_threads(job->context->pool), arena));
  l->to = DQ_NEW_ARRAY(job->arena, dq_tensor_count(l->weight->constant), uint16_t);
  if (l->bias) l->bias_to = DQ_NEW_ARRAY(job->arena, channels, uint16_t);
  l->not_nearest = DQ_NEW_ARRAY(arena, channels, int64_t);
  if (!l->to || (l->bias && !l->bias_to) || !l->not_nearest) return DQ_SYSTEM;
  dq_pool_run(job->context->pool, channels, choose_channel, l);
  for (int64_t c = 0; c < channels; c++) job->report->not_nearest += l->not_nearest[c];
  job->rounded[l->weight->index] = l->to;
  if (l->bias) job->rounded[l->bias->index] = l->bias_to;
  DQ_TRY(use(probe, l->weight, l->to, arena));
  return l->bias ? use(probe, l->bias, l->bias_to, arena) : DQ_OK;
}

static dq_status choose_all(dq_amp_job *job, dq_amp_probe *probe, const layer *layers, dq_error *error) {
  for (int s = 0; s < dq_amp_probe_steps(probe); s++) {
    const dq_value *output = dq_graph_find(job->graph, dq_amp_probe_node(probe, s)->outputs[0]->name);
    layer l = output && output->producer ? layers[output->producer->index] : (layer){0};
    if (l.node) {
      dq_arena *arena = dq_context_arena(job->context);
      dq_status status = arena ? choose_layer(job, probe, &l, arena) : DQ_SYSTEM;
      dq_arena_free(arena);
      if (status != DQ_OK) return dq_fail_memory(error, 0);
    }
    DQ_TRY(dq_amp_probe_run(probe, s, error));
  }
  job->report->probed = true;
  job->report->noise_sqnr = dq_amp_probe_sqnr(probe);
  return DQ_OK;
}

// Back to nearest where not all could be chosen.
static void forget(dq_amp_job *job) {
  for (int v = 0; v < job->value_count; v++) job->rounded[v] = NULL;
  job->report->not_nearest = 0;
}

// The same noise with all weights nearest: what was chosen must be better.
static dq_status compare_with_nearest(dq_amp_job *job, bool *open, dq_error *error) {
  memset(open, 0, (size_t)job->value_count * sizeof *open);
  dq_amp_probe *probe = NULL;
  dq_status status = dq_amp_probe_open(&probe, job, open, error);
  for (int s = 0; status == DQ_OK && s < dq_amp_probe_steps(probe); s++) status = dq_amp_probe_run(probe, s, error);
  double nearest = status == DQ_OK ? dq_amp_probe_sqnr(probe) : 0;
  dq_amp_probe_close(probe);
  if (status != DQ_OK || job->report->noise_sqnr > nearest) return status;
  forget(job);
  job->report->noise_sqnr = nearest;
  return DQ_OK;
}

dq_status dq_amp_round(dq_amp_job *job) {
  if (job->options->nearest || job->options->only) return DQ_OK;
  const dq_graph *graph = job->graph;
  layer *layers = DQ_NEW_ARRAY(job->arena, graph->node_count, layer);
  bool *open = DQ_NEW_ARRAY(job->arena, job->value_count, bool);
  if (!layers || !open) return dq_fail_memory(job->error, 0);
  int count = 0;
  for (int n = 0; n < graph->node_count; n++) {
    if (!read_layer(job, graph->nodes[n], &layers[n])) {
      layers[n].node = NULL;
      continue;
    }
    open[layers[n].weight->index] = true, count++;
    if (layers[n].bias) open[layers[n].bias->index] = true;
  }
  if (!count) return DQ_OK;
  dq_amp_probe *probe = NULL;
  dq_error why = {0};
  dq_status status = dq_amp_probe_open(&probe, job, open, &why);
  if (status == DQ_OK) status = choose_all(job, probe, layers, &why);
  dq_amp_probe_close(probe);
  if (status == DQ_OK) status = compare_with_nearest(job, open, &why);
  if (status == DQ_OK) return DQ_OK;
  forget(job);
  job->report->probed = false;
  if (status == DQ_CANCELLED) return dq_fail(job->error, status, "%s", why.message);
  dq_message(job->context, status == DQ_SYSTEM ? DQ_NOTE : DQ_DETAIL,
             "weights are rounded to nearest, as the network cannot run on noise: %s", why.message);
  return DQ_OK;
}
