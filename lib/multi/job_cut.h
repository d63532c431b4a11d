// Cutting a network into jobs: runs of consecutive steps that take about as long as each other.
#ifndef DQ_MULTI_JOB_CUT_H
#define DQ_MULTI_JOB_CUT_H

#include "lib/exec/plan.h"

typedef struct dq_job {
  int from, end;  // the steps from `from` to `end` - 1
  double seconds; // that they took when they were measured
} dq_job;

// Cuts `steps` (>= 1) steps that took seconds[steps] into jobs[steps] and returns how many there are. A job takes steps
// in their order for as long as it stays within `job_time` seconds; a step that takes longer by itself is a job of its
// own. A step with joined[i] is never parted from step i - 1, so that such steps count as one.
int dq_cut_jobs(dq_job *jobs, const double *seconds, const bool *joined, int steps, double job_time);

// Sets joined[s] for the steps of a plan that belong to one convolution that dq-tucker decomposed: neighbours whose
// nodes are named LAYER/tucker_in, LAYER/tucker_core and LAYER/tucker_out.
void dq_join_decomposed(const dq_plan *plan, bool *joined);

#endif
