// A run of dq-int8: from the model and the data to the files and tables.
#include "cmd/int8_command.h"

#include "cmd/int8_report.h"
#include "cmd/shared/hook.h"
#include "cmd/shared/verdict_check.h"
#include "cmd/shared/write_model.h"
#include "lib/document/origin.h"
#include "quant/int8/hook_spec.h"

static const dq_int8_words words = {
    .max_float = "--max-float",
    .search_hint = "--range-search off leaves it out",
    .source = "one of '--data' and '--use-table' is needed",
    .percentile = "--percentile is of --method percentile and auto, not of",
    .quote = "",
    .no_labels = "--max-drop: no labels: answers are compared with those of the float network",
};

dq_int8_request dq_int8_asked(const dq_int8_arguments *options) {
  dq_int8_request asked = options->asked;
  asked.words = &words;
  if (dq_option_given(options, "method")) asked.method = dq_observer_at(options->method)->name;
  if (dq_option_given(options, "rounding")) asked.rounding = dq_rounding_method_at(options->rounding)->name;
  if (dq_option_given(options, "table-format"))
    asked.table_format = dq_calibration_table_format_at(options->table_format)->name;
  if (!dq_option_given(options, "percentile")) asked.int8.percentile = 0;
  if (!dq_option_given(options, "max-drop")) asked.max_drop = -1;
  if (!dq_option_given(options, "max-float")) asked.max_float = -1;
  asked.bounds = dq_verdict_bounds_given(options, &options->asked.bounds);
  asked.int8.exclude = options->exclude.items, asked.int8.exclude_count = options->exclude.count;
  asked.int8.only = options->only.items, asked.int8.only_count = options->only.count;
  asked.shapes = options->shapes.items, asked.shape_count = options->shapes.count;
  asked.int8.batch = options->data.batch;
  asked.int8.decode = options->data.decode;
  asked.task = dq_task_of(&options->data);
  return asked;
}

// What a run needs beside the command line.
typedef struct work {
  const dq_int8_arguments *options;
  dq_graph *file;            // the model as it was
  dq_graph *original, *made; // the model in float32, and what comes of it
  dq_int8_task task;
  dq_int8_report report;
} work;

static bool is_bounded(const work *w) { return w->task.asked.max_drop >= 0; }

static dq_status retrain(const work *w, dq_error *error) {
  const dq_int8_arguments *options = w->options;
  if (!options->retrain) return DQ_OK;
  dq_retrain_options hook = {.command = options->retrain,
                             .original = options->common.operands[0],
                             .data = options->data.data,
                             .time_limit = options->asked.int8.time_limit,
                             .shapes = &w->task.settings.shapes};
  dq_builtin builtin = dq_builtin_of(w->original, w->task.data, NULL, DQ_BUILTIN_QUANTIZED, &hook, w->task.context);
  DQ_TRY(dq_hook_builtin(&hook, &builtin, "--eval", error));
  DQ_TRY(dq_int8_spec(&w->report, w->task.arena, &hook.spec, error));
  DQ_TRY(dq_retrain_nodes(w->made, w->task.arena, &hook.nodes, &hook.node_count, error));
  return dq_hook_run(w->made, options->output.output, &hook, "the quantized model", w->task.context, error);
}

// Measures accuracy and layers, and prints the tables: of the quantized graph, or of what a hook put into `path`.
static dq_status measure(work *w, const char *path, dq_error *error) {
  dq_quantization_check layers = {.original = w->original, .data = w->task.data, .shapes = w->task.settings.shapes};
  layers.summary = !w->options->overflow && dq_command_reports_text_alone(&w->options->common);
  dq_graph *retrained = NULL;
  if (path) DQ_TRY(dq_model_open(&retrained, path, w->task.context, error));
  const dq_graph *measured = retrained ? retrained : w->made;
  dq_convert_options judged = w->task.conversion;
  judged.max_drop = NULL;
  dq_status status = retrained ? dq_convert_int8_judge(&w->report.verdict, w->original, retrained, &judged,
                                                       w->task.context, w->task.arena, error)
                               : DQ_OK;
  if (path && !w->task.check.data) w->task.check.before.count = 0; // agreement of what a hook made is not measured
  if (status == DQ_OK && dq_int8_is_changed(&w->report) && (path || !w->task.check.after.count))
    status = dq_accuracy_after(&w->task.check, measured, w->task.context, error);
  if (status == DQ_OK && w->report.quantized)
    status = dq_quantization_check_run(&layers, measured, w->task.arena, w->task.context, error);
  if (status == DQ_OK)
    status = dq_int8_print(&w->options->common, &w->report, &layers, &w->task.check, w->options->overflow,
                           w->task.context, error);
  dq_graph_free(retrained);
  return status;
}

// What a hook made is held against what was asked for alone.
static dq_status check(const work *w, bool retrained, const char *path, dq_error *error) {
  if (!retrained) return dq_int8_task_conclude(&w->task, &w->report, path, error);
  return dq_verdict_check(&w->report.verdict, &w->task.conversion.bounds, path, error);
}

// What follows when the model is written.
static dq_status finish(work *w, dq_error *error) {
  const char *model = w->options->common.operands[0], *path = w->options->output.output;
  const dq_int8_report *report = &w->report;
  bool changed = dq_int8_is_changed(report);
  if (!changed) dq_message(w->task.context, DQ_NOTE, "%s: %s", model, dq_int8_unchanged(report));
  if (report->quantized) dq_int8_say_readers(&w->task.settings, w->task.context);
  dq_error reason = {0};
  dq_status hook = changed ? retrain(w, &reason) : DQ_OK;
  bool retrained = w->options->retrain && hook == DQ_OK;
  if (hook == DQ_OK || hook == DQ_CONDITION) DQ_TRY(measure(w, retrained ? path : NULL, error)); // also a failed hook's
  if (hook != DQ_OK) return *error = reason, hook;
  DQ_TRY(check(w, retrained, path, error));
  if (!is_bounded(w)) return DQ_OK;
  dq_accuracy_check_others(&w->task.check, &w->task.check.after, w->task.asked.max_drop, w->task.context);
  return dq_accuracy_check_drop(&w->task.check, w->task.asked.max_drop, path, error);
}

static dq_status write_all(work *w, dq_error *error) {
  if (!dq_command_writes(w->task.context)) return DQ_OK;
  const dq_graph *made = dq_int8_is_changed(&w->report) ? w->made : w->file;
  DQ_TRY(dq_write_model(w->file, made, w->options->output.output, w->task.context, error));
  return dq_int8_files_write(&w->task.files, &w->report, w->task.arena, error);
}

static dq_status quantize(work *w, dq_error *error) {
  const char *model = w->options->common.operands[0];
  dq_int8_task *task = &w->task;
  DQ_TRY(dq_int8_task_read(task, error));
  dq_status status = dq_int8_task_convert(&w->made, &w->report, task, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", model);
  if (task->found.stopped)
    dq_message(task->context, DQ_WARNING, "%s: stopped by the time limit",
               is_bounded(w) ? "--max-drop" : "layers in float");
  DQ_TRY(dq_processes_agree(task->context->processes, write_all(w, error), error));
  return finish(w, error);
}

static dq_status open_all(work *w, dq_error *error) {
  const dq_int8_arguments *options = w->options;
  dq_int8_task *task = &w->task;
  const dq_context *context = task->context;
  dq_data_arguments arguments = options->data;
  if (!(task->arena = dq_context_arena(context))) return dq_fail_memory(error, 0);
  DQ_TRY(dq_split_names(&options->operators, task->arena, &task->asked.int8.operators, &task->asked.int8.operator_count,
                        error));
  DQ_TRY(dq_model_open(&w->file, options->common.operands[0], context, error));
  DQ_TRY(dq_int8_widen(&w->original, w->file, context, error));
  task->graph = w->original;
  dq_recall_preset(&arguments, w->original, context);
  if (arguments.data) DQ_TRY(dq_open_data(&task->data, &arguments, options->common.seed, context, error));
  DQ_TRY(dq_open_eval(&task->eval, &arguments, &options->eval, &options->common, context, error));
  task->check = dq_accuracy_check_of(task->eval, task->data, &arguments, &options->common);
  return DQ_OK;
}

dq_status dq_int8_command_run(const void *parsed, const dq_context *context, dq_error *error) {
  const dq_int8_arguments *options = parsed;
  DQ_TRY(dq_hook_alone(options->retrain, context, error));
  work w = {.options = options, .task = {.asked = dq_int8_asked(options), .context = context}};
  dq_status status = dq_processes_agree(context->processes, open_all(&w, error), error);
  if (status == DQ_OK) status = quantize(&w, error);
  dq_graph_free(w.made);
  dq_data_free(w.task.eval);
  dq_data_free(w.task.data);
  dq_arena_free(w.task.arena);
  dq_graph_free(w.original);
  dq_graph_free(w.file);
  return status;
}
