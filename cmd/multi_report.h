// What dq-multi has loaded and measured, and its report.
#ifndef DQ_CMD_MULTI_REPORT_H
#define DQ_CMD_MULTI_REPORT_H

#include "cmd/shared/data.h"
#include "cmd/multi_operands.h"
#include "lib/multi/arrivals.h"
#include "lib/render/report.h"
#include "lib/report/chart/report_jobs.h"
#include "lib/session/runner.h"

typedef struct dq_multi_loaded {
  const dq_multi_operand *operand;
  dq_graph *graph;             // owned
  dq_session_options settings; // of the session
  dq_data *data;               // owned; with data
  dq_runner runner;            // owned; with data
  dq_session own;              // owned; without data
  const dq_session *session;   // that of one of both
  dq_job_threads threads;
  dq_source source;
} dq_multi_loaded;

typedef struct dq_multi_run {
  dq_multi *multi;
  const dq_job_policy *policy;
  int workers, count;      // of networks
  dq_multi_loaded *loaded; // [count], like the following
  dq_source *sources;
  dq_source_record *records;
  const char **names;
  dq_job_record jobs;                 // with a timeline or a page
  int64_t start;                      // dq_nanoseconds at the first arrival
  double loading, elapsed, processor; // seconds of loading, of the run, and of processors in the run
} dq_multi_run;

// Adds the tables of a run to the report; texts are in the arena. DQ_SYSTEM: there is no memory.
dq_status dq_multi_report(const dq_multi_run *run, dq_report *report, dq_arena *arena, dq_error *error);

#endif
