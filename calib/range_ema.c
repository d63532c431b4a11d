// Range rule: moving averages of the pictures' minima and maxima, in the order of the data.
#include "calib/observers.h"

dq_range_pair dq_range_ema(const dq_histogram *histogram, const dq_range_options *options) {
  (void)options;
  return (dq_range_pair){(float)histogram->average_low, (float)histogram->average_high};
}
