#include "quant/search/convert_int8.h"

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
  judged.data = options->data;
  judged.pictures = dq_evaluated_pictures(pictures);
  judged.first = pictures - judged.pictures;
  DQ_TRY(dq_verdict_measure(verdict, converted, &judged, context, arena, error));
  verdict->data = DQ_VERDICT_FITTED_PICTURES;
  return DQ_OK;
}

// Of what was made, unless trials have judged it.
static dq_status judge(conversion *it) {
  if (!it->report->quantized && !it->report->halves) return DQ_OK;
  if (it->report->verdict.count && !it->options->eval) return DQ_OK;
  return dq_convert_int8_judge(&it->report->verdict, it->graph, it->answer, it->options, it->context, it->answer->arena,
                               it->error);
}

// ---- Layers in float ----

static bool is_good(const conversion *it) {
  return !dq_verdict_is_ruinous(&it->report->verdict) && dq_verdict_holds(&it->report->verdict, &it->options->bounds);
}

// The network with the layers in float that `found` has, with ranges of all pictures.
static dq_status apply_found(conversion *it, const dq_int8_report *whole, const dq_int8_report *found,
                             const dq_verdict *verdict) {
  dq_int8_options options = *it->options->int8;
  dq_precision_map map;
  dq_arena *arena = dq_context_arena(it->context);
  if (!arena) return dq_fail_memory(it->error, 0);
  dq_status status = dq_int8_precision(found, arena, &map, it->error);
  options.precision = &map, options.precision_found = true;
  if (status == DQ_OK)
    status = dq_int8_apply_from(it->answer, it->options->data, &options, whole, it->report, it->context, it->error);
  if (status == DQ_OK) status = dq_verdict_copy(&it->report->verdict, verdict, it->answer->arena, it->error);
  dq_arena_free(arena);
  return status;
}

// Leaves layers in float in place of it->answer, which has all of them in 8 bits.
static dq_status leave_layers(conversion *it) {
  const dq_max_drop_options search = {.int8 = it->options->int8,
                                      .data = it->options->data,
                                      .bounds = &it->options->bounds,
                                      .whole = it->report,
                                      .time_limit = it->options->time_limit};
  dq_int8_report trial;
  dq_graph *best = NULL, *made = dq_graph_copy(it->graph), *whole = it->answer;
  const dq_int8_report all = *it->report; // in the arena of `whole`
  if (!made) return dq_fail_memory(it->error, 0);
  dq_status status = dq_max_drop_apply(&best, it->graph, &trial, it->found, &search, it->context, it->error);
  if (status == DQ_OK && it->found->left) {
    it->answer = made, made = whole;
    status = apply_found(it, &all, &trial, &it->found->verdict);
  }
  dq_graph_free(best);
  dq_graph_free(made);
  return status;
}

static dq_status convert(conversion *it) {
  const dq_convert_options *options = it->options;
  char text[600];
  DQ_TRY(dq_int8_apply(it->answer, options->data, options->int8, it->report, it->context, it->error));
  bool judged = it->report->verdict.count > 0;
  if (!judged || is_good(it)) return judge(it);
  dq_message(it->context, DQ_WARNING, "with all layers in 8 bits much is lost. %s%s",
             dq_verdict_text(&it->report->verdict, text, sizeof text),
             options->all_int8 ? "" : " Layers are looked for that should stay in float (--all-int8: none).");
  if (!options->all_int8) DQ_TRY(leave_layers(it));
  return judge(it);
}

static dq_status search(conversion *it) {
  dq_max_drop_options options = *it->options->max_drop;
  options.int8 = it->options->int8;
  options.data = it->options->data;
  dq_graph_free(it->answer);
  DQ_TRY(dq_max_drop_apply(&it->answer, it->graph, it->report, it->found, &options, it->context, it->error));
  return judge(it);
}

dq_status dq_convert_int8(dq_graph **answer, const dq_graph *graph, dq_int8_report *report, dq_max_drop_report *found,
                          const dq_convert_options *options, const dq_context *context, dq_error *error) {
  *found = (dq_max_drop_report){0};
  conversion it = {graph, options, context, dq_graph_copy(graph), report, found, error};
  dq_status status = it.answer ? (options->max_drop ? search : convert)(&it) : dq_fail_memory(error, 0);
  if (status != DQ_OK) dq_graph_free(it.answer);
  *answer = status == DQ_OK ? it.answer : NULL;
  return status;
}
