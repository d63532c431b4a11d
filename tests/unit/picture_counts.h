// Adds pictures to histograms and ends as a calibration does.
#ifndef DQ_TESTS_PICTURE_COUNTS_H
#define DQ_TESTS_PICTURE_COUNTS_H

#include "calib/calib.h"

static inline void add_values(dq_histogram *histogram, const float *values, int64_t count) {
  dq_extremes seen;
  assert_int_equal(dq_histogram_count(histogram, values, count, NULL, &seen, NULL), DQ_OK);
  if (seen.not_finite < count) dq_histogram_average(histogram, seen.low, seen.high);
}

static inline uint64_t count_in(const dq_histogram *histogram, int bin) {
  uint64_t memory[DQ_HISTOGRAM_BINS];
  return dq_histogram_bins(histogram, memory)[bin];
}

static inline void assert_same_bins(const dq_histogram *a, const dq_histogram *b) {
  uint64_t of_a[DQ_HISTOGRAM_BINS], of_b[DQ_HISTOGRAM_BINS];
  assert_memory_equal(dq_histogram_bins(a, of_a), dq_histogram_bins(b, of_b), sizeof of_a);
}

#endif
