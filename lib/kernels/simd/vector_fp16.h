// Vector operations in which bodies are written (lib/kernels/simd/vector.h), for AArch64 with float16 arithmetic: 8
// float16 in a register, and 8 words of two float16 in two registers.
#ifndef DQ_KERNELS_VECTOR_FP16_H
#define DQ_KERNELS_VECTOR_FP16_H

#include <string.h>

#include "lib/kernels/simd/vector_neon.h"

#define V_HALVES 8
typedef float16x8_t f16_vector;
typedef struct f16_lanes {
  int first, count;
} f16_lanes;

static inline float16x8_t f16_of(uint16x8_t x) { return vreinterpretq_f16_u16(x); }
static inline float16x8_t f16_set(uint16_t x) { return f16_of(vdupq_n_u16(x)); }
static inline float16x8_t f16_zero(void) { return f16_set(0); }
static inline float16x8_t f16_load(const uint16_t *p) { return f16_of(vld1q_u16(p)); }
static inline void f16_store(uint16_t *p, float16x8_t x) { vst1q_u16(p, vreinterpretq_u16_f16(x)); }
static inline f16_lanes f16_lanes_between(int64_t first, int64_t end) {
  f16_lanes lanes = {.first = (int)(first < 0 ? 0 : first < V_HALVES ? first : V_HALVES)};
  lanes.count = (int)(end < lanes.first ? lanes.first : end < V_HALVES ? end : V_HALVES) - lanes.first;
  return lanes;
}
static inline float16x8_t f16_load_lanes(const uint16_t *p, f16_lanes lanes) {
  uint16_t elements[V_HALVES] = {0};
  if (lanes.count) memcpy(elements + lanes.first, p + lanes.first, (size_t)lanes.count * sizeof *p);
  return f16_load(elements);
}
static inline void f16_store_lanes(uint16_t *p, float16x8_t x, f16_lanes lanes) { // these begin with the first
  uint16_t elements[V_HALVES];
  f16_store(elements, x);
  memcpy(p, elements, (size_t)lanes.count * sizeof *p);
}
static inline float16x8_t f16_even(float16x8_t low, float16x8_t high) { return vuzp1q_f16(low, high); }
static inline float16x8_t f16_odd(float16x8_t low, float16x8_t high) { return vuzp2q_f16(low, high); }
static inline float16x8_t f16_dot(float16x8_t sum, float16x8_t b, float16x8_t a) { return vfmaq_f16(sum, b, a); }
static inline float16x8_t f16_plus(float16x8_t a, float16x8_t b) { return vaddq_f16(a, b); }

// x * alpha, a float32, rounded once.
static inline float16x8_t f16_scaled(float16x8_t x, float32x4_t alpha) {
  float16x4_t low = vcvt_f16_f32(vmulq_f32(alpha, vcvt_f32_f16(vget_low_f16(x))));
  return vcvt_high_f16_f32(low, vmulq_f32(alpha, vcvt_high_f32_f16(x)));
}
static inline __attribute__((always_inline)) float16x8_t f16_leaky(float16x8_t x, float alpha) {
  return vbslq_f16(vcltzq_f16(x), f16_scaled(x, vdupq_n_f32(alpha)), x);
}
// Compares, as in float32, so that a NaN stays.
static inline __attribute__((always_inline)) float16x8_t f16_bounded(float16x8_t x, float least, float most) {
  const float16x8_t low = vdupq_n_f16((float16_t)least), high = vdupq_n_f16((float16_t)most);
  x = vbslq_f16(vcgtq_f16(low, x), low, x);
  return vbslq_f16(vcltq_f16(high, x), high, x);
}

// Words of two float16.
#define F16_TILE_ROWS 6
typedef struct f16x2_vector {
  float16x8_t low, high;
} f16x2_vector;
static inline f16x2_vector f16x2_zero(void) { return (f16x2_vector){vdupq_n_f16(0), vdupq_n_f16(0)}; }
static inline f16x2_vector f16x2_values(const void *p) {
  return (f16x2_vector){vld1q_f16(p), vld1q_f16((const float16_t *)p + 8)};
}
static inline f16x2_vector f16x2_weight(const void *p) {
  float16x8_t x = vreinterpretq_f16_u32(vld1q_dup_u32(p));
  return (f16x2_vector){x, x};
}
static inline f16x2_vector f16x2_dot(f16x2_vector sum, f16x2_vector b, f16x2_vector a) {
  return (f16x2_vector){vfmaq_f16(sum.low, b.low, a.low), vfmaq_f16(sum.high, b.high, a.high)};
}
// The two of every word as float32, added.
static inline f32_vector f16x2_folded(f16x2_vector sum) {
  float16x8_t first = vuzp1q_f16(sum.low, sum.high), second = vuzp2q_f16(sum.low, sum.high);
  return (f32_vector){vaddq_f32(vcvt_f32_f16(vget_low_f16(first)), vcvt_f32_f16(vget_low_f16(second))),
                      vaddq_f32(vcvt_high_f32_f16(first), vcvt_high_f32_f16(second))};
}

#endif
