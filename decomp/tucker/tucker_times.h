// The run time of a decomposed model in comparison with that of the original.
#ifndef DQ_DECOMP_TUCKER_TIMES_H
#define DQ_DECOMP_TUCKER_TIMES_H

#include "decomp/tucker/decomp.h"
#include "lib/measure/bench.h"

// The whole model before and after the decomposition, run in turns.
typedef struct dq_tucker_times {
  double before, after; // medians in seconds; 0: not measured
  dq_time_ratio ratio;  // of after / before
} dq_tucker_times;

// Whether layers were measured (options->never_slower), so that measured times decided the ranks of the report.
bool dq_tucker_has_times(const dq_tucker_report *report);

// Loads the files `before` (the original) and `after` (the decomposed model) and runs both in turns, for a second or a
// few runs. *times stays 0 when no layer was measured or decomposed, when a path is "-", or when both files together
// have more than 256 MiB. A warning reports a model that became slower. Statuses as dq_bench_run.
dq_status dq_tucker_time_files(dq_tucker_times *times, const dq_tucker_report *report, const char *before,
                               const char *after, const dq_shape_request *shapes, const dq_context *context,
                               dq_error *error);

#endif
