// The range of a value by a method, its margins, and what reads the value.
#include <math.h>

#include "quant/int8/stages.h"
#include "quant/numeric/activation_range.h"

// Cuts a range to the part that the operators behind the value tell apart. The range stays as it is when a node that
// reads the value is not quantized.
static dq_range_pair narrow_range(const dq_value *value, const dq_histogram *histogram, dq_range_pair range,
                                  bool symmetric) {
  for (int u = 0; u < value->user_count; u++)
    if (!value->users[u]->mark) return range;
  range = dq_narrow_range(range, dq_follower_of(value));
  return symmetric ? range : dq_rectified_range(histogram, range, dq_slope_below(value, -1));
}

// The part of a range that the operator which computes the value can reach.
static dq_range_pair within_bounds(const dq_value *value, dq_range_pair range) {
  const dq_node *node = value->producer;
  if (!node) return range;
  float low = -INFINITY, high = INFINITY;
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  if (!dq_clamp_of(node, &low, &high) && row && row->range[0] < row->range[1])
    low = (float)row->range[0], high = (float)row->range[1];
  return (dq_range_pair){fmaxf(low, range.low), fminf(high, range.high)};
}

dq_range_pair dq_int8_range_by(const dq_int8_job *job, int v, const dq_observer *method,
                               const dq_calibration *calibration) {
  const dq_range_options options = {job->in->options->percentile, job->in->options->symmetric};
  const dq_value *value = job->graph->values[v];
  int slot = job->choices[v].slot;
  const dq_histogram *histogram = &calibration->histograms[slot];
  dq_range_pair range = method->range(histogram, &options);
  if (job->setting.margins)
    range = within_bounds(value, dq_range_with_margins(range, histogram, &calibration->ends[slot]));
  return narrow_range(value, histogram, range, options.symmetric);
}
