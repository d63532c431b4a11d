// Extremes, sums and sums of squares of float32 elements. Sums are computed in double precision in eight partial sums
// (element i in partial sum i mod 8), so that compilers vectorize them and every processor adds in the same order.
#ifndef DQ_CALIB_ELEMENTS_H
#define DQ_CALIB_ELEMENTS_H

#include <stdint.h>

typedef struct dq_extremes {
  float low, high;    // of the finite elements; +infinity and -infinity when there are none
  int64_t not_finite; // NaN or infinite
} dq_extremes;
dq_extremes dq_extremes_of(const float *values, int64_t count); // of values[count]; count 0 is allowed

double dq_sum_of(const float *values, int64_t count);   // sum of values[count]; 0 for none
double dq_power_of(const float *values, int64_t count); // sum of squares

#endif
