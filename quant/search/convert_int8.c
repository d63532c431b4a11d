#include "quant/search/convert_int8.h"

#include <limits.h>
#include <math.h>

#include "lib/base/sizes.h"
#include "lib/measure/cost.h"
#include "lib/ops/table/product.h"
#include "quant/int8/stages.h"
#include "quant/search/float_sides.h"

typedef struct conversion {
  const dq_graph *graph;
  const dq_convert_options *options;
  const dq_context *context;
  dq_graph *answer;
  dq_graph *whole; // with all layers in 8 bits, where the answer has layers in float; else NULL
  dq_int8_report *report;
  dq_int8_report whole_report; // of all layers in 8 bits
  dq_max_drop_report *found;
  dq_error *error;
} conversion;

enum { FEWEST_JUDGES = 8 }; // by which two standard errors are passed by chance in one of 20 trials (Student's t)

// ---- The verdict ----

dq_status dq_convert_int8_judge(dq_verdict *verdict, const dq_graph *graph, const dq_graph *converted,
                                const dq_convert_options *options, const dq_context *context, dq_arena *arena,
                                dq_error *error) {
  dq_evaluator_options judged = {.graph = graph,
                                 .shapes = &options->int8->shapes,
                                 .data = options->eval,
                                 .decode = options->int8->decode,
                                 .batch = options->int8->batch};
  // The layers that stay in float for max_drop are chosen on the same pictures.
  dq_verdict_data kind = options->max_drop ? DQ_VERDICT_FITTED_PICTURES : DQ_VERDICT_OTHER_PICTURES;
  if (options->eval || !options->data)
    return dq_verdict_conclude(verdict, kind, converted, &judged, context, arena, error);
  int64_t pictures = dq_data_count(options->data);
  DQ_TRY(dq_trial_data(&judged.data, options->data, pictures, error));
  judged.pictures = dq_evaluated_pictures(pictures);
  judged.first = pictures - judged.pictures;
  dq_status status = dq_verdict_measure(verdict, converted, &judged, context, arena, error);
  dq_data_free(judged.data);
  DQ_TRY(status);
  verdict->data = DQ_VERDICT_FITTED_PICTURES;
  return DQ_OK;
}

// The verdict on layers that the caller left in float, which the network with all layers in 8 bits was tried for.
static dq_status judge_precision(conversion *c) {
  const dq_convert_options *options = c->options;
  dq_float_sides sides = {0};
  dq_picture_errors errors;
  dq_int8_report report;
  dq_arena *arena = dq_context_arena(c->context);
  dq_graph *copy = dq_graph_copy(c->graph);
  dq_status status = arena && copy ? DQ_OK : dq_fail_memory(c->error, 0);
  const dq_float_setup setup = {c->graph, options->int8, options->data, c->report, DQ_FLOAT_BOTH};
  if (status == DQ_OK) status = dq_float_sides_open(&sides, &setup, c->context, arena, c->error);
  if (status == DQ_OK)
    status = dq_float_sides_try(&sides, copy, options->int8->precision, false, &errors, NULL, &report);
  if (status == DQ_OK) status = dq_float_sides_verdict(&sides, &errors, &c->report->verdict, c->answer->arena);
  dq_float_sides_close(&sides);
  dq_graph_free(copy);
  dq_arena_free(arena);
  return status;
}

// Measures the verdict on the answer, if layers were converted, unless trials have given one and `eval` is NULL.
static dq_status judge(conversion *c) {
  if (!c->report->quantized && !c->report->halves) return DQ_OK;
  if (c->report->verdict.count && !c->options->eval) return DQ_OK;
  if (c->report->swapped.count && c->options->int8->precision && !c->options->eval) return judge_precision(c);
  return dq_convert_int8_judge(&c->report->verdict, c->graph, c->answer, c->options, c->context, c->answer->arena,
                               c->error);
}

// ---- Layers in float ----

// Whether the file is ruined is told with its own ranges, where trials had these.
static bool is_good(const conversion *c) {
  const dq_int8_report *report = c->report;
  return !dq_verdict_is_ruinous(report->as_file.count ? &report->as_file : &report->verdict) &&
         dq_verdict_holds(&c->report->verdict, &c->options->bounds);
}

// The network with the layers in float that `found` has, with ranges of all pictures.
static dq_status apply_found(conversion *c, const dq_int8_report *whole, const dq_int8_report *found) {
  const dq_max_drop_report *search = c->found;
  dq_int8_options options = *c->options->int8;
  dq_precision_map map;
  dq_arena *arena = dq_context_arena(c->context);
  if (!arena) return dq_fail_memory(c->error, 0);
  dq_status status = dq_int8_precision(found, c->graph, arena, &map, c->error);
  options.precision = &map, options.precision_found = true;
  if (status == DQ_OK)
    status = dq_int8_apply_from(c->answer, c->options->data, &options, whole, c->report, c->context, c->error);
  if (status == DQ_OK) status = dq_verdict_copy(&c->report->verdict, &search->verdict, c->answer->arena, c->error);
  if (status == DQ_OK) status = dq_verdict_copy(&c->report->as_file, &search->as_file, c->answer->arena, c->error);
  dq_arena_free(arena);
  return status;
}

// Takes what `found` describes in place of the answer so far.
static dq_status take_found(conversion *c, const dq_int8_report *found) {
  dq_graph *made = dq_graph_copy(c->graph);
  if (!made) return dq_fail_memory(c->error, 0);
  if (c->whole) dq_graph_free(c->answer);
  else c->whole = c->answer; // the arena of the report
  c->answer = made;
  return apply_found(c, &c->whole_report, found);
}

// Leaves layers in float until the bounds of `asked` hold, or where they gain what it wants.
static dq_status leave_layers(conversion *c, const dq_max_drop_options *asked) {
  dq_max_drop_options search = *asked;
  search.int8 = c->options->int8;
  search.data = c->options->data;
  search.whole = &c->whole_report;
  search.time_limit = c->options->time_limit;
  dq_int8_report trial;
  dq_graph *best = NULL;
  dq_status status = dq_max_drop_apply(&best, c->graph, &trial, c->found, &search, c->context, c->error);
  if (status == DQ_OK && c->found->left && (!asked->wanted || c->found->gained)) status = take_found(c, &trial);
  dq_graph_free(best);
  return status;
}

static bool has_bounds(const dq_convert_options *options) {
  return options->bounds.sqnr > -INFINITY || options->bounds.agreement > -INFINITY;
}

// Leaves layers in float until the bounds hold, or all that may be in float is. For bounds that the caller gave this
// may be any share of the multiply-accumulates, unless the caller limits it too (max_float_given).
static dq_status reach_bounds(conversion *c) {
  const double most = c->options->max_float;
  const dq_float_budget budgets[] = {{.nodes = INT_MAX, .macs = most, .bytes = most},
                                     {.nodes = INT_MAX, .macs = 1, .bytes = most}};
  return leave_layers(
      c, &(dq_max_drop_options){.bounds = &c->options->bounds,
                                .budgets = budgets,
                                .budget_count = has_bounds(c->options) && !c->options->max_float_given ? 2 : 1});
}

// Whether layers in float may improve the figures: much is lost on pictures enough to tell a gain from chance, and
// nothing says how good the figures must be.
static bool is_improvable(const conversion *c) {
  const dq_convert_options *options = c->options;
  const dq_verdict *verdict = &c->report->verdict;
  if (!options->data || dq_evaluated_pictures(dq_data_count(options->data)) < FEWEST_JUDGES) return false;
  if (options->all_int8 || has_bounds(options)) return false;
  return dq_verdict_is_doubtful(verdict) || dq_verdict_loses_sequences(verdict);
}

// Leaves a few cheap layers in float where these make half of the noise of the worst part, and more where much is lost
// nevertheless and these gain more. The few pictures that judge cannot tell how much is enough, so that it is all that
// the budget allows.
static dq_status improve(conversion *c) {
  const double most = c->options->max_float, few = fmin(most, 0.04);
  const dq_float_gain wanted[] = {
      {.most = {.nodes = 4, .macs = few, .bytes = few, .share = 0.1}, .gain = 3},
      {.most = {.nodes = INT_MAX, .macs = most, .bytes = most}, .gain = 1, .all = true, .sequences = true}};
  const dq_max_drop_options search = {
      .bounds = &dq_no_bounds, .wanted = wanted, .wanted_count = DQ_COUNT(wanted), .share = 0.02};
  char text[600];
  if (!is_improvable(c)) return DQ_OK;
  DQ_TRY(leave_layers(c, &search));
  if (!c->found->gained) *c->found = (dq_max_drop_report){0}; // of the answer, which stays
  else
    dq_message(c->context, DQ_NOTE, "%d layer%s in float avoid%s much of the noise (--all-int8: none). %s",
               c->found->left, c->found->left == 1 ? "" : "s", c->found->left == 1 ? "s" : "",
               dq_verdict_text(&c->report->verdict, text, sizeof text));
  return DQ_OK;
}

static void say_why(const conversion *c) {
  char text[600];
  const bool ruin = dq_verdict_is_ruinous(&c->report->verdict);
  dq_message(c->context, ruin ? DQ_WARNING : DQ_NOTE, "with all layers in 8 bits %s. %s%s",
             ruin ? "much is lost" : "the bounds do not hold", dq_verdict_text(&c->report->verdict, text, sizeof text),
             c->options->all_int8 ? "" : " Layers are looked for that should stay in float (--all-int8: none).");
}

static dq_status convert(conversion *c) {
  const dq_convert_options *options = c->options;
  DQ_TRY(dq_int8_apply(c->answer, options->data, options->int8, c->report, c->context, c->error));
  if (!c->report->verdict.count) return judge(c);
  c->whole_report = *c->report;
  if (!is_good(c)) say_why(c);
  DQ_TRY(improve(c));
  if (!is_good(c) && !options->all_int8) DQ_TRY(reach_bounds(c));
  return judge(c);
}

// The elements of a product's weight, which may be behind a node such as DequantizeLinear; 0: the weight is computed.
static int64_t weight_elements(const dq_node *node) {
  dq_product product;
  if (!dq_product_of(node, &product)) return 0;
  const dq_value *weight = node->inputs[product.at.weight];
  if (weight->producer && weight->producer->input_count) weight = weight->producer->inputs[0];
  return weight && weight->constant ? dq_tensor_count(weight->constant) : 0;
}

// What is in float, whatever the reason.
static dq_status count_float(conversion *c) {
  dq_cost cost;
  double macs = 0, weights = 0, float_macs = 0, float_weights = 0;
  dq_arena *arena = dq_context_arena(c->context);
  if (!arena) return dq_fail_memory(c->error, 0);
  dq_status status = dq_cost_count(&cost, c->answer, &c->options->int8->shapes, c->context, arena, c->error);
  for (int n = 0; status == DQ_OK && n < cost.node_count; n++) {
    const dq_cost_node *node = &cost.nodes[n];
    const double elements = (double)weight_elements(node->node);
    macs += (double)node->macs, weights += elements;
    if (!node->int8) float_macs += (double)node->macs, float_weights += elements;
  }
  if (macs > 0) c->report->float_macs = float_macs / macs;
  if (weights > 0) c->report->float_weights = float_weights / weights;
  dq_arena_free(arena);
  return status;
}

static dq_status search(conversion *c) {
  dq_max_drop_options options = *c->options->max_drop;
  options.int8 = c->options->int8;
  options.data = c->options->data;
  dq_graph_free(c->answer);
  DQ_TRY(dq_max_drop_apply(&c->answer, c->graph, c->report, c->found, &options, c->context, c->error));
  return judge(c);
}

dq_status dq_convert_int8(dq_graph **answer, const dq_graph *graph, dq_int8_report *report, dq_max_drop_report *found,
                          const dq_convert_options *options, const dq_context *context, dq_error *error) {
  *found = (dq_max_drop_report){0};
  conversion c = {.graph = graph,
                  .options = options,
                  .context = context,
                  .answer = dq_graph_copy(graph),
                  .report = report,
                  .found = found,
                  .error = error};
  dq_status status = c.answer ? (options->max_drop ? search : convert)(&c) : dq_fail_memory(error, 0);
  if (status == DQ_OK && report->quantized) status = count_float(&c);
  dq_graph_free(c.whole);
  if (status != DQ_OK) dq_graph_free(c.answer);
  *answer = status == DQ_OK ? c.answer : NULL;
  return status;
}

// Whether the caller left it to the command how much may be lost, and enough pictures tell how much is.
static bool expects_enough(const dq_verdict *verdict, const dq_convert_options *options) {
  if (options->all_int8 || options->max_drop || options->int8->precision || !options->data || has_bounds(options))
    return false;
  return (options->eval ? verdict->pictures : dq_evaluated_pictures(dq_data_count(options->data))) >= FEWEST_JUDGES;
}

dq_status dq_convert_int8_check(const dq_verdict *verdict, const dq_convert_options *options, const char *path,
                                dq_error *error) {
  char text[600];
  DQ_TRY(dq_verdict_check(verdict, &options->bounds, path, error));
  if (!expects_enough(verdict, options) || !dq_verdict_is_doubtful(verdict)) return DQ_OK;
  return dq_fail(error, DQ_CONDITION,
                 "%s: below 20 dB with at most %.3g %% of the multiply-accumulates and weights in float (%s), the best "
                 "found is written. %s",
                 path, 100 * options->max_float, options->max_float_option,
                 dq_verdict_text(verdict, text, sizeof text));
}
