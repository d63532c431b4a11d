#include "quant/search/max_drop.h"

#include <math.h>
#include <string.h>

#include "lib/base/clock.h"
#include "quant/int8/stages.h"
#include "quant/search/agreement.h"

enum { RANKING_PICTURES = 2 };
static const double ROUNDING = 1e-9;   // of percentages
static const double LEAST_SHARE = 0.1; // of the noise, for layers that are ranked with a budget

typedef struct float_search {
  const dq_graph *graph;
  const dq_max_drop_options *options;
  const dq_context *context;
  dq_context quiet;           // says nothing: the same would be said at each trial
  dq_max_drop_report *report; // of the answer so far
  dq_graph *first, *answer;   // all layers in 8 bits; the answer so far, perhaps the same
  dq_int8_report first_report, *answer_report;
  dq_data *trial_data;                       // with bounds of a verdict: the data in the order of trials
  dq_evaluator evaluator;                    // likewise
  double whole_noise[DQ_EVALUATED_PICTURES]; // by picture, of all layers in 8 bits; likewise
  const dq_float_order *order;
  dq_layer_precision *layers; // in the order's
  double started;
  dq_arena *arena;
  dq_error *error;
} float_search;

// What one trial came to.
typedef struct outcome {
  int left;    // layers in float
  double loss; // percentage points; with bounds of a verdict minus its SQNR in dB
  bool within; // the bounds
  dq_result after;
  dq_verdict verdict;
} outcome;

// ---- Trials ----

// Whether a trial is a better answer than the one so far: it holds the bound with less in float, or loses less while
// none holds it.
static bool is_better(const float_search *search, const outcome *trial) {
  if (!search->answer) return true;
  if (trial->within != search->report->held) return trial->within;
  return trial->within ? trial->left < search->report->left : trial->loss < search->report->drop;
}

static void store_best(float_search *search, dq_graph *graph, const dq_int8_report *report, const outcome *trial) {
  if (search->answer != search->first) dq_graph_free(search->answer);
  search->answer = graph;
  *search->answer_report = *report;
  search->report->left = trial->left;
  search->report->drop = trial->loss;
  search->report->held = trial->within;
  search->report->after = trial->after;
  search->report->verdict = trial->verdict;
}

static dq_status quantize(float_search *search, dq_graph *graph, int left, const dq_rounding_method *rounding,
                          dq_int8_report *report) {
  dq_precision_map map = {search->layers, left};
  dq_int8_options options = *search->options->int8;
  dq_int8_report whole;
  const dq_int8_report *first = &search->first_report;
  dq_data *data = search->options->bounds ? search->trial_data : search->options->data;
  options.rounding = rounding;
  if (left) options.precision = &map, options.precision_found = true;
  if (search->first == graph && !search->options->bounds)
    return dq_int8_apply(graph, data, &options, report, &search->quiet, search->error);
  if (search->options->bounds) options.pictures = dq_trial_pictures(dq_data_count(data), INT64_MAX);
  if (search->first == graph) { // the decisions of the whole network, and ranges of fewer pictures
    whole = *search->options->whole;
    whole.table.count = 0;
    first = &whole;
  }
  return dq_int8_apply_from(graph, data, &options, first, report, &search->quiet, search->error);
}

// Compares figures of the quantized graph with those before.
static dq_status measure_drop(float_search *search, const dq_graph *graph, outcome *trial) {
  const dq_max_drop_options *options = search->options;
  const dq_evaluator_options judged = {.graph = search->graph,
                                       .shapes = &options->int8->shapes,
                                       .data = options->data,
                                       .pictures = dq_verdict_pictures(options->data),
                                       .decode = options->int8->decode,
                                       .batch = options->int8->batch};
  if (options->eval)
    DQ_TRY(dq_accuracy_run(&trial->after, graph, options->eval, &options->accuracy, &search->quiet, search->error));
  else DQ_TRY(dq_agreement_run(&trial->after, graph, &judged, &search->quiet, search->error));
  trial->loss = dq_accuracy_drop(options->before, &trial->after);
  trial->within = trial->loss <= options->drop + ROUNDING;
  dq_message(search->context, DQ_NOTE, "--max-drop: %d layers in float: %s %.4g, %.4g points lost%s", trial->left,
             trial->after.figures[0].name, trial->after.figures[0].value, trial->loss,
             trial->within ? ", within the bound" : "");
  return DQ_OK;
}

// With a budget: whether the noise is clearly less than that of all layers in 8 bits, as figures of a few pictures are
// chance.
static bool is_sure(float_search *search, const outcome *trial, const double *noise) {
  int64_t pictures = search->evaluator.what.pictures;
  if (!trial->left) memcpy(search->whole_noise, noise, (size_t)pictures * sizeof *noise);
  return !search->options->budget || dq_noise_fell(search->whole_noise, noise, pictures, DQ_TWO_STANDARD_ERRORS);
}

static dq_status measure_verdict(float_search *search, const dq_graph *graph, outcome *trial) {
  double noise[DQ_EVALUATED_PICTURES];
  dq_score score = {.noise = noise};
  int64_t pictures = search->evaluator.what.pictures;
  char text[600];
  DQ_TRY(dq_evaluate(&search->evaluator, graph, &score, search->error));
  DQ_TRY(dq_verdict_of(&trial->verdict, &search->evaluator, pictures, search->graph->arena, search->error));
  trial->verdict.data =
      dq_data_count(search->options->data) > pictures ? DQ_VERDICT_OTHER_PICTURES : DQ_VERDICT_FITTED_PICTURES;
  trial->loss = -dq_verdict_sqnr(&trial->verdict);
  trial->within = is_sure(search, trial, noise) && !dq_verdict_is_ruinous(&trial->verdict) &&
                  dq_verdict_holds(&trial->verdict, search->options->bounds);
  dq_message(search->context, search->options->budget ? DQ_DETAIL : DQ_NOTE, "%d layers in float%s: %s", trial->left,
             trial->within ? ", within the bounds" : "", dq_verdict_text(&trial->verdict, text, sizeof text));
  return DQ_OK;
}

// Quantizes a graph with the first `left` layers of the order in float, and measures it.
static dq_status measure(float_search *search, dq_graph *graph, int left, const dq_rounding_method *rounding,
                         dq_int8_report *report, outcome *trial) {
  *trial = (outcome){.left = left};
  DQ_TRY(quantize(search, graph, left, rounding, report));
  search->report->trials++;
  return search->options->bounds ? measure_verdict(search, graph, trial) : measure_drop(search, graph, trial);
}

// `takes`: it may be the answer. *within: the bounds.
static dq_status try_left(float_search *search, int left, const dq_rounding_method *rounding, bool takes,
                          bool *within) {
  dq_int8_report report;
  outcome trial;
  dq_graph *copy = dq_graph_copy(search->graph);
  if (!copy) return dq_fail_memory(search->error, 0);
  dq_status status = measure(search, copy, left, rounding, &report, &trial);
  if (status == DQ_OK && takes && is_better(search, &trial)) store_best(search, copy, &report, &trial);
  else dq_graph_free(copy);
  *within = status == DQ_OK && trial.within;
  return status;
}

static bool out_of_time(float_search *search) {
  double limit = search->options->time_limit;
  search->report->stopped |=
      limit > 0 && dq_processes_any(dq_processes_of(search->context), dq_seconds() - search->started > limit);
  return search->report->stopped;
}

// ---- The search ----

// How many steps hold: 1, 2, 4, ... until they do, then by bisection. *steps: 0 when not even all do.
static dq_status find_steps(float_search *search, bool takes, int *steps) {
  int low = 0, high = 1; // high: to be tried, or known to hold
  bool within;
  for (*steps = 0; !*steps && !out_of_time(search);) {
    DQ_TRY(try_left(search, search->order->ends[high - 1], NULL, takes, &within));
    if (within) *steps = high;
    else if (high == search->order->steps) return DQ_OK;
    else low = high, high = 2 * high < search->order->steps ? 2 * high : search->order->steps;
  }
  while (*steps - low > 1 && !out_of_time(search)) {
    int middle = low + (*steps - low) / 2;
    DQ_TRY(try_left(search, search->order->ends[middle - 1], NULL, takes, &within));
    *(within ? steps : &low) = middle;
  }
  return DQ_OK;
}

// Rounding by data, which the trials did without, on what they found, lengthened until that holds.
static dq_status round_answer(float_search *search, int steps) {
  for (int more = 1; !out_of_time(search); more *= 2) {
    bool within;
    DQ_TRY(try_left(search, search->order->ends[steps - 1], search->options->int8->rounding, true, &within));
    if (within || steps == search->order->steps) break;
    steps = steps + more < search->order->steps ? steps + more : search->order->steps;
  }
  return DQ_OK;
}

static dq_status order_layers(float_search *search, dq_float_order *order) {
  dq_arena *arena = search->arena;
  dq_sensitivity found;
  dq_int8_options whole = *search->options->int8;
  whole.start = &search->first_report.table;
  dq_sensitivity_options options = {.int8 = &whole, .ranking = true, .pictures = RANKING_PICTURES};
  if (search->options->budget) options.share = LEAST_SHARE;
  DQ_TRY(dq_sensitivity_measure(&found, search->graph, search->options->data, &options, search->context, arena,
                                search->error));
  DQ_TRY(dq_float_order_find(order, &found, search->options->budget, arena, search->error));
  search->layers = DQ_NEW_ARRAY(arena, found.node_count, dq_layer_precision);
  if (!search->layers) return dq_fail_memory(search->error, 0);
  for (int n = 0, count = order->steps ? order->ends[order->steps - 1] : 0; n < count; n++) {
    const dq_sensitivity_node *node = &found.nodes[order->nodes[n]];
    search->layers[n] = (dq_layer_precision){node->label, node->product ? DQ_PRECISION_FP16 : DQ_PRECISION_FP32};
  }
  search->report->layers = found.node_count;
  search->order = order;
  return DQ_OK;
}

// Rounding on data shows in accuracy; with bounds of a verdict the caller does it once, on the answer.
static bool rounds_answer(const float_search *search) {
  return !search->options->bounds && !dq_rounds_to_nearest(search->options->int8->rounding);
}

static dq_status open_evaluator(float_search *search) {
  const dq_max_drop_options *options = search->options;
  int64_t pictures = dq_data_count(options->data), evaluated = dq_evaluated_pictures(pictures);
  if (!options->bounds) return DQ_OK;
  DQ_TRY(dq_trial_data(&search->trial_data, options->data, pictures, search->error));
  const dq_evaluator_options judged = {.graph = search->graph,
                                       .shapes = &options->int8->shapes,
                                       .data = search->trial_data,
                                       .first = pictures - evaluated,
                                       .pictures = evaluated,
                                       .decode = options->int8->decode,
                                       .batch = options->int8->batch};
  return dq_evaluator_open(&search->evaluator, &judged, search->context, search->arena, search->error);
}

static dq_status run_search(float_search *search) {
  const dq_rounding_method *rounding = rounds_answer(search) ? search->options->int8->rounding : NULL;
  outcome trial;
  DQ_TRY(open_evaluator(search));
  DQ_TRY(measure(search, search->first, 0, rounding, &search->first_report, &trial));
  store_best(search, search->first, &search->first_report, &trial);
  if (search->report->held || out_of_time(search) || !search->first_report.quantized) return DQ_OK;
  dq_float_order order;
  int steps;
  DQ_TRY(order_layers(search, &order));
  if (!order.steps) return DQ_OK;
  DQ_TRY(find_steps(search, !rounds_answer(search), &steps));
  return rounds_answer(search) ? round_answer(search, steps ? steps : order.steps) : DQ_OK;
}

dq_status dq_max_drop_apply(dq_graph **answer, const dq_graph *graph, dq_int8_report *int8, dq_max_drop_report *report,
                            const dq_max_drop_options *options, const dq_context *context, dq_error *error) {
  *report = (dq_max_drop_report){0};
  float_search search = {.graph = graph,
                         .options = options,
                         .context = context,
                         .quiet = *context,
                         .report = report,
                         .first = dq_graph_copy(graph),
                         .answer_report = int8,
                         .started = dq_seconds(),
                         .arena = dq_context_arena(context),
                         .error = error};
  search.quiet.message = NULL;
  dq_status status = search.first && search.arena ? run_search(&search) : dq_fail_memory(error, 0);
  dq_evaluator_close(&search.evaluator);
  dq_data_free(search.trial_data);
  if (search.answer != search.first) dq_graph_free(search.first);
  if (status != DQ_OK) dq_graph_free(search.answer);
  *answer = status == DQ_OK ? search.answer : NULL;
  dq_arena_free(search.arena);
  return status;
}
