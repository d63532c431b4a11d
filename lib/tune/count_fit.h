// What each thing that a convolution does (dq_counts) takes, found from measured times: the time is taken as the sum of
// counts times costs, and costs are those with the least squares of errors of its logarithm, near those of
// conv_counts.def, which all may be longer or shorter together.
#ifndef DQ_TUNE_COUNT_FIT_H
#define DQ_TUNE_COUNT_FIT_H

#include "lib/base/status.h"
#include "lib/kernels/conv/conv_counts.h"

typedef struct dq_costs {
  double values[DQ_COUNTS]; // seconds of one, by dq_count, above 0
} dq_costs;

// Those of conv_counts.def at 1e9 cycles in a second.
dq_costs dq_costs_usual(void);
// Seconds of these counts; 0: nothing was counted.
double dq_costs_seconds(const dq_costs *costs, const dq_counts *counts);
// Fits costs to `number` times, logarithms[i] of seconds with counts[i], none of which are all 0. Without any times
// those of dq_costs_usual. Statuses as dq_factor_symmetric.
dq_status dq_costs_fit(dq_costs *costs, const dq_counts *const *counts, const double *logarithms, int number,
                       dq_error *error);

#endif
