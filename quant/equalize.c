// Equalization: factors from observed ranges, and the scaling of weights.
#include "quant/equalize.h"

#include <math.h>
#include <string.h>

#include "quant/equalize_internal.h"

// Factors beyond these (relative to the widest channel) would make noise of silent channels.
static const double MOST = 1e4;

// ---- Sites ----

typedef struct site_list {
  dq_site *sites;
  const char **values; // one read by a convolution, per site
  int count;
} site_list;

static dq_status find_sites(site_list *list, const dq_graph *graph, const dq_tensor *tensors,
                            dq_equalize_scope scope, dq_arena *arena, dq_error *error) {
  bool *done = DQ_NEW_ARRAY(arena, graph->value_count, bool);
  *list = (site_list){DQ_NEW_ARRAY(arena, graph->node_count, dq_site),
                      DQ_NEW_ARRAY(arena, graph->node_count, const char *), 0};
  if (!done || !list->sites || !list->values) return dq_fail_memory(error, 0);
  for (int n = 0; n < graph->node_count; n++) {
    dq_node *node = graph->nodes[n];
    dq_value *value = dq_node_is(node, "Conv") ? dq_node_input(node, 0) : NULL;
    if (!value || done[value->index]) continue;
    done[value->index] = true;
    dq_site *site = &list->sites[list->count];
    if (!dq_site_find(site, graph, tensors, value, arena)) continue;
    for (int v = 0; v < site->value_count; v++) done[site->values[v]->index] = true;
    if (scope == DQ_EQUALIZE_DEPTHWISE && !site->depthwise) continue;
    list->values[list->count++] = value->name;
  }
  return DQ_OK;
}

// ---- Ranges ----

typedef struct channel_ranges {
  float **largest; // per name, per channel: max |x|
} channel_ranges;

static dq_status note_ranges(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  (void)error;
  float *largest = ((channel_ranges *)user)->largest[slot];
  const float *at = tensor->data;
  int64_t inner = dq_tensor_product(tensor, 2, tensor->rank);
  for (int64_t n = 0; n < tensor->dims[0]; n++)
    for (int64_t c = 0; c < tensor->dims[1]; c++, at += inner)
      for (int64_t i = 0; i < inner; i++) largest[c] = fmaxf(largest[c], fabsf(at[i]));
  return DQ_OK;
}

// A value that Relu follows takes no 8-bit form of its own.
static bool is_stored(const dq_value *value) {
  return !(value->user_count == 1 && dq_node_is(value->users[0], "Relu"));
}

// Largest |w| of each input channel of the convolutions that read the site.
static void weight_ranges(const dq_site *site, double *largest) {
  for (int r = 0; r < site->reader_count; r++) {
    const dq_tensor *weight = site->readers[r]->inputs[1]->constant;
    int64_t groups = dq_node_int(site->readers[r], "group", 1), within = weight->dims[1];
    int64_t outputs = weight->dims[0] / groups, taps = dq_tensor_product(weight, 2, weight->rank);
    const float *at = weight->data;
    for (int64_t o = 0; o < weight->dims[0]; o++)
      for (int64_t i = 0; i < within; i++, at += taps)
        for (int64_t t = 0; t < taps; t++) {
          double size = fabs((double)at[t]), *to = &largest[o / outputs * within + i];
          if (size > *to) *to = size;
        }
  }
}

// Depthwise readers: channels come to the range of the widest. Else the range is halved (in
// decibels) between value and weight: c = sqrt(w / x).
static dq_status choose_factors(const dq_site *site, const double *ranges, float *factors,
                                dq_arena *arena, dq_error *error) {
  double *weights = DQ_NEW_ARRAY(arena, site->channels, double), widest = 0, least = INFINITY;
  if (!weights) return dq_fail_memory(error, 0);
  weight_ranges(site, weights);
  for (int64_t c = 0; c < site->channels; c++) widest = fmax(widest, ranges[c]);
  for (int64_t c = 0; c < site->channels; c++) {
    double range = fmax(ranges[c], widest / MOST), factor = widest > 0 ? widest / range : 1;
    if (!site->depthwise) factor = weights[c] > 0 && widest > 0 ? sqrt(weights[c] / range) : 0;
    factors[c] = (float)factor;
    if (factor > 0) least = fmin(least, factor);
  }
  for (int64_t c = 0; c < site->channels; c++)
    if (!(factors[c] > 0) || !isfinite(factors[c])) factors[c] = isfinite(least) ? (float)least : 1;
  return DQ_OK;
}

static dq_status fill_site(dq_equalize_site *to, const site_list *list, int s,
                           float *const *largest, dq_arena *arena, dq_error *error) {
  const dq_site *site = &list->sites[s];
  double *ranges = DQ_NEW_ARRAY(arena, site->channels, double);
  float *factors = DQ_NEW_ARRAY(arena, site->channels, float);
  if (!ranges || !factors) return dq_fail_memory(error, 0);
  for (int v = 0; v < site->value_count; v++)
    for (int64_t c = 0; is_stored(site->values[v]) && c < site->channels; c++)
      ranges[c] = fmax(ranges[c], (double)largest[v][c]);
  *to = (dq_equalize_site){list->values[s], site->channels, factors};
  return choose_factors(site, ranges, factors, arena, error);
}

// Watches all values of all sites at once.
static dq_status observe_sites(const site_list *list, const dq_observation *what, float **largest,
                               int total, dq_arena *arena, const dq_context *context,
                               dq_error *error) {
  const char **names = DQ_NEW_ARRAY(arena, total, const char *);
  if (!names) return dq_fail_memory(error, 0);
  int slot = 0;
  for (int s = 0; s < list->count; s++)
    for (int v = 0; v < list->sites[s].value_count; v++, slot++) {
      names[slot] = list->sites[s].values[v]->name;
      largest[slot] = DQ_NEW_ARRAY(arena, list->sites[s].channels, float);
      if (!largest[slot]) return dq_fail_memory(error, 0);
    }
  dq_observation all = *what;
  all.names = names, all.count = total, all.doing = "equalizing";
  channel_ranges ranges = {largest};
  return dq_observe(&all, note_ranges, &ranges, context, error);
}

dq_status dq_equalize_measure(dq_equalization *equalization, const dq_observation *what,
                              dq_equalize_scope scope, dq_arena *arena, const dq_context *context,
                              dq_error *error) {
  *equalization = (dq_equalization){0};
  if (scope == DQ_EQUALIZE_NONE) return DQ_OK;
  dq_tensor *tensors;
  site_list list;
  DQ_TRY(dq_infer(what->graph, what->shapes, true, context, arena, &tensors, error));
  DQ_TRY(find_sites(&list, what->graph, tensors, scope, arena, error));
  if (!list.count) return DQ_OK;
  int total = 0;
  for (int s = 0; s < list.count; s++) total += list.sites[s].value_count;
  float **largest = DQ_NEW_ARRAY(arena, total, float *);
  dq_equalize_site *sites = DQ_NEW_ARRAY(arena, list.count, dq_equalize_site);
  if (!largest || !sites) return dq_fail_memory(error, 0);
  DQ_TRY(observe_sites(&list, what, largest, total, arena, context, error));
  for (int s = 0, slot = 0; s < list.count; slot += list.sites[s++].value_count)
    DQ_TRY(fill_site(&sites[s], &list, s, largest + slot, arena, error));
  *equalization = (dq_equalization){sites, list.count};
  return DQ_OK;
}

// ---- Scaling ----

// A copy of an initializer for one convolution alone, which reads it as input `i`.
static float *own_constant(dq_graph *graph, dq_node *node, int i) {
  const dq_value *old = node->inputs[i];
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, old->constant->rank, old->constant->dims);
  char *name = dq_arena_printf(graph->arena, "%s_equalized", old->name);
  dq_value **inputs =
      dq_arena_copy(graph->arena, node->inputs, (size_t)node->input_count * sizeof *inputs);
  dq_value *value = tensor && name && inputs ? dq_graph_add_constant(graph, name, tensor) : NULL;
  if (!value) return NULL;
  memcpy(tensor->data, old->constant->data, dq_tensor_bytes(tensor));
  inputs[i] = value;
  node->inputs = inputs;
  return tensor->data;
}

static dq_status scale_writer(dq_graph *graph, dq_node *conv, const float *factors,
                              dq_error *error) {
  const dq_tensor *weight = conv->inputs[1]->constant;
  int64_t outputs = weight->dims[0], taps = dq_tensor_product(weight, 1, weight->rank);
  float *weights = own_constant(graph, conv, 1);
  float *bias = weights && dq_node_input(conv, 2) ? own_constant(graph, conv, 2) : NULL;
  if (!weights || (dq_node_input(conv, 2) && !bias)) return dq_fail_memory(error, 0);
  for (int64_t o = 0; o < outputs; o++) {
    for (int64_t t = o * taps; t < (o + 1) * taps; t++) weights[t] *= factors[o];
    if (bias) bias[o] *= factors[o];
  }
  return DQ_OK;
}

static dq_status scale_reader(dq_graph *graph, dq_node *conv, const float *factors,
                              dq_error *error) {
  const dq_tensor *weight = conv->inputs[1]->constant;
  int64_t groups = dq_node_int(conv, "group", 1), within = weight->dims[1];
  int64_t outputs = weight->dims[0] / groups, taps = dq_tensor_product(weight, 2, weight->rank);
  float *at = own_constant(graph, conv, 1);
  if (!at) return dq_fail_memory(error, 0);
  for (int64_t o = 0; o < weight->dims[0]; o++)
    for (int64_t i = 0; i < within; i++, at += taps)
      for (int64_t t = 0; t < taps; t++) at[t] /= factors[o / outputs * within + i];
  return DQ_OK;
}

// The sigmoid reads x' / c, so that x' Sigmoid(x' / c) = c SiLU(x).
static dq_status scale_sigmoid(dq_graph *graph, dq_node *sigmoid, const dq_site *site,
                               const float *factors, dq_restated *restated, dq_error *error) {
  dq_value *x = sigmoid->inputs[0];
  dq_tensor *inverse = dq_tensor_new(graph->arena, DQ_F32, 4, (int64_t[]){1, site->channels, 1, 1});
  char *name = dq_arena_printf(graph->arena, "%s_inverse", x->name);
  char *plain = dq_arena_printf(graph->arena, "%s_plain", x->name);
  dq_value **inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  if (!inverse || !name || !plain || !inputs) return dq_fail_memory(error, 0);
  for (int64_t c = 0; c < site->channels; c++) ((float *)inverse->data)[c] = 1 / factors[c];
  dq_value *operands[] = {x, dq_graph_add_constant(graph, name, inverse)};
  dq_value *result = dq_graph_fresh_value(graph, plain);
  const char *node = dq_graph_fresh_name(graph, plain);
  if (!operands[1] || !result || !node ||
      !dq_graph_add_node(graph, sigmoid->index, "Mul", node, 2, operands, 1, &result))
    return dq_fail_memory(error, 0);
  inputs[0] = result;
  sigmoid->inputs = inputs;
  *restated = (dq_restated){result->name, x->name};
  return DQ_OK;
}

static dq_status scale_site(dq_graph *graph, const dq_site *site, const float *factors,
                            dq_restated *restated, int *count, dq_error *error) {
  for (int v = 0; v < site->value_count; v++)
    restated[(*count)++] = (dq_restated){site->values[v]->name, NULL};
  for (int w = 0; w < site->writer_count; w++)
    DQ_TRY(scale_writer(graph, site->writers[w], factors, error));
  for (int r = 0; r < site->reader_count; r++)
    DQ_TRY(scale_reader(graph, site->readers[r], factors, error));
  for (int s = 0; s < site->sigmoid_count; s++) {
    restated[(*count)++] = (dq_restated){site->sigmoids[s]->inputs[0]->name, NULL};
    DQ_TRY(scale_sigmoid(graph, site->sigmoids[s], site, factors, &restated[(*count)++], error));
  }
  return DQ_OK;
}

dq_status dq_equalize_apply(dq_graph *graph, const dq_equalization *equalization,
                            const dq_shape_request *shapes, dq_arena *arena,
                            const dq_restated **restated, int *restated_count,
                            const dq_context *context, dq_error *error) {
  *restated = NULL, *restated_count = 0;
  if (!equalization->count) return DQ_OK;
  dq_tensor *tensors;
  DQ_TRY(dq_infer(graph, shapes, true, context, arena, &tensors, error));
  dq_site *found = DQ_NEW_ARRAY(arena, equalization->count, dq_site);
  dq_restated *list = DQ_NEW_ARRAY(arena, 3 * graph->value_count, dq_restated);
  if (!found || !list) return dq_fail_memory(error, 0);
  for (int s = 0; s < equalization->count; s++) { // all before any: changes move nodes
    const dq_equalize_site *site = &equalization->sites[s];
    dq_value *value = dq_graph_find(graph, site->value);
    if (!value || !dq_site_find(&found[s], graph, tensors, value, arena) ||
        found[s].channels != site->channels)
      return dq_fail(error, DQ_BAD_INPUT, "value '%s' cannot be equalized over %lld channels",
                     site->value, (long long)site->channels);
  }
  for (int s = 0; s < equalization->count; s++)
    DQ_TRY(
        scale_site(graph, &found[s], equalization->sites[s].factors, list, restated_count, error));
  *restated = list;
  return dq_graph_drop_constants(graph, error);
}
