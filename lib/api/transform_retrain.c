// The retraining hook of the public interface, on the file of a model that was transformed.
#include "decomp/tucker/tucker_spec.h"
#include "lib/api/api_internal.h"
#include "lib/retrain/retrain.h"
#include "quant/int8/hook_spec.h"

void dq_model_retrain_defaults(dq_model_retrain_options *options, size_t size) {
  dq_api_start(options, size, &(dq_model_retrain_options){0}, sizeof *options);
}

// What the last transform did, and the nodes that the command must keep.
static dq_status describe(const dq_model *model, dq_retrain_options *hook, dq_arena *arena, dq_error *error) {
  switch (model->last) {
  case DQ_TRANSFORM_NONE: return dq_fail(error, DQ_USAGE, "the model was not transformed: there is nothing to retrain");
  case DQ_TRANSFORM_AMP: DQ_TRY(dq_amp_spec(&model->amp, arena, &hook->spec, error)); break;
  case DQ_TRANSFORM_INT8: DQ_TRY(dq_int8_spec(&model->int8, arena, &hook->spec, error)); break;
  case DQ_TRANSFORM_TUCKER:
    DQ_TRY(dq_tucker_spec(&model->tucker, arena, &hook->spec, error));
    return dq_tucker_nodes(&model->tucker, arena, &hook->nodes, &hook->node_count, error);
  }
  return dq_retrain_nodes(model->graph, arena, &hook->nodes, &hook->node_count, error);
}

static dq_status retrain(const dq_model *model, const char *path, const dq_model_retrain_options *options,
                         dq_arena *arena, dq_error *error) {
  dq_model_retrain_options given = {0};
  dq_shape_request shapes;
  DQ_TRY(dq_api_take(&given, sizeof given, options, error));
  if (!given.command || !given.original)
    return dq_fail(error, DQ_USAGE, "%s is missing", given.command ? "original" : "command");
  if (!(given.time_limit >= 0 && given.time_limit <= 1e9))
    return dq_fail(error, DQ_USAGE, "time_limit is %g, expected 0 to 1e9", given.time_limit);
  DQ_TRY(dq_api_shapes(given.shapes, (const dq_graph *const[]){model->graph}, 1, 1, arena, &shapes, error));
  dq_retrain_options hook = {.command = given.command,
                             .original = given.original,
                             .data = given.data,
                             .time_limit = given.time_limit,
                             .shapes = &shapes};
  DQ_TRY(describe(model, &hook, arena, error));
  return dq_retrain(model->graph, path, &hook, &model->engine->context, error);
}

dq_code dq_model_retrain(const dq_model *model, const char *path, const dq_model_retrain_options *options,
                         dq_failure *failure) {
  dq_error error = {0};
  dq_arena *arena = NULL;
  dq_status status = dq_api_check_model(model, &error);
  if (status == DQ_OK && !(arena = dq_context_arena(&model->engine->context))) status = dq_fail_memory(&error, 0);
  if (status == DQ_OK) status = retrain(model, path, options, arena, &error);
  dq_arena_free(arena);
  return dq_api_finish(status, &error, failure);
}
