// Equalization: the scaling of weights and biases by factors that are given.
#include "quant/equalize/equalize_internal.h"
#include "quant/rewrite/output_head.h"
#include "quant/rewrite/private_constant.h"

// Taps times the factor of their output channel, or divided by that of their input channel.
static dq_status scale_weight(dq_graph *graph, dq_node *node, const double *inputs, const double *outputs,
                              dq_error *error) {
  dq_product p;
  dq_tensor *own = dq_float_product(node, &p) ? dq_private_constant(graph, node, 1) : NULL;
  if (!own) return dq_fail_memory(error, 0);
  float *weights = own->data;
  for (int64_t o = 0; o < dq_product_outputs(&p); o++)
    for (int64_t i = 0; i < p.inputs; i++) {
      double factor = outputs ? outputs[o] : 1 / inputs[o / p.outputs * p.inputs + i];
      for (int64_t t = 0; t < p.taps; t++) {
        float *at = &weights[dq_product_at(&p, o, i, t)];
        *at = (float)((double)*at * factor);
      }
    }
  return DQ_OK;
}

// One element per channel; `exponent` -1 divides.
static dq_status scale_vector(dq_graph *graph, dq_node *node, int input, const double *factors, int exponent,
                              dq_error *error) {
  int64_t count = dq_tensor_count(node->inputs[input]->constant);
  dq_tensor *own = dq_private_constant(graph, node, input);
  if (!own) return dq_fail_memory(error, 0);
  float *at = own->data;
  for (int64_t c = 0; c < count; c++)
    at[c] = (float)(exponent < 0 ? (double)at[c] / factors[c] : (double)at[c] * factors[c]);
  return DQ_OK;
}

static dq_status scale_writer(dq_graph *graph, dq_node *node, const double *factors, dq_error *error) {
  if (dq_node_is(node, "BatchNormalization")) DQ_TRY(scale_vector(graph, node, 1, factors, 1, error));
  else DQ_TRY(scale_weight(graph, node, NULL, factors, error));
  return dq_node_input(node, 2) ? scale_vector(graph, node, 2, factors, 1, error) : DQ_OK;
}

// gamma (x - mean) / deviation + beta with x' = c x: gamma / c and c mean.
static dq_status scale_reader(dq_graph *graph, dq_node *node, const double *factors, dq_error *error) {
  if (!dq_node_is(node, "BatchNormalization")) return scale_weight(graph, node, factors, NULL, error);
  DQ_TRY(scale_vector(graph, node, 1, factors, -1, error));
  return scale_vector(graph, node, 3, factors, 1, error);
}

// What a multiplication by channel does: x / c or c x.
typedef enum factor_use { DIVIDE, MULTIPLY } factor_use;

// Puts x / c or c x in front of node `at`. The node and its constant are named after `base`, as is the result with
// `suffix` unless `result` is given. NULL: there is no memory.
static dq_value *add_factors(dq_graph *graph, int at, dq_value *x, const dq_site_value *shape, const double *factors,
                             factor_use use, const char *base, dq_value *result) {
  static const char *const constants[] = {"%s_inverse", "%s_factors"}, *const results[] = {"%s_plain", "%s_scaled"};
  int64_t dims[DQ_MAX_RANK] = {1, shape->channels, 1, 1, 1, 1, 1, 1};
  dq_tensor *constant = dq_tensor_new(graph->arena, DQ_F32, shape->rank, dims);
  char *name = dq_arena_printf(graph->arena, constants[use], base);
  char *wanted = dq_arena_printf(graph->arena, results[use], base);
  if (!constant || !name || !wanted) return NULL;
  for (int64_t c = 0; c < shape->channels; c++)
    ((float *)constant->data)[c] = (float)(use == DIVIDE ? 1 / factors[c] : factors[c]);
  dq_value *operands[] = {x, dq_graph_add_constant(graph, name, constant)};
  if (!result) result = dq_graph_fresh_value(graph, wanted);
  const char *node = dq_graph_fresh_name(graph, wanted);
  bool added = operands[1] && result && node && dq_graph_add_node(graph, at, "Mul", node, 2, operands, 1, &result);
  return added ? result : NULL;
}

// The node reads x' / c where it read x, of which x' = c x is left.
static dq_status divide_argument(dq_graph *graph, dq_node *function, const dq_site_value *shape, const double *factors,
                                 dq_restated *restated, dq_error *error) {
  dq_value *x = function->inputs[0];
  dq_value **inputs =
      dq_arena_copy(graph->arena, function->inputs, (size_t)function->input_count * sizeof *function->inputs);
  dq_value *result = add_factors(graph, function->index, x, shape, factors, DIVIDE, x->name, NULL);
  if (!result || !inputs) return dq_fail_memory(error, 0);
  inputs[0] = result;
  function->inputs = inputs;
  *restated = (dq_restated){result->name, x->name};
  return DQ_OK;
}

// The node writes to a new value, of which c x is what all that read its result read.
static dq_status multiply_result(dq_graph *graph, dq_node *function, const dq_site_value *shape, const double *factors,
                                 dq_restated *restated, dq_error *error) {
  dq_value *y = function->outputs[0];
  char *wanted = dq_arena_printf(graph->arena, "%s_plain", y->name);
  dq_value *plain = wanted ? dq_graph_fresh_value(graph, wanted) : NULL;
  if (!plain) return dq_fail_memory(error, 0);
  function->outputs[0] = plain;
  *restated = (dq_restated){plain->name, y->name};
  bool added = add_factors(graph, function->index + 1, plain, shape, factors, MULTIPLY, y->name, y);
  return added ? DQ_OK : dq_fail_memory(error, 0);
}

typedef struct scaling {
  dq_graph *graph;
  const dq_site *site;
  const float *factors; // by class
  double *channels;     // memory for the factors of a value's channels
  dq_restated *restated;
  int *count;
  dq_error *error;
} scaling;

static const double *factors_of(const scaling *s, const dq_site_value *value) {
  for (int64_t c = 0; c < value->channels; c++) s->channels[c] = (double)s->factors[value->classes[c]];
  return s->channels;
}

static dq_restated *next_restated(const scaling *s) { return &s->restated[(*s->count)++]; }

// The sigmoid reads x' / c, so that x' Sigmoid(x' / c) = c SiLU(x).
static dq_status scale_silu(const scaling *s, const dq_silu *silu) {
  const dq_site_value *value = &s->site->values[silu->value];
  const double *factors = factors_of(s, value);
  *next_restated(s) = (dq_restated){silu->conv->outputs[0]->name, NULL};
  DQ_TRY(scale_writer(s->graph, silu->conv, factors, s->error));
  return divide_argument(s->graph, silu->sigmoid, value, factors, next_restated(s), s->error);
}

static dq_status scale_functions(const scaling *s) {
  const dq_site *site = s->site;
  for (int f = 0; f < site->argument_count; f++) {
    const dq_site_value *value = &site->values[site->arguments[f].value];
    DQ_TRY(divide_argument(s->graph, site->arguments[f].node, value, factors_of(s, value), next_restated(s), s->error));
  }
  for (int f = 0; f < site->result_count; f++) {
    const dq_site_value *value = &site->values[site->results[f].value];
    DQ_TRY(multiply_result(s->graph, site->results[f].node, value, factors_of(s, value), next_restated(s), s->error));
  }
  return DQ_OK;
}

// The convolution writes to a new value, x / c of which is what it was.
static dq_status scale_head(const scaling *s) {
  const dq_site_value *value = s->site->values;
  dq_node *conv = s->site->writers[0];
  const double *factors = factors_of(s, value);
  bool even = true;
  for (int64_t c = 0; c < value->channels; c++) even = even && factors[c] == 1;
  if (even) return DQ_OK;
  DQ_TRY(scale_writer(s->graph, conv, factors, s->error));
  const char *name = value->value->name;
  char *wanted = dq_arena_printf(s->graph->arena, "%s_scaled", name);
  dq_value *scaled = wanted ? dq_graph_fresh_value(s->graph, wanted) : NULL;
  if (!scaled) return dq_fail_memory(s->error, 0);
  conv->outputs[0] = scaled;
  *next_restated(s) = (dq_restated){scaled->name, NULL};
  bool added = add_factors(s->graph, conv->index + 1, scaled, value, factors, DIVIDE, name, value->value);
  return added ? DQ_OK : dq_fail_memory(s->error, 0);
}

static dq_status scale_site(const scaling *scaled) {
  const dq_site *site = scaled->site;
  if (site->head) return scale_head(scaled);
  for (int v = 0; v < site->value_count; v++) *next_restated(scaled) = (dq_restated){site->values[v].value->name, NULL};
  for (int w = 0; w < site->writer_count; w++) {
    const dq_site_value *value = dq_site_value_of(site, site->writers[w]->outputs[0]);
    DQ_TRY(scale_writer(scaled->graph, site->writers[w], factors_of(scaled, value), scaled->error));
  }
  for (int r = 0; r < site->reader_count; r++) {
    const dq_site_value *value = dq_site_value_of(site, site->readers[r]->inputs[0]);
    DQ_TRY(scale_reader(scaled->graph, site->readers[r], factors_of(scaled, value), scaled->error));
  }
  for (int s = 0; s < site->silu_count; s++) DQ_TRY(scale_silu(scaled, &site->silus[s]));
  return scale_functions(scaled);
}

// All sites before any is scaled: changes move nodes.
static dq_status find_given(dq_site *found, dq_graph *graph, const dq_equalization *equalization,
                            const dq_tensor *tensors, dq_arena *arena, dq_error *error) {
  bool *in_head;
  DQ_TRY(dq_output_head_values(graph, &in_head, arena, error));
  dq_site_finder *finder = dq_site_finder_new(graph, tensors, arena);
  if (!finder) return dq_fail_memory(error, 0);
  for (int s = 0; s < equalization->count; s++) {
    const dq_equalize_site *site = &equalization->sites[s];
    dq_value *value = dq_graph_find(graph, site->value);
    bool is_site =
        value && (dq_output_head_site(&found[s], finder, in_head, value) || dq_site_find(&found[s], finder, value));
    if (dq_arena_exhausted(arena)) return dq_fail_memory(error, 0);
    if (!is_site || found[s].class_count != site->channels)
      return dq_fail(error, DQ_BAD_INPUT, "value '%s' cannot be equalized over %lld channels", site->value,
                     (long long)site->channels);
  }
  return DQ_OK;
}

dq_status dq_equalize_apply(dq_graph *graph, const dq_equalization *equalization, const dq_shape_request *shapes,
                            dq_arena *arena, const dq_restated **restated, int *restated_count,
                            const dq_context *context, dq_error *error) {
  *restated = NULL, *restated_count = 0;
  if (!equalization->count) return DQ_OK;
  dq_tensor *tensors;
  DQ_TRY(dq_infer(graph, shapes, DQ_INFER_TOLERANT, context, arena, &tensors, error));
  dq_site *found = DQ_NEW_ARRAY(arena, equalization->count, dq_site);
  dq_restated *list = DQ_NEW_ARRAY(arena, 3 * graph->value_count + 2 * graph->node_count, dq_restated);
  if (!found || !list) return dq_fail_memory(error, 0);
  DQ_TRY(find_given(found, graph, equalization, tensors, arena, error));
  for (int s = 0; s < equalization->count; s++) {
    int64_t most = 0;
    for (int v = 0; v < found[s].value_count; v++)
      if (found[s].values[v].channels > most) most = found[s].values[v].channels;
    scaling scaled = {graph, &found[s], equalization->sites[s].factors, NULL, list, restated_count, error};
    scaled.channels = DQ_NEW_ARRAY(arena, most, double);
    if (!scaled.channels) return dq_fail_memory(error, 0);
    DQ_TRY(scale_site(&scaled));
  }
  *restated = list;
  return dq_graph_drop_constants(graph, error);
}
