// The transforms of the public interface to float16 and to Tucker-2: options in, the transform itself, facts out.
#include "decomp/tucker/ranks_file.h"
#include "lib/api/api_internal.h"
#include "lib/session/runner.h"

dq_status dq_api_begin(dq_model *model, const void *facts, dq_error *error) {
  DQ_TRY(dq_api_check_facts(facts, error));
  DQ_TRY(dq_api_check_model(model, error));
  if (model->networks)
    return dq_fail(error, DQ_USAGE, "%d networks are open on the model, expected none", model->networks);
  dq_api_forget(model);
  return DQ_OK;
}

dq_status dq_api_end(dq_model *model, dq_transform transform, dq_status status, dq_error *error) {
  if (status == DQ_OK) status = dq_graph_index(model->graph, false, error);
  if (status == DQ_OK) model->last = transform;
  else model->broken = true;
  return status;
}

// ---- float16 ----

void dq_model_amp_defaults(dq_model_amp_options *options, size_t size) {
  dq_api_start(options, size, &(dq_model_amp_options){0}, sizeof *options);
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

static dq_status amp(dq_model *model, const dq_model_amp_options *options, dq_arena *arena, int64_t *pictures,
                     dq_error *error) {
  dq_model_amp_options given = {0};
  dq_amp_options settings;
  dq_graph *original = NULL;
  DQ_TRY(dq_api_take(&given, sizeof given, options, error));
  DQ_TRY(read_amp(model, &given, arena, &settings, error));
  if (given.check && !(original = dq_graph_copy(model->graph))) return dq_fail_memory(error, 0);
  dq_status status = dq_amp_apply(model->graph, &settings, &model->amp, &model->engine->context, error);
  status = dq_api_end(model, DQ_TRANSFORM_AMP, status, error);
  if (status == DQ_OK && original) status = check_ranges(model, original, &settings.shapes, given.check->data, error);
  *pictures = given.check ? dq_data_count(given.check->data) : 0;
  dq_graph_free(original);
  return status;
}

static void give_amp(const dq_model *model, int64_t pictures, dq_model_amp_facts *facts) {
  const dq_amp_report *report = &model->amp;
  dq_model_amp_facts known = {.nodes = report->count,
                              .half_nodes = report->halves,
                              .casts = report->casts,
                              .cast_bytes = report->sizes_unknown ? -1 : report->cast_bytes,
                              .weights = report->weights,
                              .lost_to_zero = report->lost_to_zero,
                              .guarded = report->guarded,
                              .kept_weights = report->kept_weights,
                              .pictures = pictures,
                              .checked = model->range_count};
  for (int i = 0; i < model->range_count; i++) known.overflowed += model->ranges[i].overflow > 0;
  dq_api_give(facts, &known, sizeof known);
}

dq_code dq_model_amp(dq_model *model, const dq_model_amp_options *options, dq_model_amp_facts *facts,
                     dq_failure *failure) {
  dq_error error = {0};
  int64_t pictures = 0;
  dq_status status = dq_api_begin(model, facts, &error);
  dq_arena *arena = status == DQ_OK ? dq_context_arena(&model->engine->context) : NULL;
  if (status == DQ_OK) status = arena ? amp(model, options, arena, &pictures, &error) : dq_fail_memory(&error, 0);
  dq_arena_free(arena);
  if (status == DQ_OK) give_amp(model, pictures, facts);
  return dq_api_finish(status, &error, failure);
}

int dq_model_amp_range_at(const dq_model *model, int index, dq_model_amp_range *range) {
  if (model->last != DQ_TRANSFORM_AMP || index < 0 || index >= model->range_count) return 0;
  const dq_amp_range *seen = &model->ranges[index];
  dq_model_amp_range known = {.name = seen->name,
                              .op_type = seen->op_type,
                              .largest = seen->largest,
                              .elements = seen->elements,
                              .overflow = seen->overflow,
                              .subnormal = seen->subnormal};
  dq_api_give(range, &known, sizeof known);
  return 1;
}

int dq_model_amp_at(const dq_model *model, int index, dq_model_amp_row *row) {
  if (model->last != DQ_TRANSFORM_AMP || index < 0 || index >= model->amp.count) return 0;
  const dq_amp_node *node = &model->amp.nodes[index];
  dq_model_amp_row known = {.name = node->name, .op_type = node->op_type, .half = node->half, .reason = node->reason};
  dq_api_give(row, &known, sizeof known);
  return 1;
}

// ---- Tucker-2 ----

static const dq_model_tucker_options tucker_defaults = {.multiple = 1};

void dq_model_tucker_defaults(dq_model_tucker_options *options, size_t size) {
  dq_api_start(options, size, &tucker_defaults, sizeof *options);
}

static dq_status read_rule(const dq_model_tucker_options *given, dq_tucker_options *settings, dq_error *error) {
  int rules = (given->ratio != 0) + (given->energy != 0) + (given->macs != 0) + !!given->ranks + (given->vbmf != 0);
  if (rules != 1)
    return dq_fail(error, DQ_USAGE, "%d of ratio, energy, macs, ranks and vbmf are given, expected one", rules);
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
  if (given->ranks || given->macs != 0) return DQ_OK;
  return dq_rank_check(settings->rule, settings->parameter, settings->multiple, error);
}

static dq_status read_tucker(const dq_model *model, const dq_model_tucker_options *options, dq_arena *arena,
                             dq_tucker_options *settings, dq_shape_request *request, dq_error *error) {
  dq_model_tucker_options given = tucker_defaults;
  const dq_graph *graph = model->graph;
  DQ_TRY(dq_api_take(&given, sizeof given, options, error));
  DQ_TRY(read_rule(&given, settings, error));
  if (given.never_slower && (given.force || given.ranks))
    return dq_fail(error, DQ_USAGE, "never_slower is given with %s, which leaves it nothing to decide",
                   given.force ? "force" : "ranks");
  settings->plain = given.plain != 0;
  settings->force = given.force != 0;
  settings->refine = given.refine != 0;
  settings->matrices = given.matrices != 0;
  settings->never_slower = given.never_slower != 0;
  settings->data = given.data && !given.plain ? given.data->data : NULL;
  DQ_TRY(dq_api_shapes(given.shapes, &graph, 1, 0, arena, request, error));
  DQ_TRY(dq_complete_shapes(request, graph, settings->data, arena, error));
  if (request->input_count) settings->shapes = request;
  if (!given.ranks) return DQ_OK;
  dq_layer_ranks *layers = NULL;
  DQ_TRY(dq_ranks_load(given.ranks, arena, &layers, &settings->layer_count, error));
  settings->layers = layers;
  return DQ_OK;
}

static dq_status tucker(dq_model *model, const dq_model_tucker_options *options, dq_arena *arena, dq_error *error) {
  dq_tucker_options settings = {.context = &model->engine->context};
  dq_shape_request request;
  DQ_TRY(read_tucker(model, options, arena, &settings, &request, error));
  dq_status status = dq_tucker_apply(model->graph, &settings, &model->tucker, error);
  return dq_api_end(model, DQ_TRANSFORM_TUCKER, status, error);
}

static void give_tucker(const dq_tucker_report *report, dq_model_tucker_facts *facts) {
  dq_model_tucker_facts known = {.convolutions = report->count,
                                 .decomposed = report->decomposed,
                                 .macs_before = report->macs_known ? report->model_before.macs : -1,
                                 .macs_after = report->macs_known ? report->model_after.macs : -1,
                                 .parameters_before = report->model_before.parameters,
                                 .parameters_after = report->model_after.parameters};
  dq_api_give(facts, &known, sizeof known);
}

dq_code dq_model_tucker(dq_model *model, const dq_model_tucker_options *options, dq_model_tucker_facts *facts,
                        dq_failure *failure) {
  dq_error error = {0};
  dq_status status = dq_api_begin(model, facts, &error);
  dq_arena *arena = status == DQ_OK ? dq_context_arena(&model->engine->context) : NULL;
  if (status == DQ_OK) status = arena ? tucker(model, options, arena, &error) : dq_fail_memory(&error, 0);
  dq_arena_free(arena);
  if (status == DQ_OK) give_tucker(&model->tucker, facts);
  return dq_api_finish(status, &error, failure);
}

int dq_model_tucker_at(const dq_model *model, int index, dq_model_tucker_row *row) {
  if (model->last != DQ_TRANSFORM_TUCKER || index < 0 || index >= model->tucker.count) return 0;
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
  dq_api_give(row, &known, sizeof known);
  return 1;
}

dq_code dq_model_tucker_save_ranks(const dq_model *model, const char *path, dq_failure *failure) {
  dq_error error = {0};
  dq_status status = model->last == DQ_TRANSFORM_TUCKER
                         ? dq_ranks_save(path, &model->tucker, &error)
                         : dq_fail(&error, DQ_USAGE, "the last transform was no decomposition");
  return dq_api_finish(status, &error, failure);
}
