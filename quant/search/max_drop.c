#include "quant/search/max_drop.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "quant/int8/stages.h"
#include "quant/search/agreement.h"
#include "quant/search/float_front.h"
#include "quant/search/float_sides.h"

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
  dq_float_sides sides;                      // with bounds of a verdict: what judges trials
  double whole_noise[DQ_EVALUATED_PICTURES]; // by picture, of all layers in 8 bits; where a gain is wanted
  double whole_sqnr, whole_sequences;        // the lowest ones, likewise
  const dq_float_gain *wanted;               // that is looked for now; NULL: none
  dq_sensitivity found;
  dq_float_ladder ladder;     // that is climbed
  int best_rung;              // of the answer; 0: all layers in 8 bits
  dq_layer_precision *layers; // those in float of the rung that is tried
  double started;
  dq_arena *arena;
  dq_error *error;
} float_search;

// What one trial came to.
typedef struct outcome {
  int rung;           // of the ladder, from 1; 0: none
  int left;           // layers in float
  double macs, bytes; // of these, as shares of those of all layers, 0 to 1
  double loss;        // percentage points; with bounds of a verdict minus its SQNR in dB
  bool within;        // the bounds
  bool gains;         // what must be gained
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
  return trial->macs < search->report->macs ||
         (!(trial->macs > search->report->macs) && trial->left < search->report->left);
}

static void store_best(float_search *search, dq_graph *graph, const dq_int8_report *report, const outcome *trial) {
  if (search->answer != search->first) dq_graph_free(search->answer);
  search->answer = graph;
  *search->answer_report = *report;
  search->best_rung = trial->rung;
  search->report->macs = trial->macs, search->report->bytes = trial->bytes;
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
  options.rounding = rounding, options.unjudged = true;
  if (left) options.precision = &map, options.precision_found = true;
  if (search->first == graph)
    return dq_int8_apply(graph, search->options->data, &options, report, &search->quiet, search->error);
  return dq_int8_apply_from(graph, search->options->data, &options, &search->first_report, report, &search->quiet,
                            search->error);
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
  int64_t pictures = search->sides.sides[0].evaluator.what.pictures;
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

// What a trial within the bounds reaches, by their names: they say nothing of what else is lost, such as texts.
static const char *reached_text(const float_search *search, char *text, size_t size) {
  const dq_verdict_bounds *bounds = search->options->bounds;
  const bool sqnr = bounds->sqnr > -INFINITY, agreement = bounds->agreement > -INFINITY;
  if (search->wanted) return ", which gain enough";
  if (!sqnr && !agreement) return ", no part is below 20 dB";
  int length = sqnr ? snprintf(text, size, ", %s %g", bounds->sqnr_option, bounds->sqnr) : 0;
  if (agreement)
    length += snprintf(text + length, size - (size_t)length, "%s %s %g", sqnr ? " and" : ",", bounds->agreement_option,
                       bounds->agreement);
  snprintf(text + length, size - (size_t)length, sqnr && agreement ? " hold" : " holds");
  return text;
}

// Quantizes the graph and compares the outputs with those of the float network.
static dq_status measure_verdict(float_search *search, dq_graph *graph, dq_int8_report *report, outcome *trial) {
  const dq_precision_map map = {search->layers, trial->left};
  double noise[DQ_EVALUATED_PICTURES];
  dq_picture_errors errors;
  char text[600], reached[200];
  DQ_TRY(dq_float_sides_try(&search->sides, graph, &map, true, &errors, search->wanted ? noise : NULL, report));
  DQ_TRY(dq_float_sides_verdict(&search->sides, &errors, &trial->verdict, search->graph->arena));
  DQ_TRY(dq_float_sides_record(&search->sides, trial->rung, &errors));
  trial->loss = -dq_verdict_sqnr(&trial->verdict);
  trial->gains = gains_enough(search, trial, noise);
  // The bounds do not hold with all layers in 8 bits: the search is made because of that.
  const dq_verdict_bounds *bounds = search->options->bounds;
  trial->within = search->wanted ? trial->gains && !dq_verdict_is_ruinous(&trial->verdict)
                                 : trial->left && dq_verdict_is_enough(&trial->verdict, bounds);
  dq_message(search->context, search->wanted ? DQ_DETAIL : DQ_NOTE, "%d layer%s in float%s: %s", trial->left,
             trial->left == 1 ? "" : "s", trial->within ? reached_text(search, reached, sizeof reached) : "",
             dq_verdict_text(&trial->verdict, text, sizeof text));
  return DQ_OK;
}

// Leaves the layers of a rung, from 1, in float32; 0: none.
static void leave(float_search *search, int rung, outcome *trial) {
  const dq_float_rung none = {0}, *at = rung ? &search->ladder.rungs[rung - 1] : &none;
  for (int n = 0; n < at->count; n++)
    search->layers[n] = (dq_layer_precision){search->found.nodes[at->nodes[n]].label, DQ_PRECISION_FP32};
  *trial = (outcome){.rung = rung, .left = at->count, .macs = at->macs, .bytes = at->bytes};
}

// Quantizes a graph with the layers of a rung in float, and measures it.
static dq_status measure(float_search *search, dq_graph *graph, int rung, const dq_rounding_method *rounding,
                         dq_int8_report *report, outcome *trial) {
  leave(search, rung, trial);
  search->report->trials++;
  if (search->options->bounds) return measure_verdict(search, graph, report, trial);
  DQ_TRY(quantize(search, graph, trial->left, rounding, report));
  return measure_drop(search, graph, trial);
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
    search->ladder.rungs[s] = dq_float_rung_of(&search->found, order.nodes, order.ends[s]);
  return DQ_OK;
}

static dq_status climb(float_search *search, const dq_float_budget *most, bool takes, int *rung) {
  *rung = 0;
  search->sides.tried_count = 0; // of another order
  DQ_TRY(open_order(search, most));
  return search->ladder.count ? find_rung(search, takes, most != NULL, rung) : DQ_OK;
}

// The rung of the order with which the bounds hold; 0: there is none. Within a budget the last rung tells whether any
// does.
static dq_status climb_order(float_search *search, bool takes, int *rung) {
  const dq_max_drop_options *options = search->options;
  if (!options->budget_count) return climb(search, NULL, takes, rung);
  for (int b = 0; b < options->budget_count && (!b || (!*rung && !out_of_time(search))); b++) {
    const dq_float_budget *most = &options->budgets[b];
    if (b)
      dq_message(search->context, DQ_NOTE,
                 "no layers with at most %.3g %% of the multiply-accumulates reach the bounds in float, more are tried "
                 "with at most %.3g %% of the weights",
                 100 * options->budgets[b - 1].macs, 100 * most->bytes);
    DQ_TRY(climb(search, most, takes, rung));
  }
  return DQ_OK;
}

// Looks for a choice of the front that holds with fewer multiply-accumulates in float than *rung, a rung of the order
// that holds. The ladder becomes the front, *rung the rung found on it; where there is no front, both stay.
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

static dq_float_setup setup_of(const float_search *search, dq_float_judges judges) {
  const dq_max_drop_options *options = search->options;
  return (dq_float_setup){search->graph, options->int8, options->data, options->whole, judges};
}

// The verdict of the answer on pictures that had no part in choosing it.
static dq_status judge_on_others(float_search *search) {
  const dq_precision_map map = {search->layers, search->report->left};
  dq_float_sides others;
  dq_picture_errors errors;
  dq_int8_report report;
  outcome answer;
  dq_graph *copy = dq_graph_copy(search->graph);
  if (!copy) return dq_fail_memory(search->error, 0);
  leave(search, search->best_rung, &answer);
  const dq_float_setup setup = setup_of(search, DQ_FLOAT_SWAPPED);
  dq_status status = dq_float_sides_open(&others, &setup, &search->quiet, search->arena, search->error);
  if (status == DQ_OK) status = dq_float_sides_try(&others, copy, &map, false, &errors, NULL, &report);
  search->report->as_file = search->report->verdict;
  if (status == DQ_OK)
    status = dq_float_sides_verdict(&others, &errors, &search->report->verdict, search->graph->arena);
  dq_float_sides_close(&others);
  dq_graph_free(copy);
  return status;
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
  return judge_on_others(search);
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

static dq_status open_sides(float_search *search) {
  const dq_max_drop_options *options = search->options;
  if (!options->bounds) return DQ_OK;
  search->first_report = *options->whole;
  const dq_float_setup setup = setup_of(search, search->wanted ? DQ_FLOAT_AS_FILE : DQ_FLOAT_BOTH);
  return dq_float_sides_open(&search->sides, &setup, &search->quiet, search->arena, search->error);
}

// The verdict of the rung that holds the bounds, without the part that each picture had in choosing it: where that does
// not hold them, more is left in float.
static dq_status cross_fit(float_search *search) {
  for (int more = 1, least = 0; search->report->held && (!least || !out_of_time(search)); more *= 2) {
    dq_picture_errors errors;
    bool within;
    DQ_TRY(dq_float_sides_cross_fit(&search->sides, least, search->best_rung, search->options->bounds, &errors));
    DQ_TRY(dq_float_sides_verdict(&search->sides, &errors, &search->report->verdict, search->graph->arena));
    if (dq_verdict_is_enough(&search->report->verdict, search->options->bounds)) break;
    const int rung = search->best_rung + more;
    search->report->held = false;
    least = search->best_rung + 1; // the choice among those before came to one that is not enough
    if (search->best_rung == search->ladder.count) break;
    DQ_TRY(try_rung(search, rung < search->ladder.count ? rung : search->ladder.count, NULL, true, &within));
  }
  return DQ_OK;
}

static dq_status run_search(float_search *search) {
  const dq_rounding_method *rounding = rounds_answer(search) ? search->options->int8->rounding : NULL;
  outcome trial;
  DQ_TRY(open_sides(search));
  DQ_TRY(measure(search, search->first, 0, rounding, &search->first_report, &trial));
  store_best(search, search->first, &search->first_report, &trial);
  if (search->report->held || out_of_time(search) || !search->first_report.quantized) return DQ_OK;
  bool rounds = rounds_answer(search);
  int rung;
  DQ_TRY(measure_layers(search));
  if (search->wanted) return find_gains(search);
  DQ_TRY(climb_order(search, !rounds, &rung));
  if (!search->ladder.count) return DQ_OK;
  if (rung && search->options->bounds) return cross_fit(search);
  if (rung) DQ_TRY(climb_front(search, !rounds, &rung));
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
                         .wanted = options->wanted,
                         .started = dq_seconds(),
                         .arena = dq_context_arena(context),
                         .error = error};
  search.quiet.message = NULL;
  dq_status status = search.first && search.arena ? run_search(&search) : dq_fail_memory(error, 0);
  dq_float_sides_close(&search.sides);
  if (search.answer != search.first) dq_graph_free(search.first);
  if (status != DQ_OK) dq_graph_free(search.answer);
  *answer = status == DQ_OK ? search.answer : NULL;
  dq_arena_free(search.arena);
  return status;
}
