// Range rule: everything that was seen.
#include "calib/observers.h"

dq_range_pair dq_range_minmax(const dq_histogram *histogram, const dq_range_options *options) {
  (void)options;
  return (dq_range_pair){histogram->minimum, histogram->maximum};
}
