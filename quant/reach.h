// How far the argument of a function counts: Sigmoid(x) and x Sigmoid(x) stand still beyond some
// bound, and 8 bits are better spent within it.
#ifndef DQ_QUANT_REACH_H
#define DQ_QUANT_REACH_H

#include "calib/calib.h"
#include "lib/graph/graph.h"

typedef enum dq_follower { DQ_FOLLOWER_NONE, DQ_FOLLOWER_SIGMOID, DQ_FOLLOWER_SILU } dq_follower;

// The function that is all that reads the value: Sigmoid, or Sigmoid and the product with it.
dq_follower dq_follower_of(const dq_value *value);

// The depth below 0 from which on x Sigmoid(x) stays within `step` of 0, at least 1.278 (its
// minimum). step > 0.
double dq_silu_depth(double step);

// The range of a value, cut to what its follower can tell from the rest when the result has 8 bits.
// Sigmoid: beyond ln(2 * 255 - 1) it is within half a step of 0 or 1. x Sigmoid(x): below the depth
// from which on it stays within a step of high / 255.
dq_range_pair dq_narrow_range(dq_range_pair range, dq_follower follower);

#endif
