#include "quant/search/max_drop.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "quant/int8/stages.h"
#include "quant/search/agreement.h"
#include "quant/search/float_front.h"

enum { RANKING_PICTURES = 2 };
static const double ROUNDING = 1e-9; // of percentages

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
  double whole_sqnr, whole_sequences;        // the lowest ones, likewise
  bool as_file;                              // trials have the ranges of the file: those of all pictures
  const dq_float_gain *wanted;               // that is looked for now; NULL: none
  dq_sensitivity found;
  dq_float_ladder ladder;     // that is climbed
  int best_rung;              // of the answer; 0: all layers in 8 bits
  double best_macs;           // share of the answer that is in float
  dq_layer_precision *layers; // those in float of the rung that is tried
  double started;
  dq_arena *arena;
  dq_error *error;
} float_search;

// What one trial came to.
typedef struct outcome {
  int rung;    // of the ladder, from 1; 0: none
  int left;    // layers in float
  double macs; // of these, as a share of those of all layers, 0 to 1
  double loss; // percentage points; with bounds of a verdict minus its SQNR in dB
  bool within; // the bounds
  bool gains;  // what must be gained
  dq_result after;
  dq_verdict verdict;
} outcome;

// ---- Trials ----

// Whether a trial is a better answer than the one so far: it holds the bound with less in float, or loses less while
// none holds it. One that gains what it must comes before one that does not.
static bool is_better(const float_search *search, const outcome *trial) {
  if (!search->answer) return true;
  if (search->wanted && search->wanted->all) return trial->gains; // over the answer so far
  if (trial->within != search->report->held) return trial->within;
  if (trial->gains != search->report->gained) return trial->gains;
  if (!trial->within) return trial->loss < search->report->drop;
  return trial->macs < search->best_macs || (!(trial->macs > search->best_macs) && trial->left < search->report->left);
}

static void store_best(float_search *search, dq_graph *graph, const dq_int8_report *report, const outcome *trial) {
  if (search->answer != search->first) dq_graph_free(search->answer);
  search->answer = graph;
  *search->answer_report = *report;
  search->best_rung = trial->rung;
  search->best_macs = trial->macs;
  search->report->left = trial->left;
  search->report->drop = trial->loss;
  search->report->held = trial->within;
  search->report->gained = trial->gains;
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
  if (search->options->bounds && !search->as_file) options.pictures = dq_trial_pictures(dq_data_count(data), INT64_MAX);
  if (search->first == graph || (search->wanted && !search->as_file)) { // the network that trials judged
    whole = *search->options->whole;
    if (!search->as_file) whole.table = whole.judged;
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
  char share[40] = "";
  if (trial->left) snprintf(share, sizeof share, ", %.3g %% of the MACs", 100 * trial->macs);
  dq_message(search->context, DQ_NOTE, "--max-drop: %d layers in float%s: %s %.4g, %.4g points lost%s", trial->left,
             share, trial->after.figures[0].name, trial->after.figures[0].value, trial->loss,
             trial->within ? ", within the bound" : "");
  return DQ_OK;
}

// The verdict with what was gained so far.
static const dq_verdict *verdict_so_far(const float_search *search) {
  return search->report->gained ? &search->report->verdict : &search->options->whole->verdict;
}

static bool keeps_more_sequences(const float_search *search, const outcome *trial) {
  return search->wanted->sequences && dq_verdict_loses_sequences(verdict_so_far(search)) &&
         -trial->loss >= search->whole_sqnr && dq_verdict_sequences(&trial->verdict) > search->whole_sequences;
}

// Whether the noise is so much and clearly less than that of all layers in 8 bits, as figures of a few pictures are
// chance. Without anything wanted every trial gains enough.
static bool gains_enough(float_search *search, const outcome *trial, const double *noise) {
  int64_t pictures = search->evaluator.what.pictures;
  if (!search->wanted) return true;
  if (!trial->left) {
    memcpy(search->whole_noise, noise, (size_t)pictures * sizeof *noise);
    search->whole_sqnr = -trial->loss;
    search->whole_sequences = dq_verdict_sequences(&trial->verdict);
    return false;
  }
  return keeps_more_sequences(search, trial) ||
         (-trial->loss >= search->whole_sqnr + search->report->gain + search->wanted->gain &&
          dq_noise_fell(search->whole_noise, noise, pictures, DQ_TWO_STANDARD_ERRORS));
}

static dq_status measure_verdict(float_search *search, const dq_graph *graph, outcome *trial) {
  double noise[DQ_EVALUATED_PICTURES];
  dq_score score = {.noise = noise};
  int64_t pictures = search->evaluator.what.pictures;
  char text[600];
  DQ_TRY(dq_evaluate(&search->evaluator, graph, &score, search->error));
  DQ_TRY(dq_verdict_of(&trial->verdict, &search->evaluator, pictures, search->graph->arena, search->error));
  const bool others = !search->as_file && dq_data_count(search->options->data) > pictures;
  trial->verdict.data = others ? DQ_VERDICT_OTHER_PICTURES : DQ_VERDICT_FITTED_PICTURES;
  trial->loss = -dq_verdict_sqnr(&trial->verdict);
  trial->gains = gains_enough(search, trial, noise);
  trial->within = trial->gains && !dq_verdict_is_ruinous(&trial->verdict) &&
                  dq_verdict_holds(&trial->verdict, search->options->bounds);
  dq_message(search->context, search->wanted ? DQ_DETAIL : DQ_NOTE, "%d layers in float%s: %s", trial->left,
             trial->within ? ", within the bounds" : "", dq_verdict_text(&trial->verdict, text, sizeof text));
  return DQ_OK;
}

// Leaves the layers of a rung, from 1, in float32; 0: none.
static void leave(float_search *search, int rung, outcome *trial) {
  const dq_float_rung none = {0}, *at = rung ? &search->ladder.rungs[rung - 1] : &none;
  for (int n = 0; n < at->count; n++)
    search->layers[n] = (dq_layer_precision){search->found.nodes[at->nodes[n]].label, DQ_PRECISION_FP32};
  *trial = (outcome){.rung = rung, .left = at->count, .macs = at->macs};
}

// Quantizes a graph with the layers of a rung in float, and measures it.
static dq_status measure(float_search *search, dq_graph *graph, int rung, const dq_rounding_method *rounding,
                         dq_int8_report *report, outcome *trial) {
  leave(search, rung, trial);
  DQ_TRY(quantize(search, graph, trial->left, rounding, report));
  // For the trials behind this one: a calibration takes as long as all the rest of a trial. With bounds of a verdict
  // the caller makes the answer anew; else a trial is the answer, which has the ranges that its precisions alone give.
  if (rung && search->options->bounds && (search->as_file || !search->wanted))
    DQ_TRY(dq_calibration_table_add(&search->first_report.table, &report->table, search->arena, search->error));
  search->report->trials++;
  return search->options->bounds ? measure_verdict(search, graph, trial) : measure_drop(search, graph, trial);
}

// `takes`: it may be the answer. *within: the bounds.
static dq_status try_rung(float_search *search, int rung, const dq_rounding_method *rounding, bool takes,
                          bool *within) {
  dq_int8_report report;
  outcome trial;
  dq_graph *copy = dq_graph_copy(search->graph);
  if (!copy) return dq_fail_memory(search->error, 0);
  dq_status status = measure(search, copy, rung, rounding, &report, &trial);
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

// The middle between two rungs, until none is left there, or the shares of multiply-accumulates differ by less than
// this. *high, which holds, comes down to the lowest rung found that does.
static dq_status bisect(float_search *search, bool takes, int low, int *high, double least) {
  double below = low ? search->ladder.rungs[low - 1].macs : 0;
  bool within;
  while (*high - low > 1 && search->ladder.rungs[*high - 1].macs - below >= least && !out_of_time(search)) {
    int middle = low + (*high - low) / 2;
    DQ_TRY(try_rung(search, middle, NULL, takes, &within));
    if (within) *high = middle;
    else low = middle, below = search->ladder.rungs[low - 1].macs;
  }
  return DQ_OK;
}

// 1, 2, 4, ... rungs until one holds, or with `last_first` the last one, then bisection. *rung: 0 when not even the
// last one does.
static dq_status find_rung(float_search *search, bool takes, bool last_first, int *rung) {
  int low = 0, high = last_first ? search->ladder.count : 1;
  bool within;
  for (*rung = 0; !*rung && !out_of_time(search);) {
    DQ_TRY(try_rung(search, high, NULL, takes, &within));
    if (within) *rung = high;
    else if (high == search->ladder.count) return DQ_OK;
    else low = high, high = 2 * high < search->ladder.count ? 2 * high : search->ladder.count;
  }
  return *rung ? bisect(search, takes, low, rung, 0) : DQ_OK;
}

// Rounding by data, which the trials did without, on what they found, with more in float until that holds.
static dq_status round_answer(float_search *search, int rung) {
  for (int more = 1; !out_of_time(search); more *= 2) {
    bool within;
    DQ_TRY(try_rung(search, rung, search->options->int8->rounding, true, &within));
    if (within || rung == search->ladder.count) break;
    rung = rung + more < search->ladder.count ? rung + more : search->ladder.count;
  }
  return DQ_OK;
}

static dq_status measure_layers(float_search *search) {
  dq_int8_options whole = *search->options->int8;
  whole.start = &search->first_report.table;
  dq_sensitivity_options options = {
      .int8 = &whole, .ranking = true, .share = search->options->share, .pictures = RANKING_PICTURES};
  DQ_TRY(dq_sensitivity_measure(&search->found, search->graph, search->options->data, &options, search->context,
                                search->arena, search->error));
  search->layers = DQ_NEW_ARRAY(search->arena, search->found.node_count, dq_layer_precision);
  if (!search->layers) return dq_fail_memory(search->error, 0);
  search->report->layers = search->found.node_count;
  return DQ_OK;
}

// The steps of the order as rungs.
static dq_status open_order(float_search *search, const dq_float_budget *most) {
  dq_float_order order;
  DQ_TRY(dq_float_order_find(&order, &search->found, most, search->arena, search->error));
  search->ladder = (dq_float_ladder){DQ_NEW_ARRAY(search->arena, order.steps, dq_float_rung), order.steps};
  if (!search->ladder.rungs) return dq_fail_memory(search->error, 0);
  for (int s = 0; s < order.steps; s++)
    search->ladder.rungs[s] =
        (dq_float_rung){order.nodes, order.ends[s], dq_float_share(&search->found, order.nodes, order.ends[s])};
  return DQ_OK;
}

// The rung of the order with which the bounds hold; 0: there is none. Of two orders the one within a budget comes
// first, whose last rung tells whether it will do.
static dq_status climb_order(float_search *search, bool takes, int *rung) {
  const dq_float_budget *first = search->options->first;
  *rung = 0;
  DQ_TRY(open_order(search, first));
  if (search->ladder.count) DQ_TRY(find_rung(search, takes, first != NULL, rung));
  if (*rung || !first || out_of_time(search)) return DQ_OK;
  dq_message(search->context, DQ_NOTE,
             "no layers with at most %.0f %% of the multiply-accumulates reach the bounds in float, more are tried",
             100 * first->macs);
  DQ_TRY(open_order(search, NULL));
  return search->ladder.count ? find_rung(search, takes, false, rung) : DQ_OK;
}

// On the front, below a rung of the order that holds: *rung becomes one of the front where a choice of that holds too.
static dq_status climb_front(float_search *search, bool takes, int *rung) {
  static const double CLOSE = 0.01; // of all multiply-accumulates: rungs closer than this are not parted
  const dq_float_ladder order = search->ladder;
  const dq_float_rung *found = &order.rungs[*rung - 1];
  dq_float_ladder *front = &search->ladder;
  dq_status status = dq_float_front_find(front, &search->found, search->arena, search->error);
  int high = 0;
  if (status == DQ_OK) {
    while (front->rungs[high].macs < found->macs) high++;
    front->rungs[high++] = *found;
    *rung = high;
    return bisect(search, takes, 0, rung, CLOSE);
  }
  *front = order;
  return status == DQ_UNSUPPORTED ? DQ_OK : status;
}

// ---- Gains ----

// The verdict of the answer without ranges of the pictures that judge.
static dq_status judge_without_judges(float_search *search) {
  dq_int8_report report;
  outcome trial;
  dq_graph *copy = dq_graph_copy(search->graph);
  if (!copy) return dq_fail_memory(search->error, 0);
  search->as_file = false;
  dq_status status = measure(search, copy, search->best_rung, NULL, &report, &trial);
  search->as_file = true;
  dq_graph_free(copy);
  if (status != DQ_OK) return status;
  search->report->as_file = search->report->verdict;
  search->report->verdict = trial.verdict;
  return DQ_OK;
}

// An answer that gains what is wanted is judged once more.
static dq_status find_gain(float_search *search) {
  dq_max_drop_report *report = search->report;
  const dq_graph *before = search->answer;
  int rung;
  bool within;
  DQ_TRY(open_order(search, &search->wanted->most));
  if (!search->ladder.count) return DQ_OK;
  DQ_TRY(search->wanted->all ? try_rung(search, search->ladder.count, NULL, true, &within)
                             : find_rung(search, true, false, &rung));
  if (search->answer == before) return DQ_OK;
  report->gained = report->held || (report->gained && search->wanted->all);
  if (!report->gained) return DQ_OK;
  report->gain = -report->drop - search->whole_sqnr;
  return judge_without_judges(search);
}

static dq_status find_gains(float_search *search) {
  for (int w = 0; w < search->options->wanted_count && !out_of_time(search); w++) {
    const dq_verdict *verdict = verdict_so_far(search);
    search->wanted = &search->options->wanted[w];
    if (dq_verdict_is_doubtful(verdict) || (search->wanted->sequences && dq_verdict_loses_sequences(verdict)))
      DQ_TRY(find_gain(search));
  }
  return DQ_OK;
}

// ---- All of it ----

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
  bool rounds = rounds_answer(search);
  int rung;
  DQ_TRY(measure_layers(search));
  if (search->wanted) return find_gains(search);
  DQ_TRY(climb_order(search, !rounds, &rung));
  if (!search->ladder.count) return DQ_OK;
  if (rung && !search->options->bounds) DQ_TRY(climb_front(search, !rounds, &rung));
  return rounds ? round_answer(search, rung ? rung : search->ladder.count) : DQ_OK;
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
                         .as_file = options->wanted != NULL,
                         .wanted = options->wanted,
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
