#include "quant/max_drop.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "quant/sensitivity.h"

enum { RANKING_PICTURES = 32 };
static const double ROUNDING = 1e-9; // of percentages

// Layers by what leaving them in float is expected to bring, the best first.
typedef struct ranking {
  dq_layer_precision *layers;
  int64_t *macs; // of the first n
} ranking;

typedef struct search {
  const dq_graph *graph;
  const dq_max_drop_options *options;
  const dq_context *context;
  dq_context quiet;         // says nothing: the same would be said at each trial
  dq_max_drop_report *report;
  dq_graph *first;          // of the first trial, which owns the table
  dq_calibration_table table;
  double started;
  dq_error *error;
} search;

double dq_accuracy_drop(const dq_result *before, const dq_result *after) {
  return (before->figures[0].value - after->figures[0].value) * before->points;
}

// ---- Trials ----

static dq_status measure(search *it, dq_graph *graph, const ranking *by, int left, const dq_calibration_table *table,
                         dq_int8_report *report, double *drop, dq_error *error) {
  dq_precision_map map = {by->layers, left};
  dq_int8_options options = *it->options->int8;
  dq_result after;
  if (left) options.precision = &map;
  options.table = table;
  DQ_TRY(dq_int8_apply(graph, it->options->data, &options, report, &it->quiet, error));
  DQ_TRY(dq_accuracy_run(&after, graph, it->options->eval, &it->options->accuracy, &it->quiet, error));
  *drop = dq_accuracy_drop(it->options->before, &after);
  it->report->trials++;
  dq_message(it->context, DQ_NOTE, "--max-drop: %d layers in float: %s %.4g, %.4g points lost%s", left,
             after.figures[0].name, after.figures[0].value, *drop,
             *drop <= it->options->drop + ROUNDING ? ", within the bound" : "");
  return DQ_OK;
}

// With the first `left` layers of the ranking in float. `quick`: with the ranges of the first trial, where
// these are all it needs.
static dq_status try_left(search *it, const ranking *by, int left, bool quick, double *drop) {
  dq_int8_report report;
  dq_error reason = {0};
  dq_status status = DQ_BAD_INPUT;
  for (int attempt = quick ? 0 : 1; attempt < 2 && status == DQ_BAD_INPUT; attempt++) {
    dq_graph *copy = dq_graph_copy(it->graph);
    if (!copy) return dq_fail_memory(it->error, 0);
    status = measure(it, copy, by, left, attempt ? NULL : &it->table, &report, drop, &reason);
    dq_graph_free(copy);
  }
  if (status != DQ_OK && it->error) *it->error = reason;
  return status;
}

static bool out_of_time(search *it) {
  double limit = it->options->time_limit;
  it->report->stopped |= limit > 0 && dq_seconds() - it->started > limit;
  return it->report->stopped;
}

// ---- Rankings ----

typedef struct candidate {
  const dq_sensitivity_layer *layer;
  double score;
} candidate;

// What a layer costs the outputs alone: their noise, or that for each multiply-accumulate that would leave
// integers.
static double noise_of(const dq_sensitivity_layer *layer) {
  const dq_comparison *outputs = &layer->both.outputs;
  return outputs->signal > 0 ? outputs->noise / outputs->signal : outputs->noise;
}
static double noise_per_mac(const dq_sensitivity_layer *layer) {
  return layer->macs > 0 ? noise_of(layer) / (double)layer->macs : noise_of(layer);
}

// Products first; equal ones in the order of the network.
static int compare_candidates(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->layer->has_weights != y->layer->has_weights) return x->layer->has_weights ? -1 : 1;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return x->layer < y->layer ? -1 : x->layer > y->layer;
}

static dq_status rank_layers(search *it, ranking *to, const dq_sensitivity *found,
                             double (*score)(const dq_sensitivity_layer *layer), dq_arena *arena) {
  candidate *candidates = DQ_NEW_ARRAY(arena, found->count, candidate);
  to->layers = DQ_NEW_ARRAY(arena, found->count, dq_layer_precision);
  to->macs = DQ_NEW_ARRAY(arena, found->count + 1, int64_t);
  if (!candidates || !to->layers || !to->macs) return dq_fail_memory(it->error, 0);
  int count = 0;
  for (int i = 0; i < found->count; i++)
    if (!found->layers[i].is_input) candidates[count++] = (candidate){&found->layers[i], score(&found->layers[i])};
  qsort(candidates, (size_t)count, sizeof *candidates, compare_candidates);
  for (int i = 0; i < count; i++) {
    const dq_sensitivity_layer *layer = candidates[i].layer;
    to->layers[i] = (dq_layer_precision){layer->label, layer->has_weights ? DQ_PRECISION_FP16 : DQ_PRECISION_FP32};
    to->macs[i + 1] = to->macs[i] + layer->macs;
  }
  it->report->layers = count;
  return DQ_OK;
}

// ---- The search ----

// The fewest that hold in quick trials, or all.
static dq_status bisect(search *it, const ranking *by, int *left) {
  int low = 0, high = it->report->layers;
  while (high - low > 1 && !out_of_time(it)) {
    int middle = low + (high - low) / 2;
    double drop;
    DQ_TRY(try_left(it, by, middle, true, &drop));
    *(drop <= it->options->drop + ROUNDING ? &high : &low) = middle;
  }
  *left = high;
  return DQ_OK;
}

// Lengthens until it holds as it will be written.
static dq_status verify(search *it, const ranking *by, int *left) {
  for (int step = 1;; step *= 2) {
    DQ_TRY(try_left(it, by, *left, false, &it->report->drop));
    it->report->held = it->report->drop <= it->options->drop + ROUNDING;
    if (it->report->held || *left == it->report->layers || out_of_time(it)) return DQ_OK;
    *left = *left + step < it->report->layers ? *left + step : it->report->layers;
  }
}

// The shorter answer of the two rankings, by multiply-accumulates and then by layers.
static dq_status find_answer(search *it, dq_precision_map *map, dq_arena *arena) {
  static double (*const scores[])(const dq_sensitivity_layer *) = {noise_of, noise_per_mac};
  dq_sensitivity found;
  dq_sensitivity_options options = {.int8 = it->options->int8, .both_only = true, .pictures = RANKING_PICTURES};
  DQ_TRY(dq_sensitivity_measure(&found, it->graph, it->options->data, &options, it->context, arena, it->error));
  ranking rankings[2];
  int left[2], best = 0;
  for (int r = 0; r < 2; r++) {
    DQ_TRY(rank_layers(it, &rankings[r], &found, scores[r], arena));
    DQ_TRY(bisect(it, &rankings[r], &left[r]));
  }
  int64_t macs[] = {rankings[0].macs[left[0]], rankings[1].macs[left[1]]};
  if (macs[1] < macs[0] || (macs[1] == macs[0] && left[1] < left[0])) best = 1;
  DQ_TRY(verify(it, &rankings[best], &left[best]));
  *map = (dq_precision_map){rankings[best].layers, left[best]};
  it->report->left = left[best];
  return DQ_OK;
}

static dq_status run_search(search *it, dq_precision_map *map, dq_arena *arena) {
  static const ranking none = {0};
  dq_int8_report report;
  DQ_TRY(measure(it, it->first, &none, 0, NULL, &report, &it->report->drop, it->error));
  it->table = report.table;
  it->report->held = it->report->drop <= it->options->drop + ROUNDING;
  if (it->report->held || out_of_time(it) || !report.quantized) return DQ_OK;
  return find_answer(it, map, arena);
}

dq_status dq_max_drop_search(dq_precision_map *map, dq_max_drop_report *report, const dq_graph *graph,
                             const dq_max_drop_options *options, const dq_context *context, dq_arena *arena,
                             dq_error *error) {
  *map = (dq_precision_map){0};
  *report = (dq_max_drop_report){0};
  search it = {.graph = graph, .options = options, .context = context, .quiet = *context, .report = report,
               .first = dq_graph_copy(graph), .started = dq_seconds(), .error = error};
  it.quiet.message = NULL;
  dq_status status = it.first ? run_search(&it, map, arena) : dq_fail_memory(error, 0);
  dq_graph_free(it.first);
  return status;
}
