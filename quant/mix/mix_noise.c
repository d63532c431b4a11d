#include "quant/mix/mix_noise.h"

#include <math.h>
#include <string.h>

#include "lib/base/clock.h"
#include "quant/search/sensitivity.h"

typedef struct noise_search {
  dq_mix_costs *costs;
  dq_mix_maker *maker;
  const dq_mix_noise_options *options;
  dq_evaluator evaluator;
  const dq_context *context;
  dq_arena *arena;
  dq_error *error;
} noise_search;

// ---- Pictures ----

// Number i of `parts` pictures, one from each part of the list: at a place in it that moves by the golden ratio.
static int64_t picture_at(int64_t i, int64_t pictures, int64_t parts) {
  const uint64_t place = (uint32_t)((uint64_t)i * UINT32_C(0x9e3779b9));
  const int64_t first = i * pictures / parts, end = (i + 1) * pictures / parts;
  return first + (int64_t)(place * (uint64_t)(end - first) >> 32);
}

// The sequence of Thue and Morse: 0 1 1 0 1 0 0 1 ...
static bool is_tried(int64_t i) { return __builtin_parityll((unsigned long long)i); }

void dq_mix_turns(int64_t *order, int64_t pictures, int64_t tried, int64_t others) {
  int64_t of_trials = 0, of_others = tried;
  for (int64_t i = 0; i < tried + others; i++) {
    const int64_t picture = picture_at(i, pictures, tried + others);
    if (is_tried(i) && of_trials < tried) order[of_trials++] = picture;
    else order[of_others++] = picture;
  }
}

// ---- Noise ----

dq_status dq_mix_noise_of(dq_evaluator *evaluator, const dq_graph *form, double *noise, dq_arena *arena,
                          dq_error *error) {
  dq_score score = {.noise = DQ_NEW_ARRAY(arena, evaluator->what.pictures, double)};
  if (!score.noise) return dq_fail_memory(error, 0);
  DQ_TRY(dq_evaluate(evaluator, form, &score, error));
  *noise = pow(10, -score.decibels / 10);
  return DQ_OK;
}

dq_status dq_mix_noise_of_choice(dq_evaluator *evaluator, dq_mix_maker *maker, const dq_mix_network *network,
                                 const uint8_t *choice, double *noise, dq_error *error) {
  dq_precision_map map;
  dq_graph *form = NULL;
  dq_arena *arena = dq_arena_beside(maker->arena);
  if (!arena) return dq_fail_memory(error, 0);
  dq_status status = dq_mix_map(network, choice, arena, &map, error);
  if (status == DQ_OK) status = dq_mix_make(maker, &map, &form, NULL, error);
  if (status == DQ_OK) status = dq_mix_noise_of(evaluator, form, noise, arena, error);
  dq_graph_free(form);
  dq_arena_free(arena);
  return status;
}

static dq_status try_choice(noise_search *search, const uint8_t *choice, double *noise) {
  return dq_mix_noise_of_choice(&search->evaluator, search->maker, search->costs->network, choice, noise,
                                search->error);
}

static void fill(const dq_mix_network *network, int precision, uint8_t *choice) {
  dq_mix_alternate(network, (dq_precision)precision, (dq_precision)precision, choice);
}

static dq_status measure_none(noise_search *search, int precision) {
  (void)search, (void)precision;
  return DQ_OK;
}

// ---- Trials ----

// units[count], neighbours with layers, in the precision, all others in float32.
static dq_status try_units(noise_search *search, int precision, const int *units, int count) {
  dq_mix_costs *costs = search->costs;
  uint8_t choice[costs->network->unit_count];
  double noise = 0;
  fill(costs->network, DQ_PRECISION_FP32, choice);
  for (int i = 0; i < count; i++) choice[units[i]] = (uint8_t)precision;
  DQ_TRY(try_choice(search, choice, &noise));
  for (int i = 0; i < count; i++)
    costs->unit_noise[units[i] * DQ_PRECISIONS + precision] = fmax(0, noise - costs->other_noise) / count;
  return DQ_OK;
}

// The processor time of this thread in seconds: other programs do not use up the time of trials.
static double own_seconds(void) { return (double)dq_thread_nanoseconds() * 1e-9; }

static dq_status measure_trials(noise_search *search, int precision) {
  const dq_mix_network *network = search->costs->network;
  int *units = DQ_NEW_ARRAY(search->arena, network->unit_count, int), count = 0, together = 1;
  if (!units) return dq_fail_memory(search->error, 0);
  for (int u = 0; u < network->unit_count; u++)
    if (dq_mix_allows(network, u, (dq_precision)precision)) units[count++] = u;
  double end = own_seconds() + search->options->seconds_trials;
  for (int done = 0; done < count; done += together) {
    double started = own_seconds();
    together = together < count - done ? together : count - done;
    DQ_TRY(try_units(search, precision, units + done, together));
    dq_progress(search->context, "noise of units", done + together, count);
    double took = own_seconds() - started, left = end - own_seconds();
    int trials = left > took ? (int)fmin(left / took, count) : 1;
    together = (count - done - together + trials - 1) / trials;
    if (together < 1) together = 1;
  }
  return DQ_OK;
}

// ---- Rounding of values ----

// The last layer of a unit makes its result.
static void add_layer(noise_search *search, const dq_sensitivity_layer *layer, int precision) {
  dq_mix_costs *costs = search->costs;
  const dq_mix_network *network = costs->network;
  int unit = layer->is_input ? 0 : dq_mix_find_unit(network, layer->label);
  for (int i = unit < 0 ? 0 : network->first_made[unit]; unit >= 0 && i < network->first_made[unit + 1]; i++) {
    int v = network->made[i];
    if (unit || !strcmp(network->at[v]->name, layer->label))
      costs->value_noise[v * DQ_PRECISIONS + precision] = layer->activations.relative_noise;
  }
}

// Noise that a unit, alone in the precision, gets by rounding what it reads.
static double noise_of_inputs(const dq_mix_costs *costs, int unit, int precision) {
  const dq_mix_network *network = costs->network;
  double noise = 0;
  for (int i = network->first_read[unit]; i < network->first_read[unit + 1]; i++)
    noise += costs->value_noise[network->read[i] * DQ_PRECISIONS + precision];
  return noise;
}

// Trials and sensitivities were measured on other pictures and may look at other things in the outputs (boxes of a
// detector), so that what is taken off a unit is at most this share of its noise.
static const double MOST_OF_INPUTS = 0.8;

static void take_off_inputs(dq_mix_costs *costs, int precision) {
  for (int u = 0; u < costs->network->unit_count; u++) {
    double *noise = &costs->unit_noise[u * DQ_PRECISIONS + precision];
    *noise -= fmin(noise_of_inputs(costs, u, precision), MOST_OF_INPUTS * *noise);
  }
}

static dq_status measure_rounding(noise_search *search, int precision) {
  enum { PICTURES = 2 };                       // values make like noise on all pictures
  static const double LEAST_SHARE = 1.0 / 256; // of the noise of all
  dq_int8_options whole = *search->maker->int8;
  dq_sensitivity found;
  whole.start = &search->maker->whole.table;
  // Layers of a segment of the network with less than LEAST_SHARE of the noise are not measured where there are many
  // units: the noise of their results counts as 0.
  const double share = dq_mix_has_many_units(search->costs->network) ? LEAST_SHARE : 0;
  const dq_sensitivity_options options = {.int8 = &whole, .ranking = true, .share = share, .pictures = PICTURES};
  DQ_TRY(dq_sensitivity_measure(&found, search->maker->graph, search->options->data, &options, search->context,
                                search->arena, search->error));
  for (int l = 0; l < found.count; l++) add_layer(search, &found.layers[l], precision);
  DQ_TRY(measure_trials(search, precision));
  take_off_inputs(search->costs, precision);
  return DQ_OK;
}

// ---- All precisions ----

static dq_status measure_all(noise_search *search) {
  uint8_t choice[search->costs->network->unit_count];
  fill(search->costs->network, DQ_PRECISION_FP32, choice);
  DQ_TRY(try_choice(search, choice, &search->costs->other_noise));
#define DQ_MIX_MEASURE(symbol, name) DQ_TRY(measure_##name(search, DQ_PRECISION_##symbol));
#include "quant/mix/mix_measures.def"
  dq_mix_costs_keep_alone(search->costs);
  return DQ_OK;
}

dq_status dq_mix_noise_measure(dq_mix_costs *costs, dq_mix_maker *maker, const dq_mix_noise_options *options,
                               const dq_context *context, dq_arena *arena, dq_error *error) {
  noise_search search = {
      .costs = costs, .maker = maker, .options = options, .context = context, .arena = arena, .error = error};
  const dq_evaluator_options judged = {.graph = maker->graph,
                                       .shapes = &maker->int8->shapes,
                                       .data = options->data,
                                       .pictures = dq_data_count(options->data),
                                       .decode = maker->int8->decode,
                                       .batch = maker->int8->batch};
  dq_status status = dq_evaluator_open(&search.evaluator, &judged, context, arena, error);
  if (status == DQ_OK) status = measure_all(&search);
  dq_evaluator_close(&search.evaluator);
  return status;
}
