// Timelines of dq-bench as a file that viewers such as Perfetto open.
#ifndef DQ_REPORT_TIMELINE_H
#define DQ_REPORT_TIMELINE_H

#include "lib/measure/bench.h"

// Writes the timelines of `count` models, which were run with timeline_runs, to a file that appears under its name when
// it is complete ("-": standard output), in the Trace Event Format (Google, "Trace Event Format", JSON object form):
// a process for each subject, named by its path; in it a track of steps and a track for each thread. Times are
// microseconds with three decimals since the first step of the first model. DQ_SYSTEM: the file cannot be written, or
// there is no memory.
dq_status dq_timeline_write(const char *path, const dq_bench_subject *subjects, const dq_bench_model *models, int count,
                            dq_error *error);

#endif
