// What the elements of a tensor come to. Eight lanes, added up at the end: vectors in every compiler, and
// one order of sums on every processor.
#ifndef DQ_CALIB_ELEMENTS_H
#define DQ_CALIB_ELEMENTS_H

#include <stdint.h>

typedef struct dq_extremes {
  float low, high;    // of the finite elements; +infinity and -infinity when there are none
  int64_t not_finite; // NaN or infinite
} dq_extremes;
dq_extremes dq_extremes_of(const float *values, int64_t count);

double dq_sum_of(const float *values, int64_t count);
double dq_power_of(const float *values, int64_t count); // sum of squares

#endif
