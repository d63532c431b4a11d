// A run of dq-int8: from the model and the data to the files and tables.
#include "cmd/int8_command.h"

#include "cmd/int8_report.h"
#include "cmd/shared/hook.h"
#include "cmd/shared/verdict_check.h"
#include "cmd/shared/write_model.h"
#include "lib/session/batch.h"
#include "lib/document/origin.h"
#include "quant/search/agreement.h"
#include "quant/int8/hook_spec.h"
#include "quant/int8/int8_files.h"
#include "quant/search/convert_int8.h"

static dq_int8_options make_settings(const dq_int8_arguments *options) {
  bool percentile = dq_option_given(options, "percentile") && !dq_option_given(options, "method");
  return (dq_int8_options){
      .method = percentile ? dq_observer_find("percentile") : dq_observer_at(options->method),
      .percentile = options->percentile,
      .equalize = (dq_choose)options->equalize,
      .bias_absorption = (dq_choose)options->bias_absorption,
      .bias_correction = (dq_choose)options->bias_correction,
      .range_search = (dq_choose)options->range_search,
      .accumulator = (dq_accumulator)options->accumulator,
      .rounding = dq_rounding_method_at(options->rounding),
      .time_limit = options->time_limit,
      .per_tensor = options->per_tensor,
      .activation_type = options->activations == ACTIVATIONS_S8 ? DQ_I8 : DQ_U8,
      .symmetric = options->symmetric,
      .qoperator = options->format == FORMAT_QOPERATOR,
      .exclude = options->exclude.items,
      .exclude_count = options->exclude.count,
      .only = options->only.items,
      .only_count = options->only.count,
      .decode = options->data.decode,
      .search_hint = "--range-search off leaves it out",
  };
}

// What a run needs beside the command line.
typedef struct work {
  const dq_int8_arguments *options;
  dq_graph *file;            // the model as it was
  dq_graph *original, *made; // the model in float32, and what comes of it
  dq_data *data;             // NULL: there is a table
  dq_int8_options settings;
  dq_int8_files files;
  dq_precision_map precision;
  dq_int8_report report;
  dq_convert_options conversion;
  dq_accuracy_check check;
  dq_arena *arena;
  const dq_context *context;
} work;

static dq_status read_settings(work *w, dq_error *error) {
  const dq_int8_arguments *options = w->options;
  dq_int8_options *settings = &w->settings;
  *settings = make_settings(options);
  DQ_TRY(dq_split_names(&options->operators, w->arena, &settings->operators, &settings->operator_count, error));
  DQ_TRY(dq_read_shapes(&options->shapes, w->original, 1, w->arena, &settings->shapes, error));
  DQ_TRY(dq_complete_shapes(&settings->shapes, w->original, w->data, w->arena, error));
  DQ_TRY(dq_int8_files_read(&w->files, w->original, w->data, settings, w->arena, error));
  w->check.options.shapes = settings->shapes, settings->batch = options->data.batch;
  DQ_TRY(dq_settle_batch(&settings->batch, w->original, &settings->shapes, w->data ? w->data : w->check.opened,
                         w->context, error));
  w->check.options.batch = settings->batch;
  w->conversion = (dq_convert_options){.int8 = settings,
                                       .data = w->data,
                                       .eval = w->check.opened,
                                       .bounds = dq_verdict_bounds_given(options, &options->bounds),
                                       .all_int8 = options->all_int8,
                                       .max_float = options->max_float / 100,
                                       .max_float_given = dq_option_given(options, "max-float"),
                                       .max_float_option = "--max-float",
                                       .time_limit = options->time_limit};
  if (!options->precision) return DQ_OK;
  settings->precision = &w->precision;
  return dq_precision_load(&w->precision, options->precision, w->original, w->arena, error);
}

// Quantizes a copy, with layers in float where accuracy or the verdict asks for them.
static dq_status convert(work *w, dq_error *error) {
  bool bounded = dq_option_given(w->options, "max-drop");
  const dq_max_drop_options search = {.drop = w->options->max_drop,
                                      .eval = w->check.data,
                                      .accuracy = w->check.options,
                                      .before = &w->check.before,
                                      .time_limit = w->options->time_limit};
  dq_max_drop_report found;
  w->conversion.max_drop = bounded ? &search : NULL;
  if (bounded && !w->check.before.count) {
    w->check.before = dq_agreement_whole(dq_verdict_pictures(w->check.opened ? w->check.opened : w->data));
    dq_message(w->context, DQ_NOTE, "--max-drop: no labels: answers are compared with those of the float network");
  }
  DQ_TRY(dq_convert_int8(&w->made, w->original, &w->report, &found, &w->conversion, w->context, error));
  w->conversion.max_drop = NULL;
  if (found.stopped)
    dq_message(w->context, DQ_WARNING, "%s: stopped by the time limit", bounded ? "--max-drop" : "layers in float");
  if (bounded) w->check.after = found.after;
  return DQ_OK;
}

static dq_status retrain(const work *w, dq_error *error) {
  const dq_int8_arguments *options = w->options;
  if (!options->retrain) return DQ_OK;
  dq_retrain_options hook = {.command = options->retrain,
                             .original = options->common.operands[0],
                             .data = options->data.data,
                             .time_limit = options->time_limit,
                             .shapes = &w->settings.shapes};
  dq_builtin builtin = dq_builtin_of(w->original, w->data, NULL, DQ_BUILTIN_QUANTIZED, &hook, w->context);
  DQ_TRY(dq_hook_builtin(&hook, &builtin, "--eval", error));
  DQ_TRY(dq_int8_spec(&w->report, w->arena, &hook.spec, error));
  DQ_TRY(dq_retrain_nodes(w->made, w->arena, &hook.nodes, &hook.node_count, error));
  return dq_hook_run(w->made, options->output.output, &hook, "the quantized model", w->context, error);
}

// Measures accuracy and layers, and prints the tables: of the quantized graph, or of what a hook put into `path`.
static dq_status measure(work *w, const char *path, dq_error *error) {
  dq_quantization_check layers = {.original = w->original, .data = w->data, .shapes = w->settings.shapes};
  layers.summary = !w->options->overflow && dq_command_reports_text_alone(&w->options->common);
  dq_graph *retrained = NULL;
  if (path) DQ_TRY(dq_model_open(&retrained, path, w->context, error));
  const dq_graph *measured = retrained ? retrained : w->made;
  dq_status status = retrained ? dq_convert_int8_judge(&w->report.verdict, w->original, retrained, &w->conversion,
                                                       w->context, w->arena, error)
                               : DQ_OK;
  if (path && !w->check.data) w->check.before.count = 0; // agreement of what a hook made is not measured
  if (status == DQ_OK && (w->report.quantized || w->report.halves) && (path || !w->check.after.count))
    status = dq_accuracy_check_after(&w->check, measured, w->context, error);
  if (status == DQ_OK && w->report.quantized)
    status = dq_quantization_check_run(&layers, measured, w->arena, w->context, error);
  if (status == DQ_OK)
    status =
        dq_int8_print(&w->options->common, &w->report, &layers, &w->check, w->options->overflow, w->context, error);
  dq_graph_free(retrained);
  return status;
}

// What a hook made, or a bound on accuracy found, is held against what was asked for alone.
static dq_status check(const work *w, bool retrained, const char *path, dq_error *error) {
  const dq_verdict *verdict = &w->report.verdict;
  const bool decided = retrained || dq_option_given(w->options, "max-drop");
  return decided ? dq_verdict_check(verdict, &w->conversion.bounds, path, error)
                 : dq_convert_int8_check(verdict, &w->conversion, path, error);
}

static bool is_changed(const dq_int8_report *report) { return report->quantized || report->halves; }

// What follows when the model is written.
static dq_status finish(work *w, dq_error *error) {
  const char *model = w->options->common.operands[0], *path = w->options->output.output;
  const dq_int8_report *report = &w->report;
  bool changed = is_changed(report), judged = changed || report->verdict.count;
  if (!changed) dq_message(w->context, DQ_NOTE, "%s: %s", model, dq_int8_unchanged(report));
  if (report->quantized) dq_int8_say_readers(&w->settings, w->context);
  dq_error reason = {0};
  dq_status hook = changed ? retrain(w, &reason) : DQ_OK;
  bool retrained = w->options->retrain && hook == DQ_OK;
  if (hook == DQ_OK || hook == DQ_CONDITION) DQ_TRY(measure(w, retrained ? path : NULL, error)); // also a failed hook's
  if (hook != DQ_OK) return *error = reason, hook;
  if (judged) DQ_TRY(check(w, retrained, path, error));
  if (!dq_option_given(w->options, "max-drop")) return DQ_OK;
  dq_accuracy_check_others(&w->check, &w->check.after, w->options->max_drop, w->context);
  return dq_accuracy_check_drop(&w->check, w->options->max_drop, path, error);
}

static dq_status write_all(work *w, dq_error *error) {
  if (!dq_command_writes(w->context)) return DQ_OK;
  const dq_graph *made = is_changed(&w->report) ? w->made : w->file;
  DQ_TRY(dq_write_model(w->file, made, w->options->output.output, w->context, error));
  return dq_int8_files_write(&w->files, &w->report, w->arena, error);
}

static dq_status quantize(work *w, dq_error *error) {
  const char *model = w->options->common.operands[0];
  DQ_TRY(dq_processes_agree(w->context->processes, read_settings(w, error), error));
  DQ_TRY(dq_accuracy_check_before(&w->check, w->original, model, w->context, error));
  dq_status status = convert(w, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", model);
  DQ_TRY(dq_processes_agree(w->context->processes, write_all(w, error), error));
  return finish(w, error);
}

static dq_status open_all(work *w, dq_error *error) {
  const dq_int8_arguments *options = w->options;
  dq_data_arguments arguments = options->data;
  if (!(w->arena = dq_context_arena(w->context))) return dq_fail_memory(error, 0);
  DQ_TRY(dq_model_open(&w->file, options->common.operands[0], w->context, error));
  DQ_TRY(dq_int8_widen(&w->original, w->file, w->context, error));
  dq_recall_preset(&arguments, w->original, w->context);
  if (arguments.data) DQ_TRY(dq_open_data(&w->data, &arguments, options->common.seed, w->context, error));
  return dq_accuracy_check_open(&w->check, w->data, &arguments, &options->eval, &options->common, w->context, error);
}

dq_status dq_int8_command_run(const void *parsed, const dq_context *context, dq_error *error) {
  const dq_int8_arguments *options = parsed;
  if (!options->data.data && !options->use_table)
    return dq_fail(error, DQ_USAGE, "one of '--data' and '--use-table' is needed");
  DQ_TRY(dq_hook_alone(options->retrain, context, error));
  work w = {.options = options,
            .files = {.use_table = options->use_table,
                      .force = options->force,
                      .table = options->table,
                      .precision = options->save_precision},
            .context = context};
  if (dq_option_given(options, "table-format")) w.files.format = dq_calibration_table_format_at(options->table_format);
  dq_status status = dq_processes_agree(context->processes, open_all(&w, error), error);
  if (status == DQ_OK) status = quantize(&w, error);
  dq_graph_free(w.made);
  dq_accuracy_check_close(&w.check);
  dq_data_free(w.data);
  dq_arena_free(w.arena);
  dq_graph_free(w.original);
  dq_graph_free(w.file);
  return status;
}
