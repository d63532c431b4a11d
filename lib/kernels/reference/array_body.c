// Kernels over arrays as plain loops, which the compiler vectorises for each instruction set. There is one source, so
// the bits are equal by construction.
// Sets: c avx2 avx512
#include "lib/kernels/reference/reference.h"
#include "lib/kernels/reference/scalar.h"
#include "lib/kernels/reference/set.h"

#include <math.h>

void DQ_FOR_SET(dq_quantize)(const float *input, float scale, int32_t zero_point, bool is_signed, uint8_t *output,
                             int64_t count) {
  const int32_t low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  const float lower = (float)(low - zero_point), upper = (float)(high - zero_point);
  for (int64_t i = 0; i < count; i++) {
    float x = input[i] / scale;
    x = x > lower ? x : lower;
    x = x < upper ? x : upper;
    output[i] = (uint8_t)((int32_t)dq_round_even(x) + zero_point);
  }
}

void DQ_FOR_SET(dq_dequantize)(const uint8_t *input, bool is_signed, float scale, int32_t zero_point, float *output,
                               int64_t count) {
  const int flip = is_signed ? 128 : 0, zero = zero_point + flip;
  for (int64_t i = 0; i < count; i++) output[i] = (float)((input[i] ^ flip) - zero) * scale;
}

enum { RANGE_LANES = 32 };

void DQ_FOR_SET(dq_range)(const float *input, int64_t count, dq_range *range) {
  float low[RANGE_LANES], high[RANGE_LANES];
  int32_t nans[RANGE_LANES] = {0};
  for (int i = 0; i < RANGE_LANES; i++) low[i] = INFINITY, high[i] = -INFINITY;
  *range = (dq_range){INFINITY, -INFINITY, 0};
  for (int64_t at = 0; at < count;) {
    int64_t end = count - at > (1 << 20) ? at + (1 << 20) : count; // 32-bit counters hold that many
    for (; at + RANGE_LANES <= end; at += RANGE_LANES)
      for (int i = 0; i < RANGE_LANES; i++) {
        float x = input[at + i];
        low[i] = x < low[i] ? x : low[i];
        high[i] = x > high[i] ? x : high[i];
        nans[i] += x != x;
      }
    for (; at < end; at++) {
      float x = input[at];
      low[0] = x < low[0] ? x : low[0];
      high[0] = x > high[0] ? x : high[0];
      nans[0] += x != x;
    }
    for (int i = 0; i < RANGE_LANES; i++) range->nans += nans[i], nans[i] = 0;
  }
  for (int i = 0; i < RANGE_LANES; i++) {
    range->minimum = low[i] < range->minimum ? low[i] : range->minimum;
    range->maximum = high[i] > range->maximum ? high[i] : range->maximum;
  }
  range->minimum += 0.0f; // -0 becomes +0
  range->maximum += 0.0f;
}
