// Measured limits of the machine: the ceilings of a roofline (Williams, Waterman, Patterson, "Roofline: An Insightful
// Visual Performance Model", CACM 52(4), 2009).
#ifndef DQ_MEASURE_PEAKS_H
#define DQ_MEASURE_PEAKS_H

#include "lib/base/context.h"

typedef struct dq_peaks {
  double float32, int8; // multiply-accumulates per second of the context's threads together
  double bandwidth;     // bytes per second that all threads read from 64 MB
} dq_peaks;

// Measures the peaks, each as the best of several runs: products of packed matrices and, in 8 bits, a convolution that
// stay in the caches of a core, and passes over 64 MB. Takes about 0.3 s on the pool of the context, which should have
// no other work. DQ_SYSTEM: there is no memory.
dq_status dq_measure_peaks(dq_peaks *peaks, const dq_context *context, dq_error *error);

#endif
