// dq-amp: FP32 to FP16 mixed precision without data.
#include "cmd/options/options_rows.h"
#include "cmd/shared/command.h"
#include "cmd/shared/data.h"
#include "cmd/shared/hook.h"
#include "cmd/shared/verdict_check.h"
#include "cmd/shared/write_model.h"
#include "lib/document/origin.h"
#include "lib/render/report.h"
#include "lib/report/report_amp.h"
#include "lib/report/report_verdict.h"
#include "quant/int8/hook_spec.h"
#include "quant/search/amp_task.h"

typedef struct amp_options {
  dq_common_options common;
  dq_output_options output;
  dq_report_options report;
  const char *retrain, *data, *policy;
  dq_verdict_bounds bounds;
  bool half_io, explain;
  dq_option_list allow, follow, deny, deny_nodes, shapes;
  dq_data_arguments check;
  int guard, rounding;
  double input_max, time_limit;
} amp_options;

static const dq_option rows[] = {
    {.name = "allow",
     .type = DQ_OPTION_LIST,
     .value = "OPS",
     .group = "Colours",
     DQ_INTO(amp_options, allow),
     .help = "operators to compute in float16, with commas"},
    {.name = "follow",
     .type = DQ_OPTION_LIST,
     .value = "OPS",
     .group = "Colours",
     DQ_INTO(amp_options, follow),
     .help = "operators that take the precision with the fewest casts"},
    {.name = "deny",
     .aliases = "op-types-to-exclude op-block-list",
     .type = DQ_OPTION_LIST,
     .value = "OPS",
     .group = "Colours",
     DQ_INTO(amp_options, deny),
     .help = "operators to keep in float32"},
    {.name = "deny-node",
     .aliases = "nodes-to-exclude node-block-list",
     .type = DQ_OPTION_LIST,
     .value = "PATTERN",
     .group = "Colours",
     DQ_INTO(amp_options, deny_nodes),
     .help = "nodes to keep in float32 whose names match the shell pattern"},
    {.name = "policy",
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Colours",
     DQ_INTO(amp_options, policy),
     .help = "colours for operators and nodes from a file",
     .details =
         "JSON: {\"schema\": \"dq-policy\", \"version\": 1, \"operators\": {\"Exp\": \"follow\"}, \"nodes\": "
         "{\"head*\": \"deny\"}}, colours allow, follow and deny. Patterns on nodes go before operators, --allow "
         "and its kin before both. Operators that are not listed have their own colour, or stay in float32 with "
         "\"others\": \"deny\"."},
    {.name = "rounding",
     .type = DQ_OPTION_ENUM,
     .choices = "balanced|nearest",
     .preset = "balanced",
     .group = "Weights",
     DQ_INTO(amp_options, rounding),
     .help = "how weights become float16",
     .details =
         "nearest: every weight its nearest float16. balanced: one of its two neighbours, chosen layer after layer "
         "so that the mean errors of outputs cancel, which takes no data and no bytes. The means are those on noise "
         "made here, normal and uniform from 0 to --input-max; a network that cannot be run keeps the nearest."},
    {.name = "guard",
     .type = DQ_OPTION_ENUM,
     .choices = "on|off",
     .preset = "on",
     .group = "Colours",
     DQ_INTO(amp_options, guard),
     .help = "keep in float32 what may leave float16",
     .details = "What each value may reach is bounded without data: by intervals near the input, by the statistics "
                "of batch normalization and of the weights behind. Where that is beyond 65504 the node stays in "
                "float32, and what reads it too; where float16 has no numbers small enough for the weights as well. "
                "--explain tells which and why. Intervals are proofs if the input keeps to --input-max, the rest are "
                "estimates; --check looks at data."},
    {.name = "input-max",
     .type = DQ_OPTION_DOUBLE,
     .minimum = 1e-30,
     .maximum = 1e30,
     .value = "X",
     .preset = "255",
     .group = "Colours",
     DQ_INTO(amp_options, input_max),
     .help = "largest magnitude of the inputs, for the guard and balanced rounding",
     .details = "Without this option it is what --preset and --preprocess, or the preprocessing that the model "
                "remembers, make of pictures, for a model with one input and without arrays in --check."},
    {.name = "keep-io",
     .aliases = "keep-io-types",
     .type = DQ_OPTION_FLAG,
     .clears = true,
     DQ_INTO(amp_options, half_io),
     .help = "inputs and outputs of the model stay float32 (the default); undoes --half-io"},
    {.name = "half-io",
     .type = DQ_OPTION_FLAG,
     DQ_INTO(amp_options, half_io),
     .help = "inputs and outputs of the model become float16 as well"},
    {.name = "explain",
     .type = DQ_OPTION_FLAG,
     DQ_INTO(amp_options, explain),
     .help = "print colour, precision and reason of every node",
     .details = "The files of --json, --csv and --html hold them always."},
    DQ_ROW_RETRAIN(
        amp_options, retrain, .help = "run this command on the converted model and take what it writes",
        .details =
            "It is run by the shell with DQ_MODEL (the converted model), DQ_ORIGINAL, DQ_OUTPUT (what it must "
            "write), DQ_DATA and DQ_SPEC (JSON: the precision of every node) set, for --time-limit at most. What "
            "it wrote is taken when it loads, has the same inputs, outputs, nodes and sizes of weights, is finite "
            "and runs; else the converted model stays and the exit status is 1. The table of outputs is that of the "
            "model taken. " DQ_BUILTIN_DETAILS("the weights, rounded to float16 in every step,", "dq-train", "--check",
                                               "1e-6")),
    {.name = "data",
     .type = DQ_OPTION_FILE,
     .value = "SPEC",
     .group = "Retraining",
     DQ_INTO(amp_options, data),
     .joined = true,
     .needs = "retrain",
     .help = "pictures to retrain with, handed on as DQ_DATA"},
    DQ_ROW_TIME_LIMIT(amp_options, time_limit, .group = "Retraining", .needs = "retrain",
                      .help = "end the command of --retrain after this time: it failed then"),
    {.name = "check",
     .type = DQ_OPTION_FILE,
     .value = "SPEC",
     .group = "Check",
     DQ_INTO(amp_options, check.data),
     .joined = true,
     .help = "look at the values on these pictures; exit status 1 when one is beyond float16",
     .details = "The original is run on the pictures, --data of the other commands says how they are named. For every "
                "layer in float16: the largest value, the share beyond 65504 and the share below 2^-14, where float16 "
                "has fewer digits. The model is written as it is all the same: --deny-node keeps a layer in float32."},
    DQ_ROW_PICTURES("limit", amp_options, check.limit, .group = "Check", .needs = "check",
                    .help = "check on the first N pictures only"),
    {.name = "preset",
     .type = DQ_OPTION_STRING,
     .value = "NAME",
     .choice = dq_preset_name,
     .group = "Check",
     DQ_INTO(amp_options, check.preset),
     .help = "how pictures become the model's input, where the model does not remember it",
     .details = "Without pictures it tells how far the input reaches."},
    {.name = "preprocess",
     .type = DQ_OPTION_STRING,
     .value = "K=V,...",
     .group = "Check",
     DQ_INTO(amp_options, check.preprocess),
     .help = "overrides parts of the preset"},
    {.name = "norm",
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Check",
     DQ_INTO(amp_options, check.norm),
     .needs = "check|data",
     .help = "constants per patient, for the preset lgg"},
    DQ_ROW_MIN_SQNR(amp_options, bounds.sqnr, .group = "Check",
                    .help = "exit 1 when a part of an output has an SQNR below D dB",
                    .details = "The model is written all the same. The outputs are compared with those of the "
                               "original on the first 64 pictures of --check, without these on noise; the table of "
                               "outputs shows the figures. On pictures the lower end of the 95 % interval counts."),
    DQ_ROW_MIN_AGREEMENT(amp_options, bounds.agreement, .group = "Check",
                         .help = "exit 1 when less than P percent of the answers of an output are the original's",
                         .details = "Answers are classes, texts, classes of points, masks or boxes, as the outputs "
                                    "stand for. The model is written all the same. On pictures the lower end of the "
                                    "95 % interval counts."),
    DQ_ROW_SHAPE(amp_options, shapes, ""),
};

enum { GUARD_ON, GUARD_OFF }; // in the order of the choices
enum { ROUNDING_BALANCED, ROUNDING_NEAREST };

// What a run needs beside the command line.
typedef struct work {
  const amp_options *options;
  dq_graph *original, *graph; // the model as it was; converted
  dq_data *pictures;          // of --retrain builtin; NULL: none
  dq_amp_task task;
  dq_verdict verdict;
  const dq_context *context;
} work;

static dq_status read_request(work *w, dq_error *error) {
  const amp_options *options = w->options;
  dq_amp_request *asked = &w->task.asked;
  dq_amp_options *amp = &asked->amp;
  dq_arena *arena = w->task.arena;
  amp->half_io = options->half_io;
  amp->nearest = options->rounding == ROUNDING_NEAREST;
  amp->unguarded = options->guard == GUARD_OFF;
  if (dq_option_given(options, "input-max")) amp->input_max = options->input_max;
  amp->deny_nodes = options->deny_nodes.items, amp->deny_node_count = options->deny_nodes.count;
  asked->policy = options->policy;
  asked->preset = options->check.preset, asked->preprocess = options->check.preprocess;
  asked->shapes = options->shapes.items, asked->shape_count = options->shapes.count;
  DQ_TRY(dq_split_names(&options->allow, arena, &amp->allow, &amp->allow_count, error));
  DQ_TRY(dq_split_names(&options->follow, arena, &amp->follow, &amp->follow_count, error));
  DQ_TRY(dq_split_names(&options->deny, arena, &amp->deny, &amp->deny_count, error));
  return dq_amp_task_read(&w->task, error);
}

static void note_guarded(const work *w) {
  const dq_amp_task *task = &w->task;
  const int guarded = task->report.guarded;
  if (guarded && !dq_option_given(w->options, "input-max"))
    dq_message(w->context, DQ_NOTE,
               "%s: the guard keeps %d node%s in float32, as inputs may reach %.4g%s; %s--input-max says how far yours "
               "reach",
               w->options->common.operands[0], guarded, guarded == 1 ? "" : "s", task->settings.input_max,
               task->preprocessed ? " by the preprocessing" : "", task->preprocessed ? "" : "--preset or ");
}

// Compares the outputs of the model that stands in the file with those of the original.
static dq_status judge(work *w, dq_error *error) {
  dq_graph *retrained = NULL;
  if (w->options->retrain && !w->task.report.nothing_to_do)
    DQ_TRY(dq_model_open(&retrained, w->options->output.output, w->context, error));
  // Epochs of builtin are chosen on the pictures of --check.
  const dq_verdict_data kind = w->pictures ? DQ_VERDICT_FITTED_PICTURES : DQ_VERDICT_OTHER_PICTURES;
  dq_status status = dq_amp_task_judge(&w->verdict, retrained ? retrained : w->graph, kind, &w->task, error);
  dq_graph_free(retrained);
  if (status == DQ_OK)
    dq_verdict_warn(&w->verdict, "Nodes stay in float32 with --deny-node; --explain lists the nodes.", w->context);
  return status;
}

static dq_status report_all(const work *w, dq_error *error) {
  const amp_options *options = w->options;
  const dq_report_options *files = &options->report;
  const dq_amp_task *task = &w->task;
  const dq_report_amp_options shown = {
      .nodes = options->explain || files->json || files->csv || files->html,
      .guarded = options->guard == GUARD_ON,
      .half_products = (w->context->cpu & (DQ_CPU_AVX512FP16 | DQ_CPU_FP16)) != 0,
      .ranges = task->ranges,
      .range_count = task->range_count,
      .pictures = task->data ? dq_data_count(task->data) : 0,
  };
  char title[512];
  snprintf(title, sizeof title, "float16 conversion of %s", options->common.operands[0]);
  dq_report *report = dq_report_new("dq-amp", 1, title);
  dq_report_amp(report, &task->report, &shown);
  dq_report_verdict(report, &w->verdict);
  dq_status status = dq_command_report(&options->common, report, error);
  dq_report_free(report);
  return status;
}

static dq_status retrain(const work *w, dq_error *error) {
  const amp_options *options = w->options;
  const dq_amp_task *task = &w->task;
  if (!options->retrain || task->report.nothing_to_do) return DQ_OK;
  dq_retrain_options hook = {.command = options->retrain,
                             .original = options->common.operands[0],
                             .data = options->data,
                             .time_limit = options->time_limit,
                             .shapes = &task->settings.shapes};
  dq_builtin builtin = dq_builtin_of(w->original, w->pictures, task->data, DQ_BUILTIN_HALF, &hook, w->context);
  DQ_TRY(dq_hook_builtin(&hook, &builtin, "--check", error));
  DQ_TRY(dq_amp_spec(&task->report, task->arena, &hook.spec, error));
  DQ_TRY(dq_retrain_nodes(w->graph, task->arena, &hook.nodes, &hook.node_count, error));
  return dq_hook_run(w->graph, options->output.output, &hook, "the converted model", w->context, error);
}

// What follows when the model is written; what stands there is reported even when the hook failed.
static dq_status finish(work *w, dq_error *error) {
  const dq_verdict_bounds bounds = dq_verdict_bounds_given(w->options, &w->options->bounds);
  const char *model = w->options->common.operands[0];
  dq_error reason = {0};
  dq_status status = dq_amp_task_observe(&w->task, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", model);
  dq_status hook = retrain(w, &reason);
  if (hook == DQ_OK || hook == DQ_CONDITION) {
    DQ_TRY(judge(w, error));
    DQ_TRY(report_all(w, error));
  }
  if (hook != DQ_OK) return *error = reason, hook;
  status = dq_amp_check_overflow(w->task.ranges, w->task.range_count, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", model);
  if (w->task.report.nothing_to_do) return DQ_OK;
  return dq_verdict_check(&w->verdict, &bounds, w->options->output.output, error);
}

static dq_status convert(work *w, dq_error *error) {
  const char *model = w->options->common.operands[0], *path = w->options->output.output;
  DQ_TRY(read_request(w, error));
  dq_status status = dq_amp_task_convert(&w->graph, &w->task, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", model);
  DQ_TRY(dq_write_model(w->original, w->graph, path, w->context, error));
  if (w->task.report.nothing_to_do)
    dq_message(w->context, DQ_NOTE, "%s: nothing to do, no node becomes float16", model);
  note_guarded(w);
  return finish(w, error);
}

static dq_status check(const void *parsed, dq_error *error) {
  const amp_options *options = parsed;
  bool bounded = options->guard == GUARD_ON || options->rounding == ROUNDING_BALANCED;
  if (dq_option_given(options, "input-max") && !bounded)
    return dq_fail(error, DQ_USAGE,
                   "--input-max is for the guard and for balanced rounding, which are both off; leave it out");
  return dq_hook_check(options->retrain, options->data, options->common.operands[0], options->output.output, error);
}

static dq_status open_all(work *w, dq_error *error) {
  const amp_options *options = w->options;
  dq_data_arguments checked = options->check, trained;
  DQ_TRY(dq_model_open(&w->original, options->common.operands[0], w->context, error));
  w->task.graph = w->original;
  dq_recall_preset(&checked, w->original, w->context);
  trained = checked;
  trained.data = options->data, trained.limit = 0;
  if (checked.data) DQ_TRY(dq_open_data(&w->task.data, &checked, options->common.seed, w->context, error));
  if (!options->retrain || !dq_is_builtin(options->retrain)) return DQ_OK;
  return dq_open_data(&w->pictures, &trained, options->common.seed, w->context, error);
}

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  const amp_options *options = parsed;
  work w = {.options = options, .context = context, .task = {.context = context, .arena = dq_context_arena(context)}};
  dq_status status = w.task.arena ? open_all(&w, error) : dq_fail_memory(error, 0);
  if (status == DQ_OK) status = convert(&w, error);
  dq_data_free(w.task.data);
  dq_data_free(w.pictures);
  dq_arena_free(w.task.arena);
  dq_graph_free(w.graph);
  dq_graph_free(w.original);
  return status;
}

const dq_command dq_verb_amp = {
    .name = "dq-amp",
    .summary = "converts a model to float16 where that loses little",
    .usage = "MODEL -o OUT [options]",
    .description = "Every operator has a colour. ALLOW (Conv, Gemm, MatMul: gain much, lose little) is computed in "
                   "float16; DENY (Exp, Softmax, norms, long sums) stays in float32; FOLLOW (Relu, Add, pools, "
                   "Concat, ...) takes the precision that casts the fewest bytes. Weights are stored in float16, casts "
                   "are written where precisions meet, one for all readers of a value. No data is needed.\n\n"
                   "The table of outputs says what is lost there: on the pictures of --check, else on noise.\n\n"
                   "On processors without float16 arithmetic this brings size, not speed; the report says so.",
    .examples = "# half the size\n"
                "dq-amp model.onnx -o half.onnx\n"
                "# see what happens to each node, keep the head in float32\n"
                "dq-amp model.onnx -o half.onnx --explain --deny-node 'head*'",
    .operand = "MODEL",
    .operands_minimum = 1,
    .operands_maximum = 1,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_OUTPUT | DQ_WITH_REPORT,
    .output_offset = offsetof(amp_options, output),
    .report_offset = offsetof(amp_options, report),
    .rules = {{DQ_RULE_REQUIRED, "output"}},
    .options_size = sizeof(amp_options),
    .check = check,
    .run = run,
};
