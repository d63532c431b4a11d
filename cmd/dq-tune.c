// dq-tune: makes a model faster on this machine, by measured choices.
#include <string.h>
#include <unistd.h>

#include "cmd/shared/command.h"
#include "cmd/shared/data.h"
#include "cmd/options/options_rows.h"
#include "lib/document/origin.h"
#include "lib/report/report_tune.h"
#include "lib/schedule/open_sizes.h"

typedef struct tune_options {
  dq_common_options common;
  dq_report_options report;
  const char *wisdom;
  double time_limit;
  bool exhaustive, resume;
  int64_t batch;
  int sums;
  dq_option_list shapes;
} tune_options;

enum { SUMS_AUTO, SUMS_DIRECT };

static const dq_option rows[] = {
    DQ_ROW_TIME_LIMIT(tune_options, time_limit, .preset = "60s",
                      .help = "measure about so long; what is left is measured by the next call"),
    {.name = "wisdom",
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     DQ_INTO(tune_options, wisdom),
     .help = "read and add to this file (default: $XDG_CACHE_HOME/dq/wisdom)",
     .details =
         "Without XDG_CACHE_HOME the file is ~/.cache/dq/wisdom. It is text, one record a line; files are merged "
         "by cat. What it knows is not measured again."},
    {.name = "exhaustive",
     .type = DQ_OPTION_FLAG,
     DQ_INTO(tune_options, exhaustive),
     .help = "measure all candidates, also of shapes that are known, not the most promising part of each shape"},
    {.name = "resume",
     .type = DQ_OPTION_FLAG,
     DQ_INTO(tune_options, resume),
     .help = "go on with a search that ended or was killed, where there is one",
     .details = "Shapes that the file knows are not measured again, with this option or without it. With it, a message "
                "tells where there is no file to go on with."},
    {.name = "conv",
     .type = DQ_OPTION_ENUM,
     .choices = "auto|direct",
     .preset = "auto",
     DQ_INTO(tune_options, sums),
     .help = "tune for runs with --conv auto (dq-bench, dq-run --data), or with direct (all others)"},
    {.name = "batch",
     .aliases = "batch-size",
     .type = DQ_OPTION_INT,
     .value = "N",
     .minimum = 1,
     .maximum = 65536,
     .preset = "1",
     DQ_INTO(tune_options, batch),
     .help = "pictures run at once"},
    DQ_ROW_SHAPE(tune_options, shapes, ""),
};

static dq_status conclude(const dq_tune_report *tuned, const dq_wisdom *wisdom, const dq_context *context,
                          dq_error *error) {
  const dq_record *network = &tuned->network;
  if (tuned->noisy) return dq_tune_fail_noisy(tuned, error);
  if (!tuned->kept)
    dq_message(context, DQ_WARNING, "%s cannot be written: nothing is kept",
               dq_wisdom_path(wisdom) ? dq_wisdom_path(wisdom) : "there is no folder for wisdom (HOME is not set); it");
  if (tuned->out_of_time)
    dq_message(context, DQ_NOTE, "--time-limit ended the search; the next call goes on with what is left");
  if (!tuned->has_network)
    dq_message(context, DQ_NOTE,
               "no choice is faster than the usual one by the 95 %% confidence interval; all steps stay as they are");
  else if (network->withdrawn)
    dq_message(context, DQ_NOTE,
               "with its choices the network is not faster by the 95 %% confidence interval (time ratio %.3f to %.3f): "
               "they are not used",
               network->low, network->high);
  else
    dq_message(context, DQ_NOTE, "the network takes %.3f of its time (%.3f to %.3f)", network->ratio, network->low,
               network->high);
  return DQ_OK;
}

static dq_status show(const tune_options *options, const dq_tune_report *tuned, const dq_context *context,
                      dq_error *error) {
  dq_report *report = dq_report_new("dq-tune", 1, "Measured choices");
  dq_report_tune(report, tuned, dq_pool_threads(context->pool));
  dq_status status = dq_command_report(&options->common, report, error);
  dq_report_free(report);
  return status;
}

static dq_status tune(const tune_options *options, const dq_graph *graph, dq_wisdom *wisdom, const dq_context *context,
                      dq_arena *arena, dq_error *error) {
  dq_tune_options settings = {
      .any_sums = options->sums == SUMS_AUTO, .exhaustive = options->exhaustive, .time_limit = options->time_limit};
  dq_tune_report tuned;
  DQ_TRY(dq_read_shapes(&options->shapes, graph, options->batch, arena, &settings.shapes, error));
  DQ_TRY(dq_tune(&tuned, graph, &settings, wisdom, context, arena, error));
  DQ_TRY(show(options, &tuned, context, error));
  return conclude(&tuned, wisdom, context, error);
}

static void report_place(const dq_context *context) {
  char machine[DQ_MACHINE_TEXT];
  dq_message(context, DQ_DETAIL, "records are of build=%s machine=%s threads=%d", dq_wisdom_build(),
             dq_wisdom_machine(context->cpu, machine), dq_pool_threads(context->pool));
}

static void report_new(const dq_wisdom *wisdom, const dq_context *context) {
  const char *path = dq_wisdom_path(wisdom);
  if (path && access(path, F_OK))
    dq_message(context, DQ_NOTE, "%s: there is no such file yet: nothing to go on with, the search begins", path);
}

static dq_status run_with(const tune_options *options, const dq_context *context, dq_arena *arena, dq_error *error) {
  const char *path = options->common.operands[0];
  dq_graph *graph;
  dq_wisdom *wisdom = NULL;
  DQ_TRY(dq_model_open(&graph, path, context, error));
  dq_status status = dq_wisdom_open_here(&wisdom, options->wisdom, context, error);
  if (status == DQ_OK) {
    report_place(context);
    if (options->resume) report_new(wisdom, context);
    status = tune(options, graph, wisdom, context, arena, error);
    if (status != DQ_OK) dq_error_prefix(error, status, "%s", path);
  }
  dq_wisdom_free(wisdom);
  dq_graph_free(graph);
  return status;
}

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  dq_arena *arena = dq_context_arena(context);
  dq_status status = arena ? run_with(parsed, context, arena, error) : dq_fail_memory(error, 0);
  dq_arena_free(arena);
  return status;
}

const dq_command dq_verb_tune = {
    .name = "dq-tune",
    .summary = "makes a model faster on this machine, by measured choices",
    .usage = "MODEL [--threads N] [--time-limit 60s] [--wisdom FILE] [options]",
    .description =
        "Runs the model on random numbers and measures, for every distinct shape of a step, other algorithms, sizes of "
        "blocks and one thread alone, each in turns with the usual choice, in runs of the whole network: all "
        "candidates within a tenth of the time limit, beyond it the fifth that a cost model, fitted from the file, "
        "expects to be fastest. The three best of each shape are measured once more. A choice is taken where the 95 % "
        "confidence interval of its time ratio ends below 0.98. At the end the network with all choices runs in turns "
        "with the usual one; where it is not faster, none "
        "of them is used. No bit of a result changes.\n\n"
        "The choices are kept in a text file, by shape, number of threads, processor and build of dq. dq-run, "
        "dq-bench, "
        "dq-report and programs that link the library use them from then on. What is known is not measured again.\n\n"
        "With several threads, rounds in which these wait for processors that other programs have are left out. Where "
        "that leaves too few, or two equal plans cannot be timed to within 5 %, the machine is too noisy: exit status "
        "1, and no choice is written.",
    .examples = "# measure once, for runs with all processors\n"
                "dq-tune model.onnx\n"
                "# for runs with one thread\n"
                "dq-tune model.onnx --threads 1 --time-limit 5m\n"
                "# all candidates, and what the search of a part of them loses\n"
                "dq-tune model.onnx --threads 1 --time-limit 10m --exhaustive\n"
                "# what it brought, in a process of its own\n"
                "dq-bench model.onnx --threads 1\n"
                "dq-bench model.onnx --threads 1 --no-wisdom",
    .operand = "MODEL",
    .operands_minimum = 1,
    .operands_maximum = 1,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_REPORT | DQ_WITH_SUMS,
    .report_offset = offsetof(tune_options, report),
    .options_size = sizeof(tune_options),
    .run = run,
};
