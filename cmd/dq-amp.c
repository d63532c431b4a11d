// dq-amp: FP32 to FP16 mixed precision without data.
#include <inttypes.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/data.h"
#include "lib/onnx/onnx.h"
#include "quant/amp.h"

typedef struct amp_options {
  dq_common_options common;
  dq_output_options output;
  bool keep_io, half_io, explain;
  dq_option_list allow, follow, deny, deny_nodes, shapes;
} amp_options;

static const dq_option rows[] = {
    {.name = "allow", .type = DQ_OPTION_LIST, .value = "OPS", .group = "Colours",
     DQ_INTO(amp_options, allow), .help = "operators to compute in float16, with commas"},
    {.name = "follow", .type = DQ_OPTION_LIST, .value = "OPS", .group = "Colours",
     DQ_INTO(amp_options, follow), .help = "operators that take the precision of their inputs"},
    {.name = "deny", .aliases = "op-types-to-exclude op-block-list", .type = DQ_OPTION_LIST, .value = "OPS",
     .group = "Colours", DQ_INTO(amp_options, deny), .help = "operators to keep in float32"},
    {.name = "deny-node", .aliases = "nodes-to-exclude node-block-list", .type = DQ_OPTION_LIST,
     .value = "PATTERN", .group = "Colours", DQ_INTO(amp_options, deny_nodes),
     .help = "nodes to keep in float32 whose names match the shell pattern"},
    {.name = "keep-io", .aliases = "keep-io-types", .type = DQ_OPTION_FLAG, DQ_INTO(amp_options, keep_io),
     .help = "inputs and outputs of the model stay float32 (the default)"},
    {.name = "half-io", .type = DQ_OPTION_FLAG, DQ_INTO(amp_options, half_io),
     .help = "inputs and outputs of the model become float16 as well"},
    {.name = "explain", .type = DQ_OPTION_FLAG, DQ_INTO(amp_options, explain),
     .help = "print colour, precision and reason of every node"},
    {.name = "shape", .type = DQ_OPTION_LIST, .value = "NAME=N,C,H,W", DQ_INTO(amp_options, shapes),
     .help = "size of an input the model leaves open"},
};

static dq_status read_settings(const amp_options *options, dq_arena *arena, dq_amp_options *settings,
                               dq_error *error) {
  settings->half_io = options->half_io;
  DQ_TRY(dq_split_names(&options->allow, arena, &settings->allow, &settings->allow_count, error));
  DQ_TRY(dq_split_names(&options->follow, arena, &settings->follow, &settings->follow_count, error));
  DQ_TRY(dq_split_names(&options->deny, arena, &settings->deny, &settings->deny_count, error));
  settings->deny_nodes = options->deny_nodes.items;
  settings->deny_node_count = options->deny_nodes.count;
  return dq_read_shapes(&options->shapes, 1, arena, &settings->shapes, error);
}

static void explain(FILE *to, const dq_amp_report *report) {
  static const char *const colours[] = {"DENY", "ALLOW", "FOLLOW"};
  for (int i = 0; i < report->count; i++) {
    const dq_amp_node *node = &report->nodes[i];
    const char *precision = node->neutral ? "-" : node->half ? "float16" : "float32";
    fprintf(to, "%-32.48s %-20.20s %-7s %-8s %s\n", node->name[0] ? node->name : "(no name)", node->op_type,
            colours[node->colour], precision, node->reason);
  }
}

static void print_report(FILE *to, const dq_amp_report *report) {
  fprintf(to, "%d of %d nodes in float16, %" PRId64 " weights", report->halves, report->count,
          report->weights);
  if (report->lost_to_zero) fprintf(to, " (%" PRId64 " of them too small: now zero)", report->lost_to_zero);
  fprintf(to, ", %d casts", report->casts);
  if (!report->sizes_unknown) fprintf(to, " of %.3f MB a run", (double)report->cast_bytes / 1048576);
  fputc('\n', to);
}

static dq_status convert(const amp_options *options, dq_graph *graph, dq_arena *arena,
                         const dq_context *context, dq_error *error) {
  dq_amp_options settings = {0};
  dq_amp_report report;
  const char *model = options->common.operands[0], *path = options->output.output;
  DQ_TRY(read_settings(options, arena, &settings, error));
  dq_status status = dq_amp_apply(graph, &settings, &report, context, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", model);
  DQ_TRY(dq_onnx_save(graph, path, error));
  DQ_TRY(dq_verify_model(path, context, error));
  FILE *to = strcmp(path, "-") ? stdout : stderr;
  if (options->explain) explain(to, &report);
  if (report.nothing_to_do) dq_message(context, DQ_NOTE, "%s: nothing to do, no node becomes float16", model);
  else print_report(to, &report);
  return DQ_OK;
}

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  const amp_options *options = parsed;
  dq_graph *graph = NULL;
  DQ_TRY(dq_onnx_load(&graph, options->common.operands[0], context, error));
  dq_arena *arena = dq_arena_new(0);
  dq_status status = arena ? convert(options, graph, arena, context, error) : dq_fail_memory(error, 0);
  dq_arena_free(arena);
  dq_graph_free(graph);
  return status;
}

static const dq_command command = {
    .name = "dq-amp",
    .summary = "converts a model to float16 where that loses little",
    .usage = "MODEL -o OUT [options]",
    .description =
        "Every operator has a colour. ALLOW (Conv, Gemm, MatMul: gain much, lose little) is computed in "
        "float16; DENY (Exp, Softmax, norms, long sums) stays in float32; FOLLOW (Relu, Add, pools, "
        "Concat, ...) takes the precision of its inputs. Weights are stored in float16, casts are "
        "written where precisions meet, one for all readers of a value. No data is needed.\n\n"
        "On processors without float16 arithmetic this brings size, not speed.",
    .examples = "# half the size\n"
                "dq-amp model.onnx -o half.onnx\n"
                "# see what happens to each node, keep the head in float32\n"
                "dq-amp model.onnx -o half.onnx --explain --deny-node 'head*'",
    .operand = "MODEL",
    .operands_minimum = 1,
    .operands_maximum = 1,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_OUTPUT,
    .output_offset = offsetof(amp_options, output),
    .rules = {{DQ_RULE_REQUIRED, "output"}, {DQ_RULE_AT_MOST_ONE, "keep-io half-io"}},
    .options_size = sizeof(amp_options),
    .run = run,
};

int main(int argc, char **argv) { return dq_command_main(argc, argv, &command); }
