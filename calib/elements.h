// Extremes, sums and sums of squares of float32 elements, and the planes of tensors. Sums are computed in double
// precision in eight partial sums (element i in partial sum i mod 8), so that compilers vectorize them and every
// processor adds in the same order.
#ifndef DQ_CALIB_ELEMENTS_H
#define DQ_CALIB_ELEMENTS_H

#include <stdint.h>

#include "lib/base/context.h"
#include "lib/base/tensor.h"

typedef struct dq_extremes {
  float low, high;    // of the finite elements; +infinity and -infinity when there are none
  int64_t not_finite; // NaN or infinite
} dq_extremes;
// The extremes of values[count]; count 0 is allowed. `cpu`: features of the processor that may be used
// (lib/base/cpu.h), 0 none; they do not change the result.
dq_extremes dq_extremes_of(const float *values, int64_t count, unsigned cpu);

typedef struct dq_element_sums {
  double sum, power; // of the elements; of their squares
} dq_element_sums;
// The sums of values[count]; zeros for count 0. `cpu` as for dq_extremes_of.
dq_element_sums dq_element_sums_of(const float *values, int64_t count, unsigned cpu);

// Calls work(argument, c, plane, count) for all planes of a float32 tensor [N, C, ...] of rank 2 or more, `count`
// elements each. The planes of one channel c come from one thread of the context (NULL: the caller alone) in the order
// of n, so that what is added up per channel does not depend on the number of threads.
typedef void dq_plane_work(void *argument, int64_t channel, const float *plane, int64_t count, unsigned cpu);
void dq_each_plane(const dq_context *context, const dq_tensor *tensor, dq_plane_work *work, void *argument);

#endif
