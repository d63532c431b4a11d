// dq-report: what models are, cost and lose.
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "cmd/shared/command.h"
#include "cmd/shared/data.h"
#include "cmd/options/options_rows.h"
#include "cmd/shared/verdict_check.h"
#include "lib/graph/patterns.h"
#include "lib/decode/decode.h"
#include "lib/onnx/onnx.h"
#include "lib/document/origin.h"
#include "lib/render/report.h"
#include "lib/report/report_accuracy.h"
#include "lib/report/report_audit.h"
#include "lib/report/chart/report_charts.h"
#include "lib/report/report_cost.h"
#include "lib/report/report_layers.h"
#include "lib/report/report_sensitivity.h"
#include "lib/report/report_verdict.h"
#include "lib/report/report_weights.h"
#include "lib/study/study.h"

typedef struct report_options {
  dq_common_options common;
  dq_data_arguments data;
  dq_report_options report;
  const char *reference, *sort, *table;
  bool match_names, overflow, channels, raw, sensitivity;
  double max_overflow;
  dq_verdict_bounds bounds;
  dq_option_list only, shapes;
} report_options;

static const dq_option rows[] = {
    {.name = "ref",
     .job = DQ_JOB_MODEL,
     .aliases = "reference",
     .type = DQ_OPTION_FILE,
     .value = "MODEL",
     DQ_INTO(report_options, reference),
     .needs = "data",
     .help = "compare with this model layer by layer on the pictures of --data",
     .details = "Layers are matched through what dq wrote into the model about its origin, across "
                "decomposition and quantization. Signal-to-noise ratios are over all pictures together."},
    {.name = "match-names",
     .type = DQ_OPTION_FLAG,
     DQ_INTO(report_options, match_names),
     .needs = "ref",
     .help = "with --ref: match layers by name where a model does not say where it comes from"},
    DQ_ROW_MIN_SQNR(report_options, bounds.sqnr, .needs = "ref",
                    .help = "exit 1 when a part of an output has an SQNR below D dB against --ref",
                    .details = "Boxes and scores in one output are two parts; a table shows all parts. The report is "
                               "written all the same. NaN or infinity where --ref has none is below any D."),
    DQ_ROW_MIN_AGREEMENT(report_options, bounds.agreement, .needs = "ref",
                         .help = "exit 1 when less than P percent of the answers of an output are those of --ref",
                         .details = "Answers are classes, texts, classes of points, masks or boxes, as the outputs "
                                    "stand for."),
    {.name = "overflow",
     .type = DQ_OPTION_FLAG,
     .group = "Overflow audit",
     DQ_INTO(report_options, overflow),
     .help = "how often products, sums and pairs of an int8 model leave narrow integers",
     .details = "For every Conv, Gemm and MatMul with 8-bit operands: products outside int8, sums outside "
                "int16 (whole, at any prefix, with bias), neighbouring products whose sum an unsigned-by-"
                "signed multiplication in 16 bits clips, outputs clamped at an end; the bits that sums "
                "take and that they can take at most. Without --data only what weights and types prove."},
    {.name = "channels",
     .type = DQ_OPTION_FLAG,
     .group = "Overflow audit",
     DQ_INTO(report_options, channels),
     .needs = "overflow",
     .help = "with --overflow: a row for every output channel too"},
    {.name = "raw",
     .type = DQ_OPTION_FLAG,
     .group = "Overflow audit",
     DQ_INTO(report_options, raw),
     .needs = "overflow data",
     .help = "with --overflow: products of the stored numbers too, zero points left in"},
    {.name = "max-overflow",
     .type = DQ_OPTION_PERCENT,
     .value = "R",
     .minimum = 0,
     .maximum = 100,
     .group = "Overflow audit",
     DQ_INTO(report_options, max_overflow),
     .needs = "overflow data",
     .help = "exit 1 when a layer's sums or pairs overflow int16 more often than R percent",
     .details = "Of any layer the share, over all pictures, of whole sums outside int16 or of pairs that "
                "are clipped, whichever is larger. The report is written all the same."},
    {.name = "table",
     .job = DQ_JOB_FILE,
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     DQ_INTO(report_options, table),
     .needs = "html data",
     .help = "with --html and --data: show the values beside the ranges of this calibration table",
     .details = "Without it the page shows the ranges that a quantized model holds."},
    {.name = "sensitivity",
     .type = DQ_OPTION_FLAG,
     DQ_INTO(report_options, sensitivity),
     .needs = "data",
     .help = "what each layer of a float model alone would cost in 8 bits, on 32 pictures unless --limit says so",
     .details = "The model runs with one layer's weights (per output channel), result, or both, in 8 bits and all "
                "else in float. The table begins with the layer that costs the most."},
    {.name = "sort",
     .type = DQ_OPTION_STRING,
     .value = "KEY",
     DQ_INTO(report_options, sort),
     .help = "order the table by a column, by its name in --csv",
     .details = "Numbers descend, names ascend: node, op, macs, parameters, weight_bytes, "
                "activation_bytes; with --ref: sqnr, cosine, error; with --overflow: product, sum16, pair, "
                "bits, ...; of several models: file, macs, ..."},
    {.name = "only",
     .type = DQ_OPTION_LIST,
     .value = "PATTERN",
     DQ_INTO(report_options, only),
     .help = "show only nodes whose names match the shell pattern; totals stay the model's"},
    DQ_ROW_SHAPE(report_options, shapes, ""),
};

// ---- The tables ----

// One row per model, or a record when there is one model only.
static const dq_column model_columns[] = {
    {"file", "Model", DQ_COLUMN_TEXT, NULL, 0, 60, 0},
    {"file_bytes", "File", DQ_COLUMN_BYTES, NULL, 0, 0, 3},
    {"opset", "Opset", DQ_COLUMN_INT, NULL, 0, 0, 9},
    {"nodes", "Nodes", DQ_COLUMN_INT, NULL, 0, 0, 8},
    {"unsupported", "Unsupported", DQ_COLUMN_INT, NULL, 0, 0, 1},
    {"incomplete", "Nodes not counted in full", DQ_COLUMN_INT, NULL, 0, 0, 4},
    {"sizes", "Sizes", DQ_COLUMN_TEXT, NULL, 0, 60, 3},
    {"macs", "MACs", DQ_COLUMN_COUNT, NULL, 0, 0, 2},
    {"int8_macs", "in int8", DQ_COLUMN_COUNT, NULL, 0, 0, 4},
    {"float_parameters", "Float parameters", DQ_COLUMN_COUNT, NULL, 0, 0, 10},
    {"parameters", "Parameters", DQ_COLUMN_COUNT, NULL, 0, 0, 5},
    {"weight_bytes", "Weights", DQ_COLUMN_BYTES, NULL, 0, 0, 6},
    {"activation_bytes", "Activations", DQ_COLUMN_BYTES, NULL, 0, 0, 11},
    {"live_bytes", "Peak live memory", DQ_COLUMN_BYTES, NULL, 0, 0, 7},
    {"figure", "Figure", DQ_COLUMN_TEXT, NULL, 0, 12, 1},
    {"quality", "Quality", DQ_COLUMN_REAL, NULL, 4, 0, 1},
    {"sqnr", "SQNR", DQ_COLUMN_REAL, "dB", 2, 0, 1},
    {"agreement", "Agreement", DQ_COLUMN_PERCENT, NULL, 2, 0, 2},
    {"nonfinite", "Not finite", DQ_COLUMN_INT, NULL, 0, 0, 1},
    {"planned_bytes", "Planned memory", DQ_COLUMN_BYTES, NULL, 0, 0, 12},
    {"planned_over_live", "Planned / peak live", DQ_COLUMN_REAL, NULL, 3, 0, 12},
};
enum { ALONE = 2 }; // columns at the end that tables of several models do without
static const dq_table_layout model_layout = {"model", "Model", model_columns, DQ_COUNT(model_columns), true};
static const dq_table_layout models_layout = {"models", "Models", model_columns, DQ_COUNT(model_columns) - ALONE,
                                              false};

static bool is_shown(const void *user, const char *name) {
  const report_options *options = user;
  for (int i = 0; i < options->only.count; i++)
    if (!fnmatch(options->only.items[i], name, 0)) return true;
  return !options->only.count;
}

static void put_plan(dq_table *table, const dq_cost *cost) {
  if (cost->live_bytes <= 0) return;
  dq_table_put_int(table, "planned_bytes", cost->planned_bytes);
  dq_table_put_real(table, "planned_over_live", (double)cost->planned_bytes / (double)cost->live_bytes);
}

static void put_model(dq_table *table, const dq_study *study) {
  static const char *const sums[] = {"macs", "activation_bytes", "float_parameters", "parameters", "weight_bytes"};
  const dq_cost *cost = &study->cost;
  dq_table_row(table);
  dq_table_put_text(table, "file", study->path);
  if (cost->file_bytes >= 0) dq_table_put_int(table, "file_bytes", cost->file_bytes);
  dq_table_put_int(table, "opset", cost->opset);
  dq_table_put_int(table, "nodes", cost->node_count);
  if (cost->unsupported) dq_table_put_int(table, "unsupported", cost->unsupported);
  if (cost->unsupported) dq_table_mark(table, "unsupported", DQ_MARK_BAD);
  if (cost->incomplete) dq_table_put_int(table, "incomplete", cost->incomplete);
  if (*cost->sizes_text) dq_table_put_text(table, "sizes", cost->sizes_text);
  dq_table_put_int(table, "macs", cost->macs);
  if (cost->int8_macs) dq_table_put_int(table, "int8_macs", cost->int8_macs);
  dq_table_put_int(table, "float_parameters", cost->float_parameters);
  dq_table_put_int(table, "parameters", cost->parameters);
  dq_table_put_int(table, "weight_bytes", cost->parameter_bytes);
  dq_table_put_int(table, "activation_bytes", cost->activation_bytes);
  for (int i = 0; cost->incomplete && i < (cost->bodies ? 5 : 2); i++) dq_table_at_least(table, sums[i]);
  if (cost->live_bytes >= 0) dq_table_put_int(table, "live_bytes", cost->live_bytes);
  if (study->accuracy.count) {
    dq_table_put_text(table, "figure", study->accuracy.figures[0].name);
    dq_table_put_real(table, "quality", study->accuracy.figures[0].value);
  }
  if (!study->comparison.output_count) return;
  const dq_comparison *output = &study->comparison.outputs[0].comparison;
  if (output->values) dq_table_put_real(table, "sqnr", dq_comparison_sqnr(output));
  if (study->comparison.scores) dq_table_put_real(table, "agreement", dq_comparison_agreement(output));
  if (!output->nonfinite) return;
  dq_table_put_int(table, "nonfinite", output->nonfinite);
  dq_table_mark(table, "nonfinite", DQ_MARK_BAD);
}

// Sorts the table and writes the report. Only the first of several processes writes; all return its status.
static dq_status finish(const report_options *options, const dq_report *report, dq_table *table,
                        const dq_context *context, dq_error *error) {
  dq_status status = DQ_OK;
  if (options->sort) DQ_TRY(dq_table_sort(table, options->sort, false, error));
  if (dq_command_writes(context)) status = dq_command_report(&options->common, report, error);
  return dq_processes_agree(context->processes, status, error);
}

static dq_table *put_audit(dq_report *report, const report_options *options, const dq_audit_report *found) {
  dq_report_audit_options settings = {.channels = options->channels, .shown = is_shown, .user = options};
  return dq_report_audit(report, found, &settings);
}

// The condition of --max-overflow, once everything is written.
static dq_status check_overflow(const report_options *options, const dq_study *study, dq_error *error) {
  double worst = dq_audit_worst_share(&study->audit);
  if (!dq_option_given(&options->common, "max-overflow") || worst <= options->max_overflow) return DQ_OK;
  return dq_fail(error, DQ_CONDITION,
                 "%s: a layer's sums or pairs overflow in %.4g %%, more than %.4g %% (--max-overflow)", study->path,
                 worst, options->max_overflow);
}

static bool has_bounds(const report_options *options) {
  return dq_option_given(options, "min-sqnr") || dq_option_given(options, "min-agreement");
}

// The conditions of --min-sqnr and --min-agreement.
static dq_status check_quality(const report_options *options, const dq_study *study, dq_error *error) {
  if (!has_bounds(options)) return DQ_OK;
  const dq_verdict_bounds bounds = dq_verdict_bounds_given(options, &options->bounds);
  return dq_verdict_check(&study->verdict, &bounds, study->path, error);
}

// What the page shows beyond the tables of the report.
static dq_status put_page(const report_options *options, dq_report *report, const dq_study *study,
                          const dq_table *first, const dq_report_filter *filter, dq_error *error) {
  if (!options->report.html) return DQ_OK;
  dq_chart_cost(report, &study->cost);
  if (study->comparison.output_count) dq_chart_comparison(report, &study->comparison, filter);
  if (study->audit.layers) dq_chart_audit(report, &study->audit, filter);
  bool layers = !study->audit.layers && !study->comparison.output_count && !study->sensitivity.layers;
  if (first && !layers) dq_table_files_only(dq_report_cost(report, &study->cost, filter));
  if (!study->calibration.count) return DQ_OK;
  return dq_chart_ranges(report, &study->calibration, &study->chosen, filter, error);
}

// The table that the report is about: the first one, which --sort orders.
static dq_table *put_main(const report_options *options, dq_report *report, const dq_study *study,
                          const dq_report_filter *filter) {
  if (study->sensitivity.layers) return dq_report_sensitivity(report, &study->sensitivity, filter);
  dq_table *audited = study->audit.layers ? put_audit(report, options, &study->audit) : NULL;
  dq_table *compared = study->comparison.output_count ? dq_report_comparison(report, &study->comparison, filter) : NULL;
  if (audited || compared) return audited ? audited : compared;
  return dq_report_cost(report, &study->cost, filter);
}

// `data` outlives the result.
static dq_study_options study_options(const report_options *options, const dq_data_options *data) {
  const bool bounds = has_bounds(options);
  return (dq_study_options){.data = data->spec ? data : NULL,
                            .task = dq_task_of(&options->data),
                            .decode = options->data.decode,
                            .several = options->common.operand_count > 1,
                            .batch = options->data.batch,
                            .match_names = options->match_names,
                            .judged = bounds || options->common.operand_count == 1,
                            .must_judge = bounds,
                            .overflow = options->overflow,
                            .raw = options->raw,
                            .sensitivity = options->sensitivity,
                            .ranges = options->report.html,
                            .table = options->table};
}

static dq_status report_one(const report_options *options, dq_report *report, dq_graph *reference,
                            const dq_context *context, dq_arena *arena, dq_error *error) {
  dq_data_options data = dq_data_options_of(&options->data, options->common.seed);
  dq_study_options wanted = study_options(options, &data);
  dq_study study;
  dq_table *table = NULL;
  DQ_TRY(dq_read_shapes(&options->shapes, NULL, 0, arena, &wanted.shapes, error));
  dq_report_filter filter = {is_shown, options};
  dq_status status = dq_study_run(&study, options->common.operands[0], reference, &wanted, context, arena, error);
  if (status == DQ_OK) {
    dq_report_interface(report, &study.cost);
    const dq_graph *const graphs[] = {study.graph, reference};
    status = dq_patterns_check("only", options->only.items, options->only.count, graphs, reference ? 2 : 1, error);
  }
  if (status == DQ_OK) {
    table = put_main(options, report, &study, &filter);
    dq_report_operators(report, &study.cost);
    dq_report_weights(report, study.odd_weights, study.odd_weight_count);
    dq_report_parts(report, &study.verdict);
    dq_report_accuracy(report, &study.accuracy);
    dq_table *model = dq_report_table(report, &model_layout);
    put_model(model, &study);
    put_plan(model, &study.cost);
    if (study.skipped)
      dq_report_add_note(report, "%" PRId64 " pictures could not be read and were left out", study.skipped);
    status = put_page(options, report, &study, table, &filter, error);
    if (status == DQ_OK) status = finish(options, report, table, context, error);
    if (status == DQ_OK) status = check_overflow(options, &study, error);
    if (status == DQ_OK) status = check_quality(options, &study, error);
  }
  dq_study_deinit(&study);
  return status;
}

// A shape must be for an input of one of the models at least; one of them may come through a pipe, and is read once.
static dq_status check_shapes(const report_options *options, const dq_context *context, dq_arena *arena,
                              dq_error *error) {
  int count = options->common.operand_count, loaded = 0;
  dq_graph **graphs = DQ_NEW_ARRAY(arena, count, dq_graph *);
  dq_shape_request request;
  if (!graphs) return dq_fail_memory(error, (size_t)count * sizeof *graphs);
  dq_status status = dq_read_shapes(&options->shapes, NULL, 0, arena, &request, error);
  bool reads = request.input_count > 0;
  for (int i = 0; i < count; i++) reads &= strcmp(options->common.operands[i], "-") != 0;
  for (; status == DQ_OK && reads && loaded < count; loaded++)
    status = dq_onnx_load(&graphs[loaded], options->common.operands[loaded], context, error);
  if (status == DQ_OK && reads) status = dq_input_names((const dq_graph *const *)graphs, count, &request, error);
  for (int i = 0; i < loaded; i++) dq_graph_free(graphs[i]);
  return status;
}

static dq_status report_several(const report_options *options, dq_report *report, dq_graph *reference,
                                const dq_context *context, dq_arena *arena, dq_error *error) {
  dq_data_options data = dq_data_options_of(&options->data, options->common.seed);
  dq_study_options wanted = study_options(options, &data);
  dq_table *table = dq_report_table(report, &models_layout);
  dq_error reason = {0};
  dq_status quality = DQ_OK; // of the first model that a condition does not hold for
  DQ_TRY(check_shapes(options, context, arena, error));
  DQ_TRY(dq_read_shapes(&options->shapes, NULL, 0, arena, &wanted.shapes, error));
  for (int i = 0; i < options->common.operand_count; i++) {
    dq_study study;
    dq_status status = dq_study_run(&study, options->common.operands[i], reference, &wanted, context, arena, error);
    if (status == DQ_OK) put_model(table, &study);
    if (status == DQ_OK && quality == DQ_OK) quality = check_quality(options, &study, &reason);
    dq_study_deinit(&study);
    DQ_TRY(status);
  }
  DQ_TRY(finish(options, report, table, context, error));
  if (quality != DQ_OK) *error = reason;
  return quality;
}

static dq_status report_models(const report_options *options, dq_graph *reference, const dq_context *context,
                               dq_arena *arena, dq_error *error) {
  const char *title =
      dq_arena_printf(arena, "%s", options->common.operand_count == 1 ? options->common.operands[0] : "Models");
  dq_report *report = title ? dq_report_new("dq-report", 2, title) : NULL;
  if (!report) return dq_fail_memory(error, 0);
  dq_status status = options->common.operand_count == 1
                         ? report_one(options, report, reference, context, arena, error)
                         : report_several(options, report, reference, context, arena, error);
  dq_report_free(report);
  return status;
}

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  const report_options *options = parsed;
  dq_graph *reference = NULL;
  if (options->reference) DQ_TRY(dq_model_open(&reference, options->reference, context, error));
  dq_arena *arena = dq_context_arena(context);
  dq_status status = arena ? report_models(options, reference, context, arena, error) : dq_fail_memory(error, 0);
  dq_arena_free(arena);
  dq_graph_free(reference);
  return status;
}

static dq_status check(const void *parsed, dq_error *error) {
  const report_options *options = parsed;
  DQ_TRY(dq_decoder_check(options->data.decode, error));
  if ((options->overflow || options->sensitivity) && options->common.operand_count > 1)
    return dq_fail(error, DQ_USAGE, "%s looks at one model at a time",
                   options->overflow ? "--overflow" : "--sensitivity");
  if ((options->only.count || options->table) && options->common.operand_count > 1)
    return dq_fail(error, DQ_USAGE, "%s is for the tables of one model, %d given",
                   options->table ? "--table" : "--only", options->common.operand_count);
  bool measured = dq_option_given(options, "task") || dq_option_given(options, "decode");
  if (options->overflow && !options->reference && measured)
    return dq_fail(error, DQ_USAGE, "--overflow measures no quality without --ref: leave %s out",
                   dq_option_given(options, "task") ? "--task" : "--decode");
  return DQ_OK;
}

const dq_command dq_verb_report = {
    .name = "dq-report",
    .summary = "tells what models are, cost and lose",
    .usage = "MODEL... [--data SPEC] [--ref MODEL] [options]",
    .description =
        "For one model: every node with operator, shape, types, multiply-accumulates, parameters, "
        "bytes "
        "and precision, and the totals. Shapes show an open batch by its name; figures are for one "
        "picture. Operators that dq cannot run are named and do not stop the report. Several "
        "models give "
        "one row each.\n\n"
        "With --data the model runs on pictures: accuracy when they have labels. With --ref it is "
        "compared with another model, usually the one it was made from: signal-to-noise ratio, "
        "cosine "
        "and largest error of every layer and output, and how often both give the same first "
        "answer. With --overflow an int8 model is audited instead: how its products and sums would "
        "fare in narrow integers. With --sensitivity a float model is tried with one layer after the other "
        "in 8 bits.\n\n"
        "As processes of an MPI job (mpirun -n 4 dq-report ...) each runs a part of the pictures that accuracy "
        "by class labels is measured on; the figures are the same. Everything else is done by each of them. "
        "The first process writes and prints. This needs a build with Open MPI.",
    .examples = "# where the multiply-accumulates are\n"
                "dq-report model.onnx --sort macs\n"
                "# what quantization cost\n"
                "dq-report int8.onnx --ref model.onnx --data eval.txt --preset imagenet\n"
                "# what an int8 model does to narrow accumulators\n"
                "dq-report int8.onnx --overflow --data eval.txt --preset imagenet --limit 100\n"
                "# which layers would lose the most in 8 bits\n"
                "dq-report model.onnx --sensitivity --data eval.txt --preset imagenet\n"
                "# one page with everything\n"
                "dq-report int8.onnx --ref model.onnx --overflow --data eval.txt --preset imagenet --html page.html\n"
                "# accuracy by four processes, here or on the machines of a file\n"
                "mpirun -n 4 --hostfile hosts dq-report model.onnx --data eval.txt --preset imagenet\n"
                "# one line each\n"
                "dq-report *.onnx --csv models.csv",
    .operand = "MODEL",
    .operands_minimum = 1,
    .operands_maximum = -1,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_DATA | DQ_WITH_TASK | DQ_WITH_REPORT | DQ_WITH_SUMS | DQ_WITH_WISDOM | DQ_WITH_PROCESSES,
    .data_offset = offsetof(report_options, data),
    .report_offset = offsetof(report_options, report),
    .rules = {{DQ_RULE_EXCLUDES, "sensitivity overflow ref task decode batch"}},
    .options_size = sizeof(report_options),
    .check = check,
    .run = run,
};
