// dq-multi: several networks at once in one process.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cmd/shared/command.h"
#include "cmd/multi_report.h"
#include "cmd/options/options_rows.h"
#include "lib/base/clock.h"
#include "lib/base/sizes.h"
#include "lib/document/origin.h"
#include "lib/kernels/conv/conv.h"
#include "lib/measure/feed.h"

typedef struct multi_options {
  dq_common_options common;
  dq_report_options report;
  const char *data, *preset, *preprocess, *norm, *trace, *timeline;
  int policy;
  int64_t requests, limit;
  double job_time, slice, duration;
  bool measures; // --auto
} multi_options;

DQ_TABLE_CHOICES(policy, dq_job_policy_at)

static const dq_option rows[] = {
    {.name = "policy",
     .type = DQ_OPTION_ENUM,
     .value = "NAME",
     .choice = policy_name,
     .choice_help = policy_help,
     .preset = "fifo",
     DQ_INTO(multi_options, policy),
     .help = "whose job runs next"},
    {.name = "job-time",
     .type = DQ_OPTION_TIME,
     .maximum = 1e6,
     .open_minimum = true,
     .preset = "1ms",
     DQ_INTO(multi_options, job_time),
     .help = "cut networks into jobs of at most this time",
     .details = "A worker looks for the most urgent request after each job. A single step that takes longer, and the "
                "convolutions that stand for one layer after dq-tucker, are a job by themselves."},
    {.name = "slice",
     .type = DQ_OPTION_TIME,
     .maximum = 1e6,
     .preset = "10ms",
     DQ_INTO(multi_options, slice),
     .help = "prefer requests of the network that a worker ran last for up to this time (0: never)",
     .details = "A worker that has ended a request runs the next one of the same network in place of one that came "
                "before it and is as urgent, for up to this time, as the weights of the network are in the cache of "
                "the worker's processor. Nothing is preferred while a request waits that has a deadline, such as a "
                "picture of fps=, nor a request that itself takes longer."},
    {.name = "auto",
     .type = DQ_OPTION_FLAG,
     DQ_INTO(multi_options, measures),
     .help = "choose for each network, on its requests, whether its jobs run in one thread or in all",
     .details = "As threads=auto of a network, for those without threads=."},
    {.name = "duration",
     .type = DQ_OPTION_TIME,
     .maximum = 1e6,
     .open_minimum = true,
     DQ_INTO(multi_options, duration),
     .help = "requests arrive for this long (default: 5s without --requests and --trace)",
     .details =
         "What has not begun by then is taken out of the queue and counted as unfinished. The run ends before where "
         "all requests of --requests and --trace have ended."},
    {.name = "requests",
     .type = DQ_OPTION_INT,
     .minimum = 1,
     .maximum = 1e9,
     .value = "N",
     DQ_INTO(multi_options, requests),
     .help = "requests that each sender of a network sends (n= senders)"},
    {.name = "trace",
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     DQ_INTO(multi_options, trace),
     .help = "requests arrive as a file says: lines 'SECONDS NAME'",
     .details = "NAME is that of a network, see name=. Networks with fps= keep their clock."},
    {.name = "data",
     .type = DQ_OPTION_STRING,
     .value = "SPEC",
     .group = "Data",
     DQ_INTO(multi_options, data),
     .help = "pictures for networks without data= of their own, as for dq-run (default: noise)"},
    {.name = "preset",
     .type = DQ_OPTION_STRING,
     .value = "NAME",
     .choice = dq_preset_name,
     .group = "Data",
     DQ_INTO(multi_options, preset),
     .help = "preprocessing of networks without preset= or preprocess= of their own, as for dq-run"},
    {.name = "preprocess",
     .type = DQ_OPTION_STRING,
     .value = "K=V,...",
     .group = "Data",
     DQ_INTO(multi_options, preprocess),
     .help = "overrides parts of the preset"},
    {.name = "norm",
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Data",
     DQ_INTO(multi_options, norm),
     .help = "constants per patient, for the preset lgg"},
    {.name = "limit",
     .type = DQ_OPTION_INT,
     .minimum = 1,
     .maximum = 1000000,
     .value = "N",
     .group = "Data",
     DQ_INTO(multi_options, limit),
     .help = "pictures of each network (default: at most 16)",
     .details = "Requests take the pictures by turns."},
    {.name = "timeline",
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     DQ_INTO(multi_options, timeline),
     .help = "when each worker ran which job, as a file for Perfetto",
     .details =
         "JSON in the Trace Event Format: a track for each worker, an event for each job. --html draws the first "
         "200 jobs."},
};

// ---- Networks ----

enum {
  PICTURES = 16,          // of each network, where no limit is given
  DECODE_IN_REQUESTS = 1, // of dq_multi_operand.decode
};

// Convolutions are computed as by dq-bench and by dq-run --data.
static const dq_conv_setting convolutions = {NULL, DQ_CONV_AUTO};

static dq_status set_noise(dq_multi_loaded *loaded, uint64_t seed, dq_arena *arena, dq_error *error) {
  dq_random random = dq_random_start(seed, 0);
  const int inputs = dq_plan_input_count(loaded->session->plan);
  loaded->source.samples = DQ_NEW_ARRAY(arena, 1, const void **);
  const void **sample = DQ_NEW_ARRAY(arena, inputs + 1, const void *);
  if (!loaded->source.samples || !sample) return dq_fail_memory(error, sizeof *sample);
  for (int i = 0; i < inputs; i++) {
    const dq_tensor *like = dq_plan_input(loaded->session->plan, i);
    dq_tensor *input = dq_tensor_new(arena, like->type, like->rank, like->dims);
    if (!input) return dq_fail_memory(error, dq_tensor_bytes(like));
    dq_feed_noise(input, &random);
    sample[i] = input->data;
  }
  loaded->source.samples[0] = sample;
  loaded->source.sample_count = 1;
  return DQ_OK;
}

// Reads the pictures into the inputs of the plan, in memory that is lent for this, and copies them. No picture is run
// here, so this is no dq_picture_loop.
static dq_status copy_samples(dq_multi_loaded *loaded, dq_data *data, dq_arena *arena, dq_error *error) {
  dq_plan *plan = loaded->session->plan;
  const int inputs = dq_plan_input_count(plan), count = (int)dq_data_count(data);
  loaded->source.samples = DQ_NEW_ARRAY(arena, count, const void **);
  if (!loaded->source.samples) return dq_fail_memory(error, 0);
  for (int s = 0; s < count; s++) {
    DQ_TRY(dq_runner_read(&loaded->runner, s, 1, NULL, error));
    const void **sample = loaded->source.samples[s] = DQ_NEW_ARRAY(arena, inputs + 1, const void *);
    for (int i = 0; sample && i < inputs; i++) {
      const dq_tensor *input = dq_plan_input(plan, i);
      if (!(sample[i] = dq_arena_copy(arena, input->data, dq_tensor_bytes(input)))) sample = NULL;
    }
    if (!sample) return dq_fail_memory(error, 0);
  }
  loaded->source.sample_count = count;
  return DQ_OK;
}

static dq_status read_samples(dq_multi_loaded *loaded, dq_data *data, dq_arena *arena, dq_error *error) {
  enum { ALIGNED_BYTES = 4096 }; // from there on memory of an arena is aligned to 64 bytes
  dq_arena *lent = dq_arena_beside(arena);
  void *memory = lent ? dq_arena_alloc(lent, dq_plan_lent_bytes(loaded->session->plan) + ALIGNED_BYTES) : NULL;
  dq_status status = memory ? DQ_OK : dq_fail_memory(error, dq_plan_lent_bytes(loaded->session->plan));
  if (status == DQ_OK) {
    dq_plan_lend(loaded->session->plan, memory);
    status = copy_samples(loaded, data, arena, error);
  }
  dq_arena_free(lent);
  return status;
}

// dq_source.read
static dq_status read_sample(void *user, int sample, dq_plan *plan, dq_error *error) {
  return dq_runner_read_into(user, sample, plan, error);
}

// Requests read their pictures themselves.
static void set_reading(dq_multi_loaded *loaded) {
  loaded->source.sample_count = (int)dq_data_count(loaded->data);
  loaded->source.read = read_sample;
  loaded->source.user = &loaded->runner;
}

// The context of the session of the network.
static const dq_context *choose_threads(dq_multi_loaded *loaded, const multi_options *options, const dq_multi *multi) {
  const int given = loaded->operand->threads;
  loaded->threads = given >= 0 ? (dq_job_threads)given : options->measures ? DQ_THREADS_AUTO : DQ_THREADS_ONE;
  return dq_multi_context(multi, loaded->threads != DQ_THREADS_ONE);
}

// What an operand lacks comes from the options; its own preprocessing replaces all of theirs.
static dq_data_arguments data_arguments(const dq_multi_operand *operand, const multi_options *options) {
  const bool own = operand->preset || operand->preprocess;
  return (dq_data_arguments){.data = operand->data ? operand->data : options->data,
                             .preset = own ? operand->preset : options->preset,
                             .preprocess = own ? operand->preprocess : options->preprocess,
                             .norm = options->norm,
                             .limit = operand->limit ? operand->limit : options->limit};
}

static dq_status open_with_data(dq_multi_loaded *loaded, const multi_options *options, const dq_multi *multi,
                                dq_arena *arena, dq_error *error) {
  const dq_context *context = dq_multi_context(multi, false);
  dq_data_arguments arguments = data_arguments(loaded->operand, options);
  dq_recall_preset(&arguments, loaded->graph, context);
  dq_data_options data_options = dq_data_options_of(&arguments, options->common.seed);
  data_options.fewer = !data_options.limit;
  if (!data_options.limit) data_options.limit = PICTURES;
  DQ_TRY(dq_data_open(&loaded->data, &data_options, context, error));
  DQ_TRY(dq_complete_shapes(&loaded->settings.shapes, loaded->graph, loaded->data, arena, error));
  context = choose_threads(loaded, options, multi);
  const dq_runner_options settings = {.session = loaded->settings};
  DQ_TRY(dq_runner_open(&loaded->runner, loaded->graph, loaded->data, &settings, context, error));
  loaded->session = &loaded->runner.session;
  if (loaded->operand->decode == DECODE_IN_REQUESTS) set_reading(loaded);
  else DQ_TRY(read_samples(loaded, loaded->data, arena, error));
  return DQ_OK;
}

static dq_status open_with_noise(dq_multi_loaded *loaded, const multi_options *options, const dq_multi *multi,
                                 dq_arena *arena, dq_error *error) {
  const dq_multi_operand *operand = loaded->operand;
  const char *key = operand->preset       ? "preset"
                    : operand->preprocess ? "preprocess"
                    : operand->limit      ? "limit"
                                          : "decode";
  if (operand->preset || operand->preprocess || operand->limit || operand->decode >= 0)
    return dq_fail(error, DQ_USAGE, "%s= needs data=", key);
  loaded->session = &loaded->own;
  const dq_context *context = choose_threads(loaded, options, multi);
  DQ_TRY(dq_session_open(&loaded->own, loaded->graph, &loaded->settings, context, error));
  return set_noise(loaded, context->seed, arena, error);
}

static void set_source(dq_multi_loaded *loaded, int network) {
  const dq_multi_operand *operand = loaded->operand;
  dq_source *source = &loaded->source;
  source->network = network;
  source->senders = (int)operand->instances;
  source->rate = operand->rate;
  source->late = operand->late == DQ_LATE_DROP ? DQ_LATE_DROP : DQ_LATE_QUEUE;
  source->priority = operand->priority;
  source->deadline = operand->deadline > 0 || !(operand->rate > 0) ? operand->deadline : 1 / operand->rate;
}

static dq_status load_network(dq_multi_loaded *loaded, const multi_options *options, dq_multi *multi, dq_arena *arena,
                              dq_error *error) {
  const dq_multi_operand *operand = loaded->operand;
  const char *shape = operand->shape;
  DQ_TRY(dq_model_open(&loaded->graph, operand->path, dq_multi_context(multi, false), error));
  dq_option_list shapes = {.items = &shape, .count = shape != NULL};
  loaded->settings =
      (dq_session_options){.spent = loaded->graph, .lent = true, .convolutions = &convolutions, .convolution_count = 1};
  dq_status status = dq_read_shapes(&shapes, loaded->graph, 1, arena, &loaded->settings.shapes, error);
  bool data = operand->data || options->data;
  if (status == DQ_OK)
    status = data ? open_with_data(loaded, options, multi, arena, error)
                  : open_with_noise(loaded, options, multi, arena, error);
  if (status == DQ_OK) set_source(loaded, dq_multi_networks(multi));
  if (status == DQ_OK) status = dq_multi_add(multi, loaded->session, loaded->threads, error);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s", operand->path);
}

// What would change nothing is refused.
static dq_status check_operands(const dq_multi_operand *operands, const multi_options *options, dq_error *error) {
  bool data = options->data;
  for (int i = 0; i < options->common.operand_count; i++) {
    data = data || operands[i].data;
    if (operands[i].late >= 0 && !(operands[i].rate > 0) && !options->trace)
      return dq_fail(error, DQ_USAGE, "%s: late= needs fps= or --trace: a sender otherwise waits for its request",
                     options->common.operands[i]);
  }
  const char *option = options->limit        ? "limit"
                       : options->preset     ? "preset"
                       : options->preprocess ? "preprocess"
                       : options->norm       ? "norm"
                                             : NULL;
  if (option && !data) return dq_fail(error, DQ_USAGE, "option '--%s' needs '--data' or a network with data=", option);
  return DQ_OK;
}

static dq_status load_networks(dq_multi_run *run, const dq_multi_operand *operands, const multi_options *options,
                               dq_arena *arena, dq_error *error) {
  run->count = options->common.operand_count;
  run->loaded = DQ_NEW_ARRAY(arena, run->count, dq_multi_loaded);
  run->sources = DQ_NEW_ARRAY(arena, run->count, dq_source);
  run->records = DQ_NEW_ARRAY(arena, run->count, dq_source_record);
  run->names = DQ_NEW_ARRAY(arena, run->count, const char *);
  if (!run->loaded || !run->sources || !run->records || !run->names) return dq_fail_memory(error, 0);
  const double start = dq_seconds();
  for (int i = 0; i < run->count; i++) {
    run->loaded[i].operand = &operands[i];
    run->names[i] = operands[i].name;
    DQ_TRY(dq_check_stop(dq_multi_context(run->multi, false), error));
    DQ_TRY(load_network(&run->loaded[i], options, run->multi, arena, error));
    run->sources[i] = run->loaded[i].source;
    dq_progress(dq_multi_context(run->multi, false), "loading", i + 1, run->count);
  }
  run->loading = dq_seconds() - start;
  return DQ_OK;
}

static void close_networks(dq_multi_run *run) {
  dq_multi_close(run->multi);
  for (int i = 0; run->loaded && i < run->count; i++) {
    dq_session_close(&run->loaded[i].own);
    dq_runner_close(&run->loaded[i].runner);
    dq_data_free(run->loaded[i].data);
    dq_graph_free(run->loaded[i].graph);
  }
  if (run->records) dq_source_records_free(run->records, run->count);
}

// ---- The command ----

enum { DURATION = 5 };                 // seconds, where nothing else ends the run
static const double ALONE_SHARE = 0.1; // of the duration, for all networks together
static const double LONGEST_ALONE = 5; // seconds

static dq_status run_alone(dq_multi_run *run, const multi_options *options, dq_arena *arena, dq_error *error) {
  double seconds = fmin(ALONE_SHARE * (options->duration > 0 ? options->duration : DURATION), LONGEST_ALONE);
  dq_status status = dq_arrivals_alone(run->multi, run->sources, run->count, seconds, run->records, arena, error);
  for (int i = 0; i < run->count; i++)
    if (run->records[i].failed && status != DQ_CANCELLED)
      return dq_error_prefix(error, status, "%s", run->loaded[i].operand->path);
  return status;
}

static dq_status read_trace(dq_arrival_trace *trace, const dq_multi_run *run, const char *path, dq_arena *arena,
                            dq_error *error) {
  DQ_TRY(dq_arrival_trace_read(trace, path, run->names, run->count, arena, error));
  for (int64_t i = 0; i < trace->count; i++) {
    const dq_source *source = &run->sources[trace->arrivals[i].source];
    if (source->senders && !(source->rate > 0)) continue;
    return dq_fail(error, DQ_BAD_INPUT, "%s: has requests of network '%s', which has %s; expected one of the two", path,
                   run->names[trace->arrivals[i].source], source->senders ? "fps=" : "n=0");
  }
  return DQ_OK;
}

static double processor_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static dq_status run_together(dq_multi_run *run, const multi_options *options, dq_arena *arena, dq_error *error) {
  dq_arrival_trace trace;
  dq_arrival_options arrivals = {.duration = options->duration, .requests = options->requests};
  if (options->duration == 0 && !options->requests && !options->trace) arrivals.duration = DURATION;
  if (options->trace) {
    DQ_TRY(read_trace(&trace, run, options->trace, arena, error));
    arrivals.trace = &trace;
  }
  DQ_TRY(run_alone(run, options, arena, error));
  dq_job_record_clear(&run->jobs);
  run->start = dq_nanoseconds();
  double before = processor_seconds();
  dq_status status =
      dq_arrivals_run(run->multi, run->sources, run->count, &arrivals, run->records, &run->elapsed, error);
  run->processor = processor_seconds() - before;
  return status;
}

// A request that failed, or gave something else than alone, is a condition that does not hold.
static dq_status judge(const dq_multi_run *run, dq_error *error) {
  for (int i = 0; i < run->count; i++) {
    const dq_source_record *record = &run->records[i];
    if (record->failed)
      return dq_fail(error, DQ_CONDITION, "%s: %" PRId64 " of %" PRId64 " requests failed: %s", run->names[i],
                     record->failed, record->sent, record->error.message);
    if (record->different)
      return dq_fail(error, DQ_CONDITION, "%s: %" PRId64 " of %" PRId64 " requests gave other outputs than alone",
                     run->names[i], record->different, record->sent);
  }
  return DQ_OK;
}

static dq_status write_timeline(const dq_multi_run *run, const char *path, const dq_context *context, dq_error *error) {
  int64_t lost = dq_job_record_lost(&run->jobs);
  if (lost) dq_message(context, DQ_WARNING, "the timeline lacks its last %" PRId64 " jobs", lost);
  return dq_job_record_write(&run->jobs, path, run->names, run->start, error);
}

static int count_priorities(const dq_multi_operand *operands, int count) {
  bool given[DQ_MULTI_PRIORITIES] = {false};
  int different = 0;
  for (int i = 0; i < count; i++) {
    different += !given[operands[i].priority];
    given[operands[i].priority] = true;
  }
  return different;
}

static dq_status measure(dq_multi_run *run, const multi_options *options, const dq_context *context, dq_arena *arena,
                         dq_error *error) {
  const int count = options->common.operand_count;
  dq_multi_operand *operands;
  DQ_TRY(dq_multi_operands_parse(&operands, options->common.operands, count, arena, error));
  DQ_TRY(check_operands(operands, options, error));
  run->policy = dq_job_policy_at(options->policy);
  run->workers = options->common.threads ? (int)options->common.threads : dq_processors();
  dq_multi_options settings = {.workers = run->workers,
                               .policy = run->policy,
                               .job_time = options->job_time,
                               .slice = options->slice,
                               .priorities = count_priorities(operands, count)};
  if (options->timeline || options->report.html) {
    DQ_TRY(dq_job_record_open(&run->jobs, run->workers, arena, error));
    settings.job_done = dq_job_record_add;
    settings.user = &run->jobs;
  }
  DQ_TRY(dq_multi_open(&run->multi, &settings, context, error));
  DQ_TRY(load_networks(run, operands, options, arena, error));
  DQ_TRY(run_together(run, options, arena, error));
  dq_report *report = dq_report_new("dq-multi", 1, "Several networks at once");
  dq_status status = dq_multi_report(run, report, arena, error);
  if (options->report.html) dq_job_record_draw(&run->jobs, report, run->names, run->count, run->start);
  if (status == DQ_OK) status = dq_command_report(&options->common, report, error);
  if (status == DQ_OK && options->timeline) status = write_timeline(run, options->timeline, context, error);
  dq_report_free(report);
  return status == DQ_OK ? judge(run, error) : status;
}

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  dq_arena *arena = dq_context_arena(context);
  dq_multi_run run = {0};
  dq_status status = arena ? measure(&run, parsed, context, arena, error) : dq_fail_memory(error, 0);
  close_networks(&run);
  dq_arena_free(arena);
  return status;
}

const dq_command dq_verb_multi = {
    .name = "dq-multi",
    .summary = "runs several networks at once",
    .usage = "MODEL[,KEY=VALUE...]... [options]",
    .description =
        "Runs requests of several networks in one process: each network is cut into jobs of consecutive steps by "
        "measured time, the jobs of all requests wait in one queue, and --threads workers run them, one thread for "
        "each job; with threads=all workers that have no job help. The weights of a network are in memory once, and "
        "convolutions are computed as by dq-run --data. The "
        "outputs are those of the network alone, whatever "
        "the options are; the command compares them in every request.\n"
        "\n"
        "Keys of a network: n=N: so many senders of requests (1); with 0 the network is loaded and idle. fps=R: each "
        "sends R requests in a second, by the "
        "clock; without it the next request follows when the last has ended. late=queue|drop: a request that comes "
        "while the one before has not ended waits (queue), or is dropped and counted. deadline=TIME: from the arrival "
        "to the deadline (with fps=: the time to the next request). priority=low|normal|high: for --policy priority. "
        "data=SPEC, preset=NAME, preprocess=K=V,..., limit=N: pictures, as the options of dq-run of these "
        "names. decode=start|request: "
        "pictures are decoded before the run and requests copy them (start), or each request reads and decodes its "
        "picture as its first job, which counts in its times (request). threads=one|all|auto: "
        "jobs run in one thread (one, as long as there is no --auto), in all threads that have no job (all), or in "
        "what is faster of the two, measured on requests of the run by turns (auto). shape=NAME=N,3,224,224: "
        "sizes that the model leaves open. name=NAME: how tables and traces call the network.\n"
        "\n"
        "Before the run the command measures each network alone. Slowdown is the mean time of a request, from arrival "
        "to end, over that of the network alone.",
    .examples = "# a camera of 30 pictures in a second beside a network that runs all the time\n"
                "dq-multi camera.onnx,fps=30,late=drop,priority=high background.onnx --policy priority\n"
                "# how much slower each of four networks becomes\n"
                "dq-multi a.onnx b.onnx c.onnx d.onnx --duration 20s\n"
                "# who ran when, to look at in a viewer of traces\n"
                "dq-multi a.onnx,n=2 b.onnx,fps=10 --timeline timeline.json",
    .operand = "MODEL",
    .operands_minimum = 1,
    .operands_maximum = -1,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_REPORT | DQ_WITH_SUMS,
    .report_offset = offsetof(multi_options, report),
    .rules = {{DQ_RULE_AT_MOST_ONE, "trace requests"}},
    .options_size = sizeof(multi_options),
    .run = run,
};
