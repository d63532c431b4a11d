// Sums that are not rounded. With one scale for both operands of an addition and its result, each with a zero
// point of its own, q = (q_a - z_a) + (q_b - z_b) + z is a whole number: the sum adds no noise but where it leaves
// the range. Along a chain of residual blocks every term is then rounded once, and the running sum never again.
// It costs where one of the values would have done with a narrower scale, so scales are made one only where the
// squared errors of all together, as the histograms tell them, fall.
#ifndef DQ_QUANT_COMMON_SCALE_H
#define DQ_QUANT_COMMON_SCALE_H

#include "calib/calib.h"
#include "lib/base/arena.h"

// A value and its range, which is changed where its scale becomes one with others.
typedef struct dq_summed_value {
  const dq_histogram *histogram;
  dq_range_pair range;
} dq_summed_value;

// sum = left + right of equal shapes; places in the list of values, all three different.
typedef struct dq_sum_link {
  int left, right, sum;
} dq_sum_link;

// Makes scales one, sum by sum, each time where it gains most, until none gains any more. Errors of rounding and
// twice those of what is cut off: rare values count for more in the outputs than as many common ones. Scales are
// 2^(k/16) to 16 bits, so that the ends of ranges are exact in float32.
dq_status dq_common_scales(dq_summed_value *values, int value_count, const dq_sum_link *links, int link_count,
                           dq_arena *arena, dq_error *error);

#endif
