#include "quant/int8/stages.h"
#include "quant/numeric/activation_range.h"

dq_range_pair dq_int8_narrow_range(const dq_int8_job *job, const dq_value *value, const dq_histogram *histogram,
                                   dq_range_pair range) {
  for (int u = 0; u < value->user_count; u++)
    if (!value->users[u]->mark) return range;
  range = dq_narrow_range(range, dq_follower_of(value));
  return job->in->options->symmetric ? range : dq_rectified_range(histogram, range, dq_slope_below(value, -1));
}
