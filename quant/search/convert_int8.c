#include "quant/search/convert_int8.h"

#include "lib/verdict/noise.h"
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

static dq_status measure_verdict(conversion *it, dq_data *data, int64_t first, int64_t pictures, dq_verdict_data kind) {
  const dq_int8_options *int8 = it->options->int8;
  const dq_evaluator_options judged = {.graph = it->graph,
                                       .shapes = &int8->shapes,
                                       .data = data,
                                       .first = first,
                                       .pictures = pictures,
                                       .decode = int8->decode,
                                       .batch = int8->batch};
  DQ_TRY(dq_verdict_measure(&it->report->verdict, it->answer, &judged, it->context, it->answer->arena, it->error));
  it->report->verdict.data = kind;
  return DQ_OK;
}

// Noise may be no input that the network can be run on: then there is no verdict, which is no failure.
static dq_status judge_on_noise(conversion *it) {
  dq_data *noise = NULL;
  DQ_TRY(dq_noise_open(&noise, it->graph, it->context->seed, it->context, it->error));
  dq_status status = measure_verdict(it, noise, 0, dq_data_count(noise), DQ_VERDICT_NOISE);
  dq_data_free(noise);
  if (status != DQ_BAD_INPUT && status != DQ_UNSUPPORTED && status != DQ_USAGE) return status;
  dq_message(it->context, DQ_NOTE, "the outputs were not compared on noise: %s", it->error->message);
  it->report->verdict.count = 0;
  return DQ_OK;
}

// Of what was made, unless trials have judged it.
static dq_status judge(conversion *it) {
  const dq_convert_options *options = it->options;
  if (!it->report->quantized && !it->report->halves) return DQ_OK;
  if (options->eval)
    return measure_verdict(it, options->eval, 0, dq_max_drop_pictures(options->eval), DQ_VERDICT_OTHER_PICTURES);
  if (it->report->verdict.count) return DQ_OK;
  if (options->data) {
    int64_t pictures = dq_data_count(options->data), judged = dq_evaluated_pictures(pictures);
    return measure_verdict(it, options->data, pictures - judged, judged, DQ_VERDICT_FITTED_PICTURES);
  }
  return judge_on_noise(it);
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
  options.precision = &map;
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
