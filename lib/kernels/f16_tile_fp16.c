// Tile of float16 sums for AArch64 with float16 arithmetic: 6 rows of 16 outputs, words of two channels.
#include "lib/kernels/vector_neon.h"

typedef struct f16_vector {
  float16x8_t low, high;
} f16_vector;
static inline f16_vector f16_zero(void) { return (f16_vector){vdupq_n_f16(0), vdupq_n_f16(0)}; }
static inline f16_vector f16_load(const void *p) {
  return (f16_vector){vld1q_f16(p), vld1q_f16((const float16_t *)p + 8)};
}
static inline f16_vector f16_broadcast(const void *p) {
  float16x8_t x = vreinterpretq_f16_u32(vld1q_dup_u32(p));
  return (f16_vector){x, x};
}
static inline f16_vector f16_dot(f16_vector sum, f16_vector b, f16_vector a) {
  return (f16_vector){vfmaq_f16(sum.low, b.low, a.low), vfmaq_f16(sum.high, b.high, a.high)};
}
static inline f32_vector f16_folded(f16_vector sum) {
  float16x8_t first = vuzp1q_f16(sum.low, sum.high), second = vuzp2q_f16(sum.low, sum.high);
  return (f32_vector){vaddq_f32(vcvt_f32_f16(vget_low_f16(first)), vcvt_f32_f16(vget_low_f16(second))),
                      vaddq_f32(vcvt_high_f32_f16(first), vcvt_high_f32_f16(second))};
}

#define TILE_FUNCTION dq_f16_tile_fp16
#define TILE_ROWS 6
#include "lib/kernels/f16_tile_body.h"
