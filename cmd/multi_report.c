#include "cmd/multi_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/base/sizes.h"
#include "lib/measure/bench.h"
#include "lib/multi/fairness.h"

static const dq_column network_columns[] = {
    {"network", "Network", DQ_COLUMN_TEXT, NULL, 0, 24, 0},
    {"model", "Model", DQ_COLUMN_TEXT, NULL, 0, 32, 9},
    {"senders", "Senders", DQ_COLUMN_INT, NULL, 0, 0, 6},
    {"requests", "Requests", DQ_COLUMN_INT, NULL, 0, 0, 2},
    {"per_second", "Per second", DQ_COLUMN_REAL, NULL, 2, 0, 1},
    {"mean_ms", "Mean", DQ_COLUMN_REAL, "ms", 3, 0, 3},
    {"p50_ms", "p50", DQ_COLUMN_REAL, "ms", 3, 0, 2},
    {"p95_ms", "p95", DQ_COLUMN_REAL, "ms", 3, 0, 4},
    {"p99_ms", "p99", DQ_COLUMN_REAL, "ms", 3, 0, 2},
    {"largest_ms", "Largest", DQ_COLUMN_REAL, "ms", 3, 0, 4},
    {"waiting_ms", "Waiting", DQ_COLUMN_REAL, "ms", 3, 0, 5},
    {"running_ms", "Running", DQ_COLUMN_REAL, "ms", 3, 0, 5},
    {"decoding_ms", "Decoding", DQ_COLUMN_REAL, "ms", 3, 0, 5},
    {"helped_ms", "Helped", DQ_COLUMN_REAL, "ms", 3, 0, 5},
    {"alone_ms", "Alone", DQ_COLUMN_REAL, "ms", 3, 0, 3},
    {"slowdown", "Slowdown", DQ_COLUMN_REAL, NULL, 2, 0, 1},
    {"dropped", "Dropped", DQ_COLUMN_INT, NULL, 0, 0, 4},
    {"missed", "Missed", DQ_COLUMN_INT, NULL, 0, 0, 4},
    {"unfinished", "Unfinished", DQ_COLUMN_INT, NULL, 0, 0, 7},
    {"failed", "Failed", DQ_COLUMN_INT, NULL, 0, 0, 7},
    {"different", "Different", DQ_COLUMN_INT, NULL, 0, 0, 8},
    {"threads", "Threads", DQ_COLUMN_INT, NULL, 0, 0, 6},
    {"one_thread_ms", "One thread", DQ_COLUMN_REAL, "ms", 3, 0, 8},
    {"all_threads_ms", "All threads", DQ_COLUMN_REAL, "ms", 3, 0, 8},
    {"jobs", "Jobs", DQ_COLUMN_INT, NULL, 0, 0, 7},
    {"longest_job_ms", "Longest job", DQ_COLUMN_REAL, "ms", 3, 0, 7},
    {"packed_bytes", "Packed", DQ_COLUMN_BYTES, NULL, 0, 0, 9},
    {"digest", "Digest", DQ_COLUMN_TEXT, NULL, 0, 16, 9},
};
static const dq_table_layout network_layout = {"networks", "Networks", network_columns, DQ_COUNT(network_columns),
                                               false};

static const dq_column job_columns[] = {
    {"network", "Network", DQ_COLUMN_TEXT, NULL, 0, 24, 0}, {"job", "Job", DQ_COLUMN_INT, NULL, 0, 0, 1},
    {"steps", "Steps", DQ_COLUMN_INT, NULL, 0, 0, 2},       {"first", "First node", DQ_COLUMN_TEXT, NULL, 0, 40, 3},
    {"last", "Last node", DQ_COLUMN_TEXT, NULL, 0, 40, 3},  {"time_us", "Time", DQ_COLUMN_REAL, "us", 1, 0, 1},
};
static const dq_table_layout job_layout = {"jobs", "Jobs", job_columns, DQ_COUNT(job_columns), false};

static const dq_column run_columns[] = {
    {"policy", "Policy", DQ_COLUMN_TEXT, NULL, 0, 0, 0},
    {"workers", "Workers", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"seconds", "Time of the run", DQ_COLUMN_REAL, "s", 2, 0, 0},
    {"processor_seconds", "Processor time", DQ_COLUMN_REAL, "s", 2, 0, 0},
    {"requests", "Requests", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"per_second", "Requests per second", DQ_COLUMN_REAL, NULL, 2, 0, 0},
    {"missed", "Missed deadlines", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"turnaround", "Mean normalized turnaround (ANTT)", DQ_COLUMN_REAL, NULL, 3, 0, 0},
    {"throughput", "System throughput (STP)", DQ_COLUMN_REAL, NULL, 3, 0, 0},
    {"jain", "Jain's fairness index", DQ_COLUMN_REAL, NULL, 3, 0, 0},
    {"loading_ms", "Time of loading", DQ_COLUMN_REAL, "ms", 1, 0, 0},
    {"frames", "Frames", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"frame_bytes", "Memory of a frame", DQ_COLUMN_BYTES, NULL, 0, 0, 0},
    {"peak_bytes", "Peak memory of the process", DQ_COLUMN_BYTES, NULL, 0, 0, 0},
};
static const dq_table_layout run_layout = {"run", NULL, run_columns, DQ_COUNT(run_columns), true};

static double mean_of(const dq_source_record *record) {
  double sum = 0;
  for (int64_t i = 0; i < record->count; i++) sum += record->times[i];
  return sum / (double)record->count;
}

static void put_ms(dq_table *table, const char *key, double seconds) { dq_table_put_real(table, key, 1e3 * seconds); }

static dq_status put_times(dq_table *table, const dq_source *source, bool helped, const dq_source_record *record,
                           dq_arena *arena, dq_error *error) {
  if (!record->count) return DQ_OK;
  const size_t bytes = (size_t)record->count * sizeof *record->times;
  double *sorted = dq_arena_copy(arena, record->times, bytes), mean = mean_of(record);
  if (!sorted) return dq_fail_memory(error, bytes);
  dq_sort_ascending(sorted, record->count);
  put_ms(table, "mean_ms", mean);
  put_ms(table, "p50_ms", dq_quantile(sorted, record->count, 0.5));
  put_ms(table, "p95_ms", dq_quantile(sorted, record->count, 0.95));
  put_ms(table, "p99_ms", dq_quantile(sorted, record->count, 0.99));
  put_ms(table, "largest_ms", sorted[record->count - 1]);
  put_ms(table, "waiting_ms", mean - record->running / (double)record->count);
  put_ms(table, "running_ms", record->running / (double)record->count);
  if (source->read) put_ms(table, "decoding_ms", record->reading / (double)record->count);
  if (helped) put_ms(table, "helped_ms", record->helping / (double)record->count);
  dq_table_put_real(table, "slowdown", mean / record->alone);
  dq_arena_release(arena, sorted);
  return DQ_OK;
}

static void put_way(dq_table *table, const char *key, const dq_thread_way *way) {
  if (way->count) put_ms(table, key, 1e-9 * (double)way->sum / (double)way->count);
}

static void put_threads(dq_table *table, const dq_multi_run *run, int i) {
  const dq_thread_choice *choice;
  dq_table_put_int(table, "threads", dq_multi_threads(run->multi, run->sources[i].network, &choice));
  if (!choice) return;
  put_way(table, "one_thread_ms", &choice->ways[0]);
  put_way(table, "all_threads_ms", &choice->ways[1]);
}

// A node without a name is called by what it makes.
static void put_node(dq_table *table, const char *key, const dq_node *node) {
  char label[DQ_LABEL_TEXT];
  dq_table_put_text(table, key, *node->name ? node->name : dq_node_label(node, label, sizeof label));
}

static void put_cut(dq_table *networks, dq_table *jobs, const dq_multi_run *run, int i) {
  int count;
  const dq_job *cut = dq_multi_jobs(run->multi, run->sources[i].network, &count);
  const dq_plan *plan = run->loaded[i].session->plan;
  double longest = 0;
  for (int j = 0; j < count; j++) {
    if (cut[j].seconds > longest) longest = cut[j].seconds;
    dq_table_row(jobs);
    dq_table_put_text(jobs, "network", run->names[i]);
    dq_table_put_int(jobs, "job", j);
    dq_table_put_int(jobs, "steps", cut[j].end - cut[j].from);
    if (cut[j].end > cut[j].from) {
      put_node(jobs, "first", dq_plan_step(plan, cut[j].from, NULL));
      put_node(jobs, "last", dq_plan_step(plan, cut[j].end - 1, NULL));
    }
    dq_table_put_real(jobs, "time_us", 1e6 * cut[j].seconds);
  }
  dq_table_put_int(networks, "jobs", count);
  put_ms(networks, "longest_job_ms", longest);
}

// One text for the outputs of all samples.
static void put_digest(dq_table *table, const dq_source *source, const dq_source_record *record) {
  uint64_t digest = 0;
  for (int s = 0; s < source->sample_count; s++) digest = digest * 31 + record->digests[s];
  dq_table_put_format(table, "digest", "%016" PRIx64, digest);
}

static dq_status put_network(dq_table *table, dq_table *jobs, const dq_multi_run *run, int i, dq_arena *arena,
                             dq_error *error) {
  const dq_source_record *record = &run->records[i];
  dq_table_row(table);
  dq_table_put_text(table, "network", run->names[i]);
  dq_table_put_text(table, "model", run->loaded[i].operand->path);
  dq_table_put_int(table, "senders", run->sources[i].senders);
  dq_table_put_int(table, "requests", record->count);
  dq_table_put_real(table, "per_second", (double)record->count / run->elapsed);
  DQ_TRY(put_times(table, &run->sources[i], run->workers > 1 && run->loaded[i].threads != DQ_THREADS_ONE, record, arena,
                   error));
  put_ms(table, "alone_ms", record->alone);
  dq_table_put_int(table, "dropped", record->dropped);
  if (run->sources[i].deadline > 0) dq_table_put_int(table, "missed", record->missed);
  dq_table_put_int(table, "unfinished", record->unfinished);
  dq_table_put_int(table, "failed", record->failed);
  dq_table_put_int(table, "different", record->different);
  dq_table_put_int(table, "packed_bytes", (int64_t)dq_plan_memory_of(run->loaded[i].session->plan).packed);
  put_threads(table, run, i);
  put_cut(table, jobs, run, i);
  put_digest(table, &run->sources[i], record);
  return DQ_OK;
}

// Networks without a request that succeeded have no share.
static dq_status put_fairness(dq_table *table, const dq_multi_run *run, dq_arena *arena, dq_error *error) {
  dq_share *shares = DQ_NEW_ARRAY(arena, run->count, dq_share);
  if (!shares) return dq_fail_memory(error, (size_t)run->count * sizeof *shares);
  int count = 0;
  for (int i = 0; i < run->count; i++)
    if (run->records[i].count)
      shares[count++] = (dq_share){run->records[i].alone, mean_of(&run->records[i]), run->sources[i].senders};
  if (!count) return DQ_OK;
  dq_fairness fairness = dq_fairness_of(shares, count);
  dq_table_put_real(table, "turnaround", fairness.turnaround);
  dq_table_put_real(table, "throughput", fairness.throughput);
  dq_table_put_real(table, "jain", fairness.jain);
  return DQ_OK;
}

static dq_status put_run(dq_table *table, const dq_multi_run *run, dq_arena *arena, dq_error *error) {
  int64_t requests = 0, missed = 0;
  for (int i = 0; i < run->count; i++) requests += run->records[i].count, missed += run->records[i].missed;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  dq_table_row(table);
  dq_table_put_text(table, "policy", run->policy->name);
  dq_table_put_int(table, "workers", run->workers);
  dq_table_put_real(table, "seconds", run->elapsed);
  dq_table_put_real(table, "processor_seconds", run->processor);
  dq_table_put_int(table, "requests", requests);
  dq_table_put_real(table, "per_second", (double)requests / run->elapsed);
  dq_table_put_int(table, "missed", missed);
  DQ_TRY(put_fairness(table, run, arena, error));
  put_ms(table, "loading_ms", run->loading);
  dq_table_put_int(table, "frames", dq_multi_frames(run->multi));
  dq_table_put_int(table, "frame_bytes", (int64_t)dq_multi_frame_bytes(run->multi));
  dq_table_put_int(table, "peak_bytes", (int64_t)usage.ru_maxrss * 1024); // Linux counts in kB
  return DQ_OK;
}

dq_status dq_multi_report(const dq_multi_run *run, dq_report *report, dq_arena *arena, dq_error *error) {
  dq_table *networks = dq_report_table(report, &network_layout), *jobs = dq_report_table(report, &job_layout);
  dq_table_files_only(jobs);
  static const char *const details[] = {"model",  "mean_ms", "failed",        "different",     "packed_bytes",
                                        "digest", "senders", "one_thread_ms", "all_threads_ms"};
  for (int i = 0; i < DQ_COUNT(details); i++) dq_table_column_files_only(networks, details[i]);
  for (int i = 0; i < run->count; i++) DQ_TRY(put_network(networks, jobs, run, i, arena, error));
  return put_run(dq_report_table(report, &run_layout), run, arena, error);
}
