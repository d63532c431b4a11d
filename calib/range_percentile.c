// Range rule: `percentile` percent of the values stay inside, half of the rest is cut off at each
// end.
#include "calib/observers.h"

dq_range_pair dq_range_percentile(const dq_histogram *histogram, const dq_range_options *options) {
  double cut = (100 - options->percentile) / 200;
  return (dq_range_pair){(float)dq_histogram_quantile(histogram, cut),
                         (float)dq_histogram_quantile(histogram, 1 - cut)};
}
