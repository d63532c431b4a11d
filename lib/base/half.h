// IEEE 754 binary16 in a uint16_t, converted with round to nearest, ties to even.
#ifndef DQ_BASE_HALF_H
#define DQ_BASE_HALF_H

#include <stdint.h>
#include <string.h>

#define DQ_HALF_LARGEST 65504.0f // the largest finite number: (2 - 2^-10) 2^15

// Exact; a NaN becomes a quiet NaN.
static inline float dq_half_to_float(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = (half >> 10) & 31u;
  uint32_t mantissa = half & 1023u, bits;
  if (exponent == 31) {
    bits = sign | 0x7f800000u | (mantissa << 13) | (mantissa ? 0x400000u : 0u);
  } else if (exponent) {
    bits = sign | ((exponent + 112) << 23) | (mantissa << 13);
  } else { // zero or subnormal: mantissa * 2^-24 is exact in float
    float magnitude = (float)mantissa * 5.9604644775390625e-8f;
    memcpy(&bits, &magnitude, 4);
    bits |= sign;
  }
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

// The number that a bfloat16 has, whose bits are the upper half of those of a float32: exact, NaN too.
static inline float dq_bfloat_to_float(uint16_t bfloat) {
  uint32_t bits = (uint32_t)bfloat << 16;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

// The nearest bfloat16, ties to even; a NaN becomes quiet.
static inline uint16_t dq_float_to_bfloat(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// Magnitudes of 65520 and more become infinite, those of 2^-25 and less zero; the sign stays.
static inline uint16_t dq_float_to_half(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) // NaN stays NaN, quiet
    return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); // 65520 and more round to infinity
  if (magnitude < 0x38800000u) { // below 2^-14: the sum below rounds to a multiple of 2^-24
    float absolute;
    memcpy(&absolute, &magnitude, 4);
    absolute += 0.5f;
    memcpy(&magnitude, &absolute, 4);
    return (uint16_t)(sign | (magnitude - 0x3f000000u));
  }
  uint32_t odd = (magnitude >> 13) & 1u;
  return (uint16_t)(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

// Whether a > b as numbers (1 or 0), without branches: +0 and -0 are equal, and every comparison with a NaN gives 0.
static inline int dq_half_above(uint16_t a, uint16_t b) {
  int16_t a_sign = (int16_t)((int16_t)a >> 15), b_sign = (int16_t)((int16_t)b >> 15);
  int16_t a_order = (int16_t)(((a & 0x7fff) ^ a_sign) - a_sign), b_order = (int16_t)(((b & 0x7fff) ^ b_sign) - b_sign);
  return ((a & 0x7fff) <= 0x7c00) & ((b & 0x7fff) <= 0x7c00) & (a_order > b_order);
}

// The nearest binary16 number, ties to even, as float32. Magnitudes of 65520 and more become infinite; a NaN becomes
// quiet.
static inline float dq_round_to_half(float value) { return dq_half_to_float(dq_float_to_half(value)); }

// a * b + c rounded once, as the fused multiply-add of float16 arithmetic. The product is exact in double; their
// sum, which may not be, is rounded to odd on the way down, so that the last rounding alone decides (S. Boldo and
// G. Melquiond, Emulation of a FMA and correctly rounded sums, IEEE Transactions on Computers 57, 2008).
static inline uint16_t dq_half_fma(uint16_t a, uint16_t b, uint16_t c) {
  double product = (double)dq_half_to_float(a) * (double)dq_half_to_float(b), addend = (double)dq_half_to_float(c);
  double sum = product + addend, back = sum - product;
  double error = (product - (sum - back)) + (addend - back); // D. Knuth's two-sum
  uint64_t bits;
  memcpy(&bits, &sum, 8);
  if (error != 0 && sum - sum == 0 && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1u : ~(uint64_t)0;
  memcpy(&sum, &bits, 8);
  float single = (float)sum;
  uint32_t word;
  memcpy(&word, &single, 4);
  if ((double)single != sum && sum - sum == 0 && !(word & 1)) word += (sum > (double)single) == (sum > 0) ? 1u : ~0u;
  memcpy(&single, &word, 4);
  return dq_float_to_half(single);
}

#endif
