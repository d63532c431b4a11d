// Bounds on the values of a network without data, channel by channel: an interval, which is proven for inputs within
// their range, and mean and standard deviation, which are an estimate.
//
// Intervals follow interval arithmetic (R. E. Moore, Interval Analysis, 1966). They grow with every layer, so they
// prove little in deep networks. Estimates treat the terms of a sum as independent between channels and, within a
// channel, as the worse case of independent and equal terms. The result of a batch normalization has mean beta and
// deviation |gamma| (M. Nagel et al., Data-Free Quantization Through Weight Equalization and Bias Correction, ICCV
// 2019, section 4.2).
#ifndef DQ_QUANT_AMP_BOUNDS_H
#define DQ_QUANT_AMP_BOUNDS_H

#include "lib/graph/graph.h"

typedef struct dq_channel_bound {
  double low, high;       // every element lies in [low, high]; infinite: not known
  double mean, deviation; // of the elements; an infinite deviation: not known
} dq_channel_bound;

typedef struct dq_bound {
  int64_t channels; // along dimension 1; 1: one entry for all channels; 0: nothing is known
  dq_channel_bound *channel;
} dq_bound;

// The arguments of the rule of an operator.
typedef struct dq_bound_node {
  const dq_node *node;
  const dq_tensor *tensors; // by index of the value: shapes, and elements of constants
  const dq_bound *bounds;   // by index of the value
  dq_arena *arena;
} dq_bound_node;

// Bounds output 0 of a node; for operators without a rule the result also holds for the other outputs. Sets
// output->channels to 0 when nothing is known. DQ_SYSTEM: there is no memory.
dq_status dq_bound_output(const dq_bound_node *node, dq_bound *output);

// The exact bounds of a float32 constant: channel by channel when all its elements lie along dimension 1 of a value of
// `rank` dimensions, else in one entry. DQ_SYSTEM: there is no memory.
dq_status dq_bound_constant(const dq_tensor *tensor, int rank, dq_arena *arena, dq_bound *output);

// The bounds of elements with a uniform distribution in [low, high], in one entry. DQ_SYSTEM: there is no memory.
dq_status dq_bound_range(double low, double high, dq_arena *arena, dq_bound *output);

enum { DQ_BOUND_DEVIATIONS = 16 }; // the largest elements are assumed to lie this many deviations from the mean
// The largest magnitude of all channels: the smaller of the bound by the interval and |mean| + DQ_BOUND_DEVIATIONS
// deviations. *proven says whether the interval gave it.
double dq_bound_largest(const dq_bound *bound, bool *proven);

// Limits an estimate by `largest`, the largest magnitude in a run: where the estimate is more than DQ_BOUND_DEVIATIONS
// times as large, it becomes mean 0 and deviation `largest`. Estimates multiply from layer to layer, and would
// otherwise become useless in deep networks.
void dq_bound_limit(dq_bound *bound, double largest);

// Sets the estimate of the result of a convolution that a batch normalization was folded into: mean `shift`, deviation
// |scale|, one element for each channel. The interval stays.
void dq_bound_normalize(dq_bound *bound, const dq_tensor *scale, const dq_tensor *shift);

#endif
