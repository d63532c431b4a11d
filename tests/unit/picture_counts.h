// Adds pictures to histograms and ends as a calibration does.
#ifndef DQ_TESTS_PICTURE_COUNTS_H
#define DQ_TESTS_PICTURE_COUNTS_H

#include "calib/calib.h"

static inline void add_values(dq_histogram *histogram, const float *values, int64_t count) {
  const dq_extremes seen = dq_histogram_count(histogram, values, count, NULL);
  if (seen.not_finite < count) dq_histogram_average(histogram, seen.low, seen.high);
}

#endif
