// The INT8 transform of the public interface, and the search for the layers that stay in float.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/api/api_internal.h"
#include "lib/eval/decode.h"
#include "lib/session/runner.h"
#include "quant/int8/int8_files.h"
#include "quant/search/agreement.h"
#include "quant/search/convert_int8.h"

_Static_assert(DQ_CHOICE_ON == (int)DQ_CHOOSE_ON && DQ_CHOICE_OFF == (int)DQ_CHOOSE_OFF, "choices are the same");
_Static_assert(DQ_SUMS_INT32 == (int)DQ_ACCUMULATE_INT32 && DQ_SUMS_INT16 == (int)DQ_ACCUMULATE_INT16,
               "accumulators are the same");

static const dq_model_int8_options int8_defaults = {
    .max_drop = -1, .min_sqnr = -INFINITY, .min_agreement = -1, .max_float = -1};
static const double default_percentile = 99.999;

void dq_model_int8_defaults(dq_model_int8_options *options, size_t size) {
  dq_api_set_defaults(options, size, &int8_defaults, sizeof *options);
}

// What one call works with.
typedef struct work {
  dq_model *model;
  dq_data *data; // NULL: there is a table
  dq_model_int8_options given;
  dq_int8_options settings;
  dq_int8_files files;
  dq_precision_map precision;
  dq_max_drop_options drop; // with max_drop
  dq_max_drop_report search;
  dq_arena *arena;
  const dq_context *context;
} work;

static dq_status check_ranges(const dq_model_int8_options *given, dq_error *error) {
  if (given->percentile != 0 && !(given->percentile >= 50 && given->percentile <= 100))
    return dq_fail(error, DQ_USAGE, "percentile is %g, expected 50 to 100", given->percentile);
  if (!(given->max_drop <= 100))
    return dq_fail(error, DQ_USAGE, "max_drop is %g, expected 0 to 100, or less than 0 for no bound", given->max_drop);
  if (isnan(given->min_sqnr)) return dq_fail(error, DQ_USAGE, "min_sqnr is NaN, expected dB or -INFINITY");
  if (!(given->min_agreement <= 100))
    return dq_fail(error, DQ_USAGE, "min_agreement is %g, expected 0 to 100, or less than 0 for no bound",
                   given->min_agreement);
  if (!(given->max_float <= 100))
    return dq_fail(error, DQ_USAGE, "max_float is %g, expected 0 to 100, or less than 0 for 10", given->max_float);
  if (!(given->time_limit >= 0 && given->time_limit <= 1e9))
    return dq_fail(error, DQ_USAGE, "time_limit is %g, expected 0 to 1e9", given->time_limit);
  const struct {
    const char *name;
    int value, last;
  } choices[] = {
      {"equalize", (int)given->equalize, DQ_CHOICE_OFF},
      {"bias_correction", (int)given->bias_correction, DQ_CHOICE_OFF},
      {"bias_absorption", (int)given->bias_absorption, DQ_CHOICE_OFF},
      {"range_search", (int)given->range_search, DQ_CHOICE_OFF},
      {"sums", (int)given->sums, DQ_SUMS_INT16},
      {"form", (int)given->form, DQ_FORM_OPERATOR},
  };
  for (int i = 0; i < DQ_COUNT(choices); i++)
    if (choices[i].value < 0 || choices[i].value > choices[i].last)
      return dq_fail(error, DQ_USAGE, "%s is %d, expected 0 to %d", choices[i].name, choices[i].value, choices[i].last);
  return DQ_OK;
}

// A table replays what these options decide.
static dq_status check_table(const dq_model_int8_options *given, dq_error *error) {
  const struct {
    const char *name;
    bool given;
  } decided[] = {
      {"method", given->method != NULL},
      {"percentile", given->percentile != 0},
      {"equalize", given->equalize != DQ_CHOICE_AUTO},
      {"bias_correction", given->bias_correction != DQ_CHOICE_AUTO},
      {"bias_absorption", given->bias_absorption != DQ_CHOICE_AUTO},
      {"range_search", given->range_search != DQ_CHOICE_AUTO},
      {"rounding", given->rounding != NULL},
  };
  for (int i = 0; i < DQ_COUNT(decided); i++)
    if (decided[i].given)
      return dq_fail(error, DQ_USAGE, "use_table is given with %s, which the table decides", decided[i].name);
  return DQ_OK;
}

// Options that do not go together.
static dq_status check_pairs(const dq_model_int8_options *given, dq_error *error) {
  int sources = (given->max_drop >= 0) + !!given->precision + !!given->use_table;
  if (sources > 1)
    return dq_fail(error, DQ_USAGE, "%d of max_drop, precision and use_table are given, expected at most one", sources);
  if (given->table_format && !given->save_table)
    return dq_fail(error, DQ_USAGE, "table_format is given without save_table, the file that has it");
  if (given->use_table) DQ_TRY(check_table(given, error));
  const char *method = given->method ? given->method : "percentile";
  if (given->percentile != 0 && strcmp(method, "percentile") != 0 && strcmp(method, "auto") != 0)
    return dq_fail(error, DQ_USAGE, "percentile is of the methods 'percentile' and 'auto', not of '%s'", method);
  return DQ_OK;
}

static const char *format_name(int i) {
  const dq_calibration_table_format *format = dq_calibration_table_format_at(i);
  return format ? format->name : NULL;
}
static const char *observer_name(int i) { return dq_observer_at(i) ? dq_observer_at(i)->name : NULL; }
static const char *rounding_name(int i) { return dq_rounding_method_at(i) ? dq_rounding_method_at(i)->name : NULL; }

// DQ_USAGE for an option whose value is none of the names.
static dq_status fail_unknown(const char *option, const char *value, const char *(*name)(int), dq_error *error) {
  char names[160] = "";
  for (int i = 0; name(i); i++) {
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", name(i));
  }
  return dq_fail(error, DQ_USAGE, "unknown %s '%.100s', expected one of %s", option, value, names);
}

static dq_status read_files(work *w, dq_error *error) {
  const dq_model_int8_options *given = &w->given;
  const char *name = given->table_format;
  w->files = (dq_int8_files){.use_table = given->use_table,
                             .force = given->force != 0,
                             .table = given->save_table,
                             .precision = given->save_precision};
  for (int i = 0; name && !w->files.format; i++) {
    const dq_calibration_table_format *format = dq_calibration_table_format_at(i);
    if (!format) return fail_unknown("table_format", name, format_name, error);
    if (!strcmp(format->name, name)) w->files.format = format;
  }
  return DQ_OK;
}

static dq_status read_settings(work *w, dq_error *error) {
  const dq_model_int8_options *given = &w->given;
  const dq_graph *graph = w->model->graph;
  const char *method = given->method ? given->method : given->percentile != 0 ? "percentile" : "auto";
  w->settings = (dq_int8_options){.method = dq_observer_find(method),
                                  .percentile = given->percentile != 0 ? given->percentile : default_percentile,
                                  .equalize = (dq_choose)given->equalize,
                                  .bias_absorption = (dq_choose)given->bias_absorption,
                                  .bias_correction = (dq_choose)given->bias_correction,
                                  .range_search = (dq_choose)given->range_search,
                                  .accumulator = (dq_accumulator)given->sums,
                                  .rounding = given->rounding ? dq_rounding_method_find(given->rounding) : NULL,
                                  .time_limit = given->time_limit,
                                  .search_hint = "range_search of DQ_CHOICE_OFF leaves it out",
                                  .per_tensor = given->per_tensor != 0,
                                  .activation_type = given->signed_activations ? DQ_I8 : DQ_U8,
                                  .symmetric = given->symmetric != 0,
                                  .qoperator = given->form == DQ_FORM_OPERATOR,
                                  .exclude = given->exclude,
                                  .exclude_count = dq_api_count(given->exclude),
                                  .only = given->only,
                                  .only_count = dq_api_count(given->only),
                                  .operators = given->operators,
                                  .operator_count = dq_api_count(given->operators),
                                  .decode = given->decode,
                                  .batch = given->batch};
  if (!w->settings.method) return fail_unknown("method", given->method, observer_name, error);
  if (given->rounding && !w->settings.rounding) return fail_unknown("rounding", given->rounding, rounding_name, error);
  DQ_TRY(dq_task_check(given->task, error));
  DQ_TRY(dq_decoder_check(given->decode, error));
  DQ_TRY(read_files(w, error));
  DQ_TRY(dq_api_shapes(given->shapes, &graph, 1, 1, w->arena, &w->settings.shapes, error));
  if (w->data) DQ_TRY(dq_complete_shapes(&w->settings.shapes, graph, w->data, w->arena, error));
  DQ_TRY(dq_api_batch(&w->settings.batch, w->model, &w->settings.shapes, w->data, error));
  if (!given->precision) return DQ_OK;
  w->settings.precision = &w->precision;
  return dq_precision_load(&w->precision, given->precision, graph, w->arena, error);
}

// The figures of the float network that max_drop compares with, in *before.
static dq_status measure_before(work *w, dq_max_drop_options *search, dq_result *before, dq_error *error) {
  dq_data *eval = w->given.eval ? w->given.eval->data : w->data;
  if (w->given.eval && dq_data_labelled(eval) == DQ_LABEL_NONE)
    return dq_fail(error, DQ_BAD_INPUT, "the pictures of eval have no labels");
  *search = (dq_max_drop_options){.drop = w->given.max_drop,
                                  .eval = eval,
                                  .accuracy = {.task = w->given.task,
                                               .decode = w->given.decode,
                                               .batch = w->settings.batch,
                                               .shapes = w->settings.shapes},
                                  .before = before,
                                  .time_limit = w->given.time_limit};
  bool labelled = dq_data_labelled(eval) != DQ_LABEL_NONE;
  if (labelled) DQ_TRY(dq_accuracy_run(before, w->model->graph, eval, &search->accuracy, w->context, error));
  if (before->count) search->accuracy.task = before->task;
  else {
    *before = dq_agreement_whole(dq_verdict_pictures(w->data));
    search->eval = NULL;
  }
  return DQ_OK;
}

static dq_verdict_bounds verdict_bounds(const dq_model_int8_options *given) {
  return (dq_verdict_bounds){.sqnr = given->min_sqnr,
                             .agreement = given->min_agreement < 0 ? -INFINITY : given->min_agreement,
                             .sqnr_option = "min_sqnr",
                             .agreement_option = "min_agreement"};
}

static dq_convert_options conversion_of(const work *w) {
  const dq_model_int8_options *given = &w->given;
  return (dq_convert_options){.int8 = &w->settings,
                              .data = w->data,
                              .eval = given->eval ? given->eval->data : NULL,
                              .bounds = verdict_bounds(given),
                              .all_int8 = given->all_int8 != 0,
                              .max_float = given->max_float < 0 ? 0.1 : given->max_float / 100,
                              .max_float_given = given->max_float >= 0,
                              .max_float_option = "max_float",
                              .max_drop = given->max_drop >= 0 ? &w->drop : NULL,
                              .time_limit = given->time_limit};
}

static dq_status convert(work *w, dq_error *error) {
  const dq_model_int8_options *given = &w->given;
  dq_result before = {0};
  dq_graph *answer = NULL;
  if (given->max_drop >= 0) DQ_TRY(measure_before(w, &w->drop, &before, error));
  const dq_convert_options options = conversion_of(w);
  DQ_TRY(dq_convert_int8(&answer, w->model->graph, &w->model->int8, &w->search, &options, w->context, error));
  return dq_api_replace(w->model, answer, error);
}

// Settings for the model, which becomes float32; after a failure it is what it was.
static dq_status prepare(work *w, dq_error *error) {
  dq_graph *wide = NULL;
  DQ_TRY(dq_int8_widen(&wide, w->model->graph, w->context, error));
  DQ_TRY(dq_api_replace(w->model, wide, error));
  dq_status status = read_settings(w, error);
  if (status == DQ_OK) status = dq_int8_files_read(&w->files, wide, w->data, &w->settings, w->arena, error);
  return dq_api_undo(w->model, status);
}

// Quantizes the model, which is `file` in float32; it is `file` again when nothing can be quantized.
static dq_status quantize(work *w, const dq_graph *file, dq_error *error) {
  DQ_TRY(convert(w, error));
  if (w->model->int8.quantized || w->model->int8.halves) return DQ_OK;
  dq_graph *same = dq_graph_copy(file);
  return same ? dq_api_replace(w->model, same, error) : dq_fail_memory(error, 0);
}

static dq_status int8(work *w, const dq_model_int8_options *options, dq_error *error) {
  w->given = int8_defaults;
  DQ_TRY(dq_api_read_options(&w->given, sizeof w->given, options, error));
  DQ_TRY(check_ranges(&w->given, error));
  DQ_TRY(check_pairs(&w->given, error));
  if (!w->data && !w->given.use_table)
    return dq_fail(error, DQ_USAGE, "neither data nor use_table is given, expected one of them");
  const dq_graph *file = w->model->graph;
  DQ_TRY(prepare(w, error));
  dq_status status = quantize(w, file, error);
  DQ_TRY(dq_api_end(w->model, DQ_TRANSFORM_INT8, status, error));
  return dq_int8_files_write(&w->files, &w->model->int8, w->arena, error);
}

// What dq-int8 ends with 1 for; a model that did not change and was not compared holds its bounds.
static dq_status check_bounds(const work *w, dq_error *error) {
  const dq_int8_report *report = &w->model->int8;
  const dq_convert_options options = conversion_of(w);
  if (report->quantized || report->halves || report->verdict.count)
    DQ_TRY(dq_convert_int8_check(&report->verdict, &options, "the converted model", error));
  if (w->given.max_drop < 0 || w->search.held) return DQ_OK;
  return dq_fail(error, DQ_CONDITION, "the loss is %.4g points, more than %.4g (max_drop)", w->search.drop,
                 w->given.max_drop);
}

static void give_int8(const work *w, bool held, dq_model_int8_facts *facts) {
  const dq_int8_report *report = &w->model->int8;
  dq_model_int8_facts known = {.operators = report->count,
                               .quantized = report->quantized,
                               .activations = report->values,
                               .pictures = report->pictures,
                               .calibration_bytes = report->calibration_bytes,
                               .nothing_to_do = report->nothing_to_do,
                               .method = report->quantized ? report->table.method : NULL,
                               .equalized = report->equalized,
                               .bias_corrected = report->bias_corrected,
                               .rounded = report->rounded,
                               .outputs_sqnr = dq_verdict_sqnr(&report->verdict),
                               .outputs_agreement = dq_verdict_agreement(&report->verdict),
                               .outputs_least_sqnr = dq_verdict_least_sqnr(&report->verdict),
                               .outputs_least_agreement = dq_verdict_least_agreement(&report->verdict),
                               .float_macs = report->float_macs,
                               .float_weights = report->float_weights,
                               .absorbed = report->absorbed,
                               .searched = report->searched,
                               .half_nodes = report->halves,
                               .integer_operators = report->lowered,
                               .held = held,
                               .drop = w->given.max_drop >= 0 ? w->search.drop : 0,
                               .left_in_float = w->search.left,
                               .trials = w->search.trials,
                               .stopped = w->search.stopped};
  dq_api_copy_results(facts, &known, sizeof known);
}

dq_code dq_model_int8(dq_model *model, dq_dataset *dataset, const dq_model_int8_options *options,
                      dq_model_int8_facts *facts, dq_failure *failure) {
  dq_call call;
  work w = {.model = model};
  dq_status status = DQ_ENTER(&call, {"model", model});
  if (status == DQ_OK) status = dq_api_begin(model, facts, &call.error);
  if (status == DQ_OK) w.data = dataset ? dataset->data : NULL, w.context = &model->engine->context;
  if (status == DQ_OK && !(w.arena = dq_context_arena(w.context))) status = dq_fail_memory(&call.error, 0);
  if (status == DQ_OK) status = int8(&w, options, &call.error);
  dq_arena_free(w.arena);
  if (status == DQ_OK) {
    status = check_bounds(&w, &call.error);
    give_int8(&w, status == DQ_OK, facts);
  }
  return dq_api_leave(&call, status, failure);
}

int dq_model_int8_at(const dq_model *model, int index, dq_model_int8_row *row) {
  if (!model || model->last != DQ_TRANSFORM_INT8 || index < 0 || index >= model->int8.count) return 0;
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
  dq_api_copy_results(row, &known, sizeof known);
  return 1;
}
