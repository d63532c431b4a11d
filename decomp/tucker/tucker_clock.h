// Whether a decomposed layer is faster on this machine, measured.
#ifndef DQ_DECOMP_TUCKER_CLOCK_H
#define DQ_DECOMP_TUCKER_CLOCK_H

#include "decomp/tucker/tucker_job.h"

// Times the layer as it is and as its factors at the ranks chosen, each as a network of its own on
// noise, in turns, and sets time_before, time_after (medians) and time_ratio of its record. A layer
// whose input is not known is not measured: its times stay 0. Only the shapes of the factors matter.
dq_status dq_tucker_clock(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error);

// Times the jobs without a reason that have not been timed at their ranks, and gives a reason to those
// that are not faster. *left receives how many that were. Nothing else may run on the pool.
dq_status dq_tucker_clock_all(dq_tucker_job *jobs, int count, const dq_tucker_options *options, int *left,
                              dq_error *error);

#endif
