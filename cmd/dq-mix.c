// dq-mix: the fastest precision for each layer within a bound on loss.
#include <string.h>

#include "cmd/shared/accuracy_check.h"
#include "cmd/shared/command.h"
#include "cmd/shared/data.h"
#include "cmd/shared/write_model.h"
#include "cmd/options/options_rows.h"
#include "lib/document/origin.h"
#include "lib/onnx/onnx.h"
#include "lib/report/report_mix.h"
#include "quant/mix/mix_task.h"

typedef struct mix_options {
  dq_common_options common;
  dq_data_arguments data;
  dq_output_options output;
  dq_report_options report;
  dq_eval_arguments eval;
  // Values that a row parses as the request has them; asked_of gives the whole request.
  dq_mix_request asked;
  size_t size;
  int64_t points;
  dq_option_list also, shapes;
  const char *save_precision;
  bool layers;
} mix_options;

static const dq_option rows[] = {
    {.name = "max-drop",
     .type = DQ_OPTION_DOUBLE,
     .value = "D",
     .maximum = 100,
     .group = "Bounds",
     DQ_INTO(mix_options, asked.search.drop),
     .help = "accuracy may fall by D percentage points; without labels: D percent of the answers may change",
     .details = "Of the first figure, on the pictures of --eval, else of --data. The fastest of the measured points "
                "that hold all bounds is written; exit status 1 when none does, and the one that loses least is "
                "written."},
    {.name = "cautious",
     .type = DQ_OPTION_FLAG,
     .group = "Bounds",
     DQ_INTO(mix_options, asked.search.cautious),
     .help = "a point holds --max-drop only where it and all points with less noise change the figure by D at most",
     .details = "For few pictures, on which the loss of the best of many points is chance, and a gain shows how "
                "much chance does."},
    {.name = "max-time",
     .type = DQ_OPTION_TIME,
     .maximum = 1e9,
     .open_minimum = true,
     .value = "T",
     .group = "Bounds",
     DQ_INTO(mix_options, asked.search.most_seconds),
     .help = "a run may take T, such as 2.5ms"},
    {.name = "size",
     .type = DQ_OPTION_SIZE,
     .minimum = 1,
     .maximum = 1e15,
     .value = "S",
     .group = "Bounds",
     DQ_INTO(mix_options, size),
     .help = "all weights may have S bytes (k, M: powers of 1024)"},
    DQ_ROW_EVAL(mix_options, eval.spec,
                .help = "judge points on these pictures, which choose the answer (default: --data)"),
    DQ_ROW_EVAL_LIMIT(mix_options, eval.limit),
    {.name = "points",
     .type = DQ_OPTION_INT,
     .minimum = 6,
     .maximum = 100,
     .value = "N",
     .preset = "8",
     .group = "Search",
     DQ_INTO(mix_options, points),
     .help = "measure N points of the front in each of two rounds"},
    DQ_ROW_TIME_LIMIT(mix_options, asked.search.seconds, .preset = "30s", .group = "Search",
                      .help = "measure times about so long; noises take as long again or more, accuracies as they do"),
    {.name = "also",
     .type = DQ_OPTION_LIST,
     .value = "NAME=FILE",
     .group = "Search",
     DQ_INTO(mix_options, also),
     .help = "measure the precisions of this file too, as one more point"},
    {.name = "cache",
     .type = DQ_OPTION_STRING,
     .value = "FILE",
     .group = "Search",
     DQ_INTO(mix_options, asked.search.cache),
     .help = "keep what is measured in FILE and FILE.table (default: OUT.mix)"},
    {.name = "resume",
     .type = DQ_OPTION_FLAG,
     .group = "Search",
     DQ_INTO(mix_options, asked.search.resume),
     .help = "go on with what --cache knows: another bound takes no measurement"},
    {.name = "save-precision",
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Output",
     DQ_INTO(mix_options, save_precision),
     .help = "write the precision of every layer, for dq-int8 --precision"},
    {.name = "layers",
     .type = DQ_OPTION_FLAG,
     .group = "Output",
     DQ_INTO(mix_options, layers),
     .help = "print every layer with its times and noises; the files of --json and --html hold them always"},
    DQ_ROW_SHAPE(mix_options, shapes, ""),
};

static dq_mix_request asked_of(const mix_options *options) {
  dq_mix_request asked = options->asked;
  asked.search.most_bytes = (int64_t)options->size;
  asked.search.points = (int)options->points;
  asked.also = options->also.items, asked.also_count = options->also.count;
  asked.shapes = options->shapes.items, asked.shape_count = options->shapes.count;
  asked.task = dq_task_of(&options->data);
  asked.decode = options->data.decode;
  asked.batch = options->data.batch;
  asked.search_hint = "a larger --memory is needed: dq-mix always tries the range search";
  asked.no_labels = "no labels: answers are compared with those of the float network";
  return asked;
}

typedef struct work {
  const mix_options *options;
  dq_graph *file, *original, *answer; // the model as it was, and in float32
  dq_mix_task task;
  dq_mix_report report;
} work;

// Whether the model goes to standard output, where it can be written once.
static bool is_stream(const mix_options *options) { return !strcmp(options->output.output, "-"); }

// Every better point is on the disk before the next one is measured.
static dq_status store(void *user, const dq_graph *form, const dq_precision_map *map, dq_error *error) {
  const work *w = user;
  DQ_TRY(dq_onnx_save(form, w->options->output.output, error));
  return w->options->save_precision ? dq_precision_save(map, w->options->save_precision, error) : DQ_OK;
}

static dq_status print_report(const work *w, dq_error *error) {
  char title[512];
  snprintf(title, sizeof title, "Precisions of %s", w->options->common.operands[0]);
  dq_report *report = dq_report_new("dq-mix", 1, title);
  dq_report_mix(report, &w->report, w->options->layers);
  dq_status status = dq_command_report(&w->options->common, report, error);
  dq_report_free(report);
  return status;
}

static dq_status conclude(work *w, dq_error *error) {
  const dq_mix_report *found = &w->report;
  const char *path = w->options->output.output;
  if (found->noisy)
    return dq_fail(error, DQ_CONDITION,
                   "the machine is too noisy: the same plan twice has a time ratio of %.3f to %.3f; what was measured "
                   "before stands in %s, and --resume goes on",
                   found->control.low, found->control.high,
                   w->task.settings.cache ? w->task.settings.cache : "no file (--cache)");
  const dq_mix_point *answer = &found->points[found->answer];
  DQ_TRY(store(w, w->answer, &answer->map, error));
  DQ_TRY(dq_verify_model(path, w->task.context, error));
  dq_note_growth(w->file, w->answer, path, w->task.context);
  DQ_TRY(print_report(w, error));
  const bool is_of_this_run = answer->figures.has_parts || answer->figures.low > 0; // not of the cache
  if (is_of_this_run)
    dq_accuracy_check_others(&w->task.check, &answer->figures, w->task.asked.search.drop, w->task.context);
  if (found->held) return DQ_OK;
  dq_fail(error, DQ_CONDITION, "no measured point is within the bounds; the answer loses %.4g points", answer->drop);
  dq_error_hint(error, "%s is written all the same", path);
  return DQ_CONDITION;
}

static dq_status search(work *w, dq_error *error) {
  const mix_options *options = w->options;
  dq_mix_options *asked = &w->task.asked.search;
  if (!is_stream(options)) {
    if (!asked->cache) asked->cache = dq_arena_printf(w->task.arena, "%s.mix", options->output.output);
    if (!asked->cache) return dq_fail_memory(error, 0);
    asked->on_better = store, asked->user = w;
  }
  DQ_TRY(dq_mix_task_read(&w->task, error));
  dq_status status = dq_mix_task_search(&w->answer, &w->report, &w->task, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", options->common.operands[0]);
  return conclude(w, error);
}

// Opens the model and the data.
static dq_status open_all(work *w, dq_error *error) {
  const mix_options *options = w->options;
  dq_mix_task *task = &w->task;
  const dq_context *context = task->context;
  dq_data_arguments arguments = options->data;
  DQ_TRY(dq_model_open(&w->file, options->common.operands[0], context, error));
  if (!(task->arena = dq_context_arena(context))) return dq_fail_memory(error, 0);
  dq_recall_preset(&arguments, w->file, context);
  DQ_TRY(dq_int8_widen(&w->original, w->file, context, error));
  task->graph = w->original;
  DQ_TRY(dq_open_data(&task->data, &arguments, options->common.seed, context, error));
  DQ_TRY(dq_open_eval(&task->eval, &arguments, &options->eval, &options->common, context, error));
  task->check = dq_accuracy_check_of(task->eval, task->data, &arguments, &options->common);
  return DQ_OK;
}

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  work w = {.options = parsed, .task = {.asked = asked_of(parsed), .context = context}};
  dq_status status = open_all(&w, error);
  if (status == DQ_OK) status = search(&w, error);
  dq_graph_free(w.answer);
  dq_data_free(w.task.eval);
  dq_data_free(w.task.data);
  dq_arena_free(w.task.arena);
  dq_graph_free(w.original);
  dq_graph_free(w.file);
  return status;
}

static dq_status check(const void *parsed, dq_error *error) {
  const dq_mix_request asked = asked_of(parsed);
  return dq_mix_task_check(&asked, error);
}

const dq_command dq_verb_mix = {
    .name = "dq-mix",
    .summary = "chooses float32, float16 or int8 for every layer, by measured time and loss",
    .usage = "MODEL --data SPEC --max-drop D [--max-time T | --size S] -o OUT [options]",
    .description =
        "Measures what each layer takes in each precision and what each conversion between them takes, in runs of the "
        "whole network, and what noise each layer makes at the outputs. Of all choices of one precision for each layer "
        "those are found that no other one beats in time and noise at once. Points of this front are made, run in "
        "turns with the float32 network and judged on pictures; what was measured corrects the costs, and a second "
        "round finds points anew. The fastest measured point within the bounds is written.\n\n"
        "The result is what dq-int8 writes with the file of --save-precision. Where two equal plans cannot be timed to "
        "within 10 %, the machine is too noisy: exit status 1.",
    .examples =
        "# at most half a point of accuracy\n"
        "dq-mix model.onnx --data train.txt --eval test.txt --preset imagenet --max-drop 0.5 -o mix.onnx \\\n"
        "    --save-precision p.json\n"
        "# another bound, from the same measurements\n"
        "dq-mix model.onnx --data train.txt --eval test.txt --preset imagenet --max-drop 1 --resume -o mix.onnx\n"
        "# the same bytes, without a search\n"
        "dq-int8 model.onnx --data train.txt --preset imagenet --precision p.json -o again.onnx",
    .operand = "MODEL",
    .operands_minimum = 1,
    .operands_maximum = 1,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_DATA | DQ_WITH_TASK | DQ_WITH_OUTPUT | DQ_WITH_REPORT | DQ_WITH_WISDOM,
    .data_offset = offsetof(mix_options, data),
    .output_offset = offsetof(mix_options, output),
    .report_offset = offsetof(mix_options, report),
    .rules = {{DQ_RULE_REQUIRED, "data"},
              {DQ_RULE_REQUIRED, "output"},
              {DQ_RULE_REQUIRED, "max-drop"},
              {DQ_RULE_AT_MOST_ONE, "max-time size"}},
    .options_size = sizeof(mix_options),
    .check = check,
    .run = run,
};
