// The retraining hook of the public interface, on the file of a model that was transformed.
#include "decomp/search/tucker_retrain.h"
#include "lib/api/api_internal.h"
#include "lib/document/origin.h"
#include "lib/retrain/retrain.h"
#include "lib/train/loop/builtin.h"
#include "quant/int8/hook_spec.h"

void dq_model_retrain_defaults(dq_model_retrain_options *options, size_t size) {
  dq_api_set_defaults(options, size, &(dq_model_retrain_options){0}, sizeof *options);
}

// Retrains a model that was not decomposed. The command learns what the last transform did, and which nodes it must
// keep.
static dq_status retrain_weights(const dq_model *model, const char *path, dq_retrain_options *hook, dq_arena *arena,
                                 dq_error *error) {
  if (model->last == DQ_TRANSFORM_NONE || model->last == DQ_TRANSFORM_TRAIN)
    return dq_fail(error, DQ_USAGE, "the model was not transformed: there is nothing to retrain");
  if (model->last == DQ_TRANSFORM_AMP) DQ_TRY(dq_amp_spec(&model->amp, arena, &hook->spec, error));
  else DQ_TRY(dq_int8_spec(&model->int8, arena, &hook->spec, error));
  DQ_TRY(dq_retrain_nodes(model->graph, arena, &hook->nodes, &hook->node_count, error));
  return dq_retrain(model->graph, path, hook, &model->engine->context, error);
}

static dq_status retrain_steps(const dq_model *model, const char *path, const dq_retrain_options *hook,
                               const dq_model_retrain_options *options, dq_arena *arena, dq_error *error) {
  dq_tucker_task task = {.graph = model->graph, .arena = arena, .context = &model->engine->context};
  if (model->last != DQ_TRANSFORM_TUCKER)
    return dq_fail(error, DQ_USAGE, "every is given, but the last transform was no decomposition");
  if (!options->tucker)
    return dq_fail(error, DQ_USAGE, "every is given without tucker, the options of the decomposition");
  DQ_TRY(dq_api_tucker(&task, options->tucker, error));
  dq_status status = dq_tucker_task_split(&task, error);
  if (status == DQ_OK) status = dq_tucker_task_read(&task, error);
  if (status == DQ_OK)
    status = dq_tucker_retrain_steps(&model->tucker, path, hook, &task.settings, options->every, error);
  dq_tucker_task_close(&task);
  return status;
}

static dq_status retrain_by(const dq_model *model, const char *path, dq_retrain_options *hook,
                            const dq_model_retrain_options *given, dq_arena *arena, dq_error *error) {
  if (given->every) return retrain_steps(model, path, hook, given, arena, error);
  if (model->last != DQ_TRANSFORM_TUCKER) return retrain_weights(model, path, hook, arena, error);
  return dq_tucker_retrain(model->graph, &model->tucker, path, hook, &model->engine->context, error);
}

// The teacher is the model before the transform.
static dq_status retrain_builtin(const dq_model *model, const char *path, dq_retrain_options *hook,
                                 const dq_model_retrain_options *given, dq_arena *arena, dq_error *error) {
  dq_graph *teacher = NULL;
  const dq_builtin_kind kind = model->last == DQ_TRANSFORM_INT8  ? DQ_BUILTIN_QUANTIZED
                               : model->last == DQ_TRANSFORM_AMP ? DQ_BUILTIN_HALF
                                                                 : DQ_BUILTIN_FLOAT;
  if (!given->pictures) return dq_fail(error, DQ_USAGE, "builtin is given without pictures");
  DQ_TRY(dq_model_open(&teacher, given->original, &model->engine->context, error));
  dq_builtin builtin = dq_builtin_of(teacher, given->pictures->data, given->validation ? given->validation->data : NULL,
                                     kind, hook, &model->engine->context);
  hook->train = dq_builtin_train;
  hook->user = &builtin;
  dq_status status = dq_builtin_parse(&builtin, given->command, error);
  if (status == DQ_OK) status = retrain_by(model, path, hook, given, arena, error);
  dq_graph_free(teacher);
  return status;
}

static dq_status retrain(const dq_model *model, const char *path, const dq_model_retrain_options *options,
                         dq_arena *arena, dq_error *error) {
  dq_model_retrain_options given = {0};
  dq_shape_request shapes;
  DQ_TRY(dq_api_read_options(&given, sizeof given, options, error));
  if (!given.command || !given.original)
    return dq_fail(error, DQ_USAGE, "the option %s is missing", given.command ? "original" : "command");
  if (!(given.time_limit >= 0 && given.time_limit <= 1e9))
    return dq_fail(error, DQ_USAGE, "time_limit is %g, expected 0 to 1e9", given.time_limit);
  if (given.every < 0) return dq_fail(error, DQ_USAGE, "every is %d, expected 0 or more", given.every);
  DQ_TRY(dq_api_shapes(given.shapes, (const dq_graph *const[]){model->graph}, 1, 1, arena, &shapes, error));
  dq_retrain_options hook = {.command = given.command,
                             .original = given.original,
                             .data = given.data,
                             .time_limit = given.time_limit,
                             .shapes = &shapes};
  if (dq_is_builtin(given.command)) return retrain_builtin(model, path, &hook, &given, arena, error);
  return retrain_by(model, path, &hook, &given, arena, error);
}

dq_code dq_model_retrain(const dq_model *model, const char *path, const dq_model_retrain_options *options,
                         dq_failure *failure) {
  dq_call call;
  dq_arena *arena = NULL;
  dq_status status = DQ_ENTER(&call, {"model", model}, {"path", path});
  if (status == DQ_OK && !(arena = dq_context_arena(&model->engine->context))) status = dq_fail_memory(&call.error, 0);
  if (status == DQ_OK) status = retrain(model, path, options, arena, &call.error);
  dq_arena_free(arena);
  return dq_api_leave(&call, status, failure);
}
