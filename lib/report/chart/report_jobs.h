// A record of the jobs that the workers of a queue ran, and its form as a file for viewers of traces.
#ifndef DQ_REPORT_JOBS_H
#define DQ_REPORT_JOBS_H

#include "lib/multi/multi.h"
#include "lib/render/report.h"

enum { DQ_JOB_EVENTS = 1 << 16 }; // jobs that the record of a worker holds, 32 bytes each

typedef struct dq_job_event {
  int64_t begin, end; // nanoseconds of dq_nanoseconds
  int64_t request;    // its number in the order of arrival, from 0
  int network, job;   // indices
} dq_job_event;

typedef struct dq_job_track {
  dq_job_event *events; // [min(count, DQ_JOB_EVENTS)]
  int64_t count;        // of jobs, also of those that were not kept
  char apart[48];       // the counts of two workers are never in one cache line
} dq_job_track;

typedef struct dq_job_record {
  dq_job_track *tracks; // [workers], in the arena
  int workers;
} dq_job_record;

// Opens a record for `workers` workers, in the arena. DQ_SYSTEM: there is no memory.
dq_status dq_job_record_open(dq_job_record *record, int workers, dq_arena *arena, dq_error *error);
// Adds a job to the track of the worker. It is the function for dq_multi_options.job_done, with the record as `user`.
void dq_job_record_add(void *record, int worker, const dq_multi_request *request, int job, int64_t begin, int64_t end);
// Removes all jobs from the record; no worker may run a job meanwhile.
void dq_job_record_clear(dq_job_record *record);
// The number of jobs that were not kept because a track was full.
int64_t dq_job_record_lost(const dq_job_record *record);

// Writes a file in the Trace Event Format ("-": standard output) with a track for each worker and an event for each
// job, named by names[network]. Times are microseconds since `start` (dq_nanoseconds). DQ_SYSTEM: it cannot be written.
dq_status dq_job_record_write(const dq_job_record *record, const char *path, const char *const *names, int64_t start,
                              dq_error *error);

// Adds a picture to the report: what each worker ran from `start` on, the first 200 jobs of all together, a job in the
// colour of its network, names[count].
void dq_job_record_draw(const dq_job_record *record, dq_report *report, const char *const *names, int count,
                        int64_t start);

#endif
