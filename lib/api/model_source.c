// A model as C through the public interface.
#include <inttypes.h>

#include "lib/api/api_internal.h"
#include "lib/session/complete_shapes.h"

_Static_assert(DQ_SOURCE_DSP == (int)DQ_EMIT_DSP, "targets are the same");

static const dq_model_source_options source_defaults = {.batch = 1};

void dq_model_source_defaults(dq_model_source_options *options, size_t size) {
  dq_api_set_defaults(options, size, &source_defaults, sizeof *options);
}

static dq_status emit(dq_model *model, const dq_model_source_options *options, dq_arena *arena, dq_error *error) {
  dq_model_source_options given = source_defaults;
  dq_shape_request shapes;
  DQ_TRY(dq_api_read_options(&given, sizeof given, options, error));
  if (given.batch < 1 || given.batch > 65536)
    return dq_fail(error, DQ_USAGE, "batch is %" PRId64 ", expected 1 to 65536", given.batch);
  if (given.target < DQ_SOURCE_GENERIC || given.target > DQ_SOURCE_DSP)
    return dq_fail(error, DQ_USAGE, "target is %d, expected 0 to %d", (int)given.target, DQ_SOURCE_DSP);
  const char *name = given.name ? given.name : "net";
  const char *header = given.header ? given.header : dq_arena_printf(arena, "%s.h", name);
  if (!header) return dq_fail_memory(error, 0);
  DQ_TRY(dq_api_shapes(given.shapes, (const dq_graph *const[]){model->graph}, 1, given.batch, arena, &shapes, error));
  DQ_TRY(dq_complete_sizes(&shapes, model->graph, NULL, arena, error));
  const dq_codegen_options settings = {.session = {.shapes = shapes},
                                       .name = name,
                                       .header = header,
                                       .target = (dq_emit_target)given.target,
                                       .weights_name = given.weights};
  return dq_codegen_open(&model->source, model->graph, &settings, &model->engine->context, error);
}

static void give_source(const dq_codegen *made, dq_model_source_facts *facts) {
  const dq_model_source_facts known = {.source = made->source,
                                       .header = made->header,
                                       .weights = made->weights,
                                       .weights_bytes = made->weights_bytes,
                                       .arena_bytes = made->arena_bytes,
                                       .constant_bytes = made->constant_bytes,
                                       .macs = made->macs,
                                       .steps = made->step_count};
  dq_api_copy_results(facts, &known, sizeof known);
}

dq_code dq_model_source(dq_model *model, const dq_model_source_options *options, dq_model_source_facts *facts,
                        dq_failure *failure) {
  dq_call call;
  dq_arena *arena = NULL;
  dq_status status = DQ_ENTER(&call, {"model", model});
  if (status == DQ_OK) status = dq_api_check_facts(facts, &call.error);
  if (status == DQ_OK) dq_api_forget_source(model);
  if (status == DQ_OK && !(arena = dq_context_arena(&model->engine->context))) status = dq_fail_memory(&call.error, 0);
  if (status == DQ_OK) status = emit(model, options, arena, &call.error);
  dq_arena_free(arena);
  if (status == DQ_OK) give_source(&model->source, facts);
  else if (model) dq_api_forget_source(model);
  return dq_api_leave(&call, status, failure);
}
