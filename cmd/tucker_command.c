// A run of dq-tucker: from the model and the data to the files and tables.
#include "cmd/tucker_command.h"

#include <inttypes.h>
#include "cmd/shared/hook.h"
#include "cmd/shared/verdict_check.h"
#include "cmd/shared/write_model.h"
#include "decomp/tucker/ranks_file.h"
#include "decomp/search/tucker_retrain.h"
#include "decomp/search/tucker_task.h"
#include "lib/document/origin.h"
#include "lib/document/widen_half.h"
#include "lib/report/report_accuracy.h"
#include "lib/report/report_tucker.h"
#include "lib/report/report_verdict.h"

// What a run needs beside the command line.
typedef struct work {
  const dq_tucker_arguments *options;
  dq_graph *file;     // the model as it was
  dq_graph *original; // the model in float32
  dq_graph *graph;    // decomposed; NULL: not yet
  dq_tucker_task task;
  dq_result decomposed; // accuracy between decomposition and the hook
  dq_verdict verdict;   // on the model in the file
  const dq_context *context;
} work;

static dq_tucker_training training_of(const work *w) {
  const char *hook = w->options->retrain;
  return !hook ? DQ_TUCKER_UNTRAINED : dq_is_builtin(hook) ? DQ_TUCKER_TRAINED_CHOSEN : DQ_TUCKER_TRAINED;
}

// Compares the outputs of a decomposed model with those of the original.
static dq_status judge(work *w, const dq_graph *decomposed, dq_error *error) {
  const dq_tucker_arguments *options = w->options;
  DQ_TRY(dq_tucker_task_judge(&w->verdict, decomposed, training_of(w), &w->task, error));
  dq_verdict_warn(&w->verdict,
                  options->retrain ? "Decompose with larger ranks."
                  : options->data.data && !options->plain
                      ? "Decompose with larger ranks, or retrain with --retrain."
                      : "Decompose with larger ranks, fit the factors to pictures with --data, or retrain with "
                        "--retrain.",
                  w->context);
  return DQ_OK;
}

static dq_status check_verdict(const work *w, dq_error *error) {
  const dq_verdict_bounds bounds = dq_verdict_bounds_given(w->options, &w->options->bounds);
  return dq_verdict_check(&w->verdict, &bounds, w->options->output.output, error);
}

static dq_status report_all(const work *w, const dq_tucker_report *report, dq_error *error) {
  const dq_tucker_arguments *options = w->options;
  const char *model = options->common.operands[0];
  dq_tucker_times times;
  char title[512];
  DQ_TRY(dq_tucker_time_files(&times, report, model, options->output.output, &w->task.shapes, w->context, error));
  snprintf(title, sizeof title, "Tucker-2 decomposition of %s", model);
  dq_report *facts = dq_report_new("dq-tucker", 1, title);
  dq_report_tucker(facts, report, &times, options->data.data && !options->plain, options->gemm);
  dq_report_verdict(facts, &w->verdict);
  if (w->task.check.after.count)
    dq_report_accuracy_retrained(facts, &w->task.check.before, &w->decomposed, &w->task.check.after);
  else dq_report_accuracy_change(facts, &w->task.check.before, &w->decomposed);
  dq_status status = dq_command_report(&options->common, facts, error);
  dq_report_free(facts);
  return status;
}

static dq_tucker_request asked_of(const dq_tucker_arguments *o) {
  return (dq_tucker_request){.ratio = o->ratio,
                             .energy = o->energy,
                             .macs = dq_option_given(o, "macs") ? 1 + o->macs / 100 : 0,
                             .ranks = o->ranks,
                             .vbmf = o->vbmf,
                             .weaken = o->weaken,
                             .max_drop = dq_option_given(o, "max-drop") ? o->max_drop : -1,
                             .time_limit = o->time_limit,
                             .multiple = o->multiple,
                             .fit_limit = o->fit_limit,
                             .batch = o->data.batch,
                             .plain = o->plain,
                             .force = o->force,
                             .refine = o->refine,
                             .matrices = o->gemm,
                             .never_slower = !o->untimed && !o->force,
                             .shapes = o->shapes.items,
                             .shape_count = o->shapes.count,
                             .task = dq_task_of(&o->data),
                             .decode = o->data.decode,
                             .unmeasured = "--max-drop needs labelled pictures, give --eval"};
}

static const char *default_ranks_path(const work *w) {
  if (w->options->save_ranks) return w->options->save_ranks;
  return dq_arena_printf(w->task.arena, "%s.ranks", w->options->output.output);
}

// The ranks go where they are asked for, or beside the output when only the clock knows them.
static dq_status write_model(void *user, const dq_graph *graph, const dq_tucker_report *report, dq_error *error) {
  const work *w = user;
  const char *path = w->options->output.output;
  bool ranks = w->options->save_ranks || dq_tucker_has_times(report);
  DQ_TRY(dq_write_model(w->file, report->decomposed ? graph : w->file, path, w->context, error));
  return ranks ? dq_ranks_save(default_ranks_path(w), report, error) : DQ_OK;
}

// ---- --max-drop ----

static dq_status report_search(work *w, const dq_tucker_report *report, const dq_tucker_search_report *found,
                               dq_error *error) {
  const dq_figure *figure = w->task.check.before.figures;
  w->decomposed = found->after;
  DQ_TRY(report_all(w, report, error));
  dq_message(w->context, DQ_NOTE, "%s %.2f, %.1f %% fewer multiply-accumulates cost %.2f points", figure->name,
             figure->value, found->removed, found->drop);
  dq_accuracy_check_others(&w->task.check, &found->after, w->options->max_drop, w->context);
  if (!found->complete)
    dq_message(w->context, DQ_WARNING, "the time limit ended the search after %d trials; --resume continues it",
               found->trials);
  return DQ_OK;
}

// What a search keeps beside the output, for --resume.
static dq_status set_search(work *w, dq_error *error) {
  const dq_tucker_arguments *options = w->options;
  dq_arena *arena = w->task.arena;
  w->task.search = (dq_tucker_search_options){
      .state = dq_arena_printf(arena, "%s.search", options->output.output),
      .pictures = dq_arena_printf(arena, "%s %" PRId64 " %s %" PRId64, options->data.data, options->data.limit,
                                  options->eval.spec ? options->eval.spec : "", options->eval.limit),
      .resume = options->resume,
      .ranks = default_ranks_path(w),
      .found = write_model,
      .user = w};
  return w->task.search.state && w->task.search.pictures ? DQ_OK : dq_fail_memory(error, 0);
}

static dq_status search(work *w, dq_error *error) {
  dq_tucker_report report;
  dq_tucker_search_report found;
  DQ_TRY(set_search(w, error));
  DQ_TRY(dq_tucker_task_decompose(&w->graph, &report, &found, &w->task, error));
  w->task.check.after.count = 0; // there is no hook
  if (report.decomposed) DQ_TRY(judge(w, w->graph, error));
  DQ_TRY(report_search(w, &report, &found, error));
  return report.decomposed ? check_verdict(w, error) : DQ_OK;
}

// ---- --retrain ----

// The hook, on the model that was written: a failed one leaves that.
static dq_status retrain(const work *w, const dq_graph *graph, const dq_tucker_report *report, dq_error *error) {
  const dq_tucker_arguments *options = w->options;
  const char *path = options->output.output;
  dq_retrain_options hook = {.command = options->retrain,
                             .original = options->common.operands[0],
                             .data = options->data.data,
                             .time_limit = options->time_limit,
                             .shapes = w->task.settings.shapes};
  dq_builtin builtin = dq_builtin_of(w->original, w->task.data, w->task.eval, DQ_BUILTIN_FLOAT, &hook, w->context);
  builtin.options.training.shapes = w->task.shapes;
  DQ_TRY(dq_hook_builtin(&hook, &builtin, "--eval", error));
  dq_status status = options->every
                         ? dq_tucker_retrain_steps(report, path, &hook, &w->task.settings, (int)options->every, error)
                         : dq_tucker_retrain(graph, report, path, &hook, w->context, error);
  return dq_hook_end(status, path, "the decomposed model", error);
}

// Accuracy and outputs of what the hook left in the file; accuracy only where it did not fail.
static dq_status measure_retrained(work *w, bool failed, dq_error *error) {
  dq_graph *graph = NULL;
  DQ_TRY(dq_model_open(&graph, w->options->output.output, w->context, error));
  dq_status status = failed ? DQ_OK : dq_accuracy_after(&w->task.check, graph, w->context, error);
  if (status == DQ_OK) status = judge(w, graph, error);
  dq_graph_free(graph);
  return status;
}

// Retrains what was written, then reports everything; what stands there is reported even when the hook failed.
static dq_status finish(work *w, const dq_graph *graph, const dq_tucker_report *report, dq_error *error) {
  dq_error reason = {0};
  bool retrains = w->options->retrain && report->decomposed;
  dq_status hook = retrains ? retrain(w, graph, report, &reason) : DQ_OK;
  if (hook == DQ_OK || hook == DQ_CONDITION) {
    if (retrains) DQ_TRY(measure_retrained(w, hook != DQ_OK, error));
    else if (report->decomposed) DQ_TRY(judge(w, graph, error));
    DQ_TRY(report_all(w, report, error));
  }
  if (!report->decomposed)
    dq_message(w->context, DQ_WARNING, "nothing was decomposed, the file is the model as it was: %s",
               dq_tucker_unchanged(report));
  if (hook != DQ_OK && error) *error = reason;
  if (hook != DQ_OK || !report->decomposed) return hook;
  return check_verdict(w, error);
}

static dq_status decompose(work *w, dq_error *error) {
  dq_tucker_report report;
  DQ_TRY(dq_tucker_task_read(&w->task, error));
  if (dq_option_given(w->options, "max-drop")) return search(w, error);
  dq_status status = dq_tucker_task_decompose(&w->graph, &report, NULL, &w->task, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", w->options->common.operands[0]);
  DQ_TRY(write_model(w, w->graph, &report, error));
  DQ_TRY(dq_accuracy_after(&w->task.check, w->graph, w->context, error));
  w->decomposed = w->task.check.after;
  w->task.check.after.count = 0;
  return finish(w, w->graph, &report, error);
}

// The model as it is, and in float32.
static dq_status open_model(work *w, dq_error *error) {
  bool widened;
  DQ_TRY(dq_model_open(&w->file, w->options->common.operands[0], w->context, error));
  DQ_TRY(dq_widen_half(&w->original, &widened, w->file, "decomposition", w->context, error));
  w->task.graph = w->original;
  return DQ_OK;
}

static dq_status open_all(work *w, dq_error *error) {
  const dq_tucker_arguments *options = w->options;
  dq_data_arguments arguments = options->data;
  DQ_TRY(open_model(w, error));
  dq_recall_preset(&arguments, w->original, w->context);
  if (arguments.data) DQ_TRY(dq_open_data(&w->task.data, &arguments, options->common.seed, w->context, error));
  DQ_TRY(dq_open_eval(&w->task.eval, &arguments, &options->eval, &options->common, w->context, error));
  DQ_TRY(dq_tucker_task_split(&w->task, error));
  w->task.check = dq_accuracy_check_of(w->task.eval, dq_tucker_task_measured(&w->task), &arguments, &options->common);
  return DQ_OK;
}

dq_status dq_tucker_command_run(const void *parsed, const dq_context *context, dq_error *error) {
  const dq_tucker_arguments *options = parsed;
  work w = {.options = options,
            .context = context,
            .task = {.asked = asked_of(options), .arena = dq_context_arena(context), .context = context}};
  dq_status status = w.task.arena ? open_all(&w, error) : dq_fail_memory(error, 0);
  if (status == DQ_OK) status = decompose(&w, error);
  dq_data_free(w.task.eval);
  dq_tucker_task_close(&w.task);
  dq_data_free(w.task.data);
  dq_arena_free(w.task.arena);
  dq_graph_free(w.graph);
  dq_graph_free(w.original);
  dq_graph_free(w.file);
  return status;
}
