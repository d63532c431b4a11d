// Vector operations in which bodies are written (lib/kernels/simd/vector.h), for AArch64 with SDOT.
#ifndef DQ_KERNELS_VECTOR_DOTPROD_H
#define DQ_KERNELS_VECTOR_DOTPROD_H

#include "lib/kernels/simd/vector_neon.h"

// Words of four signed bytes.
#define S8S8_TILE_ROWS 6
static inline i32_vector s8s8_values(const void *p) { return i32_load(p); }
static inline int8x8_t s8s8_weight(const void *p) { return vreinterpret_s8_s32(weight_word(p)); }
static inline i32_vector s8s8_dot(i32_vector sum, i32_vector b, int8x8_t a) {
  sum.low = vdotq_lane_s32(sum.low, vreinterpretq_s8_s32(b.low), a, 0);
  sum.high = vdotq_lane_s32(sum.high, vreinterpretq_s8_s32(b.high), a, 0);
  return sum;
}

#endif
