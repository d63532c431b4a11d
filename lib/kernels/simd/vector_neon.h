// Vector operations in which bodies are written (lib/kernels/simd/vector.h), for AArch64: 8 words in two registers, so
// that a weight serves four times and 6 rows of sums fill 24 of the 32 registers.
#ifndef DQ_KERNELS_VECTOR_NEON_H
#define DQ_KERNELS_VECTOR_NEON_H

#include <arm_neon.h>

#include "lib/kernels/table/kernel_table.h"

#define V_WORDS 8
typedef struct f32_vector {
  float32x4_t low, high;
} f32_vector;
typedef struct f64_vector {
  float64x2_t low, high;
} f64_vector;
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

static inline f32_vector f32_set(float x) { return (f32_vector){vdupq_n_f32(x), vdupq_n_f32(x)}; }
static inline f32_vector f32_zero(void) { return f32_set(0); }
static inline f32_vector f32_load(const void *p) { return (f32_vector){vld1q_f32(p), vld1q_f32((const float *)p + 4)}; }
static inline void f32_store(void *p, f32_vector x) {
  vst1q_f32(p, x.low);
  vst1q_f32((float *)p + 4, x.high);
}
static inline f64_vector f64_zero(void) { return (f64_vector){vdupq_n_f64(0), vdupq_n_f64(0)}; }
static inline f64_vector f64_load(const double *p) { return (f64_vector){vld1q_f64(p), vld1q_f64(p + 2)}; }
static inline void f64_store(double *p, f64_vector x) {
  vst1q_f64(p, x.low);
  vst1q_f64(p + 2, x.high);
}
static inline f64_vector f64_broadcast(const double *p) {
  float64x2_t x = vld1q_dup_f64(p);
  return (f64_vector){x, x};
}
static inline f64_vector f64_plus(f64_vector a, f64_vector b) {
  return (f64_vector){vaddq_f64(a.low, b.low), vaddq_f64(a.high, b.high)};
}
static inline f64_vector f64_minus(f64_vector a, f64_vector b) {
  return (f64_vector){vsubq_f64(a.low, b.low), vsubq_f64(a.high, b.high)};
}
static inline f64_vector f64_times(f64_vector a, f64_vector b) {
  return (f64_vector){vmulq_f64(a.low, b.low), vmulq_f64(a.high, b.high)};
}
static inline f64_vector f64_dot(f64_vector sum, f64_vector b, f64_vector a) {
  return (f64_vector){vfmaq_f64(sum.low, b.low, a.low), vfmaq_f64(sum.high, b.high, a.high)};
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
static inline f32_vector f32_minus(f32_vector a, f32_vector b) {
  return (f32_vector){vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)};
}
// Interleaves two vectors: the inverse of f32_even and f32_odd.
static inline void f32_merge_2(f32_vector x[2]) {
  f32_vector low = {vzip1q_f32(x[0].low, x[1].low), vzip2q_f32(x[0].low, x[1].low)};
  x[1] = (f32_vector){vzip1q_f32(x[0].high, x[1].high), vzip2q_f32(x[0].high, x[1].high)};
  x[0] = low;
}
// Compares, as vmaxq_f32 would make +0 of -0 and 0.
static inline float32x4_t f32x4_bounded(float32x4_t x, float32x4_t low, float32x4_t high) {
  x = vbslq_f32(vcgtq_f32(low, x), low, x);
  return vbslq_f32(vcltq_f32(high, x), high, x);
}
static inline f32_vector f32_bounded(f32_vector x, f32_vector low, f32_vector high) {
  return (f32_vector){f32x4_bounded(x.low, low.low, high.low), f32x4_bounded(x.high, low.high, high.high)};
}
static inline float32x4_t f32x4_leaky(float32x4_t x, float32x4_t alpha) {
  return vbslq_f32(vcltzq_f32(x), vmulq_f32(alpha, x), x);
}
static inline f32_vector f32_leaky(f32_vector x, f32_vector alpha) {
  return (f32_vector){f32x4_leaky(x.low, alpha.low), f32x4_leaky(x.high, alpha.high)};
}

// Loads and stores of the lanes in [first, end) only: other lanes are +0 after a load; memory under them is neither
// read nor written. Four lanes or more are two loads that may overlap; `bytes` says where in those each byte of the
// vector lies, 255 gives 0.
typedef struct f32_lanes {
  int first, count;
  uint8x16_t bytes[2];
} f32_lanes;
static inline f32_lanes f32_lanes_between(int64_t first, int64_t end) {
  f32_lanes lanes = {.first = (int)(first < 0 ? 0 : first < V_WORDS ? first : V_WORDS)};
  lanes.count = (int)(end < 0 ? 0 : end < V_WORDS ? end : V_WORDS) - lanes.first;
  uint8_t bytes[4 * V_WORDS];
  for (int i = 0; i < 4 * V_WORDS; i++) {
    int lane = i / 4 - lanes.first, second = lanes.count - 4; // where the second load begins
    bool from_first = lane < 4 || second < 0;
    bytes[i] = (uint8_t)(lane < 0 || lane >= lanes.count ? 255 : i % 4 + 4 * (from_first ? lane : 4 + lane - second));
  }
  lanes.bytes[0] = vld1q_u8(bytes);
  lanes.bytes[1] = vld1q_u8(bytes + 16);
  return lanes;
}
static __attribute__((noinline, cold)) uint8x16_t load_few(const float *p, int count) {
  return vreinterpretq_u8_s32(i32_load_some(p, count).low);
}
static inline f32_vector f32_load_lanes(const float *p, f32_lanes lanes) {
  uint8x16x2_t loaded = {{vdupq_n_u8(0), vdupq_n_u8(0)}};
  p += lanes.first;
  if (lanes.count >= 4) {
    loaded.val[0] = vreinterpretq_u8_f32(vld1q_f32(p));
    loaded.val[1] = vreinterpretq_u8_f32(vld1q_f32(p + lanes.count - 4));
  } else if (lanes.count > 0) {
    loaded.val[0] = load_few(p, lanes.count);
  }
  return (f32_vector){vreinterpretq_f32_u8(vqtbl2q_u8(loaded, lanes.bytes[0])),
                      vreinterpretq_f32_u8(vqtbl2q_u8(loaded, lanes.bytes[1]))};
}
// These begin with the first lane.
static inline void f32_store_lanes(float *p, f32_vector x, f32_lanes lanes) { f32_store_some(p, x, lanes.count); }
// Elements 0, 2, 4 ... and 1, 3, 5 ... of two vectors.
static inline f32_vector f32_even(f32_vector low, f32_vector high) {
  return (f32_vector){vuzp1q_f32(low.low, low.high), vuzp1q_f32(high.low, high.high)};
}
static inline f32_vector f32_odd(f32_vector low, f32_vector high) {
  return (f32_vector){vuzp2q_f32(low.low, low.high), vuzp2q_f32(high.low, high.high)};
}

// Factors of a tile: _values loads neighbouring words, _weight loads one word into all lanes, _dot adds their products.
#define F32_TILE_ROWS 6
#define F32_WINDOW_ROWS 4 // rows of outputs of a depthwise convolution, whose sums are in registers
static inline f32_vector f32_values(const void *p) { return f32_load(p); }
static inline f32_vector f32_weight(const void *p) { return f32_broadcast(p); }

static inline i32_vector i32_set(int32_t x) { return (i32_vector){vdupq_n_s32(x), vdupq_n_s32(x)}; }
static inline i32_vector i32_zero(void) { return i32_set(0); }
static inline i32_vector i32_load(const void *p) {
  return (i32_vector){vld1q_s32(p), vld1q_s32((const int32_t *)p + 4)};
}
static inline void i32_store(void *p, i32_vector x) {
  vst1q_s32(p, x.low);
  vst1q_s32((int32_t *)p + 4, x.high);
}

// A word of weights, of which one lane is a factor; the other word is free.
static inline int32x2_t weight_word(const void *p) { return vcreate_s32(*(const uint32_t *)p); }

// Words of two int16: the first of all 8 words, then the second, so that products widened to 32 bits
// are added where they belong.
#define I16_TILE_ROWS 6
static inline int16x8x2_t i16_values(const void *p) { return vld2q_s16(p); }
static inline int16x4_t i16_weight(const void *p) { return vreinterpret_s16_s32(weight_word(p)); }
static inline i32_vector i16_dot(i32_vector sum, int16x8x2_t b, int16x4_t a) {
  sum.low = vmlal_lane_s16(sum.low, vget_low_s16(b.val[0]), a, 0);
  sum.high = vmlal_high_lane_s16(sum.high, b.val[0], a, 0);
  sum.low = vmlal_lane_s16(sum.low, vget_low_s16(b.val[1]), a, 1);
  sum.high = vmlal_high_lane_s16(sum.high, b.val[1], a, 1);
  return sum;
}
// Loads as many int8 as there are int16 in a vector, and widens them.
static inline i32_vector i16_of_int8(const void *p) {
  const int8x16_t x = vld1q_s8(p);
  return (i32_vector){vreinterpretq_s32_s16(vmovl_s8(vget_low_s8(x))), vreinterpretq_s32_s16(vmovl_high_s8(x))};
}

// ---- Bytes: 16 ----
typedef uint8x16_t u8_vector;
static inline u8_vector u8_load(const uint8_t *p) { return vld1q_u8(p); }
static inline void u8_store(uint8_t *p, u8_vector x) { vst1q_u8(p, x); }
static inline u8_vector u8_larger_signed(u8_vector a, u8_vector b) {
  return vreinterpretq_u8_s8(vmaxq_s8(vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b)));
}
static inline u8_vector u8_larger_unsigned(u8_vector a, u8_vector b) { return vmaxq_u8(a, b); }
// Bytes 0, 2, 4... of a followed by b.
static inline u8_vector u8_even(u8_vector a, u8_vector b) { return vuzp1q_u8(a, b); }
#include "lib/kernels/simd/u8_some_body.h"

#endif
