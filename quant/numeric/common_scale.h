// Sums without rounding. When both operands of an addition and its result have one scale, and each its own zero point,
// q = (q_a - z_a) + (q_b - z_b) + z is a whole number, so the addition adds no noise unless q is clamped. In a chain of
// residual blocks every term is then rounded once, and the sums are not rounded again. A common scale is coarser than
// necessary for some of the values; it is therefore used only where the squared errors of all of them together,
// computed from their histograms, become smaller.
#ifndef DQ_QUANT_COMMON_SCALE_H
#define DQ_QUANT_COMMON_SCALE_H

#include "calib/calib.h"
#include "lib/base/arena.h"

typedef struct dq_summed_value {
  const dq_histogram *histogram;
  // Input, low < high, and result: dq_common_scales changes the range of a value that gets a common scale.
  dq_range_pair range;
} dq_summed_value;

// An addition sum = left + right of equal shapes; three different indices into the list of values.
typedef struct dq_sum_link {
  int left, right, sum;
} dq_sum_link;

// Chooses common scales greedily: again and again it unites the scales of the addition that decreases the error most,
// until no addition decreases it. Where a scale is that of more than 256 operands and results of additions that are not
// united yet, an addition is chosen by what it decreased the error by when it was last looked at, and still decreases
// it. Takes time in proportion to the number of values and additions but for a logarithm. The error is the squared
// error of rounding plus twice that of clamping, because rare large values matter more in the outputs than as many
// common ones. Scales are 2^(k/16) rounded to 16 bits, so that the ends of ranges are exact in float32. DQ_SYSTEM:
// there is no memory in the arena.
dq_status dq_common_scales(dq_summed_value *values, int value_count, const dq_sum_link *links, int link_count,
                           dq_arena *arena, dq_error *error);

#endif
