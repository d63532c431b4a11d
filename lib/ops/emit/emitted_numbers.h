// Functions of emitted C on single numbers.
// A section begins with a line of four equals signs and its name, and ends with such a line; helpers.def names it. The
// text in it is C99 that stands in emitted sources as it is here.
#ifndef DQ_OPS_EMITTED_NUMBERS_H
#define DQ_OPS_EMITTED_NUMBERS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/half.h"

// ==== dq_round
/* The nearest integer of x, ties to even, plus zero, within low and high; NaN gives low. */
static int32_t dq_round(const float x, const int32_t zero, const int32_t low, const int32_t high) {
  int32_t q;
  float rest;
  if (!(x > (float)(low - zero))) {
    return low;
  }
  if (x >= (float)(high - zero)) {
    return high;
  }
  q = (int32_t)x;
  rest = x - (float)q;
  if (rest > 0.5f || (rest == 0.5f && q % 2 != 0)) {
    q++;
  }
  if (rest < -0.5f || (rest == -0.5f && q % 2 != 0)) {
    q--;
  }
  return q + zero;
}

// ====
// 3 2^22: float32 numbers of this size are integers.
// ==== dq_near
/* The nearest integer of x, ties to even, plus zero, within low and high; NaN gives low. */
static inline int32_t dq_near(const float x, const int32_t zero, const int32_t low, const int32_t high) {
#if defined(__ARM_FP) && __ARM_FP & 4 /* one instruction, which gives 0 for NaN and the nearest end for others */
  if (zero == 0 && low == 0) {
    int32_t q;
    __asm__("vcvtr.s32.f32 %0, %1" : "=t"(q) : "t"(x));
    return q < low ? low : q > high ? high : q;
  }
#endif
  {
    const int32_t from = low - zero, to = high - zero;
    const float least = (float)from, most = (float)to;
    const float above = x > least ? x : least, inside = above < most ? above : most;
    const float rounded = inside + 12582912.0f;
    return (int32_t)(rounded - 12582912.0f) + zero;
  }
}

// ==== dq_level
/* x divided by a scale and rounded: first[i] are the bits of the least magnitude of level i + 1. The product gives
   the level or one less. A NaN gives the least level. */
static inline int32_t dq_level(const float x, const int32_t *first, const int32_t count, const int32_t top,
                               const uint32_t factor, const uint32_t half, const int shift) {
  const int32_t last = first[count - 1];
  int32_t bits, magnitude, inside, level;
  (void)memcpy((void *)&bits, (const void *)&x, sizeof bits);
  magnitude = bits & 0x7fffffff;
  inside = magnitude < first[0] ? first[0] : magnitude;
  inside = inside < last ? inside : last - 1;
  level = (inside & 0x7fffff) | 0x800000;
  level = (int32_t)((((uint32_t)level >> (top - (inside >> 23))) * factor + half) >> shift);
  level += inside >= first[level] ? 1 : 0;
  level = magnitude < last ? level : count;
  level = magnitude < first[0] ? 0 : level;
  return bits < 0 || magnitude > 0x7f800000 ? -level : level;
}

// ====
// (product + 2^(32 + shift)) >> (33 + shift) needs the upper half of the product alone. The zero point is added in
// front of the shift.
// ==== dq_high
/* The upper half of the product; b is not negative. Armv6-M has no product of 64 bits, so it comes from four of 32
   there. */
static inline int32_t dq_upper(const int32_t a, const int32_t b) {
#if defined(__thumb__) && !defined(__thumb2__)
  const uint32_t a0 = (uint32_t)a & 65535u, b0 = (uint32_t)b & 65535u, b1 = (uint32_t)b >> 16;
  const int32_t a1 = a >> 16;
  const int32_t middle = a1 * (int32_t)b0 + (int32_t)(a0 * b0 >> 16);
  return a1 * (int32_t)b1 + (middle >> 16) + (int32_t)((a0 * b1 + ((uint32_t)middle & 65535u)) >> 16);
#else
  return (int32_t)(((int64_t)a * b) >> 32);
#endif
}

/* Requantizes a sum. The factors were proven to give the result of float32 for every sum that can be. */
static inline int32_t dq_high(const int32_t sum, const int32_t factor, const int shift, const int32_t zero,
                              const int32_t low, const int32_t high) {
  const int32_t q = (dq_upper(sum, factor) + (2 * zero + 1) * ((int32_t)1 << shift)) >> (shift + 1);
  return q < low ? low : q > high ? high : q;
}

// ==== dq_scale
/* Requantizes a sum. The factors were proven to give the result of float32 for every sum that can be. */
static int32_t dq_scale(const int32_t sum, const int32_t factor, const int shift, const int32_t zero, const int32_t low,
                        const int32_t high) {
  const int64_t q = (((int64_t)sum * factor + ((int64_t)1 << (shift - 1))) >> shift) + zero;
  return q < low ? low : q > high ? high : (int32_t)q;
}

// ==== dq_power
/* A power modulo 2^64; of negative exponents the integer part. */
static int64_t dq_power(const int64_t base, const int64_t exponent) {
  uint64_t result = 1, factor = (uint64_t)base;
  if (exponent < 0) {
    return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
  }
  for (int64_t left = exponent; left != 0; left >>= 1) {
    if (left & 1) {
      result *= factor;
    }
    factor *= factor;
  }
  return (int64_t)result;
}

// ==== dq_unit
static float dq_unit(const float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x; }

// ====
// binary16 of a double, rounded once: lib/ops/arithmetic/cast.c.
// ==== dq_double_to_half
/* A float64 as float16: rounded to float32 whose last bit is odd where it is not exact, then to float16. */
static uint16_t dq_double_to_half(const double x) {
  float nearest = (float)x;
  uint32_t bits;
  (void)memcpy((void *)&bits, (const void *)&nearest, sizeof bits);
  if ((double)nearest != x && x == x) {
    const double magnitude = x < 0.0 ? -x : x;
    const double rounded = nearest < 0.0f ? -(double)nearest : (double)nearest;
    if (rounded > magnitude) {
      bits--;
    }
    bits |= 1u;
    (void)memcpy((void *)&nearest, (const void *)&bits, sizeof bits);
  }
  return dq_float_to_half(nearest);
}

// ==== dq_truncate
/* x without its fraction, within bounds; NaN gives 0. */
static int64_t dq_truncate(const double x, const int64_t low, const int64_t high) {
  if (x != x) {
    return 0;
  }
  return x >= (double)high ? high : x <= (double)low ? low : (int64_t)x;
}

// ==== dq_natural
/* x without its fraction, from 0 to 2^64 - 1; NaN gives 0. */
static uint64_t dq_natural(const double x) {
  if (!(x > 0.0)) {
    return 0;
  }
  return x >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)x;
}

// ==== dq_saturated
/* x without its fraction, as int64. */
static int64_t dq_saturated(const double x) {
  if (x != x) {
    return 0;
  }
  return x >= 9223372036854775808.0 ? INT64_MAX : x < -9223372036854775808.0 ? INT64_MIN : (int64_t)x;
}

// ==== dq_modulo
/* The remainder with the sign of the divisor. */
static double dq_modulo(const double x, const double y) {
  const double remainder = fmod(x, y);
  if (remainder == 0.0) {
    return copysign(0.0, y);
  }
  return (remainder < 0.0) != (y < 0.0) ? remainder + y : remainder;
}

// ==== dq_reflected
/* x thrown back at both ends of least and most until it lies between them. */
static float dq_reflected(const float x, const float least, const float most) {
  const float range = most - least, beyond = x < least ? least - x : x - most;
  float times, rest;
  if (x >= least && x <= most) {
    return x;
  }
  if (!(range > 0.0f)) {
    return least;
  }
  times = beyond / range;
  times = floorf(times);
  rest = times * range;
  rest = beyond - rest;
  rest = (x < least) == (fmodf(times, 2.0f) == 0.0f) ? least + rest : most - rest;
  return rest;
}

// ==== dq_cubic
/* Weights of the cubic convolution with coefficient -0.75 at distances 1 + t, t, 1 - t and 2 - t. */
static void dq_cubic(const float t, float *weight) {
  for (int i = 0; i < 2; i++) {
    const float near = i ? 1.0f - t : t, far = near + 1.0f;
    float w = -0.75f * far;
    w += 3.75f, w *= far, w -= 6.0f, w *= far, w += 3.0f;
    weight[3 * i] = w;
    w = 1.25f * near;
    w -= 2.25f, w *= near, w *= near, w += 1.0f;
    weight[1 + i] = w;
  }
}

// ====

#ifndef DQ_EXP_MAGIC // lib/kernels/reference/function.h has it too
// ==== DQ_EXP_MAGIC
#define DQ_EXP_MAGIC 12582912.0f /* adding it leaves round(n) in the low bits of the mantissa */
// ====
#endif

#endif
