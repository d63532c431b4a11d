// Kernels over arrays as plain loops that the compiler vectorises for the instruction set of the
// including file, which defines ARRAY(name) to give the symbols their suffix. One source, so the
// bits are equal by construction.
#include "lib/kernels/kernels_internal.h"

#include <math.h>

static inline __attribute__((always_inline)) void
requantize_row(const dq_requantize_row *r, const int64_t bias_step, const int64_t multiplier_step) {
  static const int32_t none = 0;
  const int32_t *bias = r->bias ? r->bias : &none;
  const int32_t *sums = r->sums;
  const float *multipliers = r->multipliers;
  uint8_t *output = r->output;
  const int32_t zero_point = r->zero_point;
  const float lower = (float)(r->low - zero_point), upper = (float)(r->high - zero_point);
  const int32_t first_bias = bias[0];
  const float first_multiplier = multipliers[0];
  const int64_t count = r->count; // output may alias *r as far as the compiler knows
  for (int64_t i = 0; i < count; i++) {
    uint32_t sum = (uint32_t)sums[i] + (uint32_t)(bias_step ? bias[i] : first_bias);
    float x = (float)(int32_t)sum * (multiplier_step ? multipliers[i] : first_multiplier);
    x = x > lower ? x : lower;
    x = x < upper ? x : upper;
    output[i] = (uint8_t)((int32_t)dq_round_even(x) + zero_point);
  }
}

void ARRAY(dq_requantize)(const dq_requantize_row *r) {
  if (r->count <= 0) return;
  bool bias_moves = r->bias && r->bias_step;
  if (bias_moves && r->multiplier_step) requantize_row(r, 1, 1);
  else if (bias_moves) requantize_row(r, 1, 0);
  else if (r->multiplier_step) requantize_row(r, 0, 1);
  else requantize_row(r, 0, 0);
}

void ARRAY(dq_quantize)(const float *input, float scale, int32_t zero_point, bool is_signed,
                        uint8_t *output, int64_t count) {
  const int32_t low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  const float lower = (float)(low - zero_point), upper = (float)(high - zero_point);
  for (int64_t i = 0; i < count; i++) {
    float x = input[i] / scale;
    x = x > lower ? x : lower;
    x = x < upper ? x : upper;
    output[i] = (uint8_t)((int32_t)dq_round_even(x) + zero_point);
  }
}

void ARRAY(dq_dequantize)(const uint8_t *input, bool is_signed, float scale, int32_t zero_point,
                          float *output, int64_t count) {
  const int flip = is_signed ? 128 : 0, zero = zero_point + flip;
  for (int64_t i = 0; i < count; i++) output[i] = (float)((input[i] ^ flip) - zero) * scale;
}

enum { RANGE_LANES = 32 };

void ARRAY(dq_range)(const float *input, int64_t count, dq_range *range) {
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
