// How far the argument of a function counts: Sigmoid(x) and x Sigmoid(x) stand still beyond some
// bound, a rectifier shrinks what lies below 0, and 8 bits are better spent on the rest.
#ifndef DQ_QUANT_ACTIVATION_RANGE_H
#define DQ_QUANT_ACTIVATION_RANGE_H

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

// What a LeakyRelu or PRelu that is all that reads the value leaves of a difference below 0: the size
// of the channel's slope, at most 1; 1 when there is none. `channel` -1: the largest of all.
double dq_slope_below(const dq_value *value, int64_t channel);

// The range with its lower end where the squared error is least behind a rectifier of that slope
// below 0, of 64 ends between 0 and the given one: steps of a 255th of the range, errors below 0 and
// what is cut off there times `slope`. 0 <= slope <= 1.
dq_range_pair dq_rectified_range(const dq_histogram *histogram, dq_range_pair range, double slope);

// How many elements a Softmax adds up: along its axis, or from it on before version 13 of its opset. 1 when the node
// is none.
int64_t dq_softmax_length(const dq_node *node, const dq_tensor *result, int64_t opset);

// The upper end of the range of a Softmax over `length` elements, at least `high`. ONNX Runtime's integer form takes
// exponentials up to FLT_MAX / (e^5 length) in float32 times the whole part of 1 / scale: above e^5 length, which
// rows of like elements would have, that overflows. So 1 / scale is at most 128 length, where elements that are all
// alike are 128 steps, and just above a whole number. 0 < length, high <= 1.
float dq_softmax_high(float high, int64_t length);

#endif
