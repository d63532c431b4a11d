// dq-mix: the fastest precision for each layer within a bound on loss.
#include <string.h>

#include "cmd/shared/accuracy_check.h"
#include "cmd/shared/command.h"
#include "cmd/shared/data.h"
#include "cmd/shared/write_model.h"
#include "cmd/options/options_rows.h"
#include "lib/document/origin.h"
#include "lib/eval/decode.h"
#include "lib/onnx/onnx.h"
#include "lib/report/report_mix.h"
#include "lib/session/batch.h"
#include "quant/mix/mix.h"
#include "quant/search/agreement.h"

typedef struct mix_options {
  dq_common_options common;
  dq_data_arguments data;
  dq_output_options output;
  dq_report_options report;
  dq_eval_arguments eval;
  double max_drop, max_time, time_limit;
  size_t size;
  int64_t points;
  const char *save_precision, *cache;
  bool resume, layers, cautious;
  dq_option_list also, shapes;
} mix_options;

static const dq_option rows[] = {
    {.name = "max-drop",
     .type = DQ_OPTION_DOUBLE,
     .value = "D",
     .maximum = 100,
     .group = "Bounds",
     DQ_INTO(mix_options, max_drop),
     .help = "accuracy may fall by D percentage points; without labels: D percent of the answers may change",
     .details = "Of the first figure, on the pictures of --eval, else of --data. The fastest of the measured points "
                "that hold all bounds is written; exit status 1 when none does, and the one that loses least is "
                "written."},
    {.name = "cautious",
     .type = DQ_OPTION_FLAG,
     .group = "Bounds",
     DQ_INTO(mix_options, cautious),
     .help = "a point holds --max-drop only where it and all points with less noise change the figure by D at most",
     .details = "For few pictures, on which the loss of the best of many points is chance, and a gain shows how "
                "much chance does."},
    {.name = "max-time",
     .type = DQ_OPTION_TIME,
     .maximum = 1e9,
     .open_minimum = true,
     .value = "T",
     .group = "Bounds",
     DQ_INTO(mix_options, max_time),
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
    DQ_ROW_TIME_LIMIT(mix_options, time_limit, .preset = "30s", .group = "Search",
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
     DQ_INTO(mix_options, cache),
     .help = "keep what is measured in FILE and FILE.table (default: OUT.mix)"},
    {.name = "resume",
     .type = DQ_OPTION_FLAG,
     .group = "Search",
     DQ_INTO(mix_options, resume),
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

typedef struct work {
  const mix_options *options;
  dq_graph *file, *original, *answer; // the model as it was, and in float32
  dq_data *data, *eval;               // of --data and --eval; eval NULL: there is none
  dq_accuracy_change check;
  dq_int8_options int8;
  dq_mix_named *named;
  dq_mix_report report;
  const char *cache;
  dq_arena *arena;
  const dq_context *context;
} work;

// ---- Settings ----

// Whether the model goes to standard output, where it can be written once.
static bool is_stream(const mix_options *options) { return !strcmp(options->output.output, "-"); }

static dq_status read_settings(work *w, dq_error *error) {
  const mix_options *options = w->options;
  w->int8 = dq_int8_defaults();
  w->int8.decode = options->data.decode;
  w->int8.batch = options->data.batch;
  w->int8.search_hint = "a larger --memory is needed: dq-mix always tries the range search";
  DQ_TRY(dq_read_shapes(&options->shapes, w->original, 1, w->arena, &w->int8.shapes, error));
  DQ_TRY(dq_complete_shapes(&w->int8.shapes, w->original, w->data, w->arena, error));
  w->check.options.shapes = w->int8.shapes;
  DQ_TRY(dq_settle_batch(&w->int8.batch, w->original, &w->int8.shapes, w->data, w->context, error));
  w->check.options.batch = w->int8.batch;
  w->cache = options->cache;
  if (!w->cache && !is_stream(options)) w->cache = dq_arena_printf(w->arena, "%s.mix", options->output.output);
  w->named = DQ_NEW_ARRAY(w->arena, options->also.count, dq_mix_named);
  if (dq_arena_exhausted(w->arena)) return dq_fail_memory(error, 0);
  for (int i = 0; i < options->also.count; i++)
    DQ_TRY(dq_mix_named_read(&w->named[i], options->also.items[i], w->original, w->arena, error));
  return DQ_OK;
}

// ---- The search ----

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
                   found->control.low, found->control.high, w->cache ? w->cache : "no file (--cache)");
  const dq_mix_point *answer = &found->points[found->answer];
  DQ_TRY(store(w, w->answer, &answer->map, error));
  DQ_TRY(dq_verify_model(path, w->context, error));
  dq_note_growth(w->file, w->answer, path, w->context);
  DQ_TRY(print_report(w, error));
  const bool is_of_this_run = answer->figures.has_parts || answer->figures.low > 0; // not of the cache
  if (is_of_this_run) dq_accuracy_check_others(&w->check, &answer->figures, w->options->max_drop, w->context);
  if (found->held) return DQ_OK;
  dq_fail(error, DQ_CONDITION, "no measured point is within the bounds; the answer loses %.4g points", answer->drop);
  dq_error_hint(error, "%s is written all the same", path);
  return DQ_CONDITION;
}

static dq_status search(work *w, dq_error *error) {
  const mix_options *options = w->options;
  const char *model = options->common.operands[0];
  DQ_TRY(read_settings(w, error));
  dq_status status = dq_accuracy_before(&w->check, w->original, w->context, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", model);
  bool labelled = w->check.before.count > 0;
  if (!labelled) {
    w->check.before = dq_agreement_whole(1);
    dq_message(w->context, DQ_NOTE, "no labels: answers are compared with those of the float network");
  }
  const dq_mix_options settings = {.drop = options->max_drop,
                                   .cautious = options->cautious,
                                   .most_seconds = options->max_time,
                                   .most_bytes = (int64_t)options->size,
                                   .points = (int)options->points,
                                   .seconds = options->time_limit,
                                   .int8 = &w->int8,
                                   .data = w->data,
                                   .eval = w->eval,
                                   .labelled = labelled,
                                   .accuracy = w->check.options,
                                   .before = &w->check.before,
                                   .named = w->named,
                                   .named_count = options->also.count,
                                   .cache = w->cache,
                                   .resume = options->resume,
                                   .on_better = is_stream(options) ? NULL : store,
                                   .user = w};
  status = dq_mix_search(&w->answer, w->original, &w->report, &settings, w->context, w->arena, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", model);
  return conclude(w, error);
}

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  const mix_options *options = parsed;
  work w = {.options = options, .context = context};
  dq_data_arguments arguments = options->data;
  DQ_TRY(dq_model_open(&w.file, options->common.operands[0], context, error));
  w.arena = dq_context_arena(context);
  dq_recall_preset(&arguments, w.file, context);
  dq_status status = w.arena ? dq_int8_widen(&w.original, w.file, context, error) : dq_fail_memory(error, 0);
  if (status == DQ_OK) status = dq_open_data(&w.data, &arguments, options->common.seed, context, error);
  if (status == DQ_OK) status = dq_open_eval(&w.eval, &arguments, &options->eval, &options->common, context, error);
  w.check = dq_accuracy_check_of(w.eval, w.data, &arguments, &options->common);
  if (status == DQ_OK) status = search(&w, error);
  dq_graph_free(w.answer);
  dq_data_free(w.eval);
  dq_data_free(w.data);
  dq_arena_free(w.arena);
  dq_graph_free(w.original);
  dq_graph_free(w.file);
  return status;
}

static dq_status check(const void *parsed, dq_error *error) {
  const mix_options *options = parsed;
  return dq_decoder_check(options->data.decode, error);
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
