#include "quant/mix/mix_costs.h"

#include <math.h>
#include <string.h>

static const double NOISE_PARTS = 1 << 30;
static const double MOST_CORRECTION = 31.6227766; // of a noise: 15 dB

static void add(dq_mix_mean *mean, double value) { mean->sum += value, mean->count++; }

static double mean_of(const dq_mix_mean *mean) { return mean->count ? mean->sum / (double)mean->count : 0; }

dq_status dq_mix_costs_open(dq_mix_costs *costs, const dq_mix_network *network, dq_arena *arena, dq_error *error) {
  int units = network->unit_count * DQ_PRECISIONS, values = network->value_count * DQ_PRECISIONS;
  *costs = (dq_mix_costs){.network = network,
                          .unit_seconds = DQ_NEW_ARRAY(arena, units, dq_mix_mean),
                          .value_seconds = DQ_NEW_ARRAY(arena, values * DQ_PRECISIONS, dq_mix_mean),
                          .unit_noise = DQ_NEW_ARRAY(arena, units, double),
                          .value_noise = DQ_NEW_ARRAY(arena, values, double),
                          .unit_alone = DQ_NEW_ARRAY(arena, units, double),
                          .value_alone = DQ_NEW_ARRAY(arena, values, double)};
  return dq_arena_exhausted(arena) ? dq_fail_memory(error, 0) : DQ_OK;
}

// ---- Times ----

static bool converts(const dq_node *node) {
  static const char *const names[] = {"QuantizeLinear", "DequantizeLinear", "Cast", NULL};
  return dq_node_is_any(node, names);
}

// Steps of a form, summed up by what they belong to.
typedef struct sorter {
  dq_mix_costs *costs;
  const dq_mix_form *form;
  const dq_value **source; // by value of form->graph: the value of the network that it stands for
  int *target;             // by value: target_of
  double *units, *values;  // seconds
  double other;
} sorter;

static const dq_value *source_of_node(const dq_mix_network *network, const dq_node *node, int output) {
  int n = node->name[0] ? dq_name_list_find(&network->nodes, node->name) : -1;
  return n < 0 ? NULL : dq_node_output(network->graph->nodes[n], output);
}

// Conversions, and what else the network has no node for, stand for what they read; other values have the names that
// they had, but for those in front of conversions at outputs.
static dq_status find_sources(sorter *s, dq_arena *arena, dq_error *error) {
  const dq_graph *form = s->form->graph, *graph = s->costs->network->graph;
  dq_node **order = DQ_NEW_ARRAY(arena, form->node_count, dq_node *);
  s->source = DQ_NEW_ARRAY(arena, form->value_count, const dq_value *);
  if (!order || !s->source) return dq_fail_memory(error, 0);
  DQ_TRY(dq_graph_order(form, order, error));
  for (int v = 0; v < form->value_count; v++)
    if (form->values[v]->is_input) s->source[v] = dq_graph_find(graph, form->values[v]->name);
  for (int n = 0; n < form->node_count; n++)
    for (int o = 0; o < order[n]->output_count; o++) {
      const dq_value *value = order[n]->outputs[o];
      if (!value) continue;
      const dq_value **source = &s->source[value->index];
      if (converts(order[n])) *source = s->source[order[n]->inputs[0]->index];
      else if (!(*source = dq_graph_find(graph, value->name))) *source = source_of_node(s->costs->network, order[n], o);
      if (!*source && order[n]->input_count && order[n]->inputs[0]) *source = s->source[order[n]->inputs[0]->index];
    }
  return DQ_OK;
}

static int value_number(const dq_mix_network *network, const dq_value *value) {
  return value ? network->number_of[value->index] : -1;
}

static int unit_number(const dq_mix_network *network, const dq_value *value) {
  if (!value) return -1;
  return value->producer ? network->unit_of[value->producer->index] : value->is_input ? 0 : -1;
}

// The one precision that a value is converted to by the choice; -1: none, or several.
static int target_of(const dq_mix_costs *costs, const uint8_t *choice, int value) {
  const dq_mix_value *at = &costs->network->values[value];
  int target = -1;
  for (int r = 0; r < at->reader_count; r++) {
    int to = choice[at->readers[r]];
    if (to == choice[at->producer] || to == target) continue;
    if (target >= 0) return -1;
    target = to;
  }
  return target;
}

// Whether a step is part of a conversion: the network has neither what it computes nor a node of its name.
static bool is_added(const dq_mix_network *network, const dq_node *node, const dq_value *output) {
  return converts(node) ||
         (output && !dq_graph_find(network->graph, output->name) && !source_of_node(network, node, 0));
}

// The unit that has the source of a step. Steps that a plan fuses with what only moves their result behind them, which
// has no precision, are those of their own name.
static int unit_of_step(const dq_mix_network *network, const dq_node *node, const dq_value *source) {
  int unit = unit_number(network, source), named;
  if (unit < 0 || network->units[unit].layer_count || !node->name[0]) return unit;
  return (named = dq_mix_find_unit(network, node->name)) >= 0 ? named : unit;
}

static void sort_step(sorter *s, const dq_node *node, double seconds) {
  const dq_mix_network *network = s->costs->network;
  const dq_value *output = dq_node_output(node, 0);
  const dq_value *at = output ? dq_graph_find(s->form->graph, output->name) : NULL;
  const dq_value *source = at ? s->source[at->index] : NULL;
  if (!source && output && !(source = dq_graph_find(network->graph, output->name)))
    source = source_of_node(network, node, 0);
  int value = value_number(network, source), unit = unit_of_step(network, node, source);
  if (is_added(network, node, output) && value >= 0 && s->target[value] >= 0) s->values[value] += seconds;
  else if (unit >= 0) s->units[unit] += seconds;
  else s->other += seconds;
}

// How many values a unit reads whose producers could have had its precision and have another one.
static int foreign_inputs(const dq_mix_network *network, const uint8_t *choice, int unit) {
  int count = 0;
  for (int i = network->first_read[unit]; i < network->first_read[unit + 1] && network->units[unit].layer_count; i++) {
    int producer = network->values[network->read[i]].producer;
    count += network->units[producer].layer_count && choice[producer] != choice[unit];
  }
  return count;
}

// What a unit takes longer, or shorter, behind conversions belongs to these: seconds for each of its foreign inputs.
static void share_difference(sorter *s, int unit, int inputs) {
  const dq_mix_network *network = s->costs->network;
  const uint8_t *choice = s->form->choice;
  const dq_mix_mean *own = &s->costs->unit_seconds[unit * DQ_PRECISIONS + choice[unit]];
  double difference = own->count ? (s->units[unit] - mean_of(own)) / inputs : 0;
  for (int i = network->first_read[unit]; i < network->first_read[unit + 1]; i++) {
    int v = network->read[i], producer = network->values[v].producer;
    bool foreign = network->units[producer].layer_count && s->target[v] >= 0;
    if (foreign && choice[unit] != choice[producer]) s->values[v] += difference;
  }
}

static void add_units(sorter *s) {
  dq_mix_costs *costs = s->costs;
  for (int u = 0; u < costs->network->unit_count; u++) {
    int inputs = foreign_inputs(costs->network, s->form->choice, u);
    if (inputs) share_difference(s, u, inputs);
    else add(&costs->unit_seconds[u * DQ_PRECISIONS + s->form->choice[u]], s->units[u]);
  }
}

static void add_conversions(sorter *s) {
  dq_mix_costs *costs = s->costs;
  const uint8_t *choice = s->form->choice;
  for (int v = 0; v < costs->network->value_count; v++) {
    int from = choice[costs->network->values[v].producer], to = s->target[v];
    if (to < 0) continue;
    add(&costs->value_seconds[(v * DQ_PRECISIONS + from) * DQ_PRECISIONS + to], s->values[v]);
    costs->per_element[from][to].sum += s->values[v];
    costs->per_element[from][to].count += costs->network->elements[v] / 16 + 1;
  }
}

static dq_status add_times(dq_mix_costs *costs, const dq_mix_form *form, double float32, dq_arena *arena,
                           dq_error *error) {
  const dq_mix_network *network = costs->network;
  sorter s = {.costs = costs,
              .form = form,
              .target = DQ_NEW_ARRAY(arena, network->value_count, int),
              .units = DQ_NEW_ARRAY(arena, network->unit_count, double),
              .values = DQ_NEW_ARRAY(arena, network->value_count, double)};
  if (!s.target || !s.units || !s.values) return dq_fail_memory(error, 0);
  for (int v = 0; v < network->value_count; v++) s.target[v] = target_of(costs, form->choice, v);
  if (!(costs->float32 > 0)) costs->float32 = float32;
  double clock = costs->float32 / float32;
  DQ_TRY(find_sources(&s, arena, error));
  for (int i = 0; i < dq_plan_step_count(form->session.plan); i++) {
    sort_step(&s, dq_plan_step(form->session.plan, i, NULL), form->steps[i] * clock);
  }
  add_units(&s);
  add_conversions(&s);
  add(&costs->other_seconds, s.other);
  return DQ_OK;
}

dq_status dq_mix_costs_add_times(dq_mix_costs *costs, const dq_mix_form *form, double float32, const dq_arena *arena,
                                 dq_error *error) {
  dq_arena *own = dq_arena_beside(arena);
  dq_status status = own ? add_times(costs, form, float32, own, error) : dq_fail_memory(error, 0);
  dq_arena_free(own);
  return status;
}

double dq_mix_conversion_seconds(const dq_mix_costs *costs, int value, int from, int to) {
  const dq_mix_mean *own = &costs->value_seconds[(value * DQ_PRECISIONS + from) * DQ_PRECISIONS + to];
  if (own->count) return mean_of(own);
  return mean_of(&costs->per_element[from][to]) * ((double)costs->network->elements[value] / 16 + 1);
}

// ---- Sums ----

// Calls `visit` for each conversion of a choice.
typedef void (*visit_conversion)(void *user, int value, int from, int to);

static void each_conversion(const dq_mix_network *network, const uint8_t *choice, visit_conversion visit, void *user) {
  for (int v = 0; v < network->value_count; v++) {
    const dq_mix_value *value = &network->values[v];
    int from = choice[value->producer];
    unsigned converted = 1u << from;
    for (int r = 0; r < value->reader_count; r++) {
      int to = choice[value->readers[r]];
      if (!(converted & 1u << to)) visit(user, v, from, to);
      converted |= 1u << to;
    }
  }
}

// Values of units in 8 bits are rounded already, whatever they become.
static bool is_rounded_already(int from) { return from == DQ_PRECISION_INT8; }

static double conversion_noise(const dq_mix_costs *costs, int value, int from, int to) {
  return is_rounded_already(from) ? 0 : costs->value_noise[value * DQ_PRECISIONS + to];
}

typedef struct totals {
  const dq_mix_costs *costs;
  dq_mix_prediction *prediction;
} totals;

static void add_conversion(void *user, int value, int from, int to) {
  totals *t = user;
  double seconds = dq_mix_conversion_seconds(t->costs, value, from, to);
  t->prediction->seconds += seconds;
  t->prediction->conversions += seconds;
  t->prediction->noise += conversion_noise(t->costs, value, from, to);
}

static dq_mix_prediction add_up(const dq_mix_costs *costs, const uint8_t *choice) {
  const dq_mix_network *network = costs->network;
  dq_mix_prediction prediction = {.seconds = mean_of(&costs->other_seconds), .noise = costs->other_noise};
  totals t = {costs, &prediction};
  for (int u = 0; u < network->unit_count; u++) {
    prediction.seconds += mean_of(&costs->unit_seconds[u * DQ_PRECISIONS + choice[u]]);
    prediction.noise += costs->unit_noise[u * DQ_PRECISIONS + choice[u]];
    prediction.bytes += network->units[u].weights * dq_precision_bytes((dq_precision)choice[u]);
  }
  each_conversion(network, choice, add_conversion, &t);
  return prediction;
}

// Steps that are measured take longer in their sum than the run, which both sums have in common.
dq_mix_prediction dq_mix_predict(const dq_mix_costs *costs, const uint8_t *choice) {
  dq_mix_prediction prediction = add_up(costs, choice);
  uint8_t float32[costs->network->unit_count];
  dq_mix_alternate(costs->network, DQ_PRECISION_FP32, DQ_PRECISION_FP32, float32);
  double sum = add_up(costs, float32).seconds;
  if (!(sum > 0)) return prediction;
  prediction.seconds *= costs->float32 / sum;
  prediction.conversions *= costs->float32 / sum;
  return prediction;
}

void dq_mix_costs_keep_alone(dq_mix_costs *costs) {
  const size_t units = (size_t)(costs->network->unit_count * DQ_PRECISIONS);
  const size_t values = (size_t)(costs->network->value_count * DQ_PRECISIONS);
  memcpy(costs->unit_alone, costs->unit_noise, units * sizeof *costs->unit_alone);
  memcpy(costs->value_alone, costs->value_noise, values * sizeof *costs->value_alone);
}

typedef struct correction {
  const dq_mix_costs *costs;
  double factor;
} correction;

static void correct(double *noise, double alone, double factor) {
  *noise = fmin(fmax(*noise * factor, alone / MOST_CORRECTION), alone * MOST_CORRECTION);
}

static void correct_conversion(void *user, int value, int from, int to) {
  const correction *c = user;
  const int at = value * DQ_PRECISIONS + to;
  if (!is_rounded_already(from)) correct(&c->costs->value_noise[at], c->costs->value_alone[at], c->factor);
}

void dq_mix_costs_correct_noise(dq_mix_costs *costs, const uint8_t *choice, double measured, double power) {
  double sum = add_up(costs, choice).noise - costs->other_noise, left = measured - costs->other_noise;
  if (!(sum > 0) || !(left > 0) || !isfinite(left)) return;
  correction c = {costs, pow(left / sum, power)};
  for (int u = 0; u < costs->network->unit_count; u++) {
    const int at = u * DQ_PRECISIONS + choice[u];
    correct(&costs->unit_noise[at], costs->unit_alone[at], c.factor);
  }
  each_conversion(costs->network, choice, correct_conversion, &c);
}

void dq_mix_costs_fit_noise(dq_mix_costs *costs, const dq_mix_observation *observed, int count) {
  enum { SWEEPS = 200, FIRST = 10 }; // FIRST: sweeps until the power is half of that at the start
  for (int sweep = 0; sweep < SWEEPS; sweep++)
    for (int i = 0; i < count; i++)
      dq_mix_costs_correct_noise(costs, observed[i].choice, observed[i].noise, 0.5 * FIRST / (FIRST + sweep));
}

// ---- The table ----

typedef struct scales {
  double time, noise; // parts of a second, and of noise
  double most;        // of a term, so that sums of all terms fit
} scales;

static dq_mix_cost cost_of(const scales *s, double seconds, double noise, int64_t bytes) {
  return (dq_mix_cost){(int64_t)fmin(round(seconds * s->time), s->most),
                       (int64_t)fmin(round(noise * s->noise), s->most), bytes};
}

static scales scales_of(const dq_mix_costs *costs) {
  const dq_mix_network *network = costs->network;
  const double terms = (double)network->unit_count + DQ_PRECISIONS * (double)network->value_count;
  double seconds = 0, noise = 0;
  for (int u = 0; u < network->unit_count; u++) {
    seconds += mean_of(&costs->unit_seconds[u * DQ_PRECISIONS + DQ_PRECISION_FP32]);
    noise += costs->unit_noise[u * DQ_PRECISIONS + DQ_PRECISION_INT8];
  }
  return (scales){.time = seconds > 0 ? DQ_MIX_TIME_PARTS / seconds : 0,
                  .noise = noise > 0 ? NOISE_PARTS / noise : 0,
                  .most = fmin((double)(INT64_MAX >> 12), (double)INT64_MAX / (2 * terms))};
}

static void fill_conversions(const dq_mix_costs *costs, const scales *s, bool timed, int v, dq_mix_value *value) {
  for (int from = 0; from < DQ_PRECISIONS; from++)
    for (int to = 0; to < DQ_PRECISIONS; to++) {
      double noise = from == to ? 0 : conversion_noise(costs, v, from, to);
      double seconds = timed ? dq_mix_conversion_seconds(costs, v, from, to) : 0;
      value->conversions[from][to] = cost_of(s, from == to ? 0 : seconds, noise, 0);
    }
}

dq_status dq_mix_costs_table(const dq_mix_costs *costs, const dq_mix_table_options *options, dq_arena *arena,
                             dq_mix_table *table, dq_error *error) {
  const dq_mix_network *network = costs->network;
  const scales s = scales_of(costs);
  dq_mix_cost *units = DQ_NEW_ARRAY(arena, network->unit_count * DQ_PRECISIONS, dq_mix_cost);
  dq_mix_value *values = DQ_NEW_ARRAY(arena, network->value_count, dq_mix_value);
  if (!units || !values) return dq_fail_memory(error, 0);
  for (int u = 0; u < network->unit_count; u++)
    for (int p = 0; p < DQ_PRECISIONS; p++) {
      int at = u * DQ_PRECISIONS + p;
      int64_t bytes = options->bytes ? network->units[u].weights * dq_precision_bytes((dq_precision)p) : 0;
      units[at] = cost_of(&s, mean_of(&costs->unit_seconds[at]), costs->unit_noise[at], bytes);
      bool left_out = options->no_float16 && p == DQ_PRECISION_FP16;
      if (left_out || !dq_mix_allows(network, u, (dq_precision)p)) units[at].time = -1;
    }
  for (int v = 0; v < network->value_count; v++) {
    values[v] = network->values[v];
    fill_conversions(costs, &s, options->conversions, v, &values[v]);
  }
  *table = (dq_mix_table){DQ_PRECISIONS, network->unit_count, network->value_count, units, values};
  return DQ_OK;
}
