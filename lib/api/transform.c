// The transforms of the public interface: options in, the transform itself, facts out.
#include "decomp/ranks_file.h"
#include "lib/api/private.h"
#include "lib/eval/runner.h"
#include "lib/passes/origin.h"
#include "quant/table.h"

_Static_assert(DQ_CHOICE_ON == (int)DQ_CHOOSE_ON && DQ_CHOICE_OFF == (int)DQ_CHOOSE_OFF,
               "choices are the same");

// A transform may start: nothing depends on the model as it stands.
static dq_status begin(dq_model *model, const void *facts, dq_error *error) {
  DQ_TRY(dq_api_check_facts(facts, error));
  DQ_TRY(dq_api_check_model(model, error));
  if (model->networks)
    return dq_fail(error, DQ_USAGE, "%d networks are open on the model, expected none",
                   model->networks);
  dq_api_forget(model);
  return DQ_OK;
}

// After the transform itself: from here on the model is another one, or useless.
static dq_status end(dq_model *model, dq_transform transform, dq_status status, dq_error *error) {
  if (status == DQ_OK) status = dq_graph_index(model->graph, false, error);
  if (status == DQ_OK) model->last = transform;
  else model->broken = true;
  return status;
}

// ---- float16 ----

void dq_model_amp_defaults(dq_model_amp_options *options, size_t size) {
  dq_api_start(options, size, &(dq_model_amp_options){0}, sizeof *options);
}

static dq_status amp(dq_model *model, const dq_model_amp_options *options, dq_arena *arena,
                     dq_error *error) {
  dq_model_amp_options given = {0};
  DQ_TRY(dq_api_take(&given, sizeof given, options, error));
  dq_amp_options settings = {.half_io = given.half_io != 0,
                             .nearest = given.nearest != 0,
                             .allow = given.allow,
                             .allow_count = dq_api_count(given.allow),
                             .follow = given.follow,
                             .follow_count = dq_api_count(given.follow),
                             .deny = given.deny,
                             .deny_count = dq_api_count(given.deny),
                             .deny_nodes = given.deny_nodes,
                             .deny_node_count = dq_api_count(given.deny_nodes)};
  DQ_TRY(dq_api_shapes(given.shapes, (const dq_graph *const[]){model->graph}, 1, 0, arena, &settings.shapes, error));
  dq_status status =
      dq_amp_apply(model->graph, &settings, &model->amp, &model->engine->context, error);
  return end(model, DQ_TRANSFORM_AMP, status, error);
}

static void give_amp(const dq_amp_report *report, dq_model_amp_facts *facts) {
  dq_model_amp_facts known = {.nodes = report->count,
                              .half_nodes = report->halves,
                              .casts = report->casts,
                              .cast_bytes = report->sizes_unknown ? -1 : report->cast_bytes,
                              .weights = report->weights,
                              .lost_to_zero = report->lost_to_zero};
  dq_api_give(facts, &known, sizeof known);
}

dq_code dq_model_amp(dq_model *model, const dq_model_amp_options *options,
                     dq_model_amp_facts *facts, dq_failure *failure) {
  dq_error error = {0};
  dq_status status = begin(model, facts, &error);
  dq_arena *arena = status == DQ_OK ? dq_context_arena(&model->engine->context) : NULL;
  if (status == DQ_OK)
    status = arena ? amp(model, options, arena, &error) : dq_fail_memory(&error, 0);
  dq_arena_free(arena);
  if (status == DQ_OK) give_amp(&model->amp, facts);
  return dq_api_finish(status, &error, failure);
}

int dq_model_amp_at(const dq_model *model, int index, dq_model_amp_row *row) {
  if (model->last != DQ_TRANSFORM_AMP || index < 0 || index >= model->amp.count) return 0;
  const dq_amp_node *node = &model->amp.nodes[index];
  dq_model_amp_row known = {
      .name = node->name, .op_type = node->op_type, .half = node->half, .reason = node->reason};
  dq_api_give(row, &known, sizeof known);
  return 1;
}

// ---- INT8 ----

static const dq_model_int8_options int8_defaults = {.method = "percentile", .percentile = 99.999};

void dq_model_int8_defaults(dq_model_int8_options *options, size_t size) {
  dq_api_start(options, size, &int8_defaults, sizeof *options);
}

static dq_status read_int8(const dq_model *model, const dq_model_int8_options *given, dq_arena *arena,
                           dq_int8_options *settings, dq_error *error) {
  *settings = (dq_int8_options){.method = given->method ? dq_observer_find(given->method) : NULL,
                                .percentile = given->percentile,
                                .equalize = (dq_choose)given->equalize,
                                .bias_correction = (dq_choose)given->bias_correction,
                                .accumulator = (dq_accumulator)given->sums,
                                .rounding = given->adaptive ? DQ_ROUND_ADAPTIVE : DQ_ROUND_NEAREST,
                                .per_tensor = given->per_tensor != 0,
                                .activation_type = given->signed_activations ? DQ_I8 : DQ_U8,
                                .symmetric = given->symmetric != 0,
                                .exclude = given->exclude,
                                .exclude_count = dq_api_count(given->exclude),
                                .only = given->only,
                                .only_count = dq_api_count(given->only),
                                .operators = given->operators,
                                .operator_count = dq_api_count(given->operators)};
  if (!settings->method)
    return dq_fail(error, DQ_USAGE, "unknown method '%s'", given->method ? given->method : "");
  if (!(given->percentile >= 50 && given->percentile <= 100))
    return dq_fail(error, DQ_USAGE, "percentile is %g, expected 50 to 100", given->percentile);
  return dq_api_shapes(given->shapes, (const dq_graph *const[]){model->graph}, 1, 0, arena, &settings->shapes, error);
}

// The table to quantize by, held against model and data; `hash` becomes that of the data.
static dq_status read_table(const dq_model *model, const dq_dataset *dataset,
                            const dq_model_int8_options *given, dq_int8_options *settings,
                            dq_calibration_table *table, uint64_t *hash, dq_arena *arena,
                            dq_error *error) {
  if (dataset && (given->save_table || given->use_table))
    DQ_TRY(dq_data_hash(hash, model->graph, &settings->shapes, dataset->data, error));
  if (!given->use_table) return DQ_OK;
  DQ_TRY(dq_calibration_table_load(table, given->use_table, arena, error));
  if (!given->force)
    DQ_TRY(dq_calibration_table_check(table, given->use_table, dq_origin_hash(model->graph),
                                      dataset ? hash : NULL, error));
  if (!dataset) *hash = table->data;
  const dq_observer *method = dq_observer_find(table->method);
  if (method) settings->method = method;
  settings->table = table;
  return DQ_OK;
}

static dq_status int8(dq_model *model, dq_dataset *dataset, const dq_model_int8_options *options,
                      dq_arena *arena, dq_error *error) {
  dq_model_int8_options given = int8_defaults;
  dq_int8_options settings;
  dq_calibration_table table;
  uint64_t hash = 0;
  DQ_TRY(dq_api_take(&given, sizeof given, options, error));
  if (!dataset && !given.use_table)
    return dq_fail(error, DQ_USAGE, "neither data nor a table is given");
  DQ_TRY(read_int8(model, &given, arena, &settings, error));
  if (dataset) DQ_TRY(dq_complete_shapes(&settings.shapes, model->graph, dataset->data, arena, error));
  DQ_TRY(read_table(model, dataset, &given, &settings, &table, &hash, arena, error));
  dq_status status = dq_int8_apply(model->graph, dataset ? dataset->data : NULL, &settings,
                                   &model->int8, &model->engine->context, error);
  DQ_TRY(end(model, DQ_TRANSFORM_INT8, status, error));
  if (!given.save_table || model->int8.nothing_to_do) return DQ_OK;
  model->int8.table.data = hash;
  return dq_calibration_table_export(&model->int8.table,
                                     dq_calibration_table_format_for(given.save_table),
                                     given.save_table, error);
}

static void give_int8(const dq_int8_report *report, dq_model_int8_facts *facts) {
  dq_model_int8_facts known = {.operators = report->count,
                               .quantized = report->quantized,
                               .activations = report->values,
                               .pictures = report->pictures,
                               .calibration_bytes = report->calibration_bytes,
                               .nothing_to_do = report->nothing_to_do,
                               .method = report->quantized ? report->table.method : NULL,
                               .equalized = report->equalized,
                               .bias_corrected = report->bias_corrected,
                               .rounded = report->rounded};
  dq_api_give(facts, &known, sizeof known);
}

dq_code dq_model_int8(dq_model *model, dq_dataset *dataset, const dq_model_int8_options *options,
                      dq_model_int8_facts *facts, dq_failure *failure) {
  dq_error error = {0};
  dq_status status = begin(model, facts, &error);
  dq_arena *arena = status == DQ_OK ? dq_context_arena(&model->engine->context) : NULL;
  if (status == DQ_OK)
    status = arena ? int8(model, dataset, options, arena, &error) : dq_fail_memory(&error, 0);
  dq_arena_free(arena);
  if (status == DQ_OK) give_int8(&model->int8, facts);
  return dq_api_finish(status, &error, failure);
}

int dq_model_int8_at(const dq_model *model, int index, dq_model_int8_row *row) {
  if (model->last != DQ_TRANSFORM_INT8 || index < 0 || index >= model->int8.count) return 0;
  const dq_int8_layer *layer = &model->int8.layers[index];
  dq_model_int8_row known = {.name = layer->name,
                             .op_type = layer->op_type,
                             .reason = layer->reason,
                             .low = (double)layer->range.low,
                             .high = (double)layer->range.high,
                             .scale = (double)layer->parameters.scale,
                             .zero_point = layer->parameters.zero_point,
                             .weight_scale_low = (double)layer->weight_scale_low,
                             .weight_scale_high = (double)layer->weight_scale_high};
  dq_api_give(row, &known, sizeof known);
  return 1;
}

// ---- Tucker-2 ----

static const dq_model_tucker_options tucker_defaults = {.multiple = 1};

void dq_model_tucker_defaults(dq_model_tucker_options *options, size_t size) {
  dq_api_start(options, size, &tucker_defaults, sizeof *options);
}

static dq_status read_tucker(const dq_model *model, const dq_model_tucker_options *options, dq_arena *arena,
                             dq_tucker_options *settings, dq_shape_request *request,
                             dq_error *error) {
  dq_model_tucker_options given = tucker_defaults;
  DQ_TRY(dq_api_take(&given, sizeof given, options, error));
  int rules = (given.ratio != 0) + (given.energy != 0) + (given.macs != 0) + !!given.ranks;
  if (rules != 1)
    return dq_fail(error, DQ_USAGE, "%d of ratio, energy, macs and ranks are given, expected one",
                   rules);
  if (given.macs != 0 && !(given.macs > 0 && given.macs < 1))
    return dq_fail(error, DQ_USAGE, "macs is %g, expected above 0 and below 1", given.macs);
  settings->rule = given.energy != 0 ? DQ_RANK_ENERGY : DQ_RANK_RATIO;
  settings->parameter = given.energy != 0 ? given.energy : given.ratio;
  settings->macs_share = given.macs;
  settings->multiple = given.multiple;
  settings->plain = given.plain != 0;
  settings->force = given.force != 0;
  if (!given.ranks && given.macs == 0)
    DQ_TRY(dq_rank_check(settings->rule, settings->parameter, settings->multiple, error));
  DQ_TRY(dq_api_shapes(given.shapes, (const dq_graph *const[]){model->graph}, 1, 0, arena, request, error));
  if (request->input_count) settings->shapes = request;
  if (!given.ranks) return DQ_OK;
  dq_layer_ranks *layers = NULL;
  DQ_TRY(dq_ranks_load(given.ranks, arena, &layers, &settings->layer_count, error));
  settings->layers = layers;
  return DQ_OK;
}

static dq_status tucker(dq_model *model, const dq_model_tucker_options *options, dq_arena *arena,
                        dq_error *error) {
  dq_tucker_options settings = {.context = &model->engine->context};
  dq_shape_request request;
  DQ_TRY(read_tucker(model, options, arena, &settings, &request, error));
  dq_status status = dq_tucker_apply(model->graph, &settings, &model->tucker, error);
  return end(model, DQ_TRANSFORM_TUCKER, status, error);
}

static void give_tucker(const dq_tucker_report *report, dq_model_tucker_facts *facts) {
  dq_model_tucker_facts known = {
      .convolutions = report->count,
      .decomposed = report->decomposed,
      .macs_before = report->macs_known ? report->model_before.macs : -1,
      .macs_after = report->macs_known ? report->model_after.macs : -1,
      .parameters_before = report->model_before.parameters,
      .parameters_after = report->model_after.parameters};
  dq_api_give(facts, &known, sizeof known);
}

dq_code dq_model_tucker(dq_model *model, const dq_model_tucker_options *options,
                        dq_model_tucker_facts *facts, dq_failure *failure) {
  dq_error error = {0};
  dq_status status = begin(model, facts, &error);
  dq_arena *arena = status == DQ_OK ? dq_context_arena(&model->engine->context) : NULL;
  if (status == DQ_OK)
    status = arena ? tucker(model, options, arena, &error) : dq_fail_memory(&error, 0);
  dq_arena_free(arena);
  if (status == DQ_OK) give_tucker(&model->tucker, facts);
  return dq_api_finish(status, &error, failure);
}

int dq_model_tucker_at(const dq_model *model, int index, dq_model_tucker_row *row) {
  if (model->last != DQ_TRANSFORM_TUCKER || index < 0 || index >= model->tucker.count) return 0;
  const dq_tucker_layer *layer = &model->tucker.layers[index];
  dq_model_tucker_row known = {
      .name = layer->name,
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
      .parameters_after = layer->after.parameters};
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
