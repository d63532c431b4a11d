#include "quant/rewrite/bias_correction.h"

#include <string.h>

#include "calib/elements.h"
#include "lib/ops/table/product.h"

struct dq_mean_sums {
  const char **names; // of the values
  double **sum;       // per name, per channel
  double **picture;   // per name: the sums of one picture, and the elements of one of its channels
  int64_t *channels;  // per name, 0: not seen yet
  int64_t *elements;  // per name: of one channel
  int count;
  dq_arena *arena;
  const dq_context *context;
};

static void add_plane(void *argument, int64_t channel, const float *plane, int64_t count, unsigned cpu) {
  double *sum = argument;
  sum[channel] += dq_element_sums_of(plane, count, cpu).sum;
}

static dq_status measure_picture(void *user, int slot, const dq_tensor *tensor, dq_tensor *measured, dq_error *error) {
  dq_mean_sums *all = user;
  if (tensor->rank < 2) return DQ_OK;
  const int64_t channels = tensor->dims[1];
  if (!all->picture[slot]) all->picture[slot] = DQ_NEW_ARRAY(all->arena, channels + 1, double);
  double *picture = all->picture[slot];
  if (!picture) return dq_fail_memory(error, 0);
  memset(picture, 0, (size_t)channels * sizeof *picture);
  dq_each_plane(all->context, tensor, add_plane, picture);
  picture[channels] = (double)(tensor->dims[0] * dq_tensor_product(tensor, 2, tensor->rank));
  *measured = (dq_tensor){.type = DQ_F64, .rank = 1, .dims = {channels + 1}, .data = picture};
  return DQ_OK;
}

static dq_status add_picture(void *user, int slot, const dq_tensor *measured, dq_error *error) {
  dq_mean_sums *all = user;
  const double *picture = measured->data;
  const int64_t channels = measured->dims[0] - 1;
  if (!all->sum[slot]) {
    all->channels[slot] = channels;
    all->sum[slot] = DQ_NEW_ARRAY(all->arena, channels, double);
    if (!all->sum[slot]) return dq_fail_memory(error, 0);
  }
  for (int64_t c = 0; c < channels; c++) all->sum[slot][c] += picture[c];
  all->elements[slot] += (int64_t)picture[channels];
  return DQ_OK;
}

// A constant weight, an input for the bias, and data that vary.
static bool has_correctable_weight(const dq_node *node, dq_product *product) {
  return dq_float_product(node, product) && product->kind != DQ_TRANSPOSED_CONVOLUTION &&
         product->at.bias != DQ_NO_INPUT && node->inputs[0] && !node->inputs[0]->constant;
}

static int list_inputs(const dq_graph *graph, const char **names, bool *listed) {
  int count = 0;
  for (int n = 0; n < graph->node_count; n++) {
    const dq_node *node = graph->nodes[n];
    dq_product product;
    if (!has_correctable_weight(node, &product) || listed[node->inputs[0]->index]) continue;
    listed[node->inputs[0]->index] = true;
    names[count++] = node->inputs[0]->name;
  }
  return count;
}

dq_status dq_input_means_open(dq_mean_sums **sums, dq_listener *listener, const dq_graph *graph, dq_arena *arena,
                              const dq_context *context, dq_error *error) {
  int nodes = graph->node_count;
  const char **names = DQ_NEW_ARRAY(arena, nodes, const char *);
  bool *listed = DQ_NEW_ARRAY(arena, graph->value_count, bool);
  dq_mean_sums *all = *sums = DQ_NEW(arena, dq_mean_sums);
  if (!names || !listed || !all) return dq_fail_memory(error, 0);
  *all = (dq_mean_sums){names,
                        DQ_NEW_ARRAY(arena, nodes, double *),
                        DQ_NEW_ARRAY(arena, nodes, double *),
                        DQ_NEW_ARRAY(arena, nodes, int64_t),
                        DQ_NEW_ARRAY(arena, nodes, int64_t),
                        list_inputs(graph, names, listed),
                        arena,
                        context};
  if (!all->sum || !all->picture || !all->channels || !all->elements) return dq_fail_memory(error, 0);
  *listener = (dq_listener){names, all->count, add_picture, all, measure_picture, NULL};
  return DQ_OK;
}

dq_status dq_input_means_finish(dq_input_means *means, const dq_mean_sums *all, dq_error *error) {
  dq_channel_means *values = DQ_NEW_ARRAY(all->arena, all->count + 1, dq_channel_means);
  if (!values) return dq_fail_memory(error, 0);
  *means = (dq_input_means){values, 0};
  for (int i = 0; i < all->count; i++) {
    if (!all->elements[i]) continue;
    for (int64_t c = 0; c < all->channels[i]; c++) all->sum[i][c] /= (double)all->elements[i];
    values[means->count++] = (dq_channel_means){all->names[i], all->channels[i], all->sum[i]};
  }
  return DQ_OK;
}

dq_status dq_input_means_measure(dq_input_means *means, const dq_observation *what, dq_arena *arena,
                                 const dq_context *context, dq_error *error) {
  dq_mean_sums *sums;
  dq_listener listener;
  DQ_TRY(dq_input_means_open(&sums, &listener, what->graph, arena, context, error));
  dq_observation inputs = *what;
  inputs.names = listener.names, inputs.count = listener.count;
  inputs.doing = "correcting biases", inputs.measure = listener.measure;
  DQ_TRY(dq_observe(&inputs, listener.on_value, listener.user, context, error));
  return dq_input_means_finish(means, sums, error);
}

bool dq_bias_shift(const dq_node *node, const dq_channel_means *means, const int8_t *elements, const float *scales,
                   int64_t scale_count, double *shift) {
  dq_product p;
  bool upright = has_correctable_weight(node, &p) && p.outputs_first && (p.kind == DQ_CONVOLUTION || p.data_axis == -1);
  if (!upright || means->channels != dq_product_inputs(&p)) return false;
  const float *exact = node->inputs[1]->constant->data;
  for (int64_t o = 0; o < dq_product_outputs(&p); o++) {
    double scale = (double)scales[scale_count > 1 ? o : 0];
    shift[o] = 0;
    for (int64_t i = 0; i < p.inputs; i++)
      for (int64_t t = 0; t < p.taps; t++) {
        int64_t at = dq_product_at(&p, o, i, t);
        shift[o] += ((double)exact[at] - scale * elements[at]) * means->means[o / p.outputs * p.inputs + i];
      }
  }
  return true;
}

dq_channel_means *dq_input_means_copy(const dq_input_means *means, dq_arena *arena) {
  dq_channel_means *copies = DQ_NEW_ARRAY(arena, means->count + 1, dq_channel_means);
  for (int i = 0; copies && i < means->count; i++) {
    const dq_channel_means *from = &means->values[i];
    copies[i] = (dq_channel_means){dq_arena_strdup(arena, from->value), from->channels,
                                   dq_arena_copy(arena, from->means, (size_t)from->channels * sizeof *from->means)};
    if (!copies[i].value || !copies[i].means) return NULL;
  }
  return copies;
}
