// binary16 conversions in plain C.
#include "lib/kernels/kernels_internal.h"

#include "lib/base/half.h"

void dq_f32_to_f16_c(const float *input, uint16_t *output, int64_t count) {
  for (int64_t i = 0; i < count; i++) output[i] = dq_float_to_half(input[i]);
}

void dq_f16_to_f32_c(const uint16_t *input, float *output, int64_t count) {
  for (int64_t i = 0; i < count; i++) output[i] = dq_half_to_float(input[i]);
}

void dq_round_f16_c(const float *input, float *output, int64_t count) {
  for (int64_t i = 0; i < count; i++) output[i] = dq_round_to_half(input[i]);
}
