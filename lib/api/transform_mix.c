// The choice of precisions of the public interface.
#include "lib/api/api_internal.h"
#include "quant/mix/mix_task.h"

static const dq_model_mix_options mix_defaults = {.points = 8, .time_limit = 30};

void dq_model_mix_defaults(dq_model_mix_options *options, size_t size) {
  dq_api_set_defaults(options, size, &mix_defaults, sizeof *options);
}

typedef struct work {
  dq_model *model;
  dq_model_mix_options given;
  dq_mix_task task; // its arena becomes that of the model
} work;

static dq_mix_request asked_of(const dq_model_mix_options *given) {
  return (dq_mix_request){.search = {.drop = given->max_drop,
                                     .cautious = given->cautious != 0,
                                     .most_seconds = given->max_time,
                                     .most_bytes = (int64_t)given->max_size,
                                     .points = given->points,
                                     .seconds = given->time_limit,
                                     .cache = given->cache,
                                     .resume = given->resume != 0},
                          .also = given->also,
                          .also_count = dq_api_count(given->also),
                          .shapes = given->shapes,
                          .shape_count = dq_api_count(given->shapes),
                          .task = given->task,
                          .decode = given->decode,
                          .batch = given->batch};
}

// The pictures that accuracy is measured on; where they have no labels, answers are compared.
static void set_labelled(dq_mix_task *task) {
  dq_data *pictures = task->eval ? task->eval : task->data;
  task->check.asked = true;
  task->check.data = dq_data_labelled(pictures) != DQ_LABEL_NONE ? pictures : NULL;
}

// *answer is NULL after a failure.
static dq_status search(work *w, dq_graph **answer, dq_error *error) {
  dq_mix_report *report = &w->model->mixed;
  DQ_TRY(dq_mix_task_read(&w->task, error));
  set_labelled(&w->task);
  DQ_TRY(dq_mix_task_search(answer, report, &w->task, error));
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
  if (w->given.resume && !w->given.cache) return dq_fail(error, DQ_USAGE, "resume is given without cache");
  w->task.asked = asked_of(&w->given);
  w->task.eval = w->given.eval ? w->given.eval->data : NULL;
  DQ_TRY(dq_mix_task_check(&w->task.asked, error));
  DQ_TRY(dq_int8_widen(&wide, model->graph, w->task.context, error));
  w->task.graph = wide;
  dq_status status = search(w, &answer, error);
  if (status != DQ_OK) {
    dq_graph_free(wide);
    return status;
  }
  model->int8 = report->int8;
  return dq_api_take(model, DQ_TRANSFORM_INT8, wide, answer, true, error);
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
  if (status == DQ_OK) w.task.data = dataset->data, w.task.context = &model->engine->context;
  if (status == DQ_OK && !(w.task.arena = dq_context_arena(w.task.context))) status = dq_fail_memory(&call.error, 0);
  if (status == DQ_OK) status = mix(&w, options, &call.error);
  if (status == DQ_OK) model->mix_arena = w.task.arena;
  else dq_arena_free(w.task.arena);
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
