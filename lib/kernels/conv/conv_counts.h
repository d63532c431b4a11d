// What a run of a convolution does, counted without running it: the features of the cost model of tuning (lib/tune),
// which finds out from measured times what each of them takes. No choice that is made without a measurement reads them.
#ifndef DQ_KERNELS_CONV_COUNTS_H
#define DQ_KERNELS_CONV_COUNTS_H

typedef enum dq_count {
#define DQ_COUNTED(symbol, cycles, help) DQ_COUNT_##symbol,
#include "lib/kernels/conv/conv_counts.def"
  DQ_COUNTS
} dq_count;

typedef struct dq_counts {
  double values[DQ_COUNTS]; // by dq_count, of one thread where several share the work; all 0: nothing was counted
} dq_counts;

#endif
