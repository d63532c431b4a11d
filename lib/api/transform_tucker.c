// The decomposition of the public interface, and the search for the fewest multiply-accumulates.
#include <inttypes.h>
#include "decomp/search/tucker_search.h"
#include "decomp/tucker/ranks_file.h"
#include "lib/api/api_internal.h"
#include "lib/document/widen_half.h"
#include "lib/eval/decode.h"
#include "lib/session/runner.h"
#include "lib/verdict/verdict.h"

static const dq_model_tucker_options tucker_defaults = {.multiple = 1, .max_drop = -1};

void dq_model_tucker_defaults(dq_model_tucker_options *options, size_t size) {
  dq_api_set_defaults(options, size, &tucker_defaults, sizeof *options);
}

static dq_status read_rule(const dq_model_tucker_options *given, dq_tucker_options *settings, dq_error *error) {
  int rules = (given->ratio != 0) + (given->energy != 0) + (given->macs != 0) + !!given->ranks + (given->vbmf != 0) +
              (given->max_drop >= 0);
  if (rules != 1)
    return dq_fail(error, DQ_USAGE, "%d of ratio, energy, macs, ranks, vbmf and max_drop are given, expected one",
                   rules);
  if (given->macs != 0 && !(given->macs > 0 && given->macs < 1))
    return dq_fail(error, DQ_USAGE, "macs is %g, expected above 0 and below 1", given->macs);
  if (given->ranks && (given->force || given->multiple != 1))
    return dq_fail(error, DQ_USAGE, "ranks is given with %s, which changes no rank of the file",
                   given->force ? "force" : "multiple");
  if (given->weaken != 0 && !given->vbmf) return dq_fail(error, DQ_USAGE, "weaken is given without vbmf");
  settings->rule = given->vbmf ? DQ_RANK_VBMF : given->energy != 0 ? DQ_RANK_ENERGY : DQ_RANK_RATIO;
  settings->parameter = given->vbmf ? given->weaken : given->energy != 0 ? given->energy : given->ratio;
  settings->macs_share = given->macs;
  settings->multiple = given->multiple;
  if (given->ranks || given->macs != 0 || given->max_drop >= 0) return DQ_OK;
  return dq_rank_check(settings->rule, settings->parameter, settings->multiple, error);
}

// Options of max_drop.
static dq_status check_search(const dq_model_tucker_options *given, dq_error *error) {
  if (!(given->max_drop <= 100))
    return dq_fail(error, DQ_USAGE, "max_drop is %g, expected 0 to 100, or less than 0 for no bound", given->max_drop);
  if (!(given->time_limit >= 0 && given->time_limit <= 1e9))
    return dq_fail(error, DQ_USAGE, "time_limit is %g, expected 0 to 1e9", given->time_limit);
  if (given->max_drop >= 0 && !given->data)
    return dq_fail(error, DQ_USAGE, "max_drop is given without data, the pictures that trials are fitted to");
  DQ_TRY(dq_task_check(given->task, error));
  DQ_TRY(dq_decoder_check(given->decode, error));
  if (given->max_drop >= 0 || given->time_limit == 0) return DQ_OK;
  return dq_fail(error, DQ_USAGE, "time_limit is given without max_drop, which alone reads it");
}

// Pictures of `data` are kept apart for the verdict, unless `eval` has such pictures or nothing is fitted. Those of
// `eval` are none where max_drop chooses ranks on them.
static dq_status split_data(dq_api_tucker_job *job, dq_error *error) {
  const dq_model_tucker_options *given = &job->given;
  if (!given->data || given->plain) return DQ_OK;
  job->settings.data = given->data->data;
  if (given->eval && given->max_drop < 0) return DQ_OK;
  DQ_TRY(dq_tucker_split_open(&job->split, given->data->data, given->fit_limit, error));
  job->settings.data = job->split.fitted;
  return DQ_OK;
}

static dq_status read_layers(dq_tucker_options *settings, const char *ranks, dq_arena *arena, dq_error *error) {
  dq_layer_ranks *layers = NULL;
  if (!ranks) return DQ_OK;
  DQ_TRY(dq_ranks_load(ranks, arena, &layers, &settings->layer_count, error));
  settings->layers = layers;
  return DQ_OK;
}

dq_status dq_api_tucker(dq_api_tucker_job *job, const dq_model *model, const dq_model_tucker_options *options,
                        dq_arena *arena, dq_error *error) {
  const dq_graph *graph = model->graph;
  const dq_model_tucker_options *given = &job->given;
  dq_tucker_options *settings = &job->settings;
  dq_shape_request *request = &job->request;
  *job = (dq_api_tucker_job){.given = tucker_defaults, .settings.context = &model->engine->context};
  DQ_TRY(dq_api_read_options(&job->given, sizeof job->given, options, error));
  DQ_TRY(read_rule(given, settings, error));
  DQ_TRY(check_search(given, error));
  if (given->never_slower && (given->force || given->ranks))
    return dq_fail(error, DQ_USAGE, "never_slower is given with %s, which leaves it nothing to decide",
                   given->force ? "force" : "ranks");
  settings->plain = given->plain != 0;
  settings->force = given->force != 0;
  settings->refine = given->refine != 0;
  settings->matrices = given->matrices != 0;
  settings->never_slower = given->never_slower != 0;
  settings->bound_first = given->macs != 0;
  if (given->fit_limit < 0)
    return dq_fail(error, DQ_USAGE, "fit_limit is %" PRId64 ", expected 0 or more", given->fit_limit);
  DQ_TRY(split_data(job, error));
  DQ_TRY(dq_api_shapes(given->shapes, &graph, 1, 0, arena, request, error));
  DQ_TRY(dq_complete_shapes(request, graph, settings->data, arena, error));
  settings->pictures = given->fit_limit;
  settings->batch = given->batch;
  DQ_TRY(dq_api_batch(&settings->batch, model, request, settings->data, error));
  if (request->input_count) settings->shapes = request;
  return read_layers(settings, given->ranks, arena, error);
}

// The labelled pictures on which trials choose ranks.
static dq_data *search_pictures(const dq_api_tucker_job *job) {
  if (job->given.eval) return job->given.eval->data;
  return job->split.fitted ? job->split.fitted : job->given.data->data;
}

static dq_status search(dq_model *model, const dq_api_tucker_job *job, dq_tucker_search_report *found,
                        dq_error *error) {
  const dq_model_tucker_options *given = &job->given;
  const dq_tucker_options *settings = &job->settings;
  const dq_context *context = &model->engine->context;
  dq_accuracy_options accuracy = {
      .task = given->task, .decode = given->decode, .batch = settings->batch, .shapes = job->request};
  dq_result before = {0};
  dq_graph *answer = NULL;
  const dq_tucker_search_options options = {.max_drop = given->max_drop,
                                            .tucker = settings,
                                            .eval = search_pictures(job),
                                            .accuracy = &accuracy,
                                            .before = &before,
                                            .time_limit = given->time_limit};
  if (dq_data_labelled(options.eval) == DQ_LABEL_NONE)
    return dq_fail(error, DQ_BAD_INPUT, "the pictures of %s have no labels, which max_drop needs",
                   given->eval ? "eval" : "data");
  DQ_TRY(dq_accuracy_run(&before, model->graph, options.eval, &accuracy, context, error));
  if (!before.count) return dq_fail(error, DQ_USAGE, "max_drop needs a task, which 'none' is not");
  accuracy.task = before.task;
  DQ_TRY(dq_tucker_search(&answer, model->graph, &model->tucker, found, &options, error));
  return dq_api_replace(model, answer, error);
}

// What the search found, and what the outputs lost.
typedef struct tucker_facts {
  dq_tucker_search_report search;
  dq_verdict verdict;
} tucker_facts;

// The pictures for the verdict: those that were kept apart, else those of eval, else of data; NULL: there are none.
static dq_data *judges(const dq_api_tucker_job *job) {
  if (job->split.apart) return job->split.apart;
  return job->given.eval ? job->given.eval->data : job->given.data ? job->given.data->data : NULL;
}

// Judges the decomposed model on the pictures for the verdict, or on noise when there are none.
static dq_status judge(const dq_model *model, const dq_graph *original, const dq_api_tucker_job *job,
                       dq_verdict *verdict, dq_error *error) {
  const dq_evaluator_options judged = {.graph = original,
                                       .shapes = &job->request,
                                       .data = judges(job),
                                       .decode = job->given.decode,
                                       .pictures = DQ_VERDICT_FEW_SAMPLES,
                                       .batch = job->settings.batch};
  if (!model->tucker.decomposed) return DQ_OK;
  return dq_verdict_conclude(verdict, DQ_VERDICT_OTHER_PICTURES, model->graph, &judged, job->settings.context,
                             original->arena, error);
}

// The model in float32.
static dq_status widen(dq_model *model, dq_error *error) {
  dq_graph *wide = NULL;
  bool widened;
  DQ_TRY(dq_widen_half(&wide, &widened, model->graph, "decomposition", &model->engine->context, error));
  return dq_api_replace(model, wide, error);
}

static dq_status replace_by_copy(dq_model *model, const dq_graph *graph, dq_error *error) {
  dq_graph *same = dq_graph_copy(graph);
  return same ? dq_api_replace(model, same, error) : dq_fail_memory(error, 0);
}

static dq_status run_job(dq_model *model, const dq_api_tucker_job *job, dq_arena *arena, tucker_facts *found,
                         dq_error *error) {
  const dq_graph *file = model->graph;
  DQ_TRY(widen(model, error));
  dq_graph *original = dq_graph_copy(model->graph);
  if (!original) return dq_fail_memory(error, 0);
  dq_status status = job->given.max_drop >= 0 ? search(model, job, &found->search, error)
                                              : dq_tucker_apply(model->graph, &job->settings, &model->tucker, error);
  if (status == DQ_OK && !model->tucker.decomposed) status = replace_by_copy(model, file, error);
  status = dq_api_end(model, DQ_TRANSFORM_TUCKER, status, error);
  dq_verdict verdict = {0};
  if (status == DQ_OK) status = judge(model, original, job, &verdict, error);
  if (status == DQ_OK) status = dq_verdict_copy(&found->verdict, &verdict, arena, error);
  dq_graph_free(original);
  return status;
}

static dq_status tucker(dq_model *model, const dq_model_tucker_options *options, dq_arena *arena, tucker_facts *found,
                        dq_error *error) {
  dq_api_tucker_job job;
  dq_status status = dq_api_tucker(&job, model, options, arena, error);
  if (status == DQ_OK) status = run_job(model, &job, arena, found, error);
  dq_tucker_split_close(&job.split);
  return status;
}

static void give_tucker(const dq_tucker_report *report, const tucker_facts *found, dq_model_tucker_facts *facts) {
  dq_model_tucker_facts known = {.convolutions = report->count,
                                 .decomposed = report->decomposed,
                                 .macs_before = report->macs_known ? report->model_before.macs : -1,
                                 .macs_after = report->macs_known ? report->model_after.macs : -1,
                                 .parameters_before = report->model_before.parameters,
                                 .parameters_after = report->model_after.parameters,
                                 .trials = found->search.trials,
                                 .stopped = !found->search.complete,
                                 .drop = found->search.drop,
                                 .outputs_sqnr = dq_verdict_sqnr(&found->verdict),
                                 .outputs_agreement = dq_verdict_agreement(&found->verdict)};
  dq_api_copy_results(facts, &known, sizeof known);
}

dq_code dq_model_tucker(dq_model *model, const dq_model_tucker_options *options, dq_model_tucker_facts *facts,
                        dq_failure *failure) {
  dq_call call;
  tucker_facts found = {.search = {.complete = true}};
  dq_arena *arena = NULL;
  dq_status status = DQ_ENTER(&call, {"model", model});
  if (status == DQ_OK) status = dq_api_begin(model, facts, &call.error);
  if (status == DQ_OK && !(arena = dq_context_arena(&model->engine->context))) status = dq_fail_memory(&call.error, 0);
  if (status == DQ_OK) status = tucker(model, options, arena, &found, &call.error);
  if (status == DQ_OK) {
    give_tucker(&model->tucker, &found, facts);
    status = dq_api_check_verdict(&found.verdict, &dq_no_bounds, &call.error);
  }
  dq_arena_free(arena);
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
