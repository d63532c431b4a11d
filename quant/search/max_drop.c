#include "quant/search/max_drop.h"

#include <math.h>

#include "lib/base/clock.h"
#include "quant/search/agreement.h"
#include "quant/search/float_order.h"

enum { RANKING_PICTURES = 2 };
static const double ROUNDING = 1e-9; // of percentages

typedef struct search {
  const dq_graph *graph;
  const dq_max_drop_options *options;
  const dq_context *context;
  dq_context quiet;           // says nothing: the same would be said at each trial
  dq_max_drop_report *report; // of the answer so far
  dq_graph *first, *answer;   // all layers in 8 bits; the answer so far, perhaps the same
  dq_int8_report first_report, *answer_report;
  const dq_float_order *order;
  dq_layer_precision *layers; // in the order's
  double started;
  dq_error *error;
} search;

double dq_accuracy_drop(const dq_result *before, const dq_result *after) {
  return (before->figures[0].value - after->figures[0].value) * before->points;
}

int64_t dq_max_drop_pictures(dq_data *data) {
  enum { MOST = 64 };
  int64_t pictures = dq_data_count(data);
  return pictures < MOST ? pictures : MOST;
}

// ---- Trials ----

static bool is_within(const search *it, double drop) { return drop <= it->options->drop + ROUNDING; }

// Whether a trial is a better answer than the one so far: it holds the bound with less in float, or loses less while
// none holds it.
static bool is_better(const search *it, int left, double drop) {
  if (!it->answer) return true;
  if (is_within(it, drop) != it->report->held) return is_within(it, drop);
  return it->report->held ? left < it->report->left : drop < it->report->drop;
}

static void take_answer(search *it, dq_graph *graph, const dq_int8_report *report, int left, double drop,
                        const dq_result *after) {
  if (it->answer != it->first) dq_graph_free(it->answer);
  it->answer = graph;
  *it->answer_report = *report;
  it->report->left = left;
  it->report->drop = drop;
  it->report->held = is_within(it, drop);
  it->report->after = *after;
}

// Quantizes a graph with the first `left` layers of the order in float; *drop: what that loses.
static dq_status measure(search *it, dq_graph *graph, int left, dq_rounding_rule rounding, dq_int8_report *report,
                         dq_result *after, double *drop) {
  dq_precision_map map = {it->layers, left};
  dq_int8_options options = *it->options->int8;
  dq_data *data = it->options->data;
  options.rounding = rounding;
  if (it->first == graph) {
    DQ_TRY(dq_int8_apply(graph, data, &options, report, &it->quiet, it->error));
  } else {
    options.precision = &map;
    DQ_TRY(dq_int8_apply_from(graph, data, &options, &it->first_report, report, &it->quiet, it->error));
  }
  if (it->options->eval)
    DQ_TRY(dq_accuracy_run(after, graph, it->options->eval, &it->options->accuracy, &it->quiet, it->error));
  else
    DQ_TRY(dq_agreement_run(after, it->graph, graph, data, dq_max_drop_pictures(data), &options.shapes, &it->quiet,
                            it->error));
  *drop = dq_accuracy_drop(it->options->before, after);
  it->report->trials++;
  dq_message(it->context, DQ_NOTE, "--max-drop: %d layers in float: %s %.4g, %.4g points lost%s", left,
             after->figures[0].name, after->figures[0].value, *drop, is_within(it, *drop) ? ", within the bound" : "");
  return DQ_OK;
}

// `takes`: it may be the answer.
static dq_status try_left(search *it, int left, dq_rounding_rule rounding, bool takes, double *drop) {
  dq_int8_report report;
  dq_result after;
  dq_graph *copy = dq_graph_copy(it->graph);
  if (!copy) return dq_fail_memory(it->error, 0);
  dq_status status = measure(it, copy, left, rounding, &report, &after, drop);
  if (status == DQ_OK && takes && is_better(it, left, *drop)) take_answer(it, copy, &report, left, *drop, &after);
  else dq_graph_free(copy);
  return status;
}

static bool out_of_time(search *it) {
  double limit = it->options->time_limit;
  it->report->stopped |= limit > 0 && dq_seconds() - it->started > limit;
  return it->report->stopped;
}

// ---- The search ----

// How many steps hold: 1, 2, 4, ... until they do, then by bisection. *steps: 0 when not even all do.
static dq_status find_steps(search *it, bool takes, int *steps) {
  int low = 0, high = 1; // high: to be tried, or known to hold
  double drop = INFINITY;
  for (*steps = 0; !*steps && !out_of_time(it);) {
    DQ_TRY(try_left(it, it->order->ends[high - 1], DQ_ROUND_NEAREST, takes, &drop));
    if (is_within(it, drop)) *steps = high;
    else if (high == it->order->steps) return DQ_OK;
    else low = high, high = 2 * high < it->order->steps ? 2 * high : it->order->steps;
  }
  while (*steps - low > 1 && !out_of_time(it)) {
    int middle = low + (*steps - low) / 2;
    DQ_TRY(try_left(it, it->order->ends[middle - 1], DQ_ROUND_NEAREST, takes, &drop));
    *(is_within(it, drop) ? steps : &low) = middle;
  }
  return DQ_OK;
}

// Adaptive rounding, which the trials did without, on what they found, lengthened until that holds.
static dq_status round_answer(search *it, int steps) {
  for (int more = 1; !out_of_time(it); more *= 2) {
    double drop;
    DQ_TRY(try_left(it, it->order->ends[steps - 1], DQ_ROUND_ADAPTIVE, true, &drop));
    if (is_within(it, drop) || steps == it->order->steps) break;
    steps = steps + more < it->order->steps ? steps + more : it->order->steps;
  }
  return DQ_OK;
}

static dq_status order_layers(search *it, dq_float_order *order, dq_arena *arena) {
  dq_sensitivity found;
  dq_int8_options whole = *it->options->int8;
  whole.start = &it->first_report.table;
  dq_sensitivity_options options = {.int8 = &whole, .ranking = true, .pictures = RANKING_PICTURES};
  DQ_TRY(dq_sensitivity_measure(&found, it->graph, it->options->data, &options, it->context, arena, it->error));
  DQ_TRY(dq_float_order_find(order, &found, arena, it->error));
  it->layers = DQ_NEW_ARRAY(arena, found.node_count, dq_layer_precision);
  if (!it->layers) return dq_fail_memory(it->error, 0);
  for (int n = 0; n < found.node_count; n++) {
    const dq_sensitivity_node *node = &found.nodes[order->nodes[n]];
    it->layers[n] = (dq_layer_precision){node->label, node->product ? DQ_PRECISION_FP16 : DQ_PRECISION_FP32};
  }
  it->report->layers = found.node_count;
  it->order = order;
  return DQ_OK;
}

static dq_status run_search(search *it, dq_arena *arena) {
  dq_rounding_rule rounding = it->options->int8->rounding;
  dq_result after;
  double drop;
  DQ_TRY(measure(it, it->first, 0, rounding, &it->first_report, &after, &drop));
  take_answer(it, it->first, &it->first_report, 0, drop, &after);
  if (it->report->held || out_of_time(it) || !it->first_report.quantized) return DQ_OK;
  dq_float_order order;
  int steps;
  DQ_TRY(order_layers(it, &order, arena));
  DQ_TRY(find_steps(it, rounding == DQ_ROUND_NEAREST, &steps));
  return rounding == DQ_ROUND_NEAREST ? DQ_OK : round_answer(it, steps ? steps : order.steps);
}

dq_status dq_max_drop_apply(dq_graph **answer, const dq_graph *graph, dq_int8_report *int8, dq_max_drop_report *report,
                            const dq_max_drop_options *options, const dq_context *context, dq_error *error) {
  *report = (dq_max_drop_report){0};
  search it = {.graph = graph,
               .options = options,
               .context = context,
               .quiet = *context,
               .report = report,
               .first = dq_graph_copy(graph),
               .answer_report = int8,
               .started = dq_seconds(),
               .error = error};
  it.quiet.message = NULL;
  dq_arena *arena = dq_context_arena(context);
  dq_status status = it.first && arena ? run_search(&it, arena) : dq_fail_memory(error, 0);
  if (it.answer != it.first) dq_graph_free(it.first);
  if (status != DQ_OK) dq_graph_free(it.answer);
  *answer = status == DQ_OK ? it.answer : NULL;
  dq_arena_free(arena);
  return status;
}
