// dq-amp: FP32 to FP16 mixed precision without data.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "cmd/command.h"
#include "cmd/data.h"
#include "cmd/hook.h"
#include "cmd/options_rows.h"
#include "lib/onnx/onnx.h"
#include "lib/document/origin.h"
#include "lib/render/report.h"
#include "lib/render/text.h"
#include "quant/amp/amp.h"
#include "quant/amp/amp_check.h"
#include "quant/int8/hook_spec.h"

typedef struct amp_options {
  dq_common_options common;
  dq_output_options output;
  dq_report_options report;
  const char *retrain, *data, *policy;
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
     .help = "largest magnitude of the inputs, for the guard and balanced rounding"},
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
            "and runs; else the converted model stays and the exit status is 1."),
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
    {.name = "limit",
     .type = DQ_OPTION_INT,
     .minimum = 1,
     .maximum = 1e9,
     .value = "N",
     .group = "Check",
     DQ_INTO(amp_options, check.limit),
     .needs = "check",
     .help = "check on the first N pictures only"},
    {.name = "preset",
     .type = DQ_OPTION_STRING,
     .value = "NAME",
     .choice = dq_preset_name,
     .group = "Check",
     DQ_INTO(amp_options, check.preset),
     .needs = "check",
     .help = "how pictures become the model's input, where the model does not remember it"},
    {.name = "preprocess",
     .type = DQ_OPTION_STRING,
     .value = "K=V,...",
     .group = "Check",
     DQ_INTO(amp_options, check.preprocess),
     .needs = "check",
     .help = "overrides parts of the preset"},
    {.name = "norm",
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Check",
     DQ_INTO(amp_options, check.norm),
     .needs = "check",
     .help = "constants per patient, for the preset lgg"},
    DQ_ROW_SHAPE(amp_options, shapes, ""),
};

enum { GUARD_ON, GUARD_OFF }; // in the order of the choices
enum { ROUNDING_BALANCED, ROUNDING_NEAREST };

static dq_status read_settings(const amp_options *options, const dq_graph *graph, dq_arena *arena,
                               dq_amp_options *settings, dq_error *error) {
  settings->half_io = options->half_io;
  settings->nearest = options->rounding == ROUNDING_NEAREST;
  settings->unguarded = options->guard == GUARD_OFF;
  settings->input_max = options->input_max;
  if (options->policy) {
    dq_policy *policy = DQ_NEW(arena, dq_policy);
    if (!policy) return dq_fail_memory(error, 0);
    DQ_TRY(dq_policy_load(policy, options->policy, arena, error));
    settings->policy = policy;
  }
  DQ_TRY(dq_split_names(&options->allow, arena, &settings->allow, &settings->allow_count, error));
  DQ_TRY(dq_split_names(&options->follow, arena, &settings->follow, &settings->follow_count, error));
  DQ_TRY(dq_split_names(&options->deny, arena, &settings->deny, &settings->deny_count, error));
  settings->deny_nodes = options->deny_nodes.items;
  settings->deny_node_count = options->deny_nodes.count;
  return dq_read_shapes(&options->shapes, graph, 1, arena, &settings->shapes, error);
}

static const dq_column node_columns[] = {
    {"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 48, 0},      {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 20, 1},
    {"colour", "Colour", DQ_COLUMN_TEXT, NULL, 0, 8, 3},   {"precision", "Precision", DQ_COLUMN_TEXT, NULL, 0, 8, 2},
    {"reason", "Reason", DQ_COLUMN_TEXT, NULL, 0, 80, -1},
};
static const dq_table_layout node_layout = {"nodes", NULL, node_columns, DQ_COUNT(node_columns), false};

static const dq_column model_columns[] = {
    {"nodes", "Nodes", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"float16", "In float16", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"guarded", "In float32 by the guard", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"proven", "Values proven to fit", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"estimated", "Values estimated to fit", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"unbounded", "Values of unknown range", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"weights", "Weights in float16", DQ_COLUMN_COUNT, NULL, 0, 0, 0},
    {"kept_weights", "Weights in float32", DQ_COLUMN_COUNT, NULL, 0, 0, 0},
    {"lost_to_zero", "Weights too small, now zero", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"turned", "Weights not rounded to nearest", DQ_COLUMN_COUNT, NULL, 0, 0, 0},
    {"noise_sqnr_db", "SQNR on noise (dB)", DQ_COLUMN_REAL, NULL, 1, 0, 0},
    {"casts", "Casts", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"cast_bytes", "Bytes cast in a run", DQ_COLUMN_BYTES, NULL, 0, 0, 0},
};
static const dq_table_layout model_layout = {"model", NULL, model_columns, DQ_COUNT(model_columns), true};

static void put_nodes(dq_report *report, const dq_amp_report *facts) {
  static const char *const categories[] = {"DENY", "ALLOW", "FOLLOW"};
  dq_table *table = dq_report_table(report, &node_layout);
  for (int i = 0; i < facts->count; i++) {
    const dq_amp_node *node = &facts->nodes[i];
    dq_table_row(table);
    dq_table_put_text(table, "node", node->name[0] ? node->name : "(no name)");
    dq_table_put_text(table, "op", node->op_type);
    dq_table_put_text(table, "colour", categories[node->category]);
    dq_table_put_text(table, "precision", node->neutral ? "-" : node->half ? "float16" : "float32");
    dq_table_put_text(table, "reason", node->reason);
  }
}

static const dq_column unlisted_columns[] = {
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 0, 0},
    {"nodes", "Nodes", DQ_COLUMN_INT, NULL, 0, 0, 0},
};
static const dq_table_layout unlisted_layout = {"unlisted", "Operators that no list has, left in float32",
                                                unlisted_columns, DQ_COUNT(unlisted_columns), false};

// Nodes up to `until` of the operator of node i that no list has.
static int count_unlisted(const dq_amp_report *facts, int i, int until) {
  int count = 0;
  for (int n = 0; n < until; n++)
    count += facts->nodes[n].unlisted && !strcmp(facts->nodes[n].op_type, facts->nodes[i].op_type);
  return count;
}

static void put_unlisted(dq_report *report, const dq_amp_report *facts) {
  dq_table *table = NULL;
  for (int i = 0; i < facts->count; i++) {
    if (!facts->nodes[i].unlisted || count_unlisted(facts, i, i)) continue;
    if (!table) table = dq_report_table(report, &unlisted_layout);
    dq_table_row(table);
    dq_table_put_text(table, "op", facts->nodes[i].op_type);
    dq_table_put_int(table, "nodes", count_unlisted(facts, i, facts->count));
  }
}

static void note_speed(dq_report *report, const dq_amp_report *facts, const dq_context *context) {
  char kept[32], all[32];
  if (facts->kept_weights > facts->weights) {
    dq_format_count((double)facts->kept_weights, kept, sizeof kept);
    dq_format_count((double)(facts->kept_weights + facts->weights), all, sizeof all);
    dq_report_add_note(report,
                       "Little smaller: %s of %s weights stay in float32, most of them in %s (--explain says why).",
                       kept, all, facts->keeper);
  } else
    dq_report_add_note(report,
                       context->cpu & (DQ_CPU_AVX512FP16 | DQ_CPU_FP16)
                           ? "Smaller; whether it is faster depends on the runtime (dq-bench tells): this processor "
                             "has float16 arithmetic."
                           : "Smaller, not faster: this processor has no float16 arithmetic.");
}

typedef struct checked {
  dq_amp_range *ranges;
  int count, overflowed; // layers
  int64_t pictures;
  dq_graph *original; // owns names that the table shows; NULL: none
} checked;

static const dq_column check_columns[] = {
    {"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 48, 0},
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 20, 3},
    {"largest", "Largest", DQ_COLUMN_SIGNIFICANT, NULL, 4, 0, 2},
    {"overflow", "Beyond 65504", DQ_COLUMN_INT, NULL, 0, 0, 1},
    {"overflow_share", "Share", DQ_COLUMN_PERCENT, NULL, 3, 0, 1},
    {"subnormal_share", "Below 2^-14", DQ_COLUMN_PERCENT, NULL, 3, 0, 4},
};
static const dq_table_layout check_layout = {"check", "Values in float16 on the pictures", check_columns,
                                             DQ_COUNT(check_columns), false};

static void put_check(dq_report *report, const checked *found) {
  dq_table *table = dq_report_table(report, &check_layout);
  for (int i = 0; i < found->count; i++) {
    const dq_amp_range *range = &found->ranges[i];
    double share = range->elements ? 100.0 / (double)range->elements : 0;
    dq_table_row(table);
    dq_table_put_text(table, "node", range->name);
    dq_table_put_text(table, "op", range->op_type);
    dq_table_put_real(table, "largest", range->largest);
    dq_table_put_int(table, "overflow", range->overflow);
    dq_table_put_real(table, "overflow_share", share * (double)range->overflow);
    dq_table_put_real(table, "subnormal_share", share * (double)range->subnormal);
    if (range->overflow) dq_table_mark(table, "overflow", DQ_MARK_BAD);
  }
  dq_report_add_note(report, "%d of %d layers have values beyond 65504 on %" PRId64 " pictures.", found->overflowed,
                     found->count, found->pictures);
}

// Looks at the model as it was, which `graph` no longer is.
static dq_status check_data(const amp_options *options, const dq_amp_report *facts, const dq_shape_request *shapes,
                            dq_arena *arena, checked *found, const dq_context *context, dq_error *error) {
  const char *model = options->common.operands[0];
  dq_data_arguments arguments = options->check;
  DQ_TRY(dq_model_open(&found->original, model, context, error));
  dq_recall_preset(&arguments, found->original, context);
  dq_data *data = NULL;
  dq_status status = dq_open_data(&data, &arguments, options->common.seed, context, error);
  if (status == DQ_OK) {
    found->pictures = dq_data_count(data);
    status = dq_amp_check(found->original, facts, shapes, data, arena, &found->ranges, &found->count, context, error);
    if (status != DQ_OK) dq_error_prefix(error, status, "%s", model);
  }
  for (int i = 0; i < found->count; i++) found->overflowed += found->ranges[i].overflow > 0;
  dq_data_free(data);
  return status;
}

static dq_status tell(const amp_options *options, const dq_amp_report *facts, const checked *found,
                      const dq_context *context, dq_error *error) {
  char title[512];
  snprintf(title, sizeof title, "float16 conversion of %s", options->common.operands[0]);
  dq_report *report = dq_report_new("dq-amp", 1, title);
  const dq_report_options *files = &options->report;
  if (options->explain || files->json || files->csv || files->html) put_nodes(report, facts);
  put_unlisted(report, facts);
  if (options->check.data) put_check(report, found);
  dq_table *model = dq_report_table(report, &model_layout);
  dq_table_row(model);
  dq_table_put_int(model, "nodes", facts->count);
  dq_table_put_int(model, "float16", facts->halves);
  if (options->guard == GUARD_ON) {
    dq_table_put_int(model, "guarded", facts->guarded);
    dq_table_put_int(model, "proven", facts->proven);
    dq_table_put_int(model, "estimated", facts->estimated);
    dq_table_put_int(model, "unbounded", facts->unbounded);
  }
  dq_table_put_int(model, "weights", facts->weights);
  if (facts->kept_weights) dq_table_put_int(model, "kept_weights", facts->kept_weights);
  dq_table_put_int(model, "lost_to_zero", facts->lost_to_zero);
  if (facts->probed) {
    dq_table_put_int(model, "turned", facts->not_nearest);
    if (!isnan(facts->noise_sqnr)) dq_table_put_real(model, "noise_sqnr_db", facts->noise_sqnr);
  }
  dq_table_put_int(model, "casts", facts->casts);
  if (!facts->sizes_unknown) dq_table_put_int(model, "cast_bytes", facts->cast_bytes);
  if (facts->halves || facts->kept_weights) note_speed(report, facts, context);
  dq_status status = dq_command_report(&options->common, report, error);
  dq_report_free(report);
  return status;
}

static dq_status retrain(const amp_options *options, const dq_graph *graph, const dq_amp_report *report,
                         const dq_shape_request *shapes, dq_arena *arena, const dq_context *context, dq_error *error) {
  if (!options->retrain || report->nothing_to_do) return DQ_OK;
  dq_retrain_options hook = {.command = options->retrain,
                             .original = options->common.operands[0],
                             .data = options->data,
                             .time_limit = options->time_limit,
                             .shapes = shapes};
  DQ_TRY(dq_amp_spec(report, arena, &hook.spec, error));
  DQ_TRY(dq_retrain_nodes(graph, arena, &hook.nodes, &hook.node_count, error));
  return dq_hook_run(graph, options->output.output, &hook, "the converted model", context, error);
}

static dq_status convert(const amp_options *options, dq_graph *graph, dq_arena *arena, const dq_context *context,
                         dq_error *error) {
  dq_amp_options settings = {0};
  dq_amp_report report;
  const char *model = options->common.operands[0], *path = options->output.output;
  DQ_TRY(read_settings(options, graph, arena, &settings, error));
  dq_status status = dq_amp_apply(graph, &settings, &report, context, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", model);
  DQ_TRY(dq_onnx_save(graph, path, error));
  DQ_TRY(dq_verify_model(path, context, error));
  if (report.nothing_to_do) dq_message(context, DQ_NOTE, "%s: nothing to do, no node becomes float16", model);
  if (report.guarded && options->input_max == DQ_AMP_INPUT_MAX)
    dq_message(context, DQ_NOTE,
               "%s: the guard keeps %d nodes in float32, as inputs may reach %d; --input-max says how far yours reach",
               model, report.guarded, DQ_AMP_INPUT_MAX);
  checked found = {0};
  status = DQ_OK;
  if (options->check.data) status = check_data(options, &report, &settings.shapes, arena, &found, context, error);
  if (status == DQ_OK) status = tell(options, &report, &found, context, error);
  dq_graph_free(found.original);
  DQ_TRY(status);
  DQ_TRY(retrain(options, graph, &report, &settings.shapes, arena, context, error));
  if (!found.overflowed) return DQ_OK;
  return dq_fail(error, DQ_CONDITION, "%s: %d layers in float16 have values beyond 65504", model, found.overflowed);
}

static dq_status check(const void *parsed, dq_error *error) {
  const amp_options *options = parsed;
  bool bounded = options->guard == GUARD_ON || options->rounding == ROUNDING_BALANCED;
  if (dq_option_given(options, "input-max") && !bounded)
    return dq_fail(error, DQ_USAGE,
                   "--input-max is for the guard and for balanced rounding, which are both off; leave it out");
  return dq_hook_check(options->retrain, options->common.operands[0], options->output.output, error);
}

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  const amp_options *options = parsed;
  dq_graph *graph = NULL;
  DQ_TRY(dq_model_open(&graph, options->common.operands[0], context, error));
  dq_arena *arena = dq_context_arena(context);
  dq_status status = arena ? convert(options, graph, arena, context, error) : dq_fail_memory(error, 0);
  dq_arena_free(arena);
  dq_graph_free(graph);
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
