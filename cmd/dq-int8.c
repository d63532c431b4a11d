// dq-int8: affine INT8 quantization.

#include "cmd/int8_report.h"
#include "cmd/shared/command.h"
#include "cmd/shared/data.h"
#include "cmd/shared/hook.h"
#include "cmd/options/options_rows.h"
#include "cmd/shared/verdict_check.h"
#include "cmd/shared/write_model.h"
#include "lib/session/batch.h"
#include "lib/document/origin.h"
#include "quant/search/agreement.h"
#include "quant/int8/hook_spec.h"
#include "quant/int8/int8_files.h"
#include "quant/search/convert_int8.h"

typedef struct int8_options {
  dq_common_options common;
  dq_data_arguments data;
  dq_output_options output;
  dq_report_options report;
  int method, activations, format, equalize, bias_absorption, bias_correction, range_search, rounding, table_format,
      accumulator;
  const char *table, *use_table, *precision, *save_precision, *retrain;
  dq_eval_arguments eval;
  double max_drop, percentile, time_limit;
  dq_verdict_bounds bounds;
  bool per_tensor, symmetric, force, overflow, all_int8;
  dq_option_list exclude, only, operators, shapes;
} int8_options;

enum { ACTIVATIONS_U8, ACTIVATIONS_S8, FORMAT_QDQ = 0, FORMAT_QOPERATOR };

DQ_TABLE_CHOICES(table_format, dq_calibration_table_format_at)
DQ_TABLE_CHOICES(method, dq_observer_at)
DQ_TABLE_CHOICES(rounding, dq_rounding_method_at)

static const dq_option rows[] = {
    {.name = "method",
     .aliases = "calibration-method calibrate-method",
     .type = DQ_OPTION_ENUM,
     .choice = method_name,
     .choice_help = method_help,
     .value = "NAME",
     .preset = "auto",
     .group = "Calibration",
     DQ_INTO(int8_options, method),
     .help = "how a range is chosen from the values seen (with --percentile alone: percentile)"},
    {.name = "percentile",
     .decides = true,
     .type = DQ_OPTION_DOUBLE,
     .value = "P",
     .minimum = 50,
     .maximum = 100,
     .preset = "99.999",
     .group = "Calibration",
     DQ_INTO(int8_options, percentile),
     .help = "of --method percentile and auto: how many percent of the values stay inside"},
    {.name = "table",
     .job = DQ_JOB_PLACE,
     .type = DQ_OPTION_STRING,
     .value = "FILE",
     .group = "Calibration",
     DQ_INTO(int8_options, table),
     .help = "write the calibration table: all that was taken from data"},
    {.name = "table-format",
     .type = DQ_OPTION_ENUM,
     .choice = table_format_name,
     .choice_help = table_format_help,
     .value = "NAME",
     .group = "Calibration",
     DQ_INTO(int8_options, table_format),
     .needs = "table",
     .help = "how --table is written (default: as the file's name tells)"},
    {.name = "use-table",
     .job = DQ_JOB_FILE,
     .type = DQ_OPTION_STRING,
     .value = "FILE",
     .group = "Calibration",
     DQ_INTO(int8_options, use_table),
     .help = "quantize as this table says, without looking at data",
     .details = "Tables of dq, TensorRT caches, ONNX Runtime's calibration.json and ncnn tables are told apart by "
                "their contents. Those of other programs name no model: every value that needs a range must be "
                "there. Their scales are symmetric; behind a Relu the range begins at 0."},
    {.name = "force",
     .letter = 'f',
     .type = DQ_OPTION_FLAG,
     .group = "Calibration",
     DQ_INTO(int8_options, force),
     .needs = "use-table",
     .help = "take a table of --use-table that is of another model or other data"},
    DQ_ROW_SWITCH("equalize", int8_options, equalize, .group = "Quantization",
                  .help = "scale channels to like ranges where it is exact: auto (when outputs come closer), on, off"),
    DQ_ROW_SWITCH("bias-correction", int8_options, bias_correction, .group = "Quantization",
                  .help =
                      "take back the mean shift that rounding weights makes: auto (when outputs come closer), on, off"),
    DQ_ROW_SWITCH(
        "bias-absorption", int8_options, bias_absorption, .group = "Quantization",
        .help = "move what channels always stay above into the next biases: auto (when outputs come clearly closer), "
                "on, off",
        .details =
            "Behind Relu or Clip, where only convolutions without padding or matrix products read the value and its "
            "range becomes narrower by a hundredth or more. Values below what the pictures of --data showed are cut."),
    DQ_ROW_SWITCH(
        "range-search", int8_options, range_search, .group = "Quantization",
        .help = "of some ranges take that with least error in what reads the value: auto (when outputs come clearly "
                "closer; "
                "not with --method), on, off",
        .details =
            "Ranges: that of the method, of minmax and of mse, and 0.9 to 0.5 of the first. Every operator that reads "
            "the value is run with each of them on 16 pictures, more of small networks."),
    {.name = "accumulator",
     .type = DQ_OPTION_ENUM,
     .choices = "auto|int32|pairs|int16",
     .preset = "auto",
     .group = "Quantization",
     DQ_INTO(int8_options, accumulator),
     .help = "how narrow sums provably are: int32, pairs (neighbouring products fit int16), int16 (blocks "
             "of the sum fit int16), auto (pairs where it costs little)"},
    {.name = "rounding",
     .type = DQ_OPTION_ENUM,
     .choice = rounding_name,
     .choice_help = rounding_help,
     .value = "NAME",
     .preset = "nearest",
     .group = "Quantization",
     DQ_INTO(int8_options, rounding),
     .help = "how weights become integers"},
    {.name = "per-tensor",
     .type = DQ_OPTION_FLAG,
     .group = "Quantization",
     DQ_INTO(int8_options, per_tensor),
     .help = "one scale per weight instead of one per output channel"},
    {.name = "activations",
     .aliases = "activation-type",
     .type = DQ_OPTION_ENUM,
     .choices = "u8=quint8|s8=qint8",
     .preset = "u8",
     .group = "Quantization",
     DQ_INTO(int8_options, activations),
     .help = "type of the activations: u8, s8"},
    {.name = "format",
     .aliases = "quant-format",
     .type = DQ_OPTION_ENUM,
     .choices = "qdq|qoperator",
     .preset = "qdq",
     .group = "Quantization",
     DQ_INTO(int8_options, format),
     .help = "how quantization is written: qdq (pairs around operators), qoperator (operators on integers)",
     .details = "qdq: QuantizeLinear and DequantizeLinear around float operators, which runtimes make integer "
                "kernels of. qoperator: QLinearConv and QLinearMatMul, and operators of ONNX Runtime's domain "
                "com.microsoft for Add, Mul, Concat, pools and activations; what has no such form stays between "
                "its pairs. The integers are the same."},
    {.name = "symmetric",
     .aliases = "activation-symmetric",
     .type = DQ_OPTION_FLAG,
     .group = "Quantization",
     DQ_INTO(int8_options, symmetric),
     .help = "activations symmetric around zero (weights always are)"},
    {.name = "precision",
     .job = DQ_JOB_FILE,
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Quantization",
     DQ_INTO(int8_options, precision),
     .help = "take the precision of layers from a settings file: fp32, fp16, int8",
     .details = "JSON: {\"schema\": \"dq-precision\", \"version\": 1, \"layers\": {\"conv1\": \"fp16\"}}. "
                "Layers that are not named are quantized where they can be. Float16 layers have their weights in "
                "float16 and casts around them, as dq-amp writes them; a Relu or Clip stays with its layer."},
    {.name = "save-precision",
     .job = DQ_JOB_PLACE,
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Quantization",
     DQ_INTO(int8_options, save_precision),
     .help = "write the precision of every layer, for --precision"},
    {.name = "overflow",
     .type = DQ_OPTION_FLAG,
     .group = "Output",
     DQ_INTO(int8_options, overflow),
     .help = "show the audit of sums and pairs of products for every layer, not its summary alone",
     .details =
         "Bits of the widest sum seen and of the widest possible (proven), outputs at an end of their range, pairs "
         "of products that 16 bits would clip, and whether sums can overflow. JSON, CSV and HTML have them "
         "without the option as well, and like it figures of layers on 32 pictures in place of 8. dq-report --overflow "
         "says more."},
    {.name = "max-drop",
     .type = DQ_OPTION_DOUBLE,
     .value = "D",
     .maximum = 100,
     .group = "Quantization",
     DQ_INTO(int8_options, max_drop),
     .needs = "data",
     .help = "leave as little in float as keeps accuracy within D percentage points; without labels: answers",
     .details =
         "When 8 bits everywhere lose too much, layers are ordered by the noise that leaving them in float spares the "
         "outputs, for their share of layers and multiply-accumulates. Below the shortest beginning of that order that "
         "holds the bound, choices with less in float are tried that have the least noise for it. Products stay in "
         "float16, others in float32. Without labels D bounds the percentage of answers that differ from those in "
         "float. --save-precision keeps the answer, --precision replays it. Exit status 1 when the bound cannot be "
         "held; the model that loses least is written. --time-limit ends the search with the best so far."},
    DQ_ROW_MIN_SQNR(int8_options, bounds.sqnr, .group = "Quantization",
                    .help = "leave layers in float until every part of an output has an SQNR of D dB; exit 1 if not"),
    DQ_ROW_MIN_AGREEMENT(
        int8_options, bounds.agreement, .group = "Quantization",
        .help = "leave layers in float until P percent of the answers are those in float; exit 1 if not",
        .details = "Answers are classes, texts, classes of points, masks or boxes, as the outputs stand for. Both "
                   "figures are those of the table of outputs, on pictures of --eval, or on some of --data with "
                   "ranges of others."),
    {.name = "all-int8",
     .type = DQ_OPTION_FLAG,
     .group = "Quantization",
     DQ_INTO(int8_options, all_int8),
     .help = "leave no layer in float for --min-sqnr and --min-agreement, or where 8 bits lose much",
     .details = "Else some stay in float where a part of an output has less than 10 dB, or less than 20 dB and 90 % of "
                "the answers; below 20 dB on 8 pictures also up to 4, with 4 % of the MACs, that make half the noise."},
    {.name = "exclude",
     .aliases = "nodes-to-exclude",
     .type = DQ_OPTION_LIST,
     .value = "PATTERN",
     .group = "Quantization",
     DQ_INTO(int8_options, exclude),
     .help = "leave the nodes in float whose names match the shell pattern"},
    {.name = "only",
     .aliases = "nodes-to-quantize",
     .type = DQ_OPTION_LIST,
     .value = "PATTERN",
     .group = "Quantization",
     DQ_INTO(int8_options, only),
     .help = "quantize the nodes only whose names match the shell pattern"},
    {.name = "operators",
     .aliases = "op-types-to-quantize",
     .type = DQ_OPTION_LIST,
     .value = "OPS",
     .group = "Quantization",
     DQ_INTO(int8_options, operators),
     .help = "quantize these operators only, with commas: Conv,Gemm (shell patterns)"},
    DQ_ROW_EVAL(
        int8_options, eval.spec,
        .help = "measure accuracy and what the outputs lose on these pictures (accuracy: else on --data with labels)"),
    DQ_ROW_EVAL_LIMIT(int8_options, eval.limit),
    DQ_ROW_TIME_LIMIT(
        int8_options, time_limit, .needs = "max-drop|rounding|retrain",
        .help = "end the search of --max-drop and --rounding, with the best so far, and the command of --retrain "
                "after this time",
        .details = "Each of the three has the whole time. A command that is ended failed; trials of --max-drop are "
                   "completed."),
    DQ_ROW_RETRAIN(
        int8_options, retrain, .help = "run this command on the quantized model, or train it here: builtin",
        .details =
            "The shell runs it with DQ_MODEL (the quantized model), DQ_ORIGINAL, DQ_OUTPUT (what it must write), "
            "DQ_DATA (what --data says) and DQ_SPEC (JSON: precisions of layers), for --time-limit at most. What it "
            "wrote is taken when it loads, has the same inputs, outputs, nodes and sizes of weights, is finite and "
            "runs; else the quantized model stays and the exit status is 1. " DQ_BUILTIN_INT8),
    DQ_ROW_SHAPE(int8_options, shapes, ""),
};

static dq_int8_options make_settings(const int8_options *options) {
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
  const int8_options *options;
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
  const int8_options *options = w->options;
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
  const int8_options *options = w->options;
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
  if (w->data && report->quantized) dq_verdict_advise(&w->report.verdict, w->options, w->context);
  if (judged) DQ_TRY(dq_verdict_check(&w->report.verdict, &w->conversion.bounds, path, error));
  bool bounded = dq_option_given(w->options, "max-drop");
  return bounded ? dq_accuracy_check_drop(&w->check, w->options->max_drop, path, error) : DQ_OK;
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
  const int8_options *options = w->options;
  dq_data_arguments arguments = options->data;
  if (!(w->arena = dq_context_arena(w->context))) return dq_fail_memory(error, 0);
  DQ_TRY(dq_model_open(&w->file, options->common.operands[0], w->context, error));
  DQ_TRY(dq_int8_widen(&w->original, w->file, w->context, error));
  dq_recall_preset(&arguments, w->original, w->context);
  if (arguments.data) DQ_TRY(dq_open_data(&w->data, &arguments, options->common.seed, w->context, error));
  return dq_accuracy_check_open(&w->check, w->data, &arguments, &options->eval, &options->common, w->context, error);
}

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  const int8_options *options = parsed;
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

static dq_status check(const void *parsed, dq_error *error) {
  const int8_options *options = parsed;
  DQ_TRY(dq_decoder_check(options->data.decode, error));
  const char *method = method_name(options->method);
  if (dq_option_given(options, "percentile") && strcmp(method, "percentile") && strcmp(method, "auto"))
    return dq_fail(error, DQ_USAGE, "--percentile is of --method percentile and auto, not of %s", method);
  return dq_hook_check(options->retrain, options->data.data, options->common.operands[0], options->output.output,
                       error);
}

const dq_command dq_verb_int8 = {
    .name = "dq-int8",
    .summary = "quantizes a model to 8-bit integers",
    .usage = "MODEL (--data SPEC | --use-table FILE) -o OUT [options]",
    .description =
        "Weights become int8 with one scale per output channel, activations 8 bits with one scale and zero "
        "point per tensor, chosen on the pictures of --data. Batch normalization, and what is multiplied or "
        "added by channel behind convolutions, is folded into them first. The model written carries "
        "QuantizeLinear and DequantizeLinear around every quantized operator, int8 weights and int32 "
        "biases; runtimes turn these into integer kernels.\n\n"
        "Calibration reads one picture at a time, so that memory does not grow with their number; the file "
        "written does not depend on threads. What options leave open is decided by trials with ranges of "
        "some pictures, judged on others. The table of outputs says what is lost there; where 8 bits "
        "everywhere ruin the outputs, layers stay in float. --use-table writes the file of a --table again.\n\n"
        "As processes of an MPI job (mpirun -n 4 dq-int8 ...) each runs a part of the pictures of "
        "calibrations, trials, range search and accuracy, and the files have the same bytes. The first "
        "process writes and prints. This needs a build with Open MPI.",
    .examples = "# quantize with 100 pictures\n"
                "dq-int8 model.onnx --data calib.txt --preset imagenet -o int8.onnx\n"
                "# keep the head in float\n"
                "dq-int8 model.onnx --data pictures/ --preset darknet --exclude 'head*' -o int8.onnx\n"
                "# at most half a point of accuracy, whatever has to stay in float for it\n"
                "dq-int8 model.onnx --data train.txt --eval test.txt --preset imagenet --max-drop 0.5 -o int8.onnx \\\n"
                "    --save-precision p.json\n"
                "# keep the calibration and use it again without pictures\n"
                "dq-int8 model.onnx --data calib.txt --preset imagenet --table calib.json -o int8.onnx\n"
                "dq-int8 model.onnx --use-table calib.json -o again.onnx\n"
                "# four processes\n"
                "mpirun -n 4 dq-int8 model.onnx --data calib.txt --preset imagenet -o int8.onnx",
    .operand = "MODEL",
    .operands_minimum = 1,
    .operands_maximum = 1,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_DATA | DQ_WITH_TASK | DQ_WITH_OUTPUT | DQ_WITH_REPORT | DQ_WITH_PROCESSES,
    .data_offset = offsetof(int8_options, data),
    .output_offset = offsetof(int8_options, output),
    .report_offset = offsetof(int8_options, report),
    .rules = {{DQ_RULE_REQUIRED, "output"},
              {DQ_RULE_AT_MOST_ONE, "max-drop precision use-table"},
              {DQ_RULE_EXCLUDES,
               "use-table method percentile equalize bias-absorption bias-correction range-search rounding"}},
    .options_size = sizeof(int8_options),
    .check = check,
    .run = run,
};
