// The gradient of a convolution by its weights where each group has one input channel. Bits: in a shard (shards.h) the
// products of the planes are added as dq_tap_sums says, in DQ_TAP_LANES sums from +0 over its pictures; of these, in
// double, lane i and lane i + 8 are added, then i and i + 4, 2, 1. Shards are added in double in their tree.
#ifndef DQ_KERNELS_CONV_GRADIENT_INTERNAL_H
#define DQ_KERNELS_CONV_GRADIENT_INTERNAL_H

#include "lib/kernels/conv_gradient/conv_gradient.h"

// Do what dq_conv_gradient_scratch_bytes and dq_conv_gradient_run do, for groups with one input channel.
size_t dq_conv_gradient_depthwise_bytes(const dq_conv_parameters *shape, unsigned cpu, int threads);
void dq_conv_gradient_depthwise(const dq_conv_gradient *task, unsigned cpu, void *scratch, dq_pool *pool);

#endif
