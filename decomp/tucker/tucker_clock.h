// Whether a decomposed layer is faster on this machine, measured.
#ifndef DQ_DECOMP_TUCKER_CLOCK_H
#define DQ_DECOMP_TUCKER_CLOCK_H

#include "decomp/tucker/tucker_job.h"

// Measures the layer as it is and as factors at the chosen ranks, in turns, each as a network of one layer on noise.
// Sets time_before and time_after (medians, in seconds), time_ratio and time_most of job->layer. The times stay 0 when
// the shape of the input of the layer is not known. The factors need not be computed before. Statuses as dq_bench_run.
dq_status dq_tucker_clock(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error);

// Calls dq_tucker_clock for the jobs without a reason that were not measured at their ranks yet, and gives a reason to
// those that are not faster, whose number *left receives. No other work may run on the pool at the same time.
dq_status dq_tucker_clock_all(dq_tucker_job *jobs, int count, const dq_tucker_options *options, int *left,
                              dq_error *error);

#endif
