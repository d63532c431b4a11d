// A run of dq-tucker: from the model and the data to the files and tables.
#include "cmd/tucker_command.h"

#include <inttypes.h>
#include "cmd/shared/hook.h"
#include "cmd/shared/verdict_check.h"
#include "cmd/shared/write_model.h"
#include "decomp/tucker/ranks_file.h"
#include "decomp/search/tucker_retrain.h"
#include "decomp/search/tucker_search.h"
#include "decomp/tucker/tucker_split.h"
#include "lib/session/batch.h"
#include "lib/document/origin.h"
#include "lib/document/widen_half.h"
#include "lib/report/report_accuracy.h"
#include "lib/report/report_tucker.h"
#include "lib/report/report_verdict.h"

// What a run needs beside the command line.
typedef struct work {
  const dq_tucker_arguments *options;
  dq_tucker_options settings;
  dq_shape_request request; // settings.shapes
  dq_graph *file;           // the model as it was
  dq_graph *original;       // the model in float32
  dq_data *data;            // of --data; NULL: none
  dq_tucker_split split;    // of `data`, unless nothing is fitted or --eval has the pictures for the verdict
  dq_data *eval;            // of --eval; NULL: none
  dq_accuracy_change check;
  dq_result decomposed; // accuracy between decomposition and the hook
  dq_verdict verdict;   // on the model in the file
  dq_arena *arena;
  const dq_context *context;
} work;

// Whether trials of --max-drop choose ranks on labelled pictures.
static bool searches(const work *w) { return dq_option_given(w->options, "max-drop"); }

// The pictures for the verdict: those of --eval, unless ranks were chosen on them, else those that were kept apart,
// unless the model was trained on them, else all. *seen: something was fitted to them or chosen on them.
static dq_data *choose_judges(const work *w, bool *seen) {
  const dq_tucker_arguments *options = w->options;
  const bool builtin = options->retrain && dq_is_builtin(options->retrain);
  *seen = false;
  if (w->split.apart && !options->retrain) return w->split.apart;
  *seen = w->eval ? searches(w) || builtin : searches(w) || !options->plain || options->retrain;
  return w->eval ? w->eval : w->data;
}

// Compares the outputs of a decomposed model with those of the original.
static dq_status judge(work *w, const dq_graph *decomposed, dq_error *error) {
  const dq_tucker_arguments *options = w->options;
  bool seen;
  const dq_evaluator_options judged = {.graph = w->original,
                                       .shapes = &w->request,
                                       .data = choose_judges(w, &seen),
                                       .pictures = DQ_VERDICT_FEW_SAMPLES,
                                       .decode = options->data.decode,
                                       .batch = w->settings.batch};
  DQ_TRY(dq_verdict_conclude(&w->verdict, seen ? DQ_VERDICT_FITTED_PICTURES : DQ_VERDICT_OTHER_PICTURES, decomposed,
                             &judged, w->context, w->arena, error));
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
  DQ_TRY(dq_tucker_time_files(&times, report, model, options->output.output, &w->request, w->context, error));
  snprintf(title, sizeof title, "Tucker-2 decomposition of %s", model);
  dq_report *facts = dq_report_new("dq-tucker", 1, title);
  dq_report_tucker(facts, report, &times, options->data.data && !options->plain, options->gemm);
  dq_report_verdict(facts, &w->verdict);
  if (w->check.after.count) dq_report_accuracy_retrained(facts, &w->check.before, &w->decomposed, &w->check.after);
  else dq_report_accuracy_change(facts, &w->check.before, &w->decomposed);
  dq_status status = dq_command_report(&options->common, facts, error);
  dq_report_free(facts);
  return status;
}

static dq_status read_settings(work *w, const dq_graph *graph, dq_error *error) {
  const dq_tucker_arguments *options = w->options;
  dq_tucker_options *settings = &w->settings;
  settings->rule = DQ_RANK_RATIO;
  settings->parameter = options->ratio;
  if (dq_option_given(options, "energy")) settings->rule = DQ_RANK_ENERGY, settings->parameter = options->energy;
  if (options->vbmf) settings->rule = DQ_RANK_VBMF, settings->parameter = options->weaken;
  if (dq_option_given(options, "macs")) settings->macs_share = 1 + options->macs / 100;
  settings->multiple = options->multiple;
  settings->force = options->force;
  settings->plain = options->plain;
  settings->refine = options->refine;
  settings->matrices = options->gemm;
  settings->never_slower = !options->untimed && !options->force;
  settings->bound_first = dq_option_given(options, "macs");
  DQ_TRY(dq_read_shapes(&options->shapes, graph, 0, w->arena, &w->request, error));
  DQ_TRY(dq_complete_shapes(&w->request, graph, settings->data, w->arena, error));
  settings->pictures = options->fit_limit;
  settings->batch = options->data.batch;
  DQ_TRY(dq_settle_batch(&settings->batch, graph, &w->request, w->data ? w->data : w->eval, w->context, error));
  w->check.options.batch = settings->batch;
  if (w->request.input_count) settings->shapes = &w->request;
  w->check.options.shapes = w->request;
  if (!options->ranks) return DQ_OK;
  dq_layer_ranks *layers = NULL;
  DQ_TRY(dq_ranks_load(options->ranks, w->arena, &layers, &settings->layer_count, error));
  settings->layers = layers;
  return DQ_OK;
}

static const char *default_ranks_path(const work *w) {
  if (w->options->save_ranks) return w->options->save_ranks;
  return dq_arena_printf(w->arena, "%s.ranks", w->options->output.output);
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
  const dq_figure *figure = w->check.before.figures;
  w->decomposed = found->after;
  DQ_TRY(report_all(w, report, error));
  dq_message(w->context, DQ_NOTE, "%s %.2f, %.1f %% fewer multiply-accumulates cost %.2f points", figure->name,
             figure->value, found->removed, found->drop);
  dq_accuracy_check_others(&w->check, &found->after, w->options->max_drop, w->context);
  if (!found->complete)
    dq_message(w->context, DQ_WARNING, "the time limit ended the search after %d trials; --resume continues it",
               found->trials);
  return DQ_OK;
}

static dq_status search(work *w, const dq_graph *graph, dq_error *error) {
  const dq_tucker_arguments *options = w->options;
  if (!w->check.before.count) return dq_fail(error, DQ_USAGE, "--max-drop needs labelled pictures, give --eval");
  const dq_tucker_search_options settings = {
      .max_drop = options->max_drop,
      .tucker = &w->settings,
      .eval = w->check.data,
      .accuracy = &w->check.options,
      .before = &w->check.before,
      .time_limit = options->time_limit,
      .state = dq_arena_printf(w->arena, "%s.search", options->output.output),
      .pictures = dq_arena_printf(w->arena, "%s %" PRId64 " %s %" PRId64, options->data.data, options->data.limit,
                                  options->eval.spec ? options->eval.spec : "", options->eval.limit),
      .resume = options->resume,
      .ranks = default_ranks_path(w),
      .found = write_model,
      .user = w};
  if (!settings.state || !settings.pictures) return dq_fail_memory(error, 0);
  dq_graph *answer = NULL;
  dq_tucker_report report;
  dq_tucker_search_report found;
  DQ_TRY(dq_tucker_search(&answer, graph, &report, &found, &settings, error));
  dq_status status = report.decomposed ? judge(w, answer, error) : DQ_OK;
  if (status == DQ_OK) status = report_search(w, &report, &found, error);
  dq_graph_free(answer);
  if (status == DQ_OK && report.decomposed) status = check_verdict(w, error);
  return status;
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
                             .shapes = w->settings.shapes};
  dq_builtin builtin = dq_builtin_of(w->original, w->data, w->eval, DQ_BUILTIN_FLOAT, &hook, w->context);
  builtin.options.training.shapes = w->request;
  DQ_TRY(dq_hook_builtin(&hook, &builtin, "--eval", error));
  dq_status status = options->every
                         ? dq_tucker_retrain_steps(report, path, &hook, &w->settings, (int)options->every, error)
                         : dq_tucker_retrain(graph, report, path, &hook, w->context, error);
  return dq_hook_end(status, path, "the decomposed model", error);
}

// Accuracy and outputs of what the hook left in the file; accuracy only where it did not fail.
static dq_status measure_retrained(work *w, bool failed, dq_error *error) {
  dq_graph *graph = NULL;
  DQ_TRY(dq_model_open(&graph, w->options->output.output, w->context, error));
  dq_status status = failed ? DQ_OK : dq_accuracy_after(&w->check, graph, w->context, error);
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

static dq_status decompose(work *w, dq_graph *graph, dq_error *error) {
  const char *model = w->options->common.operands[0];
  dq_tucker_report report;
  DQ_TRY(read_settings(w, graph, error));
  dq_status status = dq_accuracy_before(&w->check, graph, w->context, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", model);
  if (dq_option_given(w->options, "max-drop")) return search(w, graph, error);
  status = dq_tucker_apply(graph, &w->settings, &report, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", model);
  DQ_TRY(write_model(w, graph, &report, error));
  DQ_TRY(dq_accuracy_after(&w->check, graph, w->context, error));
  w->decomposed = w->check.after;
  w->check.after.count = 0;
  return finish(w, graph, &report, error);
}

// The model in float32 twice: *graph is to be decomposed.
static dq_status open_model(work *w, dq_graph **graph, dq_error *error) {
  bool widened;
  DQ_TRY(dq_model_open(&w->file, w->options->common.operands[0], w->context, error));
  DQ_TRY(dq_widen_half(&w->original, &widened, w->file, "decomposition", w->context, error));
  *graph = dq_graph_copy(w->original);
  w->arena = dq_context_arena(w->context);
  return *graph && w->arena ? DQ_OK : dq_fail_memory(error, 0);
}

// Keeps pictures of --data apart for the verdict, unless --eval has such pictures or nothing is fitted. Those of --eval
// are none where --max-drop chooses ranks on them.
static dq_status split_data(work *w, dq_error *error) {
  const dq_tucker_arguments *options = w->options;
  if (!w->data || options->plain || (options->eval.spec && !searches(w))) return DQ_OK;
  return dq_tucker_split_open(&w->split, w->data, options->fit_limit, error);
}

static dq_data *fitted_data(const work *w) { return w->split.fitted ? w->split.fitted : w->data; }

dq_status dq_tucker_command_run(const void *parsed, const dq_context *context, dq_error *error) {
  const dq_tucker_arguments *options = parsed;
  dq_graph *graph = NULL;
  work w = {.options = options, .context = context};
  dq_status status = open_model(&w, &graph, error);
  dq_data_arguments arguments = options->data;
  if (status == DQ_OK) dq_recall_preset(&arguments, graph, context);
  if (status == DQ_OK && arguments.data)
    status = dq_open_data(&w.data, &arguments, options->common.seed, context, error);
  if (status == DQ_OK) status = split_data(&w, error);
  if (status == DQ_OK) status = dq_open_eval(&w.eval, &arguments, &options->eval, &options->common, context, error);
  w.check = dq_accuracy_check_of(w.eval, searches(&w) && w.split.fitted ? w.split.fitted : w.data, &arguments,
                                 &options->common);
  w.settings = (dq_tucker_options){.context = context, .data = options->plain ? NULL : fitted_data(&w)};
  if (status == DQ_OK) status = decompose(&w, graph, error);
  dq_data_free(w.eval);
  dq_tucker_split_close(&w.split);
  dq_data_free(w.data);
  dq_arena_free(w.arena);
  dq_graph_free(graph);
  dq_graph_free(w.original);
  dq_graph_free(w.file);
  return status;
}
