// Depthwise sums from plane to plane in float16 for AArch64 with float16 arithmetic.
#include "lib/kernels/vector_neon.h"

#include <string.h>

typedef float16x8_t f16_vector;
typedef struct f16_lanes {
  int first, count;
} f16_lanes;
#define WINDOW_LANES 8

static inline float16x8_t f16_of(uint16x8_t x) { return vreinterpretq_f16_u16(x); }
static inline float16x8_t f16_set(uint16_t x) { return f16_of(vdupq_n_u16(x)); }
static inline float16x8_t f16_zero(void) { return f16_set(0); }
static inline float16x8_t f16_load(const uint16_t *p) { return f16_of(vld1q_u16(p)); }
static inline void f16_store(uint16_t *p, float16x8_t x) { vst1q_u16(p, vreinterpretq_u16_f16(x)); }
static inline f16_lanes f16_lanes_between(int64_t first, int64_t end) {
  f16_lanes lanes = {.first = (int)(first < 0 ? 0 : first < WINDOW_LANES ? first : WINDOW_LANES)};
  lanes.count = (int)(end < lanes.first ? lanes.first : end < WINDOW_LANES ? end : WINDOW_LANES) - lanes.first;
  return lanes;
}
static inline float16x8_t f16_load_lanes(const uint16_t *p, f16_lanes lanes) {
  uint16_t elements[WINDOW_LANES] = {0};
  if (lanes.count) memcpy(elements + lanes.first, p + lanes.first, (size_t)lanes.count * sizeof *p);
  return f16_load(elements);
}
static inline void f16_store_lanes(uint16_t *p, float16x8_t x, f16_lanes lanes) { // these begin with the first
  uint16_t elements[WINDOW_LANES];
  f16_store(elements, x);
  memcpy(p, elements, (size_t)lanes.count * sizeof *p);
}
static inline float16x8_t f16_even(float16x8_t low, float16x8_t high) { return vuzp1q_f16(low, high); }
static inline float16x8_t f16_odd(float16x8_t low, float16x8_t high) { return vuzp2q_f16(low, high); }
static inline float16x8_t f16_dot(float16x8_t sum, float16x8_t b, float16x8_t a) { return vfmaq_f16(sum, b, a); }
static inline float16x8_t f16_plus(float16x8_t a, float16x8_t b) { return vaddq_f16(a, b); }

// x * alpha, a float32, rounded once.
static inline float16x8_t scaled(float16x8_t x, float32x4_t alpha) {
  float16x4_t low = vcvt_f16_f32(vmulq_f32(alpha, vcvt_f32_f16(vget_low_f16(x))));
  return vcvt_high_f16_f32(low, vmulq_f32(alpha, vcvt_high_f32_f16(x)));
}
// By comparison, as in fp32: a NaN stays.
static inline __attribute__((always_inline)) float16x8_t f16_ended(const dq_plane_window *w, float16x8_t x) {
  if (w->leaky) return vbslq_f16(vcltzq_f16(x), scaled(x, vdupq_n_f32(w->alpha)), x);
  const float16x8_t low = vdupq_n_f16((float16_t)w->low), high = vdupq_n_f16((float16_t)w->high);
  x = vbslq_f16(vcgtq_f16(low, x), low, x);
  return vbslq_f16(vcltq_f16(high, x), high, x);
}

#define WINDOW_FUNCTION dq_f16_window_fp16
#define W(name) f16_##name
#define WINDOW_ELEMENT uint16_t
#include "lib/kernels/window_body.h"
