// The decomposition of the public interface, and the search for the fewest multiply-accumulates.
#include "decomp/search/tucker_task.h"
#include "decomp/tucker/ranks_file.h"
#include "lib/api/api_internal.h"
#include "lib/document/widen_half.h"
#include "lib/verdict/verdict.h"

static const dq_model_tucker_options tucker_defaults = {.multiple = 1, .max_drop = -1};

void dq_model_tucker_defaults(dq_model_tucker_options *options, size_t size) {
  dq_api_set_defaults(options, size, &tucker_defaults, sizeof *options);
}

static dq_tucker_request asked_of(const dq_model_tucker_options *given) {
  return (dq_tucker_request){.ratio = given->ratio,
                             .energy = given->energy,
                             .macs = given->macs,
                             .ranks = given->ranks,
                             .vbmf = given->vbmf != 0,
                             .weaken = given->weaken,
                             .max_drop = given->max_drop,
                             .time_limit = given->time_limit,
                             .multiple = given->multiple,
                             .fit_limit = given->fit_limit,
                             .batch = given->batch,
                             .plain = given->plain != 0,
                             .force = given->force != 0,
                             .refine = given->refine != 0,
                             .matrices = given->matrices != 0,
                             .never_slower = given->never_slower != 0,
                             .shapes = given->shapes,
                             .shape_count = dq_api_count(given->shapes),
                             .task = given->task,
                             .decode = given->decode,
                             .unmeasured = "max_drop needs a task, which 'none' is not"};
}

dq_status dq_api_tucker(dq_tucker_task *task, const dq_model_tucker_options *options, dq_error *error) {
  dq_model_tucker_options given = tucker_defaults;
  DQ_TRY(dq_api_read_options(&given, sizeof given, options, error));
  task->asked = asked_of(&given);
  task->data = given.data ? given.data->data : NULL;
  task->eval = given.eval ? given.eval->data : NULL;
  return dq_tucker_task_check(&task->asked, task->data != NULL, error);
}

// What a call needs besides the model.
typedef struct work {
  dq_model *model;
  dq_tucker_task task;
  dq_tucker_report report;
  dq_tucker_search_report found; // of max_drop
  dq_verdict verdict;            // what the outputs lost
} work;

// The labelled pictures on which max_drop chooses ranks.
static dq_status set_labelled(dq_tucker_task *task, dq_error *error) {
  if (task->asked.max_drop < 0) return DQ_OK;
  task->check.asked = true;
  task->check.data = dq_tucker_task_measured(task);
  if (dq_data_labelled(task->check.data) != DQ_LABEL_NONE) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "the pictures of %s have no labels, which max_drop needs",
                 task->eval ? "eval" : "data");
}

// *answer is NULL after a failure.
static dq_status decompose(work *w, dq_graph **answer, dq_error *error) {
  dq_tucker_task *task = &w->task;
  DQ_TRY(dq_tucker_task_split(task, error));
  DQ_TRY(set_labelled(task, error));
  DQ_TRY(dq_tucker_task_read(task, error));
  DQ_TRY(dq_tucker_task_decompose(answer, &w->report, &w->found, task, error));
  dq_status status = DQ_OK;
  if (w->report.decomposed) status = dq_tucker_task_judge(&w->verdict, *answer, DQ_TUCKER_UNTRAINED, task, error);
  if (status == DQ_OK) return DQ_OK;
  dq_graph_free(*answer);
  *answer = NULL;
  return status;
}

// The model becomes float32 where something is decomposed.
static dq_status tucker(work *w, const dq_model_tucker_options *options, dq_error *error) {
  dq_model *model = w->model;
  dq_graph *wide = NULL, *answer = NULL;
  bool widened;
  DQ_TRY(dq_api_tucker(&w->task, options, error));
  DQ_TRY(dq_widen_half(&wide, &widened, model->graph, "decomposition", w->task.context, error));
  w->task.graph = wide;
  dq_status status = decompose(w, &answer, error);
  dq_tucker_task_close(&w->task);
  if (status != DQ_OK) {
    dq_graph_free(wide);
    return status;
  }
  model->tucker = w->report;
  return dq_api_take(model, DQ_TRANSFORM_TUCKER, wide, answer, w->report.decomposed > 0, error);
}

static void give_tucker(const work *w, dq_model_tucker_facts *facts) {
  const dq_tucker_report *report = &w->report;
  const dq_tucker_search_report *found = &w->found;
  dq_model_tucker_facts known = {.convolutions = report->count,
                                 .decomposed = report->decomposed,
                                 .macs_before = report->macs_known ? report->model_before.macs : -1,
                                 .macs_after = report->macs_known ? report->model_after.macs : -1,
                                 .parameters_before = report->model_before.parameters,
                                 .parameters_after = report->model_after.parameters,
                                 .trials = found->trials,
                                 .stopped = !found->complete,
                                 .drop = found->drop,
                                 .outputs_sqnr = dq_verdict_sqnr(&w->verdict),
                                 .outputs_agreement = dq_verdict_agreement(&w->verdict)};
  dq_api_copy_results(facts, &known, sizeof known);
}

dq_code dq_model_tucker(dq_model *model, const dq_model_tucker_options *options, dq_model_tucker_facts *facts,
                        dq_failure *failure) {
  dq_call call;
  work w = {.model = model, .found = {.complete = true}};
  dq_status status = DQ_ENTER(&call, {"model", model});
  if (status == DQ_OK) status = dq_api_begin(model, facts, &call.error);
  if (status == DQ_OK) w.task.context = &model->engine->context;
  if (status == DQ_OK && !(w.task.arena = dq_context_arena(w.task.context))) status = dq_fail_memory(&call.error, 0);
  if (status == DQ_OK) status = tucker(&w, options, &call.error);
  if (status == DQ_OK) {
    give_tucker(&w, facts);
    status = dq_api_check_verdict(&w.verdict, &dq_no_bounds, &call.error);
  }
  dq_arena_free(w.task.arena);
  return dq_api_leave(&call, status, failure);
}

int dq_model_tucker_at(const dq_model *model, int index, dq_model_tucker_row *row) {
  if (!model || model->last != DQ_TRANSFORM_TUCKER || index < 0 || index >= model->tucker.count) return 0;
  const dq_tucker_layer *layer = &model->tucker.layers[index];
  dq_model_tucker_row known = {.name = layer->name,
                               .reason = layer->reason,
                               .dims = {layer->dims[0], layer->dims[1], layer->dims[2], layer->dims[3]},
                               .rank_out = layer->ranks.out,
                               .rank_in = layer->ranks.in,
                               .energy_out = layer->energy_out,
                               .energy_in = layer->energy_in,
                               .error = layer->error,
                               .macs_before = layer->macs_known ? layer->before.macs : -1,
                               .macs_after = layer->macs_known ? layer->after.macs : -1,
                               .parameters_before = layer->before.parameters,
                               .parameters_after = layer->after.parameters,
                               .response_error = layer->response_error,
                               .time_before = layer->time_before,
                               .time_after = layer->time_after};
  dq_api_copy_results(row, &known, sizeof known);
  return 1;
}

dq_code dq_model_tucker_save_ranks(const dq_model *model, const char *path, dq_failure *failure) {
  dq_call call;
  dq_status status = DQ_ENTER(&call, {"model", model}, {"path", path});
  if (status == DQ_OK && model->last != DQ_TRANSFORM_TUCKER)
    status = dq_fail(&call.error, DQ_USAGE,
                     "the last transform of the model was no decomposition: there are no ranks to save");
  if (status == DQ_OK) status = dq_ranks_save(path, &model->tucker, &call.error);
  return dq_api_leave(&call, status, failure);
}
