// What the transforms of the public interface share, and the one to float16: options in, the transform itself, facts
// out.
#include <stdlib.h>

#include "lib/api/api_internal.h"
#include "lib/document/stored_preset.h"
#include "lib/verdict/verdict.h"

dq_status dq_api_begin(dq_model *model, const void *facts, dq_error *error) {
  DQ_TRY(dq_api_check_facts(facts, error));
  DQ_TRY(dq_api_check_model(model, error));
  if (model->networks)
    return dq_fail(error, DQ_USAGE, "%d networks are open on the model, expected none; close them first",
                   model->networks);
  dq_api_forget(model);
  return DQ_OK;
}

dq_status dq_api_end(dq_model *model, dq_transform transform, dq_status status, dq_error *error) {
  if (status == DQ_OK) status = dq_graph_index(model->graph, false, error);
  if (status == DQ_OK) model->last = transform;
  else model->broken = true;
  return status;
}

dq_status dq_api_replace(dq_model *model, dq_graph *answer, dq_error *error) {
  dq_replaced_graph *old = malloc(sizeof *old);
  if (!old) {
    dq_graph_free(answer);
    return dq_fail_memory(error, sizeof *old);
  }
  *old = (dq_replaced_graph){.graph = model->graph, .next = model->replaced};
  model->replaced = old;
  model->graph = answer;
  return DQ_OK;
}

dq_status dq_api_undo(dq_model *model, dq_status status) {
  if (status == DQ_OK) return status;
  dq_graph *taken = model->graph;
  model->graph = model->replaced->graph;
  model->replaced->graph = taken; // the model owns both
  return status;
}

dq_status dq_api_check_verdict(const dq_verdict *verdict, const dq_verdict_bounds *bounds, dq_error *error) {
  return dq_verdict_check(verdict, bounds, "the converted model", error);
}

// ---- float16 ----

void dq_model_amp_defaults(dq_model_amp_options *options, size_t size) {
  dq_api_set_defaults(options, size, &(dq_model_amp_options){0}, sizeof *options);
}

static dq_status read_amp(const dq_model *model, const dq_model_amp_options *given, dq_arena *arena,
                          dq_amp_options *settings, dq_error *error) {
  const dq_graph *graph = model->graph;
  *settings = (dq_amp_options){.half_io = given->half_io != 0,
                               .nearest = given->nearest != 0,
                               .unguarded = given->unguarded != 0,
                               .input_max = given->input_max,
                               .allow = given->allow,
                               .allow_count = dq_api_count(given->allow),
                               .follow = given->follow,
                               .follow_count = dq_api_count(given->follow),
                               .deny = given->deny,
                               .deny_count = dq_api_count(given->deny),
                               .deny_nodes = given->deny_nodes,
                               .deny_node_count = dq_api_count(given->deny_nodes)};
  if (given->input_max != 0 && !(given->input_max >= 1e-30 && given->input_max <= 1e30))
    return dq_fail(error, DQ_USAGE, "input_max is %g, expected 1e-30 to 1e30", given->input_max);
  if (given->input_max == 0)
    DQ_TRY(dq_input_reach(&settings->input_max, graph, given->check ? given->check->data : NULL, NULL, NULL,
                          &model->engine->context, error));
  DQ_TRY(dq_api_shapes(given->shapes, &graph, 1, 1, arena, &settings->shapes, error));
  if (!given->policy) return DQ_OK;
  dq_policy *policy = DQ_NEW(arena, dq_policy);
  if (!policy) return dq_fail_memory(error, sizeof *policy);
  settings->policy = policy;
  return dq_policy_load(policy, given->policy, arena, error);
}

// Looks at the values of the model as it was; ranges and their names live in an arena of the model.
static dq_status check_ranges(dq_model *model, const dq_graph *original, const dq_shape_request *shapes, dq_data *data,
                              dq_error *error) {
  const dq_context *context = &model->engine->context;
  if (!(model->range_arena = dq_context_arena(context))) return dq_fail_memory(error, 0);
  DQ_TRY(dq_amp_check(original, &model->amp, shapes, data, model->range_arena, &model->ranges, &model->range_count,
                      context, error));
  for (int i = 0; i < model->range_count; i++) {
    dq_amp_range *range = &model->ranges[i]; // its texts are those of `original`
    range->name = dq_arena_strdup(model->range_arena, range->name);
    range->op_type = dq_arena_strdup(model->range_arena, range->op_type);
    if (!range->name || !range->op_type) return dq_fail_memory(error, 0);
  }
  return DQ_OK;
}

// Facts of a conversion that the report on it does not have.
typedef struct amp_facts {
  int64_t pictures;
  dq_verdict verdict;
} amp_facts;

// What the outputs of the converted model lost, on the pictures of `check` or on noise.
static dq_status judge(const dq_model *model, const dq_graph *original, const dq_amp_options *settings, dq_data *data,
                       dq_arena *arena, dq_verdict *verdict, dq_error *error) {
  const dq_evaluator_options judged = {.graph = original,
                                       .shapes = &settings->shapes,
                                       .data = data,
                                       .pictures = DQ_VERDICT_FEW_SAMPLES,
                                       .noise_largest = settings->input_max};
  if (model->amp.nothing_to_do) return DQ_OK;
  return dq_verdict_conclude(verdict, DQ_VERDICT_OTHER_PICTURES, model->graph, &judged, &model->engine->context, arena,
                             error);
}

static dq_status amp(dq_model *model, const dq_model_amp_options *options, dq_arena *arena, amp_facts *found,
                     dq_error *error) {
  dq_model_amp_options given = {0};
  dq_amp_options settings;
  DQ_TRY(dq_api_read_options(&given, sizeof given, options, error));
  DQ_TRY(read_amp(model, &given, arena, &settings, error));
  dq_data *data = given.check ? given.check->data : NULL;
  DQ_TRY(dq_complete_shapes(&settings.shapes, model->graph, data, arena, error));
  dq_graph *original = dq_graph_copy(model->graph);
  if (!original) return dq_fail_memory(error, 0);
  dq_status status = dq_amp_apply(model->graph, &settings, &model->amp, &model->engine->context, error);
  status = dq_api_end(model, DQ_TRANSFORM_AMP, status, error);
  if (status == DQ_OK && data) status = check_ranges(model, original, &settings.shapes, data, error);
  if (status == DQ_OK) status = judge(model, original, &settings, data, arena, &found->verdict, error);
  found->pictures = data ? dq_data_count(data) : 0;
  dq_graph_free(original);
  return status;
}

// What dq-amp ends with 1 for.
static dq_status check_amp(const dq_model *model, const amp_facts *found, dq_error *error) {
  DQ_TRY(dq_amp_check_overflow(model->ranges, model->range_count, error));
  return dq_api_check_verdict(&found->verdict, &dq_no_bounds, error);
}

static void give_amp(const dq_model *model, const amp_facts *found, dq_model_amp_facts *facts) {
  const dq_amp_report *report = &model->amp;
  dq_model_amp_facts known = {.nodes = report->count,
                              .half_nodes = report->halves,
                              .casts = report->casts,
                              .cast_bytes = report->sizes_unknown ? -1 : report->cast_bytes,
                              .weights = report->weights,
                              .lost_to_zero = report->lost_to_zero,
                              .guarded = report->guarded,
                              .kept_weights = report->kept_weights,
                              .pictures = found->pictures,
                              .outputs_sqnr = dq_verdict_sqnr(&found->verdict),
                              .outputs_agreement = dq_verdict_agreement(&found->verdict),
                              .checked = model->range_count};
  for (int i = 0; i < model->range_count; i++) known.overflowed += model->ranges[i].overflow > 0;
  dq_api_copy_results(facts, &known, sizeof known);
}

dq_code dq_model_amp(dq_model *model, const dq_model_amp_options *options, dq_model_amp_facts *facts,
                     dq_failure *failure) {
  dq_call call;
  amp_facts found = {0};
  dq_arena *arena = NULL;
  dq_status status = DQ_ENTER(&call, {"model", model});
  if (status == DQ_OK) status = dq_api_begin(model, facts, &call.error);
  if (status == DQ_OK && !(arena = dq_context_arena(&model->engine->context))) status = dq_fail_memory(&call.error, 0);
  if (status == DQ_OK) status = amp(model, options, arena, &found, &call.error);
  if (status == DQ_OK) {
    give_amp(model, &found, facts);
    status = check_amp(model, &found, &call.error);
  }
  dq_arena_free(arena);
  return dq_api_leave(&call, status, failure);
}

int dq_model_amp_range_at(const dq_model *model, int index, dq_model_amp_range *range) {
  if (!model || model->last != DQ_TRANSFORM_AMP || index < 0 || index >= model->range_count) return 0;
  const dq_amp_range *seen = &model->ranges[index];
  dq_model_amp_range known = {.name = seen->name,
                              .op_type = seen->op_type,
                              .largest = seen->largest,
                              .elements = seen->elements,
                              .overflow = seen->overflow,
                              .subnormal = seen->subnormal};
  dq_api_copy_results(range, &known, sizeof known);
  return 1;
}

int dq_model_amp_at(const dq_model *model, int index, dq_model_amp_row *row) {
  if (!model || model->last != DQ_TRANSFORM_AMP || index < 0 || index >= model->amp.count) return 0;
  const dq_amp_node *node = &model->amp.nodes[index];
  dq_model_amp_row known = {.name = node->name, .op_type = node->op_type, .half = node->half, .reason = node->reason};
  dq_api_copy_results(row, &known, sizeof known);
  return 1;
}
