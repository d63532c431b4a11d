// The vector operations the *_body.h files are written in, for AArch64: 8 words in two registers, so
// that a weight serves four times and 6 rows of sums fill 24 of the 32 registers.
#ifndef DQ_KERNELS_VECTOR_NEON_H
#define DQ_KERNELS_VECTOR_NEON_H

#include <arm_neon.h>

#include "lib/kernels/kernels_internal.h"

#define V_WORDS 8
typedef struct f32_vector {
  float32x4_t low, high;
} f32_vector;
typedef struct i32_vector {
  int32x4_t low, high;
} i32_vector;

// The first words of a vector, at least 1, without a call, before which sums would leave their registers.
static inline i32_vector i32_load_some(const void *p, int count) {
  const int32_t *from = p;
  const int whole = count & 4; // words of a whole register
  if (count >= V_WORDS) return (i32_vector){vld1q_s32(from), vld1q_s32(from + 4)};
  int32x4_t rest = vdupq_n_s32(0);
  if (count & 1) rest = vld1q_lane_s32(from + count - 1, rest, 0);
  if (count & 2) rest = vcombine_s32(vld1_s32(from + whole), vget_low_s32(rest));
  return whole ? (i32_vector){vld1q_s32(from), rest} : (i32_vector){rest, vdupq_n_s32(0)};
}
static inline void i32_store_some(void *p, i32_vector x, int count) {
  int32_t *to = p;
  int32x4_t rest = x.low;
  if (count >= 4) vst1q_s32(to, x.low), rest = x.high, to += 4;
  if (count >= V_WORDS) {
    vst1q_s32(to, x.high);
    return;
  }
  if (count & 2) vst1_s32(to, vget_low_s32(rest)), rest = vextq_s32(rest, rest, 2), to += 2;
  if (count & 1) vst1q_lane_s32(to, rest, 0);
}
static inline f32_vector f32_load_some(const void *p, int count) {
  i32_vector x = i32_load_some(p, count);
  return (f32_vector){vreinterpretq_f32_s32(x.low), vreinterpretq_f32_s32(x.high)};
}
static inline void f32_store_some(void *p, f32_vector x, int count) {
  i32_store_some(p, (i32_vector){vreinterpretq_s32_f32(x.low), vreinterpretq_s32_f32(x.high)}, count);
}

static inline f32_vector f32_set(float x) {
  return (f32_vector){vdupq_n_f32(x), vdupq_n_f32(x)};
}
static inline f32_vector f32_zero(void) {
  return f32_set(0);
}
static inline f32_vector f32_load(const void *p) {
  return (f32_vector){vld1q_f32(p), vld1q_f32((const float *)p + 4)};
}
static inline void f32_store(void *p, f32_vector x) {
  vst1q_f32(p, x.low);
  vst1q_f32((float *)p + 4, x.high);
}
// The compiler makes a multiplication by one lane of what is used as a factor only.
static inline f32_vector f32_broadcast(const void *p) {
  float32x4_t x = vld1q_dup_f32(p);
  return (f32_vector){x, x};
}
static inline f32_vector f32_dot(f32_vector sum, f32_vector b, f32_vector a) {
  return (f32_vector){vfmaq_f32(sum.low, b.low, a.low), vfmaq_f32(sum.high, b.high, a.high)};
}
static inline f32_vector f32_plus(f32_vector a, f32_vector b) {
  return (f32_vector){vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)};
}
// By comparison: vmaxq_f32 would make +0 of -0 and 0.
static inline float32x4_t f32x4_bounded(float32x4_t x, float32x4_t low, float32x4_t high) {
  x = vbslq_f32(vcgtq_f32(low, x), low, x);
  return vbslq_f32(vcltq_f32(high, x), high, x);
}
static inline f32_vector f32_bounded(f32_vector x, f32_vector low, f32_vector high) {
  return (f32_vector){f32x4_bounded(x.low, low.low, high.low),
                      f32x4_bounded(x.high, low.high, high.high)};
}
static inline float32x4_t f32x4_leaky(float32x4_t x, float32x4_t alpha) {
  return vbslq_f32(vcltzq_f32(x), vmulq_f32(alpha, x), x);
}
static inline f32_vector f32_leaky(f32_vector x, f32_vector alpha) {
  return (f32_vector){f32x4_leaky(x.low, alpha.low), f32x4_leaky(x.high, alpha.high)};
}

// Lanes moved up (down: below 0), zeros behind them: an index of a byte that is not there gives 0.
static inline f32_vector f32_moved(f32_vector x, int lanes) {
  const uint8x16_t places = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const uint8x16x2_t bytes = {{vreinterpretq_u8_f32(x.low), vreinterpretq_u8_f32(x.high)}};
  const uint8x16_t low = vsubq_u8(places, vdupq_n_u8((uint8_t)(4 * lanes)));
  const uint8x16_t high = vaddq_u8(low, vdupq_n_u8(16));
  return (f32_vector){vreinterpretq_f32_u8(vqtbl2q_u8(bytes, low)),
                      vreinterpretq_f32_u8(vqtbl2q_u8(bytes, high))};
}
// Some of the lanes: those in [first, end), loaded with +0 in the others, which are not touched.
typedef struct f32_lanes {
  int first, count;
} f32_lanes;
static inline f32_lanes f32_lanes_between(int64_t first, int64_t end) {
  int from = (int)(first < 0 ? 0 : first < V_WORDS ? first : V_WORDS);
  return (f32_lanes){from, (int)(end < V_WORDS ? end < 0 ? 0 : end : V_WORDS) - from};
}
static inline f32_vector f32_load_lanes(const float *p, f32_lanes lanes) {
  if (lanes.count <= 0) return f32_zero();
  f32_vector x = f32_load_some(p + lanes.first, lanes.count);
  return lanes.first ? f32_moved(x, lanes.first) : x;
}
static inline void f32_store_lanes(float *p, f32_vector x, f32_lanes lanes) {
  if (lanes.count > 0)
    f32_store_some(p + lanes.first, lanes.first ? f32_moved(x, -lanes.first) : x, lanes.count);
}
// Elements 0, 2, 4 ... and 1, 3, 5 ... of two vectors.
static inline f32_vector f32_even(f32_vector low, f32_vector high) {
  return (f32_vector){vuzp1q_f32(low.low, low.high), vuzp1q_f32(high.low, high.high)};
}
static inline f32_vector f32_odd(f32_vector low, f32_vector high) {
  return (f32_vector){vuzp2q_f32(low.low, low.high), vuzp2q_f32(high.low, high.high)};
}

static inline i32_vector i32_set(int32_t x) {
  return (i32_vector){vdupq_n_s32(x), vdupq_n_s32(x)};
}
static inline i32_vector i32_zero(void) {
  return i32_set(0);
}
static inline i32_vector i32_load(const void *p) {
  return (i32_vector){vld1q_s32(p), vld1q_s32((const int32_t *)p + 4)};
}
static inline void i32_store(void *p, i32_vector x) {
  vst1q_s32(p, x.low);
  vst1q_s32((int32_t *)p + 4, x.high);
}

// A word of weights, of which one lane is a factor; the other word is free.
static inline int32x2_t weight_word(const void *p) {
  return vcreate_s32(*(const uint32_t *)p);
}

// Words of two int16: the first of all 8 words, then the second, so that products widened to 32 bits
// are added where they belong.
static inline int16x8x2_t i16_values(const void *p) {
  return vld2q_s16(p);
}
static inline int16x4_t i16_weight(const void *p) {
  return vreinterpret_s16_s32(weight_word(p));
}
static inline i32_vector i16_dot(i32_vector sum, int16x8x2_t b, int16x4_t a) {
  sum.low = vmlal_lane_s16(sum.low, vget_low_s16(b.val[0]), a, 0);
  sum.high = vmlal_high_lane_s16(sum.high, b.val[0], a, 0);
  sum.low = vmlal_lane_s16(sum.low, vget_low_s16(b.val[1]), a, 1);
  sum.high = vmlal_high_lane_s16(sum.high, b.val[1], a, 1);
  return sum;
}

#ifdef __ARM_FEATURE_DOTPROD
// Words of four signed bytes.
static inline int8x8_t s8_weight(const void *p) {
  return vreinterpret_s8_s32(weight_word(p));
}
static inline i32_vector s8_dot(i32_vector sum, i32_vector b, int8x8_t a) {
  sum.low = vdotq_lane_s32(sum.low, vreinterpretq_s8_s32(b.low), a, 0);
  sum.high = vdotq_lane_s32(sum.high, vreinterpretq_s8_s32(b.high), a, 0);
  return sum;
}
#endif

#endif
