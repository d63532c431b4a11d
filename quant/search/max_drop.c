#include "quant/search/max_drop.h"

#include <math.h>

#include "lib/base/clock.h"
#include "quant/search/agreement.h"
#include "quant/search/float_order.h"

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
  const dq_float_order *order;
  dq_layer_precision *layers; // in the order's
  double started;
  dq_error *error;
} float_search;

int64_t dq_max_drop_pictures(dq_data *data) {
  enum { MOST = 64 };
  int64_t pictures = dq_data_count(data);
  return pictures < MOST ? pictures : MOST;
}

// ---- Trials ----

static bool is_within(const float_search *search, double drop) { return drop <= search->options->drop + ROUNDING; }

// Whether a trial is a better answer than the one so far: it holds the bound with less in float, or loses less while
// none holds it.
static bool is_better(const float_search *search, int left, double drop) {
  if (!search->answer) return true;
  if (is_within(search, drop) != search->report->held) return is_within(search, drop);
  return search->report->held ? left < search->report->left : drop < search->report->drop;
}

static void store_best(float_search *search, dq_graph *graph, const dq_int8_report *report, int left, double drop,
                       const dq_result *after) {
  if (search->answer != search->first) dq_graph_free(search->answer);
  search->answer = graph;
  *search->answer_report = *report;
  search->report->left = left;
  search->report->drop = drop;
  search->report->held = is_within(search, drop);
  search->report->after = *after;
}

// Quantizes a graph with the first `left` layers of the order in float; *drop: what that loses.
static dq_status measure(float_search *search, dq_graph *graph, int left, const dq_rounding_method *rounding,
                         dq_int8_report *report, dq_result *after, double *drop) {
  dq_precision_map map = {search->layers, left};
  dq_int8_options options = *search->options->int8;
  dq_data *data = search->options->data;
  options.rounding = rounding;
  if (search->first == graph) {
    DQ_TRY(dq_int8_apply(graph, data, &options, report, &search->quiet, search->error));
  } else {
    options.precision = &map;
    DQ_TRY(dq_int8_apply_from(graph, data, &options, &search->first_report, report, &search->quiet, search->error));
  }
  if (search->options->eval)
    DQ_TRY(dq_accuracy_run(after, graph, search->options->eval, &search->options->accuracy, &search->quiet,
                           search->error));
  else
    DQ_TRY(dq_agreement_run(after, search->graph, graph, data, dq_max_drop_pictures(data), &options.shapes,
                            &search->quiet, search->error));
  *drop = dq_accuracy_drop(search->options->before, after);
  search->report->trials++;
  dq_message(search->context, DQ_NOTE, "--max-drop: %d layers in float: %s %.4g, %.4g points lost%s", left,
             after->figures[0].name, after->figures[0].value, *drop,
             is_within(search, *drop) ? ", within the bound" : "");
  return DQ_OK;
}

// `takes`: it may be the answer.
static dq_status try_left(float_search *search, int left, const dq_rounding_method *rounding, bool takes,
                          double *drop) {
  dq_int8_report report;
  dq_result after;
  dq_graph *copy = dq_graph_copy(search->graph);
  if (!copy) return dq_fail_memory(search->error, 0);
  dq_status status = measure(search, copy, left, rounding, &report, &after, drop);
  if (status == DQ_OK && takes && is_better(search, left, *drop))
    store_best(search, copy, &report, left, *drop, &after);
  else dq_graph_free(copy);
  return status;
}

static bool out_of_time(float_search *search) {
  double limit = search->options->time_limit;
  search->report->stopped |= limit > 0 && dq_seconds() - search->started > limit;
  return search->report->stopped;
}

// ---- The search ----

// How many steps hold: 1, 2, 4, ... until they do, then by bisection. *steps: 0 when not even all do.
static dq_status find_steps(float_search *search, bool takes, int *steps) {
  int low = 0, high = 1; // high: to be tried, or known to hold
  double drop = INFINITY;
  for (*steps = 0; !*steps && !out_of_time(search);) {
    DQ_TRY(try_left(search, search->order->ends[high - 1], NULL, takes, &drop));
    if (is_within(search, drop)) *steps = high;
    else if (high == search->order->steps) return DQ_OK;
    else low = high, high = 2 * high < search->order->steps ? 2 * high : search->order->steps;
  }
  while (*steps - low > 1 && !out_of_time(search)) {
    int middle = low + (*steps - low) / 2;
    DQ_TRY(try_left(search, search->order->ends[middle - 1], NULL, takes, &drop));
    *(is_within(search, drop) ? steps : &low) = middle;
  }
  return DQ_OK;
}

// Rounding by data, which the trials did without, on what they found, lengthened until that holds.
static dq_status round_answer(float_search *search, int steps) {
  for (int more = 1; !out_of_time(search); more *= 2) {
    double drop;
    DQ_TRY(try_left(search, search->order->ends[steps - 1], search->options->int8->rounding, true, &drop));
    if (is_within(search, drop) || steps == search->order->steps) break;
    steps = steps + more < search->order->steps ? steps + more : search->order->steps;
  }
  return DQ_OK;
}

static dq_status order_layers(float_search *search, dq_float_order *order, dq_arena *arena) {
  dq_sensitivity found;
  dq_int8_options whole = *search->options->int8;
  whole.start = &search->first_report.table;
  dq_sensitivity_options options = {.int8 = &whole, .ranking = true, .pictures = RANKING_PICTURES};
  DQ_TRY(dq_sensitivity_measure(&found, search->graph, search->options->data, &options, search->context, arena,
                                search->error));
  DQ_TRY(dq_float_order_find(order, &found, arena, search->error));
  search->layers = DQ_NEW_ARRAY(arena, found.node_count, dq_layer_precision);
  if (!search->layers) return dq_fail_memory(search->error, 0);
  for (int n = 0; n < found.node_count; n++) {
    const dq_sensitivity_node *node = &found.nodes[order->nodes[n]];
    search->layers[n] = (dq_layer_precision){node->label, node->product ? DQ_PRECISION_FP16 : DQ_PRECISION_FP32};
  }
  search->report->layers = found.node_count;
  search->order = order;
  return DQ_OK;
}

static dq_status run_search(float_search *search, dq_arena *arena) {
  const dq_rounding_method *rounding = search->options->int8->rounding;
  dq_result after;
  double drop;
  DQ_TRY(measure(search, search->first, 0, rounding, &search->first_report, &after, &drop));
  store_best(search, search->first, &search->first_report, 0, drop, &after);
  if (search->report->held || out_of_time(search) || !search->first_report.quantized) return DQ_OK;
  dq_float_order order;
  int steps;
  DQ_TRY(order_layers(search, &order, arena));
  DQ_TRY(find_steps(search, dq_rounds_to_nearest(rounding), &steps));
  return dq_rounds_to_nearest(rounding) ? DQ_OK : round_answer(search, steps ? steps : order.steps);
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
                         .error = error};
  search.quiet.message = NULL;
  dq_arena *arena = dq_context_arena(context);
  dq_status status = search.first && arena ? run_search(&search, arena) : dq_fail_memory(error, 0);
  if (search.answer != search.first) dq_graph_free(search.first);
  if (status != DQ_OK) dq_graph_free(search.answer);
  *answer = status == DQ_OK ? search.answer : NULL;
  dq_arena_free(arena);
  return status;
}
