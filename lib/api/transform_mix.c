// The choice of precisions of the public interface.
#include <string.h>

#include "lib/api/api_internal.h"
#include "lib/eval/decode.h"
#include "lib/session/runner.h"
#include "quant/search/agreement.h"

static const dq_model_mix_options mix_defaults = {.points = 8, .time_limit = 30};

void dq_model_mix_defaults(dq_model_mix_options *options, size_t size) {
  dq_api_set_defaults(options, size, &mix_defaults, sizeof *options);
}

typedef struct work {
  dq_model *model;
  dq_data *data;
  dq_model_mix_options given;
  dq_int8_options int8;
  dq_mix_options settings;
  dq_result before;
  dq_arena *arena; // of the model
  const dq_context *context;
} work;

static dq_status check_ranges(const dq_model_mix_options *given, dq_error *error) {
  if (!(given->max_drop >= 0 && given->max_drop <= 100))
    return dq_fail(error, DQ_USAGE, "max_drop is %g, expected 0 to 100", given->max_drop);
  if (!(given->max_time >= 0 && given->max_time <= 1e9))
    return dq_fail(error, DQ_USAGE, "max_time is %g, expected 0 to 1e9", given->max_time);
  if (given->max_size > INT64_MAX) return dq_fail(error, DQ_USAGE, "max_size is above the largest size");
  if (given->points < 6 || given->points > 100)
    return dq_fail(error, DQ_USAGE, "points is %d, expected 6 to 100", given->points);
  if (!(given->time_limit > 0 && given->time_limit <= 1e9))
    return dq_fail(error, DQ_USAGE, "time_limit is %g, expected more than 0, at most 1e9", given->time_limit);
  if (given->resume && !given->cache) return dq_fail(error, DQ_USAGE, "resume is given without cache");
  DQ_TRY(dq_task_check(given->task, error));
  return dq_decoder_check(given->decode, error);
}

static dq_status read_also(work *w, dq_error *error) {
  int count = dq_api_count(w->given.also);
  dq_mix_named *named = DQ_NEW_ARRAY(w->arena, count, dq_mix_named);
  if (!named) return dq_fail_memory(error, 0);
  for (int i = 0; i < count; i++)
    DQ_TRY(dq_mix_named_read(&named[i], w->given.also[i], w->model->graph, w->arena, error));
  w->settings.named = named;
  w->settings.named_count = count;
  return DQ_OK;
}

static dq_status measure_before(work *w, dq_error *error) {
  dq_mix_options *settings = &w->settings;
  dq_data *data = settings->eval ? settings->eval : w->data;
  if (dq_data_labelled(data) != DQ_LABEL_NONE)
    DQ_TRY(dq_accuracy_run(&w->before, w->model->graph, data, &settings->accuracy, w->context, error));
  settings->labelled = w->before.count > 0;
  if (settings->labelled) settings->accuracy.task = w->before.task;
  else w->before = dq_agreement_whole(1);
  settings->before = &w->before;
  return DQ_OK;
}

static dq_status read_settings(work *w, dq_error *error) {
  const dq_model_mix_options *given = &w->given;
  const dq_graph *graph = w->model->graph;
  w->int8 = dq_int8_defaults();
  w->int8.decode = given->decode, w->int8.batch = given->batch;
  DQ_TRY(dq_api_shapes(given->shapes, &graph, 1, 1, w->arena, &w->int8.shapes, error));
  DQ_TRY(dq_complete_shapes(&w->int8.shapes, graph, w->data, w->arena, error));
  DQ_TRY(dq_api_batch(&w->int8.batch, w->model, &w->int8.shapes, w->data, error));
  w->settings = (dq_mix_options){
      .drop = given->max_drop,
      .cautious = given->cautious,
      .most_seconds = given->max_time,
      .most_bytes = (int64_t)given->max_size,
      .points = given->points,
      .seconds = given->time_limit,
      .int8 = &w->int8,
      .data = w->data,
      .eval = given->eval ? given->eval->data : NULL,
      .accuracy = {given->task, given->decode, w->int8.batch, w->int8.shapes},
      .cache = given->cache,
      .resume = given->resume != 0,
  };
  DQ_TRY(read_also(w, error));
  return measure_before(w, error);
}

// *answer is NULL after a failure.
static dq_status search(work *w, dq_graph **answer, dq_error *error) {
  dq_mix_report *report = &w->model->mixed;
  DQ_TRY(read_settings(w, error));
  DQ_TRY(dq_mix_search(answer, w->model->graph, report, &w->settings, w->context, w->arena, error));
  if (report->noisy)
    return dq_fail(error, DQ_CONDITION, "the machine is too noisy: two equal runs have a time ratio of %.3f to %.3f",
                   report->control.low, report->control.high);
  if (!w->given.save_precision) return DQ_OK;
  dq_status status = dq_precision_save(&report->points[report->answer].map, w->given.save_precision, error);
  if (status == DQ_OK) return DQ_OK;
  dq_graph_free(*answer);
  *answer = NULL;
  return status;
}

static dq_status mix(work *w, const dq_model_mix_options *options, dq_error *error) {
  dq_model *model = w->model;
  dq_mix_report *report = &model->mixed;
  dq_graph *answer = NULL, *wide = NULL;
  w->given = mix_defaults;
  DQ_TRY(dq_api_read_options(&w->given, sizeof w->given, options, error));
  DQ_TRY(check_ranges(&w->given, error));
  DQ_TRY(dq_int8_widen(&wide, model->graph, w->context, error));
  DQ_TRY(dq_api_replace(model, wide, error));
  DQ_TRY(dq_api_undo(model, search(w, &answer, error)));
  DQ_TRY(dq_api_replace(model, answer, error));
  model->int8 = report->int8;
  return dq_api_end(model, DQ_TRANSFORM_INT8, DQ_OK, error);
}

static dq_status check_bounds(const dq_mix_report *report, dq_error *error) {
  if (report->held) return DQ_OK;
  return dq_fail(error, DQ_CONDITION, "no measured point is within the bounds; the answer loses %.4g points",
                 report->points[report->answer].drop);
}

static void give_facts(const dq_mix_report *report, dq_model_mix_facts *facts) {
  dq_model_mix_facts known = {.points = report->count,
                              .answer = report->answer,
                              .held = report->held,
                              .resumed = report->resumed,
                              .float32 = report->costs.float32,
                              .time_error = report->largest_time_error,
                              .noise_error = report->largest_noise_error,
                              .control_low = report->control.low,
                              .control_high = report->control.high};
  for (int u = 0; u < report->network.unit_count; u++) known.layers += report->network.units[u].layer_count > 0;
  dq_api_copy_results(facts, &known, sizeof known);
}

dq_code dq_model_mix(dq_model *model, dq_dataset *dataset, const dq_model_mix_options *options,
                     dq_model_mix_facts *facts, dq_failure *failure) {
  dq_call call;
  work w = {.model = model};
  dq_status status = DQ_ENTER(&call, {"model", model}, {"dataset", dataset});
  if (status == DQ_OK) status = dq_api_begin(model, facts, &call.error);
  if (status == DQ_OK) w.data = dataset->data, w.context = &model->engine->context;
  if (status == DQ_OK && !(w.arena = dq_context_arena(w.context))) status = dq_fail_memory(&call.error, 0);
  if (status == DQ_OK) status = mix(&w, options, &call.error);
  if (status == DQ_OK) model->mix_arena = w.arena;
  else dq_arena_free(w.arena);
  if (status == DQ_OK) {
    give_facts(&model->mixed, facts);
    status = check_bounds(&model->mixed, &call.error);
  }
  return dq_api_leave(&call, status, failure);
}

int dq_model_mix_at(const dq_model *model, int index, dq_model_mix_row *row) {
  if (!model || !model->mix_arena || index < 0 || index >= model->mixed.count) return 0;
  const dq_mix_point *point = &model->mixed.points[index];
  const dq_model_mix_row known = {.name = point->name,
                                  .seconds = point->seconds,
                                  .ratio = point->ratio.median,
                                  .ratio_low = point->ratio.low,
                                  .ratio_high = point->ratio.high,
                                  .noise = point->noise,
                                  .drop = point->drop,
                                  .bytes = (uint64_t)point->bytes,
                                  .predicted_seconds = point->predicted.seconds,
                                  .predicted_noise = point->predicted.noise,
                                  .other_noise = point->other_noise,
                                  .noise_before = point->foreseen,
                                  .within = point->within,
                                  .front = point->best};
  dq_api_copy_results(row, &known, sizeof known);
  return 1;
}
