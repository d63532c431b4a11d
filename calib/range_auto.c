// Range rule of --method auto before anything has been tried: which rule serves a network best shows in
// its outputs only (quant/int8/decide.c), not in a histogram, where mse has the least error by construction.
#include "calib/observers.h"

dq_range_pair dq_range_auto(const dq_histogram *histogram, const dq_range_options *options) {
  return dq_range_percentile(histogram, options);
}
