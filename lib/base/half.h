// IEEE 754 binary16 in a uint16_t, converted with round to nearest, ties to even.
#ifndef DQ_BASE_HALF_H
#define DQ_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float dq_half_to_float(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = (half >> 10) & 31u;
  uint32_t mantissa = half & 1023u, bits;
  if (exponent == 31) {
    bits = sign | 0x7f800000u | (mantissa << 13) | (mantissa ? 0x400000u : 0u);
  } else if (exponent) {
    bits = sign | ((exponent + 112) << 23) | (mantissa << 13);
  } else { // zero or subnormal: mantissa * 2^-24 is exact in float
    float magnitude = (float)mantissa * 0x1p-24f;
    memcpy(&bits, &magnitude, 4);
    bits |= sign;
  }
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

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

// Rounds to the nearest binary16 and back.
static inline float dq_round_to_half(float value) { return dq_half_to_float(dq_float_to_half(value)); }

#endif
