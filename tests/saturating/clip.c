// What makes a command clip pairs of products as vpmaddubsw does: linked into it with --wrap, every
// convolution is told that its pairs are safe, and that sums of 16 bits never pay, so that the byte tile
// is taken which adds two products in 16 bits, proof or not. That tile begins anew at every place of the
// kernel; with an odd number of channels its neighbours are not those of the sum (docs/NUMERICS.md), so
// there the proof stays.
#include <math.h>

#include "lib/kernels/conv/conv.h"
#include "lib/kernels/conv/conv_sums16.h"

bool __real_dq_conv_pairs_safe(const dq_conv_int8_parameters *parameters, const void *weights);
bool __wrap_dq_conv_pairs_safe(const dq_conv_int8_parameters *parameters, const void *weights);
bool __wrap_dq_conv_pairs_safe(const dq_conv_int8_parameters *parameters, const void *weights) {
  int64_t channels = parameters->shape.in_channels / parameters->shape.groups;
  return channels % 2 == 0 || __real_dq_conv_pairs_safe(parameters, weights);
}

double __wrap_dq_sums16_prepare(dq_conv_plan *plan);
double __wrap_dq_sums16_prepare(dq_conv_plan *plan) {
  (void)plan;
  return INFINITY;
}
