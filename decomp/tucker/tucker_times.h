// The time of a decomposed model beside that of the original.
#ifndef DQ_DECOMP_TUCKER_TIMES_H
#define DQ_DECOMP_TUCKER_TIMES_H

#include "decomp/tucker/decomp.h"
#include "lib/measure/bench.h"

// The model as a whole, before and after, run in turns; seconds, medians.
typedef struct dq_tucker_times {
  double before, after; // 0: not measured
  dq_time_ratio ratio;
} dq_tucker_times;

// Whether layers were timed: only then do the ranks of the report tell what made them.
bool dq_tucker_has_times(const dq_tucker_report *report);

// Times the files of the original and of the decomposed model in turns, for a second or a few runs. Nothing is
// measured where no layer was timed or none decomposed, where a path is "-", or where the two files together have more
// than 256 MiB. A model that became slower as a whole is a warning. Errors as dq_bench_run.
dq_status dq_tucker_time_files(dq_tucker_times *times, const dq_tucker_report *report, const char *before,
                               const char *after, const dq_shape_request *shapes, const dq_context *context,
                               dq_error *error);

#endif
