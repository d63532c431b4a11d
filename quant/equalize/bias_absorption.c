#include "quant/equalize/bias_absorption.h"

#include <math.h>
#include <string.h>

#include "calib/elements.h"
#include "quant/equalize/equalize_internal.h"
#include "quant/rewrite/private_constant.h"

// ---- Where ----

// A product that has a bias of one number per output channel, or none.
static bool has_bias(const dq_node *node, dq_product *product) {
  if (!dq_float_product(node, product) || !dq_product_is_plain(product) || product->at.bias == DQ_NO_INPUT)
    return false;
  const dq_value *bias = dq_node_input(node, product->at.bias);
  return node->outputs[0] && (!bias || (dq_is_float_constant(bias) && bias->constant->rank == 1));
}

// Whether a convolution has no padding: no attribute `pads` but zeros, and no auto_pad that pads, which kernels of one
// tap do not need.
static bool reads_inside(const dq_node *node) {
  const dq_tensor *weight = node->inputs[1]->constant;
  const char *rule = dq_node_string(node, "auto_pad", "NOTSET");
  int count = 0;
  const int64_t *pads = dq_node_ints(node, "pads", &count);
  for (int i = 0; i < count; i++)
    if (pads[i]) return false;
  return !strcmp(rule, "NOTSET") || !strcmp(rule, "VALID") || dq_tensor_product(weight, 2, weight->rank) == 1;
}

static bool is_reader(const dq_node *node, const dq_value *value, int64_t channels) {
  dq_product product;
  return has_bias(node, &product) && product.kind != DQ_TRANSPOSED_CONVOLUTION && node->inputs[0] == value &&
         (product.kind == DQ_MATRIX_PRODUCT || reads_inside(node)) && dq_product_inputs(&product) == channels;
}

// The product in front of the rectifier that writes the value, when its channels can be given away; NULL: they cannot.
static dq_node *writer_of(const dq_value *value, int64_t *channels) {
  const dq_node *rectifier = value->producer;
  dq_product product;
  if (!rectifier || dq_value_must_stay(value) || !value->user_count) return NULL;
  float low, high;
  if (!dq_clamp_of(rectifier, &low, &high) || low != 0 || !(high > 0)) return NULL;
  dq_node *writer = rectifier->inputs[0]->producer;
  if (!writer || !has_bias(writer, &product) || !dq_is_private(rectifier->inputs[0])) return NULL;
  *channels = dq_product_outputs(&product);
  for (int u = 0; u < value->user_count; u++)
    if (!is_reader(value->users[u], value, *channels)) return NULL;
  return writer;
}

// ---- How much ----

typedef struct channel_sums {
  int64_t channels, count; // elements per channel
  double *low, *high, *sum, *power;
} channel_sums;

typedef struct watching {
  channel_sums *values;   // of all pictures
  channel_sums *pictures; // of one
  const dq_context *context;
} watching;

static void record_plane(void *argument, int64_t c, const float *plane, int64_t count, unsigned cpu) {
  const channel_sums *sums = argument;
  dq_extremes reach = dq_extremes_of(plane, count, cpu);
  dq_element_sums moments = dq_element_sums_of(plane, count, cpu);
  sums->low[c] = fmin(sums->low[c], reach.not_finite ? 0 : (double)reach.low);
  sums->high[c] = fmax(sums->high[c], (double)reach.high);
  sums->sum[c] += moments.sum;
  sums->power[c] += moments.power;
}

// low, high, sum and power lie one behind the other, and behind them there is one number more.
static bool open_sums(channel_sums *sums, int64_t channels, dq_arena *arena) {
  double *numbers = DQ_NEW_ARRAY(arena, 4 * channels + 1, double);
  if (!numbers) return false;
  *sums = (channel_sums){channels, 0, numbers, numbers + channels, numbers + 2 * channels, numbers + 3 * channels};
  for (int64_t c = 0; c < channels; c++) sums->low[c] = INFINITY;
  return true;
}

// Measures one picture: the four numbers of each channel (open_sums), and the number of elements of a channel.
static dq_status measure_picture(void *user, int slot, const dq_tensor *tensor, dq_tensor *measured, dq_error *error) {
  channel_sums *sums = &((const watching *)user)->pictures[slot];
  const int64_t channels = sums->channels, numbers = 4 * channels + 1;
  if (tensor->rank < 2 || tensor->dims[1] != channels)
    return dq_fail(error, DQ_UNSUPPORTED, "a value has another number of channels than the weights in front of it");
  memset(sums->low, 0, (size_t)numbers * sizeof *sums->low);
  for (int64_t c = 0; c < channels; c++) sums->low[c] = INFINITY;
  dq_each_plane(((const watching *)user)->context, tensor, record_plane, sums);
  sums->low[numbers - 1] = (double)(tensor->dims[0] * dq_tensor_product(tensor, 2, tensor->rank));
  *measured = (dq_tensor){.type = DQ_F64, .rank = 1, .dims = {numbers}, .data = sums->low};
  return DQ_OK;
}

static dq_status add_picture(void *user, int slot, const dq_tensor *measured, dq_error *error) {
  (void)error;
  channel_sums *sums = &((const watching *)user)->values[slot];
  const double *low = measured->data, *high = low + sums->channels, *sum = high + sums->channels,
               *power = sum + sums->channels;
  for (int64_t c = 0; c < sums->channels; c++) {
    sums->low[c] = fmin(sums->low[c], low[c]);
    sums->high[c] = fmax(sums->high[c], high[c]);
    sums->sum[c] += sum[c];
    sums->power[c] += power[c];
  }
  sums->count += (int64_t)power[sums->channels];
  return DQ_OK;
}

// What a channel could give away.
static double spare_of(const channel_sums *sums, int64_t c, double bound) {
  double mean = sums->sum[c] / (double)sums->count;
  double deviation = sqrt(fmax(0, sums->power[c] / (double)sums->count - mean * mean));
  double spare = fmin(sums->low[c], mean - 3 * deviation);
  return spare > 0 && sums->high[c] < bound ? spare : 0;
}

// Stores the amounts that channels give away: no more than brings each of them down to the highest end that is left
// when every channel gives away all that it could. Returns whether the range of the value becomes narrower by more than
// 1 %.
static bool find_amounts(const channel_sums *sums, const dq_value *value, double *amounts) {
  static const double NARROWER = 0.99;
  const dq_node *rectifier = value->producer;
  double bound = dq_clip_bound(rectifier), before = 0, after = 0;
  for (int64_t c = 0; sums->count && c < sums->channels; c++) {
    before = fmax(before, sums->high[c]);
    after = fmax(after, sums->high[c] - spare_of(sums, c, bound));
  }
  for (int64_t c = 0; sums->count && c < sums->channels; c++)
    amounts[c] = (double)(float)fmax(0, sums->high[c] - after);
  return after < NARROWER * before;
}

dq_status dq_absorption_measure(dq_absorption *absorption, const dq_observation *what, dq_arena *arena,
                                const dq_context *context, dq_error *error) {
  const dq_graph *graph = what->graph;
  dq_observation watched = *what;
  const char **names = DQ_NEW_ARRAY(arena, graph->value_count, const char *);
  channel_sums *sums = DQ_NEW_ARRAY(arena, graph->value_count, channel_sums);
  channel_sums *pictures = DQ_NEW_ARRAY(arena, graph->value_count, channel_sums);
  dq_channel_means *values = DQ_NEW_ARRAY(arena, graph->value_count, dq_channel_means);
  *absorption = (dq_absorption){values, 0};
  if (!names || !sums || !pictures || !values) return dq_fail_memory(error, 0);
  watched.names = names, watched.count = 0, watched.doing = "absorbing biases";
  for (int v = 0; v < graph->value_count; v++) {
    int64_t channels;
    if (!writer_of(graph->values[v], &channels)) continue;
    if (!open_sums(&sums[watched.count], channels, arena) || !open_sums(&pictures[watched.count], channels, arena))
      return dq_fail_memory(error, 0);
    names[watched.count++] = graph->values[v]->name;
  }
  if (!watched.count) return DQ_OK;
  watching notes = {sums, pictures, context};
  watched.measure = measure_picture;
  DQ_TRY(dq_observe(&watched, add_picture, &notes, context, error));
  for (int i = 0; i < watched.count; i++) {
    double *amounts = DQ_NEW_ARRAY(arena, sums[i].channels, double);
    if (!amounts) return dq_fail_memory(error, 0);
    if (find_amounts(&sums[i], dq_graph_find(graph, names[i]), amounts))
      values[absorption->count++] = (dq_channel_means){names[i], sums[i].channels, amounts};
  }
  return DQ_OK;
}

// ---- Moving ----

// The elements of a node's bias, its own from here on; NULL: no memory.
static float *own_bias(dq_graph *graph, dq_node *node, int64_t count) {
  if (dq_node_input(node, 2)) {
    dq_tensor *own = dq_private_constant(graph, node, 2);
    return own ? own->data : NULL;
  }
  dq_tensor *zeros = dq_tensor_new(graph->arena, DQ_F32, 1, &count);
  char *name = dq_arena_printf(graph->arena, "%s_bias", node->outputs[0]->name);
  dq_value **inputs = DQ_NEW_ARRAY(graph->arena, 3, dq_value *);
  dq_value *value = zeros && name && inputs ? dq_graph_add_constant(graph, name, zeros) : NULL;
  if (!value) return NULL;
  value->is_own = true;
  inputs[0] = node->inputs[0], inputs[1] = node->inputs[1], inputs[2] = value;
  node->inputs = inputs, node->input_count = 3;
  return zeros->data;
}

static dq_status absorb(dq_graph *graph, dq_node *writer, const dq_channel_means *from, dq_error *error) {
  float *bias = own_bias(graph, writer, from->channels);
  if (!bias) return dq_fail_memory(error, 0);
  for (int64_t c = 0; c < from->channels; c++) bias[c] = (float)((double)bias[c] - from->means[c]);
  return DQ_OK;
}

// Adds to the bias of every output the sum over inputs and taps of weight times amount.
static dq_status give(dq_graph *graph, dq_node *reader, const dq_channel_means *to, dq_arena *arena, dq_error *error) {
  dq_product p;
  if (!dq_float_product(reader, &p)) return DQ_OK;
  const float *weights = reader->inputs[1]->constant->data;
  int64_t outputs = dq_product_outputs(&p);
  float *bias = own_bias(graph, reader, outputs);
  double *sums = DQ_NEW_ARRAY(arena, outputs, double);
  if (!bias || !sums) return dq_fail_memory(error, 0);
  for (int64_t o = 0; o < outputs; o++)
    for (int64_t i = 0; i < p.inputs; i++)
      for (int64_t t = 0; t < p.taps; t++)
        sums[o] += (double)weights[dq_product_at(&p, o, i, t)] * to->means[o / p.outputs * p.inputs + i];
  for (int64_t o = 0; o < outputs; o++) bias[o] = (float)((double)bias[o] + sums[o]);
  return DQ_OK;
}

static dq_status move(dq_graph *graph, const dq_channel_means *amounts, dq_restated *restated, int *count,
                      dq_arena *arena, dq_error *error) {
  const dq_value *value = dq_graph_find(graph, amounts->value);
  int64_t channels;
  dq_node *writer = value ? writer_of(value, &channels) : NULL;
  if (!writer || channels != amounts->channels)
    return dq_fail(error, DQ_BAD_INPUT, "biases of %lld channels cannot be absorbed behind value '%s'",
                   (long long)amounts->channels, amounts->value);
  DQ_TRY(absorb(graph, writer, amounts, error));
  for (int u = 0; u < value->user_count; u++) DQ_TRY(give(graph, value->users[u], amounts, arena, error));
  restated[(*count)++] = (dq_restated){value->name, NULL};
  restated[(*count)++] = (dq_restated){writer->outputs[0]->name, NULL};
  return DQ_OK;
}

dq_status dq_absorption_apply(dq_graph *graph, const dq_absorption *absorption, dq_arena *arena,
                              const dq_restated **restated, int *restated_count, dq_error *error) {
  dq_restated *list = DQ_NEW_ARRAY(arena, 2 * absorption->count + 1, dq_restated);
  *restated = list, *restated_count = 0;
  if (!list) return dq_fail_memory(error, 0);
  for (int i = 0; i < absorption->count; i++)
    DQ_TRY(move(graph, &absorption->values[i], list, restated_count, arena, error));
  return absorption->count ? dq_graph_drop_constants(graph, error) : DQ_OK;
}
