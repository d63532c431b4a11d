// Tuning of the public interface.
#include "lib/api/api_internal.h"
#include "lib/wisdom/wisdom.h"

static const dq_model_tune_options tune_defaults = {.time_limit = 60, .batch = 1};

void dq_model_tune_defaults(dq_model_tune_options *options, size_t size) {
  dq_api_set_defaults(options, size, &tune_defaults, sizeof *options);
}

// Networks of the library add up in the order of the definition (DQ_CONV_SAME_BITS).
static dq_status tune(dq_model *model, const dq_model_tune_options *options, dq_error *error) {
  dq_engine *engine = model->engine;
  dq_model_tune_options given = tune_defaults;
  DQ_TRY(dq_api_read_options(&given, sizeof given, options, error));
  if (!(given.time_limit > 0 && given.time_limit <= 1e9))
    return dq_fail(error, DQ_USAGE, "time_limit is %g, expected more than 0, at most 1e9", given.time_limit);
  if (given.batch < 1 || given.batch > 65536)
    return dq_fail(error, DQ_USAGE, "batch is %lld, expected 1 to 65536", (long long)given.batch);
  if (given.exhaustive != 0 && given.exhaustive != 1)
    return dq_fail(error, DQ_USAGE, "exhaustive is %d, expected 0 or 1", given.exhaustive);
  if (!engine->wisdom) return dq_fail(error, DQ_USAGE, "the engine was opened without wisdom");
  if (!(model->tune_arena = dq_context_arena(&engine->context))) return dq_fail_memory(error, 0);
  dq_tune_options settings = {.time_limit = given.time_limit, .exhaustive = given.exhaustive};
  DQ_TRY(dq_api_shapes(given.shapes, (const dq_graph *const[]){model->graph}, 1, given.batch, model->tune_arena,
                       &settings.shapes, error));
  DQ_TRY(dq_tune(&model->tuned, model->graph, &settings, engine->wisdom, &engine->context, model->tune_arena, error));
  return model->tuned.noisy ? dq_tune_fail_noisy(&model->tuned, error) : DQ_OK;
}

// Replaces what the model keeps of the last tuning.
static dq_status tune_anew(dq_model *model, const dq_model_tune_options *options, dq_error *error) {
  dq_arena_free(model->tune_arena);
  model->tune_arena = NULL;
  const dq_status status = tune(model, options, error);
  if (status == DQ_OK) return DQ_OK;
  dq_arena_free(model->tune_arena);
  model->tune_arena = NULL;
  return status;
}

static void give_facts(const dq_tune_report *tuned, dq_model_tune_facts *facts) {
  dq_model_tune_facts known = {.shapes = tuned->shape_count,
                               .known = tuned->known,
                               .measured = tuned->measured,
                               .chosen = tuned->chosen,
                               .out_of_time = tuned->out_of_time,
                               .kept = tuned->kept,
                               .runs = tuned->runs,
                               .candidates = tuned->candidates,
                               .candidates_measured = tuned->tried};
  if (tuned->has_network) {
    known.before = tuned->network.before.median, known.after = tuned->network.after.median;
    known.ratio = tuned->network.ratio;
    known.ratio_low = tuned->network.low, known.ratio_high = tuned->network.high;
  }
  dq_api_copy_results(facts, &known, sizeof known);
}

dq_code dq_model_tune(dq_model *model, const dq_model_tune_options *options, dq_model_tune_facts *facts,
                      dq_failure *failure) {
  dq_call call;
  dq_status status = DQ_ENTER(&call, {"model", model});
  if (status == DQ_OK) status = dq_api_check_facts(facts, &call.error);
  if (status == DQ_OK) status = tune_anew(model, options, &call.error);
  if (status == DQ_OK) give_facts(&model->tuned, facts);
  return dq_api_leave(&call, status, failure);
}

int dq_model_tune_at(const dq_model *model, int index, dq_model_tune_row *row) {
  if (!model || !model->tune_arena || index < 0 || index >= model->tuned.shape_count) return 0;
  const dq_tune_shape *shape = &model->tuned.shapes[index];
  const dq_record *record = &shape->record;
  const dq_model_tune_row known = {.node = shape->name,
                                   .op_type = shape->op_type,
                                   .algorithm = shape->algorithm,
                                   .steps = shape->steps,
                                   .measured = shape->has_record,
                                   .used = shape->used,
                                   .before = record->before.median,
                                   .after = record->after.median,
                                   .ratio = record->ratio,
                                   .ratio_low = record->low,
                                   .ratio_high = record->high};
  dq_api_copy_results(row, &known, sizeof known);
  return 1;
}
