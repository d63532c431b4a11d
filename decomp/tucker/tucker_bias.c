// Bias correction at the end: what is left of a shift in the means of the outputs goes into the biases
// of the last convolutions and Gemms.
#include <string.h>

#include "calib/calib.h"
#include "decomp/tucker/tucker_data.h"
#include "lib/ops/table/product.h"

typedef struct shift {
  dq_node *node;
  int64_t channels;
  double *sums; // per channel: mean of the original less mean of now
} shift;

typedef struct shifts {
  shift *nodes;
  int count;
  double weight; // of a picture, with the sign of the network that runs
  dq_arena *arena;
} shifts;

static bool computes(const dq_node *node) {
  dq_product product;
  return dq_product_of(node, &product) && !product.integer;
}

// A product whose bias is one constant per channel, or left out.
static bool can_shift(const dq_node *node) {
  dq_product product;
  if (!dq_product_of(node, &product) || product.integer || product.kind == DQ_TRANSPOSED_CONVOLUTION ||
      product.at.bias == DQ_NO_INPUT || product.beta != 1 || node->outputs[0]->is_captured)
    return false;
  const dq_value *bias = dq_node_input(node, product.at.bias);
  return !bias || (bias->constant && bias->constant->type == DQ_F32 && bias->constant->rank == 1);
}

// Nodes with nothing behind them that computes.
static dq_status find_last(shifts *all, const dq_graph *graph, dq_error *error) {
  dq_node **order = DQ_NEW_ARRAY(all->arena, graph->node_count, dq_node *);
  bool *followed = DQ_NEW_ARRAY(all->arena, graph->value_count, bool);
  all->nodes = DQ_NEW_ARRAY(all->arena, graph->node_count, shift);
  if (!order || !followed || !all->nodes) return dq_fail_memory(error, (size_t)graph->node_count * sizeof *order);
  DQ_TRY(dq_graph_order(graph, order, error));
  for (int n = graph->node_count - 1; n >= 0; n--) {
    bool behind = false;
    for (int i = 0; i < order[n]->output_count; i++)
      behind |= order[n]->outputs[i] && followed[order[n]->outputs[i]->index];
    bool self = computes(order[n]);
    for (int i = 0; (self || behind) && i < order[n]->input_count; i++)
      if (order[n]->inputs[i]) followed[order[n]->inputs[i]->index] = true;
    if (self && !behind && can_shift(order[n])) all->nodes[all->count++].node = order[n];
  }
  return DQ_OK;
}

static dq_status add_means(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  shifts *all = user;
  shift *s = &all->nodes[slot];
  if (tensor->rank < 2) return DQ_OK;
  if (!s->sums) {
    s->channels = tensor->dims[1];
    s->sums = DQ_NEW_ARRAY(all->arena, s->channels, double);
    if (!s->sums) return dq_fail_memory(error, (size_t)s->channels * sizeof(double));
  }
  int64_t inner = dq_tensor_product(tensor, 2, tensor->rank);
  double weight = all->weight / (double)(tensor->dims[0] * inner);
  const float *values = tensor->data;
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) s->sums[i / inner % s->channels] += weight * (double)values[i];
  return DQ_OK;
}

static dq_status observe(shifts *all, const dq_tucker_data *data, const dq_graph *graph, double sign, dq_error *error) {
  static const dq_shape_request none = {0};
  const dq_tucker_options *options = data->options;
  const char **names = DQ_NEW_ARRAY(all->arena, all->count, const char *);
  if (!names) return dq_fail_memory(error, (size_t)all->count * sizeof *names);
  for (int i = 0; i < all->count; i++) names[i] = all->nodes[i].node->outputs[0]->name;
  dq_observation what = {.graph = graph,
                         .shapes = options->shapes ? options->shapes : &none,
                         .names = names,
                         .count = all->count,
                         .data = options->data,
                         .pictures = dq_tucker_data_pictures(options),
                         .doing = "means of the outputs",
                         .batch = options->batch};
  all->weight = sign / (double)what.pictures;
  return dq_observe(&what, add_means, all, options->context, error);
}

static dq_status correct(dq_graph *graph, const shift *s, dq_error *error) {
  dq_node *node = s->node;
  const dq_value *old = dq_node_input(node, 2);
  if (!s->sums || (old && dq_tensor_count(old->constant) != s->channels)) return DQ_OK;
  dq_tensor *bias = dq_tensor_new(graph->arena, DQ_F32, 1, &s->channels);
  dq_value **inputs = DQ_NEW_ARRAY(graph->arena, 3, dq_value *);
  const char *name = dq_arena_printf(graph->arena, "%s_bias", node->outputs[0]->name);
  if (!bias || !inputs || !name) return dq_fail_memory(error, sizeof(dq_tensor));
  for (int64_t c = 0; c < s->channels; c++) {
    double before = old ? dq_tensor_get(old->constant, c) : 0;
    ((float *)bias->data)[c] = (float)(before + s->sums[c]);
  }
  inputs[0] = node->inputs[0], inputs[1] = node->inputs[1];
  inputs[2] = dq_graph_add_constant(graph, name, bias);
  if (!inputs[2]) return dq_fail_memory(error, sizeof(dq_value));
  node->inputs = inputs;
  node->input_count = 3;
  return DQ_OK;
}

static dq_status correct_all(shifts *all, dq_tucker_data *data, dq_error *error) {
  DQ_TRY(find_last(all, data->graph, error));
  if (!all->count) return DQ_OK;
  DQ_TRY(observe(all, data, data->original, 1, error));
  DQ_TRY(observe(all, data, data->graph, -1, error));
  for (int i = 0; i < all->count; i++) {
    dq_value *old = dq_node_input(all->nodes[i].node, 2);
    DQ_TRY(correct(data->graph, &all->nodes[i], error));
    DQ_TRY(dq_graph_index(data->graph, false, error));
    if (old && !dq_value_is_read(old)) dq_graph_remove_constant(data->graph, old);
  }
  return dq_graph_index(data->graph, false, error);
}

dq_status dq_tucker_data_bias(dq_tucker_data *data, dq_error *error) {
  shifts all = {.arena = dq_context_arena(data->options->context)};
  if (!all.arena) return dq_fail_memory(error, sizeof(shift));
  dq_status status = correct_all(&all, data, error);
  dq_arena_free(all.arena);
  return status;
}
