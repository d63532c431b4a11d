// Ranges of activations in front of functions that do not need all of their argument. Sigmoid(x) and x Sigmoid(x) are
// nearly constant beyond some bound, and a rectifier shrinks what lies below 0. A narrower range has finer quantization
// steps. docs/CALIBRATION.md has the derivations.
#ifndef DQ_QUANT_ACTIVATION_RANGE_H
#define DQ_QUANT_ACTIVATION_RANGE_H

#include "calib/calib.h"
#include "lib/graph/graph.h"

typedef enum dq_follower { DQ_FOLLOWER_NONE, DQ_FOLLOWER_SIGMOID, DQ_FOLLOWER_SILU } dq_follower;

// The function that alone reads the value: SIGMOID when a Sigmoid is its only user, SILU when its users are a Sigmoid
// and the product with the result of that Sigmoid, else NONE.
dq_follower dq_follower_of(const dq_value *value);

// The least d >= 1.278 (the minimum of x Sigmoid(x) is at -1.278) with |x Sigmoid(x)| <= step for all x <= -d. step >
// 0.
double dq_silu_depth(double step);

// The part of a range that changes the 8-bit result of the function behind the value. For SIGMOID both ends are limited
// to the interval from -b to b with b = ln(2 * 255 - 1), beyond which the function is within half a quantization step
// of 0 or 1. For SILU the lower end is limited to -dq_silu_depth(high / 255). For NONE the range is unchanged.
dq_range_pair dq_narrow_range(dq_range_pair range, dq_follower follower);

// The factor, 0 to 1, by which the function that alone reads the value shrinks a difference below 0: |slope| of a
// LeakyRelu, or of a channel of a PRelu, at most 1; `channel` -1: the largest of all channels. 1 for other functions.
double dq_slope_below(const dq_value *value, int64_t channel);

// The range with the lower end, of 64 candidates between 0 and range.low, that has the least squared error behind a
// rectifier with that slope below 0: errors of rounding with steps of 1/255 of the range, and of clamping, both times
// `slope` below 0. 0 <= slope <= 1.
dq_range_pair dq_rectified_range(const dq_histogram *histogram, dq_range_pair range, double slope);

// The number of elements that a Softmax adds for each of its sums: those along its axis, or with an opset below 13
// those from its axis on. 1 when the node is not a Softmax. `result` has the shape of its output.
int64_t dq_softmax_length(const dq_node *node, const dq_tensor *result, int64_t opset);

// The upper end of the range of the result of a Softmax over `length` elements, at least `high`. length > 0, high <= 1.
//
// The integer Softmax of ONNX Runtime multiplies exponentials of up to FLT_MAX / (e^5 length) by the integer part of
// 1 / scale in float32, which overflows from 1 / scale > e^5 length on. The result therefore has 1 / scale of at most
// 128 length (MOST_STEPS; equal elements are then 128 steps each), just above a whole number.
float dq_softmax_high(float high, int64_t length);

#endif
