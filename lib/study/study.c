// The studies of a model, in the order in which they are made.
#include "lib/study/study.h"

#include "lib/document/origin.h"
#include "lib/document/stored_preset.h"

// What the outputs lost against those of the reference.
static dq_status judge(const dq_study_options *options, dq_data *data, dq_study *study, const dq_context *context,
                       dq_arena *arena, dq_error *error) {
  const dq_evaluator_options judged = {.graph = study->reference,
                                       .shapes = &study->shapes,
                                       .data = data,
                                       .pictures = dq_data_count(data),
                                       .decode = options->decode,
                                       .batch = options->batch};
  dq_status status = dq_verdict_measure(&study->verdict, study->graph, &judged, context, arena, error);
  study->verdict.data = DQ_VERDICT_GIVEN_PICTURES;
  if (!options->must_judge && (status == DQ_UNSUPPORTED || status == DQ_BAD_INPUT)) {
    dq_message(context, DQ_NOTE, "%s: answers are not compared: %s", study->path, error->message);
    study->verdict.count = 0;
    return DQ_OK;
  }
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s", study->path);
}

static dq_status measure_on(const dq_study_options *options, dq_data *data, dq_study *study, const dq_context *context,
                            dq_arena *arena, dq_error *error) {
  dq_accuracy_options accuracy = {
      .task = options->task, .decode = options->decode, .batch = options->batch, .shapes = study->shapes};
  dq_status status = dq_accuracy_run(&study->accuracy, study->graph, data, &accuracy, context, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", study->path);
  if (!study->reference) return DQ_OK;
  dq_layer_options layers = {.shapes = study->shapes, .by_names = options->match_names};
  DQ_TRY(dq_compare_layers(&study->comparison, study->reference, study->graph, data, &layers, context, arena, error));
  return options->judged ? judge(options, data, study, context, arena, error) : DQ_OK;
}

// `data` NULL: proofs only.
static dq_status audit(const dq_study_options *options, dq_data *data, dq_study *study, const dq_context *context,
                       dq_arena *arena, dq_error *error) {
  dq_audit_options settings = {.shapes = study->shapes, .batch = options->batch, .raw = options->raw};
  dq_status status = dq_audit_model(&study->audit, study->graph, data, &settings, context, arena, error);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s", study->path);
}

enum { SENSITIVITY_PICTURES = 32 };

static dq_status find_sensitivity(dq_data *data, dq_study *study, const dq_context *context, dq_arena *arena,
                                  dq_error *error) {
  dq_int8_options int8 = dq_int8_defaults();
  int8.shapes = study->shapes;
  DQ_TRY(dq_complete_shapes(&int8.shapes, study->graph, data, arena, error));
  dq_sensitivity_options settings = {.int8 = &int8};
  dq_status status = dq_sensitivity_measure(&study->sensitivity, study->graph, data, &settings, context, arena, error);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s", study->path);
}

// The ranges of a calibration table, of those values that the model has.
static dq_status ranges_of_table(const char *path, const dq_graph *graph, dq_chosen *chosen, dq_arena *arena,
                                 dq_error *error) {
  dq_calibration_table table;
  DQ_TRY(dq_calibration_table_load(&table, path, arena, error));
  *chosen = (dq_chosen){.values = DQ_NEW_ARRAY(arena, table.count, const char *),
                        .ranges = DQ_NEW_ARRAY(arena, table.count, dq_range_pair)};
  if (!chosen->values || !chosen->ranges) return dq_fail_memory(error, 0);
  for (int i = 0; i < table.count; i++) {
    if (!dq_graph_find(graph, table.ranges[i].value)) continue;
    chosen->ranges[chosen->count] = table.ranges[i].range;
    chosen->values[chosen->count++] = table.ranges[i].value;
  }
  return chosen->count ? DQ_OK : dq_fail(error, DQ_BAD_INPUT, "%s: the model has none of its values", path);
}

// Histograms for the page, one pass more over the pictures.
static dq_status look_at_ranges(const dq_study_options *options, dq_data *data, dq_study *study,
                                const dq_context *context, dq_arena *arena, dq_error *error) {
  if (options->table) DQ_TRY(ranges_of_table(options->table, study->graph, &study->chosen, arena, error));
  else DQ_TRY(dq_chosen_of(&study->chosen, study->graph, arena, error));
  if (!study->chosen.count) return DQ_OK;
  dq_observation what = {.graph = study->graph,
                         .shapes = &study->shapes,
                         .names = study->chosen.values,
                         .count = study->chosen.count,
                         .data = data,
                         .pictures = dq_data_count(data),
                         .doing = "histograms"};
  dq_error reason = {0};
  dq_status status = dq_calibrate(&study->calibration, &what, context, &reason);
  if (status == DQ_OK || status == DQ_CANCELLED) return status;
  dq_message(context, DQ_WARNING, "no histograms: %s", reason.message);
  return DQ_OK;
}

static dq_status open_data(const dq_study_options *options, dq_data **data, dq_study *study, const dq_context *context,
                           dq_error *error) {
  *data = NULL;
  if (!options->data) return DQ_OK;
  dq_data_options wanted = *options->data;
  if (options->sensitivity && !wanted.limit) wanted.limit = SENSITIVITY_PICTURES;
  dq_apply_stored_preset(&wanted, study->graph, context);
  DQ_TRY(dq_data_open(data, &wanted, context, error));
  study->skipped = dq_data_skipped(*data);
  return DQ_OK;
}

static dq_status measure(const dq_study_options *options, dq_data *data, dq_study *study, const dq_context *context,
                         dq_arena *arena, dq_error *error) {
  if (!data) return options->overflow ? audit(options, NULL, study, context, arena, error) : DQ_OK;
  dq_status status = options->overflow      ? audit(options, data, study, context, arena, error)
                     : options->sensitivity ? find_sensitivity(data, study, context, arena, error)
                                            : DQ_OK;
  bool compares = study->reference || !(options->overflow || options->sensitivity);
  if (status == DQ_OK && compares) status = measure_on(options, data, study, context, arena, error);
  if (status == DQ_OK && options->ranges) status = look_at_ranges(options, data, study, context, arena, error);
  return status;
}

// Costs, at the sizes that are given, else at those of the data.
static dq_status count(const dq_study_options *options, dq_data *data, dq_study *study, const dq_context *context,
                       dq_arena *arena, dq_error *error) {
  const dq_graph *graph = study->graph;
  if (!options->several) DQ_TRY(dq_input_names(&graph, 1, &study->shapes, error));
  DQ_TRY(dq_complete_sizes(&study->shapes, graph, data, arena, error));
  const dq_shape_request *request = study->shapes.input_count ? &study->shapes : NULL;
  dq_status status = dq_cost_analyse(&study->cost, graph, request, context, arena, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", study->path);
  DQ_TRY(dq_weights_find_odd(graph, arena, &study->odd_weights, &study->odd_weight_count, error));
  if (!study->cost.macs_complete)
    dq_message(context, DQ_WARNING, "%s: shapes of some nodes are not known, MACs are a lower bound", study->path);
  return DQ_OK;
}

dq_status dq_study_run(dq_study *study, const char *path, dq_graph *reference, const dq_study_options *options,
                       const dq_context *context, dq_arena *arena, dq_error *error) {
  *study = (dq_study){.path = path, .reference = reference, .shapes = options->shapes};
  DQ_TRY(dq_model_open(&study->graph, path, context, error));
  if (reference) DQ_TRY(dq_sizes_share(study->graph, reference, error));
  if (reference) DQ_TRY(dq_sizes_share(reference, study->graph, error));
  dq_data *data;
  DQ_TRY(open_data(options, &data, study, context, error));
  dq_status status = count(options, data, study, context, arena, error);
  if (status == DQ_OK) status = measure(options, data, study, context, arena, error);
  dq_data_free(data);
  return status;
}

void dq_study_deinit(dq_study *study) {
  dq_calibration_deinit(&study->calibration);
  dq_graph_free(study->graph);
}
