// dq-tucker: Tucker-2 decomposition of a model's convolutions.
#include <inttypes.h>
#include <string.h>

#include "cmd/shared/accuracy_check.h"
#include "cmd/shared/command.h"
#include "cmd/shared/data.h"
#include "cmd/shared/hook.h"
#include "cmd/options/options_rows.h"
#include "cmd/shared/verdict_check.h"
#include "cmd/shared/write_model.h"
#include "decomp/tucker/ranks_file.h"
#include "decomp/search/tucker_retrain.h"
#include "decomp/search/tucker_search.h"
#include "lib/session/batch.h"
#include "lib/document/origin.h"
#include "lib/document/widen_half.h"
#include "lib/report/report_accuracy.h"
#include "lib/report/report_tucker.h"
#include "lib/report/report_verdict.h"

typedef struct tucker_options {
  dq_common_options common;
  dq_output_options output;
  dq_report_options report;
  dq_data_arguments data;
  double ratio, energy, macs, weaken, max_drop, time_limit;
  dq_verdict_bounds bounds;
  const char *ranks, *save_ranks, *retrain;
  dq_eval_arguments eval;
  int64_t multiple, every, fit_limit;
  bool plain, vbmf, untimed, refine, resume, gemm, force;
  dq_option_list shapes;
} tucker_options;

static const dq_option rows[] = {
    {.name = "ratio",
     .type = DQ_OPTION_DOUBLE,
     .value = "R",
     .maximum = 1,
     .open_minimum = true,
     .group = "Ranks",
     DQ_INTO(tucker_options, ratio),
     .help = "keep this share of each mode's rank, above 0 and at most 1"},
    {.name = "energy",
     .type = DQ_OPTION_DOUBLE,
     .value = "E",
     .maximum = 1,
     .open_minimum = true,
     .group = "Ranks",
     DQ_INTO(tucker_options, energy),
     .help = "keep this share of each mode's squared singular values",
     .details = "The smallest ranks are taken that reach it; 0.9 is a place to start."},
    {.name = "vbmf",
     .type = DQ_OPTION_FLAG,
     .group = "Ranks",
     DQ_INTO(tucker_options, vbmf),
     .help = "keep the singular values above the noise that the weights themselves show",
     .details = "Empirical variational Bayes matrix factorization of each unfolding: nothing to "
                "choose, but trained weights look noisier than they are; see --weaken. A layer in "
                "which a mode would keep a single channel is left alone."},
    {.name = "weaken",
     .type = DQ_OPTION_DOUBLE,
     .value = "W",
     .minimum = 0,
     .maximum = 1,
     .preset = "0",
     .group = "Ranks",
     DQ_INTO(tucker_options, weaken),
     .needs = "vbmf",
     .help = "with --vbmf: this share of what it drops is kept as well",
     .details = "The rank is r + W (full - r): 0 takes the rule as it is, 1 keeps the full rank."},
    {.name = "ranks",
     .type = DQ_OPTION_FILE,
     .group = "Ranks",
     DQ_INTO(tucker_options, ranks),
     .help = "take layers and ranks from a settings file, exactly",
     .details = "JSON: {\"schema\": \"dq-ranks\", \"version\": 1, \"layers\": {\"conv1\": "
                "{\"out\": 16, \"in\": 8}}}. Layers not named are left alone."},
    {.name = "macs",
     .type = DQ_OPTION_PERCENT,
     .value = "-P%",
     .minimum = -100,
     .maximum = 0,
     .open_minimum = true,
     .group = "Ranks",
     DQ_INTO(tucker_options, macs),
     .help = "change of the whole model's multiply-accumulates, such as -50%",
     .details = "The ranks of all layers are chosen together. With --data: for the least noise in the "
                "outputs, as measured layer by layer; without: for the least sum of squared error "
                "bounds of the weights."},
    {.name = "max-drop",
     .type = DQ_OPTION_DOUBLE,
     .value = "D",
     .minimum = 0,
     .maximum = 100,
     .group = "Ranks",
     DQ_INTO(tucker_options, max_drop),
     .needs = "data",
     .help = "as few multiply-accumulates as the quality allows, at most D points lost",
     .details = "Bisection over the bound of --macs, about seven trials, each fitted to --data and "
                "measured on the labelled pictures of --eval. The best so far is always in the "
                "output file; --time-limit ends the search where it is. What was found is kept "
                "beside the output (OUT.search) until the search is complete, for --resume."},
    {.name = "resume",
     .type = DQ_OPTION_FLAG,
     .group = "Ranks",
     DQ_INTO(tucker_options, resume),
     .needs = "max-drop",
     .help = "go on with a search of --max-drop that was ended"},
    DQ_ROW_TIME_LIMIT(
        tucker_options, time_limit, .needs = "max-drop|retrain",
        .help = "end the search of --max-drop, with the best so far, or the command of --retrain after this time",
        .details = "A command that is ended failed; with --every each has the whole time."),
    DQ_ROW_EVAL(
        tucker_options, eval.spec,
        .help = "measure accuracy and what the outputs lose on these pictures (accuracy: else on --data with labels)",
        .details = "Before decomposition, after it and after --retrain; --max-drop bounds the loss there."),
    DQ_ROW_EVAL_LIMIT(tucker_options, eval.limit),
    DQ_ROW_PICTURES("fit-limit", tucker_options, fit_limit, .group = "Data", .needs = "data",
                    .help = "of --data: fit the factors to the first N pictures only",
                    .details = "Some hundred are enough. --retrain builtin trains on all pictures of --data."),
    {.name = "multiple",
     .type = DQ_OPTION_INT,
     .value = "N",
     .minimum = 1,
     .maximum = 4096,
     .preset = "1",
     .group = "Ranks",
     DQ_INTO(tucker_options, multiple),
     .help = "round ranks up to a multiple of N, at most to the full rank",
     .details = "Kernels compute blocks of 8 or 16 channels: ranks in between cost as much."},
    {.name = "plain",
     .type = DQ_OPTION_FLAG,
     .group = "Ranks",
     DQ_INTO(tucker_options, plain),
     .help = "decompose weights as they stand, whatever batch normalization follows",
     .details = "Otherwise the factors are fitted to --data; without data, output channels count as "
                "the batch normalization behind a convolution scales them, in the singular vectors "
                "and in the energies."},
    {.name = "force",
     .letter = 'f',
     .type = DQ_OPTION_FLAG,
     .group = "Ranks",
     DQ_INTO(tucker_options, force),
     .help = "decompose layers too that get neither cheaper nor faster by it"},
    {.name = "gemm",
     .type = DQ_OPTION_FLAG,
     .group = "Ranks",
     DQ_INTO(tucker_options, gemm),
     .help = "decompose Gemm and MatMul with constant matrices too",
     .details = "Two products instead of one, at the rank of the input mode: by the truncated singular "
                "value decomposition, or fitted to --data."},
    {.name = "refine",
     .type = DQ_OPTION_FLAG,
     .group = "Ranks",
     DQ_INTO(tucker_options, refine),
     .help = "iterate until the factors at the ranks chosen get no better",
     .details = "Higher-order orthogonal iteration: the error of the weight falls a little. With "
                "--data: twenty rounds of the fit instead of four."},
    {.name = "untimed",
     .type = DQ_OPTION_FLAG,
     .group = "Ranks",
     DQ_INTO(tucker_options, untimed),
     .help = "no clock: take all that becomes cheaper and smaller, the same on every run",
     .details = "Otherwise every layer is timed beside its factors on this machine and with these "
                "threads, and left alone when it does not become faster; a bound of --macs is then "
                "shared out among the others, if these can reach it. The clock may decide otherwise on another run: "
                "--ranks with the file that --save-ranks names gives the same bytes again."},
    {.name = "save-ranks",
     .type = DQ_OPTION_FILE,
     .group = "Ranks",
     DQ_INTO(tucker_options, save_ranks),
     .help = "write the ranks chosen, for --ranks (default: OUT.ranks when the clock had a say)"},
    DQ_ROW_RETRAIN(tucker_options, retrain,
                   .help = "run this command on the decomposed model and take what it writes; builtin: train it here",
                   .details = "It is run by the shell with DQ_MODEL (the decomposed model), DQ_ORIGINAL, DQ_OUTPUT "
                              "(what it must write), DQ_DATA and DQ_SPEC (JSON: layers, ranks, factors) set, for "
                              "--time-limit at most. What it wrote is taken when it loads, has the same inputs, "
                              "outputs and factors, is finite and runs; else the decomposed model stays and the "
                              "exit status is 1. " DQ_BUILTIN_DETAILS("the weights", "dq-train", "--eval", "0.0003")),
    {.name = "every",
     .type = DQ_OPTION_INT,
     .value = "K",
     .minimum = 1,
     .maximum = 1e6,
     .group = "Retraining",
     DQ_INTO(tucker_options, every),
     .needs = "retrain",
     .help = "decompose K layers, retrain, and so on, instead of all at once",
     .details = "Ranks are chosen for all layers first. Each step starts from what the command wrote "
                "in the step before; when one fails, the output holds the steps until then."},
    DQ_ROW_MIN_SQNR(tucker_options, bounds.sqnr, .help = "exit 1 when a part of an output has an SQNR below D dB",
                    .details = "The model is written all the same. The outputs are compared with those of the "
                               "original on the first 64 pictures of --eval, else of --data, without these on noise; "
                               "the table of outputs shows the figures."),
    DQ_ROW_MIN_AGREEMENT(tucker_options, bounds.agreement,
                         .help = "exit 1 when less than P percent of the answers of an output are the original's",
                         .details = "Answers are classes, texts, classes of points, masks or boxes, as the outputs "
                                    "stand for. The model is written all the same."),
    DQ_ROW_SHAPE(tucker_options, shapes, ", to count multiply-accumulates"),
};

// What a run needs beside the command line.
typedef struct work {
  const tucker_options *options;
  dq_tucker_options settings;
  dq_shape_request request; // settings.shapes
  dq_graph *file;           // the model as it was
  dq_graph *original;       // the model in float32
  dq_data *data;            // of --data; NULL: none
  dq_accuracy_check check;
  dq_result decomposed; // accuracy between decomposition and the hook
  dq_verdict verdict;   // on the model in the file
  dq_arena *arena;
  const dq_context *context;
} work;

// Compares the outputs of a decomposed model with those of the original.
static dq_status judge(work *w, const dq_graph *decomposed, dq_error *error) {
  const tucker_options *options = w->options;
  const dq_evaluator_options judged = {.graph = w->original,
                                       .shapes = &w->request,
                                       .data = w->check.opened ? w->check.opened : w->data,
                                       .pictures = DQ_VERDICT_FEW_SAMPLES,
                                       .decode = options->data.decode,
                                       .batch = w->settings.batch};
  // --max-drop chooses ranks on the pictures of --eval, and --retrain builtin the epoch.
  bool builtin = options->retrain && dq_is_builtin(options->retrain);
  bool chosen = builtin || dq_option_given(options, "max-drop"), fitted = !options->plain || options->retrain;
  bool seen = chosen || (!w->check.opened && fitted);
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
  const tucker_options *options = w->options;
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
  const tucker_options *options = w->options;
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
  DQ_TRY(dq_settle_batch(&settings->batch, graph, &w->request, w->data ? w->data : w->check.opened, w->context, error));
  w->check.options.batch = settings->batch;
  if (w->request.input_count) settings->shapes = &w->request;
  w->check.options.shapes = w->request;
  if (!options->ranks) return DQ_OK;
  dq_layer_ranks *layers = NULL;
  DQ_TRY(dq_ranks_load(options->ranks, w->arena, &layers, &settings->layer_count, error));
  settings->layers = layers;
  return DQ_OK;
}

// Usage that the table of options cannot tell, before any work.
static dq_status check(const void *parsed, dq_error *error) {
  const tucker_options *options = parsed;
  DQ_TRY(dq_decoder_check(options->data.decode, error));
  bool pipe = !strcmp(options->output.output, "-");
  if (dq_option_given(options, "max-drop") && (pipe || !strcmp(options->common.operands[0], "-")))
    return dq_fail(error, DQ_USAGE, "--max-drop needs files to read and to write, not '-'");
  if (pipe && !options->untimed && !options->force && !options->ranks && !options->save_ranks) {
    dq_fail(error, DQ_USAGE, "measured times decide the ranks, which must be saved: give --save-ranks FILE");
    dq_error_hint(error, "--untimed decides without measuring");
    return DQ_USAGE;
  }
  return dq_hook_check(options->retrain, options->data.data, options->common.operands[0], options->output.output,
                       error);
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
  if (!found->complete)
    dq_message(w->context, DQ_WARNING, "the time limit ended the search after %d trials; --resume continues it",
               found->trials);
  return DQ_OK;
}

static dq_status search(work *w, const dq_graph *graph, dq_error *error) {
  const tucker_options *options = w->options;
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
  const tucker_options *options = w->options;
  const char *path = options->output.output;
  dq_retrain_options hook = {.command = options->retrain,
                             .original = options->common.operands[0],
                             .data = options->data.data,
                             .time_limit = options->time_limit,
                             .shapes = w->settings.shapes};
  dq_builtin builtin = dq_builtin_of(w->original, w->data, w->check.opened, DQ_BUILTIN_FLOAT, &hook, w->context);
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
  dq_status status = failed ? DQ_OK : dq_accuracy_check_after(&w->check, graph, w->context, error);
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
  DQ_TRY(dq_accuracy_check_before(&w->check, graph, model, w->context, error));
  if (dq_option_given(w->options, "max-drop")) return search(w, graph, error);
  dq_status status = dq_tucker_apply(graph, &w->settings, &report, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", model);
  DQ_TRY(write_model(w, graph, &report, error));
  DQ_TRY(dq_accuracy_check_after(&w->check, graph, w->context, error));
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

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  const tucker_options *options = parsed;
  dq_graph *graph = NULL;
  work w = {.options = options, .context = context};
  dq_status status = open_model(&w, &graph, error);
  dq_data_arguments arguments = options->data;
  if (status == DQ_OK) dq_recall_preset(&arguments, graph, context);
  if (status == DQ_OK && arguments.data)
    status = dq_open_data(&w.data, &arguments, options->common.seed, context, error);
  if (status == DQ_OK)
    status = dq_accuracy_check_open(&w.check, w.data, &arguments, &options->eval, &options->common, context, error);
  w.settings = (dq_tucker_options){.context = context, .data = options->plain ? NULL : w.data};
  if (status == DQ_OK) status = decompose(&w, graph, error);
  dq_accuracy_check_close(&w.check);
  dq_data_free(w.data);
  dq_arena_free(w.arena);
  dq_graph_free(graph);
  dq_graph_free(w.original);
  dq_graph_free(w.file);
  return status;
}

const dq_command dq_verb_tucker = {
    .name = "dq-tucker",
    .summary = "makes convolutions cheaper by Tucker-2 decomposition",
    .usage = "MODEL -o OUT (--ratio R | --energy E | --vbmf | --macs -P% | --max-drop D | --ranks FILE) [options]",
    .description = "Every convolution with a kernel larger than 1x1 becomes three: 1x1 to fewer channels, the "
                   "kernel between those, 1x1 back to the output's channels. The factors are the leading left "
                   "singular vectors of the weight's unfoldings (higher-order SVD). Depthwise and 1x1 "
                   "convolutions are left alone, and so is every layer that would not get cheaper, unless "
                   "--force is given.\n\n"
                   "With --data the factors are fitted instead, layer after layer, to the answers that the "
                   "original gives on these pictures: some hundred pictures without labels are enough, and "
                   "far more accuracy is kept.\n\n"
                   "The table tells, per layer, the ranks, the share of squared singular values kept per mode, "
                   "the relative error of the weight, with --data the share of the answers' variance that is "
                   "missed, multiply-accumulates and parameters before and after, or why the layer was left "
                   "alone. The table of outputs says what is lost there: on the pictures of --eval, else on those of "
                   "--data, else on noise. Without data and without retraining, accuracy falls quickly.",
    .examples = "# keep half of each mode's rank\n"
                "dq-tucker model.onnx -o small.onnx --ratio 0.5\n"
                "# keep 90 % of the energy, at ranks that kernels like\n"
                "dq-tucker model.onnx -o small.onnx --energy 0.9 --multiple 8\n"
                "# 40 % less work, fitted to pictures\n"
                "dq-tucker model.onnx -o small.onnx --macs -40% --data pictures/ --preset imagenet\n"
                "# as little work as one point of accuracy allows, within an hour\n"
                "dq-tucker model.onnx -o small.onnx --max-drop 1 --data calib/ --eval labelled.txt \\\n"
                "    --preset imagenet --time-limit 1h\n"
                "# half of the work, then retrained\n"
                "dq-tucker model.onnx -o small.onnx --macs -50% --retrain 'python3 train.py'",
    .operand = "MODEL",
    .operands_minimum = 1,
    .operands_maximum = 1,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_DATA | DQ_WITH_TASK | DQ_WITH_OUTPUT | DQ_WITH_REPORT,
    .data_offset = offsetof(tucker_options, data),
    .report_offset = offsetof(tucker_options, report),
    .output_offset = offsetof(tucker_options, output),
    .rules = {{DQ_RULE_REQUIRED, "output"},
              {DQ_RULE_ONE_OF, "ratio energy macs max-drop ranks vbmf"},
              {DQ_RULE_EXCLUDES, "ranks multiple untimed force"},
              {DQ_RULE_AT_MOST_ONE, "max-drop retrain"}},
    .options_size = sizeof(tucker_options),
    .check = check,
    .run = run,
};
