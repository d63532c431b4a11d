#include "quant/search/convert_int8.h"

#include <math.h>

#include "quant/int8/stages.h"

typedef struct conversion {
  const dq_graph *graph;
  const dq_convert_options *options;
  const dq_context *context;
  dq_graph *answer;
  dq_int8_report *report;
  dq_max_drop_report *found;
  dq_error *error;
} conversion;

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

// Of what was made, unless trials have judged it.
static dq_status judge(conversion *c) {
  if (!c->report->quantized && !c->report->halves) return DQ_OK;
  if (c->report->verdict.count && !c->options->eval) return DQ_OK;
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
  dq_status status = dq_int8_precision(found, arena, &map, c->error);
  options.precision = &map, options.precision_found = true;
  if (status == DQ_OK)
    status = dq_int8_apply_from(c->answer, c->options->data, &options, whole, c->report, c->context, c->error);
  if (status == DQ_OK) status = dq_verdict_copy(&c->report->verdict, &search->verdict, c->answer->arena, c->error);
  if (status == DQ_OK) status = dq_verdict_copy(&c->report->as_file, &search->as_file, c->answer->arena, c->error);
  dq_arena_free(arena);
  return status;
}

// Leaves layers in float in place of c->answer, which has all of them in 8 bits, until the bounds hold. With a budget
// (NULL: none) the answer stays as it is where they cannot be held, or the SQNR does not rise by `gain` dB.
static dq_status leave_layers(conversion *c, const dq_verdict_bounds *bounds, const dq_float_budget *budget,
                              double gain) {
  const dq_max_drop_options search = {.int8 = c->options->int8,
                                      .data = c->options->data,
                                      .bounds = bounds,
                                      .whole = c->report,
                                      .budget = budget,
                                      .gain = gain,
                                      .time_limit = c->options->time_limit};
  dq_int8_report trial;
  dq_graph *best = NULL, *made = dq_graph_copy(c->graph), *whole = c->answer;
  const dq_int8_report all = *c->report; // in the arena of `whole`
  if (!made) return dq_fail_memory(c->error, 0);
  dq_status status = dq_max_drop_apply(&best, c->graph, &trial, c->found, &search, c->context, c->error);
  if (status == DQ_OK && c->found->left && (c->found->held || !budget)) {
    c->answer = made, made = whole;
    status = apply_found(c, &all, &trial);
  }
  dq_graph_free(best);
  dq_graph_free(made);
  return status;
}

// Whether the figures are poor, of pictures enough to tell a gain from chance, and nothing says how good they must be.
static bool is_improvable(const conversion *c) {
  enum { FEWEST_PICTURES = 8 }; // by which two standard errors are passed by chance in one of 20 trials (Student's t)
  const dq_convert_options *options = c->options;
  if (c->report->verdict.pictures < FEWEST_PICTURES) return false;
  bool bounded = options->bounds.sqnr > -INFINITY || options->bounds.agreement > -INFINITY;
  return dq_verdict_is_doubtful(&c->report->verdict) && !options->all_int8 && !bounded;
}

// Leaves a few cheap layers in float where these make half of the noise of the worst part.
static dq_status leave_few(conversion *c) {
  static const dq_float_budget FEW = {.nodes = 4, .macs = 0.04};
  static const double HALF_OF_THE_NOISE = 3; // dB
  char text[600];
  const dq_verdict_bounds none = {.sqnr = -INFINITY, .agreement = -INFINITY};
  DQ_TRY(leave_layers(c, &none, &FEW, HALF_OF_THE_NOISE));
  if (c->found->held)
    dq_message(c->context, DQ_NOTE, "%d layer%s in float avoid%s half of the noise or more (--all-int8: none). %s",
               c->found->left, c->found->left == 1 ? "" : "s", c->found->left == 1 ? "s" : "",
               dq_verdict_text(&c->report->verdict, text, sizeof text));
  return DQ_OK;
}

static dq_status convert(conversion *c) {
  const dq_convert_options *options = c->options;
  char text[600];
  DQ_TRY(dq_int8_apply(c->answer, options->data, options->int8, c->report, c->context, c->error));
  bool judged = c->report->verdict.count > 0;
  if (judged && is_improvable(c)) DQ_TRY(leave_few(c));
  if (!judged || is_good(c)) return judge(c);
  dq_message(c->context, DQ_WARNING, "with all layers in 8 bits much is lost. %s%s",
             dq_verdict_text(&c->report->verdict, text, sizeof text),
             options->all_int8 ? "" : " Layers are looked for that should stay in float (--all-int8: none).");
  if (!options->all_int8) DQ_TRY(leave_layers(c, &options->bounds, NULL, 0));
  return judge(c);
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
  conversion c = {graph, options, context, dq_graph_copy(graph), report, found, error};
  dq_status status = c.answer ? (options->max_drop ? search : convert)(&c) : dq_fail_memory(error, 0);
  if (status != DQ_OK) dq_graph_free(c.answer);
  *answer = status == DQ_OK ? c.answer : NULL;
  return status;
}
