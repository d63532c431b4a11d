// dq-bench: how long models take, measured fairly.
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/base/sizes.h"
#include "cmd/shared/command.h"
#include "cmd/shared/convolutions.h"
#include "cmd/shared/data.h"
#include "cmd/options/options_rows.h"
#include "lib/measure/bench.h"
#include "lib/measure/peaks.h"
#include "lib/render/report.h"
#include "lib/report/chart/report_timeline.h"
#include "lib/report/chart/roofline.h"

typedef struct bench_options {
  dq_common_options common;
  dq_report_options report;
  const char *reference, *plot, *timeline;
  int64_t runs, blocks, warmup, batch;
  double time_limit;
  bool per_layer, plain;
  dq_option_list shapes, convolutions;
} bench_options;

static const dq_option rows[] = {
    {.name = "vs",
     .type = DQ_OPTION_FILE,
     .value = "MODEL",
     DQ_INTO(bench_options, reference),
     .help = "the model the others' times are compared with (default: the first one)",
     .details = "Models take turns, A B A B, and times are compared within a turn, so that whatever "
                "slows the machine for a while slows all of them. From block to block (--blocks) the order changes."},
    {.name = "runs",
     .type = DQ_OPTION_INT,
     .value = "N",
     .minimum = 1,
     .maximum = 1000000,
     DQ_INTO(bench_options, runs),
     .help = "runs of each model that are measured (default: 50, of models that run in less than 1 ms 100)"},
    {.name = "blocks",
     .type = DQ_OPTION_INT,
     .value = "N",
     .minimum = 1,
     .maximum = 1000,
     DQ_INTO(bench_options, blocks),
     .help = "blocks that the runs are made in, each with the models elsewhere in memory (default: by --runs)",
     .details = "The time of a model depends by some percent on where its memory lies. Before each block all models "
                "are placed anew, and the interval of the time ratio is one over blocks. Without this option there is "
                "a block for every two runs, at least 12 and at most 100, but none without a run. With --blocks 1 "
                "models stay where they are, as for a measurement that starts a process for each time anyway."},
    DQ_ROW_TIME_LIMIT(bench_options, time_limit,
                      .help = "measure no longer than this, with fewer runs of each model than --runs (at least one)"),
    {.name = "warmup",
     .type = DQ_OPTION_INT,
     .value = "N",
     .maximum = 1000000,
     .preset = "5",
     DQ_INTO(bench_options, warmup),
     .help = "runs before that, and up to as many before each further block, as long as 5 ms have not passed"},
    {.name = "per-layer",
     .type = DQ_OPTION_FLAG,
     DQ_INTO(bench_options, per_layer),
     .help = "time every step as well, in runs of their own"},
    {.name = "plot",
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     DQ_INTO(bench_options, plot),
     .needs = "per-layer",
     .help = "a roofline of all steps as an SVG picture, with --per-layer",
     .details = "Speed over multiply-accumulates per byte, below what the machine was measured to reach."},
    {.name = "timeline",
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     DQ_INTO(bench_options, timeline),
     .help = "when each step and each thread works, in three more runs, as a file for Perfetto",
     .details =
         "JSON in the Trace Event Format: for every model a track of its steps, and a track for each thread with "
         "the loops that the threads share. Where a track is empty a thread waits; the thread that runs the "
         "steps may work alone."},
    {.name = "batch",
     .aliases = "batch-size",
     .type = DQ_OPTION_INT,
     .value = "N",
     .minimum = 1,
     .maximum = 65536,
     .preset = "1",
     DQ_INTO(bench_options, batch),
     .help = "pictures run at once"},
    {.name = "conv",
     .type = DQ_OPTION_LIST,
     .value = "[PATTERN=]ALGORITHM",
     .choice = dq_convolutions_name,
     DQ_INTO(bench_options, convolutions),
     .help = "how convolutions are computed (default: auto, the fastest of all)",
     .details = "ALGORITHM is one of auto, direct (the fastest whose results are those of the other commands)"
#define DQ_CONV_ALGORITHM(symbol, name, help) ", " name " (" help ")"
#include "lib/kernels/conv/conv_algorithms.def"
                ". Several with commas between them take turns like "
                "models do, and are compared with the first. PATTERN= limits one to the layers whose names fit a "
                "shell pattern; the last that fits counts. Where an algorithm does not fit a layer it is computed "
                "as by auto; --per-layer shows what was used. auto may use winograd, whose rounding errors are "
                "larger; what other commands calibrate, measure and write never comes from it."},
    {.name = "plain",
     .type = DQ_OPTION_FLAG,
     DQ_INTO(bench_options, plain),
     .help = "run every node as it stands, without folding and fusing",
     .details = "For the time that these save, beside the time of a call without this option."},
    DQ_ROW_SHAPE(bench_options, shapes, ""),
};

static const dq_column model_columns[] = {
    {"model", "Model", DQ_COLUMN_TEXT, NULL, 0, 40, 0},
    {"convolutions", "Conv", DQ_COLUMN_TEXT, NULL, 0, 16, 1},
    {"median_ms", "Median", DQ_COLUMN_REAL, "ms", 3, 0, 1},
    {"ratio", "Time ratio", DQ_COLUMN_REAL, NULL, 3, 0, 2},
    {"ratio_low", "from", DQ_COLUMN_REAL, NULL, 3, 0, 2},
    {"ratio_high", "to", DQ_COLUMN_REAL, NULL, 3, 0, 2},
    {"verdict", "Verdict", DQ_COLUMN_TEXT, NULL, 0, 32, 2},
    {"steady", "Steady", DQ_COLUMN_BOOL, NULL, 0, 0, 3},
    {"minimum_ms", "Least", DQ_COLUMN_REAL, "ms", 3, 0, 5},
    {"p95_ms", "p95", DQ_COLUMN_REAL, "ms", 3, 0, 5},
    {"deviation_ms", "Std dev", DQ_COLUMN_REAL, "ms", 3, 0, 6},
    {"ratio_level", "Level", DQ_COLUMN_PERCENT, NULL, 1, 0, 5},
    {"gmacs_per_second", "Speed", DQ_COLUMN_REAL, "GMAC/s", 2, 0, 4},
    {"load_ms", "Load", DQ_COLUMN_REAL, "ms", 2, 0, 9},
    {"plan_ms", "Plan", DQ_COLUMN_REAL, "ms", 2, 0, 9},
    {"pack_ms", "Pack", DQ_COLUMN_REAL, "ms", 2, 0, 9},
    {"warmup_ms", "First", DQ_COLUMN_REAL, "ms", 2, 0, 9},
    {"macs", "MACs", DQ_COLUMN_COUNT, NULL, 0, 0, 7},
    {"activation_bytes", "Activations", DQ_COLUMN_BYTES, NULL, 0, 0, 8},
    {"workspace_bytes", "Workspace", DQ_COLUMN_BYTES, NULL, 0, 0, 10},
    {"packed_bytes", "Packed", DQ_COLUMN_BYTES, NULL, 0, 0, 10},
};
static const dq_table_layout model_layout = {"models", "Times", model_columns, DQ_COUNT(model_columns), false};

static const dq_column layer_columns[] = {
    {"model", "Model", DQ_COLUMN_TEXT, NULL, 0, 24, 0},
    {"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 40, 0},
    {"convolutions", "Conv", DQ_COLUMN_TEXT, NULL, 0, 16, 3},
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 24, 4},
    {"algorithm", "Algorithm", DQ_COLUMN_TEXT, NULL, 0, 16, 5},
    {"median_ms", "Median", DQ_COLUMN_REAL, "ms", 4, 0, 1},
    {"share", "Share", DQ_COLUMN_PERCENT, NULL, 1, 0, 2},
    {"macs", "MACs", DQ_COLUMN_COUNT, NULL, 0, 0, 6},
    {"gmacs_per_second", "Speed", DQ_COLUMN_REAL, "GMAC/s", 2, 0, 7},
    {"peak_share", "Of peak", DQ_COLUMN_PERCENT, NULL, 1, 0, 8},
    {"bytes", "Bytes", DQ_COLUMN_BYTES, NULL, 0, 0, 9},
};
static const dq_table_layout layer_layout = {"layers", "Steps", layer_columns, DQ_COUNT(layer_columns), false};

static const dq_column run_columns[] = {
    {"runs", "Runs of each model", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"blocks", "Blocks", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"threads", "Threads", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"batch", "Batch", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"peak_bytes", "Peak memory of the process", DQ_COLUMN_BYTES, NULL, 0, 0, 0},
    {"float32_peak", "Measured peak, float32", DQ_COLUMN_REAL, "GMAC/s", 1, 0, 0},
    {"int8_peak", "Measured peak, 8 bits", DQ_COLUMN_REAL, "GMAC/s", 1, 0, 0},
    {"bandwidth", "Measured bandwidth", DQ_COLUMN_REAL, "GB/s", 1, 0, 0},
};
static const dq_table_layout run_layout = {"run", NULL, run_columns, DQ_COUNT(run_columns), true};

enum { RUNS = 50, QUICK_RUNS = 100, TIMELINE_RUNS = 3 };

typedef struct bench {
  const bench_options *options;
  dq_bench_subject *subjects; // the reference first
  const char **ways;          // how each computes convolutions
  dq_bench_model *models;
  int count;
  dq_peaks peaks; // with per_layer
  dq_blocks made;
} bench;

static void put_ms(dq_table *table, const char *column, double seconds) {
  dq_table_put_real(table, column, seconds * 1e3);
}
static void put_giga(dq_table *table, const char *column, double per_second) {
  dq_table_put_real(table, column, per_second * 1e-9);
}

static void put_speed(dq_table *table, int64_t macs, double seconds) {
  if (macs < 0) return;
  dq_table_put_int(table, "macs", macs);
  if (macs > 0 && seconds > 0) put_giga(table, "gmacs_per_second", (double)macs / seconds);
}

// `spread`: of the times of model m.
static dq_status put_ratio(dq_table *table, const bench *b, int m, const dq_spread *spread, dq_error *error) {
  if (m == 0) {
    dq_table_put_text(table, "verdict", "reference");
    return DQ_OK;
  }
  dq_time_ratio ratio;
  DQ_TRY(dq_block_ratio_of(&ratio, b->models[m].least, b->models[0].least, b->made.count, error));
  dq_table_put_real(table, "ratio", ratio.median);
  dq_table_put_real(table, "ratio_low", ratio.low);
  dq_table_put_real(table, "ratio_high", ratio.high);
  dq_table_put_real(table, "ratio_level", 100 * ratio.level);
  dq_spread reference;
  DQ_TRY(dq_spread_of(&reference, b->models[0].times, b->made.rounds, error));
  char verdict[64];
  bool unsteady = dq_spread_doubt(spread) || dq_spread_doubt(&reference);
  unsteady = unsteady && b->made.rounds >= DQ_STEADY_RUNS; // of fewer the column says it
  dq_table_put_text(table, "verdict", dq_time_verdict(&ratio, b->made.count, unsteady, verdict, sizeof verdict));
  return DQ_OK;
}

static dq_status put_model(dq_table *table, const bench *b, int m, const dq_context *context, dq_error *error) {
  const dq_bench_model *model = &b->models[m];
  dq_spread spread;
  DQ_TRY(dq_spread_of(&spread, model->times, b->made.rounds, error));
  dq_table_row(table);
  dq_table_put_text(table, "model", b->subjects[m].path);
  dq_table_put_text(table, "convolutions", b->ways[m]);
  put_ms(table, "median_ms", spread.median);
  put_ms(table, "minimum_ms", spread.minimum);
  put_ms(table, "p95_ms", spread.p95);
  put_ms(table, "deviation_ms", spread.deviation);
  put_speed(table, model->macs, spread.median);
  const char *doubt = dq_spread_doubt(&spread);
  if (b->count > 1) DQ_TRY(put_ratio(table, b, m, &spread, error));
  put_ms(table, "load_ms", model->load_time);
  put_ms(table, "plan_ms", model->plan_time);
  put_ms(table, "pack_ms", model->pack_time);
  if (b->options->warmup) put_ms(table, "warmup_ms", model->first_time);
  dq_plan_memory memory = dq_plan_memory_of(model->session.plan);
  dq_table_put_int(table, "activation_bytes", (int64_t)dq_schedule_bytes(model->session.schedule));
  dq_table_put_int(table, "workspace_bytes", (int64_t)memory.workspace);
  dq_table_put_int(table, "packed_bytes", (int64_t)memory.packed);
  dq_table_put_bool(table, "steady", !doubt);
  if (doubt) dq_message(context, DQ_WARNING, "%s: %s", b->subjects[m].path, doubt);
  return DQ_OK;
}

static void put_layers(dq_table *table, const bench *b, int m) {
  const dq_bench_model *model = &b->models[m];
  double total = 0;
  for (int i = 0; i < model->layer_count; i++) total += model->layers[i].median;
  for (int i = 0; i < model->layer_count; i++) {
    const dq_bench_layer *layer = &model->layers[i];
    dq_table_row(table);
    dq_table_put_text(table, "model", b->subjects[m].path);
    dq_table_put_text(table, "convolutions", b->ways[m]);
    dq_table_put_text(table, "node", layer->name);
    dq_table_put_text(table, "op", layer->op_type);
    dq_table_put_text(table, "algorithm", layer->algorithm);
    put_ms(table, "median_ms", layer->median);
    if (total > 0) dq_table_put_real(table, "share", 100 * layer->median / total);
    put_speed(table, layer->macs, layer->median);
    double peak = layer->integer ? b->peaks.int8 : b->peaks.float32;
    if (layer->macs > 0 && layer->median > 0)
      dq_table_put_real(table, "peak_share", 100 * (double)layer->macs / layer->median / peak);
    dq_table_put_int(table, "bytes", layer->bytes);
  }
}

// Steps with products, as they stand under the ceilings.
static dq_status plot(const bench *b, dq_arena *arena, dq_error *error) {
  int count = 0, most = 0;
  for (int m = 0; m < b->count; m++) most += b->models[m].layer_count;
  dq_roofline_point *points = DQ_NEW_ARRAY(arena, most + 1, dq_roofline_point);
  if (!points) return dq_fail_memory(error, (size_t)most * sizeof *points);
  for (int m = 0; m < b->count; m++)
    for (int i = 0; i < b->models[m].layer_count; i++) {
      const dq_bench_layer *layer = &b->models[m].layers[i];
      if (layer->macs <= 0 || layer->bytes <= 0 || layer->median <= 0) continue;
      points[count++] = (dq_roofline_point){layer->name, (double)layer->macs / (double)layer->bytes,
                                            (double)layer->macs / layer->median, layer->integer};
    }
  const char *first = b->subjects[0].path, *slash = strrchr(first, '/');
  const char *title =
      dq_arena_printf(arena, b->count > 1 ? "Roofline: %d steps of %s and others" : "Roofline: %d steps of %s", count,
                      slash ? slash + 1 : first);
  if (!title) return dq_fail_memory(error, strlen(first));
  return dq_roofline_write(b->options->plot, title, &b->peaks, points, count, error);
}

static dq_status write_timeline(const bench *b, const dq_context *context, dq_error *error) {
  for (int m = 0; m < b->count; m++) {
    int64_t lost = dq_timeline_lost(&b->models[m].timeline);
    if (lost)
      dq_message(context, DQ_WARNING, "%s: the timeline lacks its last %" PRId64 " events, since a track holds %d",
                 b->subjects[m].path, lost, DQ_TIMELINE_MOST);
  }
  return dq_timeline_write(b->options->timeline, b->subjects, b->models, b->count, error);
}

static dq_status report_times(bench *b, dq_report *report, const dq_context *context, dq_error *error) {
  const bench_options *options = b->options;
  dq_table *times = dq_report_table(report, &model_layout);
  for (int m = 0; m < b->count; m++) DQ_TRY(put_model(times, b, m, context, error));
  if (options->per_layer) {
    dq_table *layers = dq_report_table(report, &layer_layout);
    dq_table_group(layers);
    for (int m = 0; m < b->count; m++) put_layers(layers, b, m);
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  dq_table *record = dq_report_table(report, &run_layout);
  dq_table_row(record);
  dq_table_put_int(record, "runs", b->made.rounds);
  dq_table_put_int(record, "blocks", b->made.count);
  dq_table_put_int(record, "threads", dq_pool_threads(context->pool));
  dq_table_put_int(record, "batch", options->batch);
  dq_table_put_int(record, "peak_bytes", (int64_t)usage.ru_maxrss * 1024); // Linux counts in kB
  if (!options->per_layer) return dq_command_report(&options->common, report, error);
  put_giga(record, "float32_peak", b->peaks.float32);
  put_giga(record, "int8_peak", b->peaks.int8);
  put_giga(record, "bandwidth", b->peaks.bandwidth);
  return dq_command_report(&options->common, report, error);
}

// Every model with every way to compute convolutions, the reference first.
static dq_status list_subjects(bench *b, dq_arena *arena, dq_error *error) {
  const bench_options *options = b->options;
  dq_convolutions *ways;
  int way_count, extra = options->reference ? 1 : 0, models = options->common.operand_count + extra;
  DQ_TRY(dq_read_convolutions(&options->convolutions, "auto", arena, &ways, &way_count, error));
  b->count = models * way_count;
  b->subjects = DQ_NEW_ARRAY(arena, b->count, dq_bench_subject);
  b->ways = DQ_NEW_ARRAY(arena, b->count, const char *);
  b->models = DQ_NEW_ARRAY(arena, b->count, dq_bench_model);
  if (!b->subjects || !b->ways || !b->models) return dq_fail_memory(error, 0);
  for (int i = 0; i < b->count; i++) {
    int model = i / way_count - extra;
    const dq_convolutions *way = &ways[i % way_count];
    const char *path = model < 0 ? options->reference : options->common.operands[model];
    b->subjects[i] = (dq_bench_subject){path, way->settings, way->count};
    b->ways[i] = way->name;
  }
  return DQ_OK;
}

static dq_status measure(const bench_options *options, const dq_context *context, dq_arena *arena, dq_error *error) {
  bench b = {.options = options};
  DQ_TRY(list_subjects(&b, arena, error));
  dq_bench_options settings = {.turns = {.rounds = options->runs ? options->runs : RUNS,
                                         .quick = options->runs ? 0 : QUICK_RUNS,
                                         .warmup = options->warmup,
                                         .blocks = options->blocks,
                                         .time_limit = options->time_limit},
                               .per_layer = options->per_layer,
                               .plain = options->plain,
                               .timeline_runs = options->timeline ? TIMELINE_RUNS : 0};
  DQ_TRY(dq_read_shapes(&options->shapes, NULL, options->batch, arena, &settings.shapes, error));
  if (options->per_layer) DQ_TRY(dq_measure_peaks(&b.peaks, context, error));
  dq_status status = dq_bench_run(b.models, b.subjects, b.count, &settings, &b.made, context, arena, error);
  dq_report *report = status == DQ_OK ? dq_report_new("dq-bench", 1, "Time of one run") : NULL;
  if (status == DQ_OK) status = report_times(&b, report, context, error);
  if (status == DQ_OK && options->plot) status = plot(&b, arena, error);
  if (status == DQ_OK && options->timeline) status = write_timeline(&b, context, error);
  dq_report_free(report);
  dq_bench_close(b.models, b.count);
  return status;
}

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  dq_arena *arena = dq_context_arena(context);
  dq_status status = arena ? measure(parsed, context, arena, error) : dq_fail_memory(error, 0);
  dq_arena_free(arena);
  return status;
}

const dq_command dq_verb_bench = {
    .name = "dq-bench",
    .summary = "times models fairly",
    .usage = "MODEL... [--vs MODEL] [options]",
    .description =
        "Runs every model on random numbers in -1...1 from --seed (integer inputs: zeros) and tells median, least "
        "time, 95th percentile and standard deviation, multiply-accumulates per second, the time to load and to plan, "
        "and memory. Several models take turns, in blocks with other places in memory; each is compared with the "
        "reference run by run, and the ratio comes with its confidence interval over blocks of at least 97 %. When "
        "the interval is not wholly beyond 0.5 % of 1 the command says that it cannot tell, and when the times of "
        "either model scatter or drift too much that they are not steady: 'faster (unsteady)'. Fewer than 7 blocks are "
        "too few for 97 %: the interval is then from the least to the largest ratio of a block, Level is the "
        "probability that it holds the median, and the verdict says no more than what was seen.",
    .examples = "# where the time goes\n"
                "dq-bench model.onnx --per-layer\n"
                "# is the quantized model faster on one thread?\n"
                "dq-bench int8.onnx --vs model.onnx --threads 1 --runs 200\n"
                "# who waits for whom, to look at in a viewer of traces\n"
                "dq-bench model.onnx --threads 2 --timeline timeline.json",
    .operand = "MODEL",
    .operands_minimum = 1,
    .operands_maximum = -1,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_REPORT | DQ_WITH_SUMS | DQ_WITH_WISDOM,
    .report_offset = offsetof(bench_options, report),
    .options_size = sizeof(bench_options),
    .run = run,
};
