// What is known of the values of a network without data, channel by channel: an interval, which is proven when
// the input keeps to its range, and mean and deviation, which are an estimate.
//
// Intervals follow interval arithmetic (R. E. Moore, Interval Analysis, 1966). They grow with every layer, so
// they prove little in deep networks. Means and deviations follow the layers as if the inputs of a sum were
// independent between channels and, within a channel, as the worse of independent and equal; batch
// normalization says its own (mean beta, deviation |gamma|), as in M. Nagel et al., Data-Free Quantization
// Through Weight Equalization and Bias Correction, ICCV 2019, section 4.2.
#ifndef DQ_QUANT_AMP_BOUNDS_H
#define DQ_QUANT_AMP_BOUNDS_H

#include "lib/graph/graph.h"

typedef struct dq_moments {
  double low, high;       // every element lies between; infinite: not known
  double mean, deviation; // infinite deviation: not known
} dq_moments;

typedef struct dq_bound {
  int64_t channels; // along dimension 1; 1: the same for all; 0: nothing is known
  dq_moments *channel;
} dq_bound;

// What an operator's rule gets.
typedef struct dq_bound_node {
  const dq_node *node;
  const dq_tensor *tensors; // by value index: shapes, and elements of constants
  const dq_bound *bounds;   // by value index
  dq_arena *arena;
} dq_bound_node;

// What is known of output 0 of a node; all outputs of a node without a rule of their own count as output 0.
// DQ_SYSTEM: no memory. Not known: channels 0.
dq_status dq_bound_output(const dq_bound_node *node, dq_bound *output);

// Of the elements of a constant: a float32 tensor whose elements all lie along dimension 1 of `rank` dimensions
// channel by channel, others as one.
dq_status dq_bound_constant(const dq_tensor *tensor, int rank, dq_arena *arena, dq_bound *output);

// One interval for all channels, mean 0 in the middle and the deviation of equal likelihood.
dq_status dq_bound_range(double low, double high, dq_arena *arena, dq_bound *output);

enum { DQ_BOUND_DEVIATIONS = 16 }; // how far from the mean the largest elements are taken to be
// The largest magnitude: what the interval says, or mean and deviations where that is less (*proven false).
double dq_bound_largest(const dq_bound *bound, bool *proven);

// Where the estimate says more than DQ_BOUND_DEVIATIONS times `largest`, the largest magnitude that a run has
// shown, it is that: mean 0, deviation `largest`. Estimates multiply from layer to layer, what is seen does not.
void dq_bound_limit(dq_bound *bound, double largest);

// What is known of the result of a convolution that a batch normalization was folded into, beside its interval.
void dq_bound_normalize(dq_bound *bound, const dq_tensor *scale, const dq_tensor *shift);

#endif
