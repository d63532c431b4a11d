// What the machine can do at most, measured: the ceilings of a roofline (Williams, Waterman, Patterson,
// "Roofline: An Insightful Visual Performance Model", CACM 52(4), 2009).
#ifndef DQ_EVAL_PEAKS_H
#define DQ_EVAL_PEAKS_H

#include "lib/base/context.h"

typedef struct dq_peaks {
  double float32, int8; // multiply-accumulates per second of the context's threads together
  double bandwidth;     // bytes per second that all threads read from 64 MB
} dq_peaks;

// The best of several products of packed matrices that stay in a core's caches, and of several passes over
// 64 MB; takes about a fifth of a second. DQ_SYSTEM without memory.
dq_status dq_measure_peaks(dq_peaks *peaks, const dq_context *context, dq_error *error);

#endif
