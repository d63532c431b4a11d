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

void DQ_FOR_SET(dq_bins)(const float *input, int64_t count, int exponent, int32_t half, int32_t *bins) {
  const float width = ldexpf(1, exponent), inverse = ldexpf(1, -exponent);
  for (int64_t i = 0; i < count; i++) {
    int32_t towards_zero = (int32_t)(input[i] * inverse);
    bins[i] = half + towards_zero - ((float)towards_zero * width > input[i]);
  }
}

enum { MOMENT_LANES = 8 };

void DQ_FOR_SET(dq_moments)(const float *input, int64_t count, double sums[2]) {
  double sum[MOMENT_LANES] = {0}, power[MOMENT_LANES] = {0};
  int64_t whole = count / MOMENT_LANES * MOMENT_LANES;
  for (int64_t i = 0; i < whole; i += MOMENT_LANES)
    for (int l = 0; l < MOMENT_LANES; l++) {
      double x = (double)input[i + l];
      sum[l] += x;
      power[l] += x * x;
    }
  for (int64_t i = whole; i < count; i++) {
    sum[i - whole] += (double)input[i];
    power[i - whole] += (double)input[i] * (double)input[i];
  }
  sums[0] = sums[1] = 0;
  for (int l = 0; l < MOMENT_LANES; l++) sums[0] += sum[l], sums[1] += power[l];
}

enum { SQUARE_LANES = 4 };

void DQ_FOR_SET(dq_squares)(const float *restrict exact, const float *restrict other, int64_t count, double sums[2]) {
  double signal[SQUARE_LANES] = {0}, noise[SQUARE_LANES] = {0};
  for (int64_t i = 0; i < count; i += SQUARE_LANES)
    for (int l = 0; l < SQUARE_LANES; l++) {
      double e = (double)exact[i + l], difference = e - (double)other[i + l];
      signal[l] += e * e;
      noise[l] += difference * difference;
    }
  sums[0] = (signal[0] + signal[1]) + (signal[2] + signal[3]);
  sums[1] = (noise[0] + noise[1]) + (noise[2] + noise[3]);
}

void DQ_FOR_SET(dq_combine)(const float *restrict x, const float *restrict y, float *restrict z, int64_t count,
                            const float terms[4]) {
  const float a = terms[0], b = terms[1], c = terms[2], mean = terms[3];
  for (int64_t i = 0; i < count; i++) z[i] = a * (x[i] - mean) + b * y[i] + c;
}
