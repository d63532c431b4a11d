// Vector operations in which bodies are written (lib/kernels/simd/vector.h), for AVX512-FP16: 32 float16.
#ifndef DQ_KERNELS_VECTOR_AVX512FP16_H
#define DQ_KERNELS_VECTOR_AVX512FP16_H

#include "lib/kernels/simd/vector_avx512.h"

typedef __m512h f16_vector;
typedef __mmask32 f16_lanes;
#define V_HALVES 32

static inline __m512h f16_of(__m512i x) { return _mm512_castsi512_ph(x); }
static inline __m512h f16_zero(void) { return _mm512_setzero_ph(); }
static inline __m512h f16_set(uint16_t x) { return f16_of(_mm512_set1_epi16((short)x)); }
static inline __m512h f16_load(const uint16_t *p) { return _mm512_loadu_ph(p); }
static inline void f16_store(uint16_t *p, __m512h x) { _mm512_storeu_ph(p, x); }
static inline __mmask32 h_mask(int64_t count) {
  return count >= V_HALVES ? 0xffffffffu : count <= 0 ? 0 : (1u << count) - 1;
}
static inline f16_lanes f16_lanes_between(int64_t first, int64_t end) { return h_mask(end) & ~h_mask(first); }
static inline __m512h f16_load_lanes(const uint16_t *p, f16_lanes lanes) {
  return f16_of(_mm512_maskz_loadu_epi16(lanes, p));
}
static inline void f16_store_lanes(uint16_t *p, __m512h x, f16_lanes lanes) {
  _mm512_mask_storeu_epi16(p, lanes, _mm512_castph_si512(x));
}
// Every second element of two vectors, from `first` on.
static inline __m512h parted(__m512h low, __m512h high, int first) {
  const __m512i even = _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26, 24,
                                        22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i from = _mm512_add_epi16(even, _mm512_set1_epi16((short)first));
  return f16_of(_mm512_permutex2var_epi16(_mm512_castph_si512(low), from, _mm512_castph_si512(high)));
}
static inline __m512h f16_even(__m512h low, __m512h high) { return parted(low, high, 0); }
static inline __m512h f16_odd(__m512h low, __m512h high) { return parted(low, high, 1); }
static inline __m512h f16_choose(f16_lanes lanes, __m512h inside, __m512h outside) {
  return _mm512_mask_blend_ph(lanes, outside, inside);
}
// Lane by lane a where a > b, else b; also where one of them is NaN.
static inline __m512h f16_larger(__m512h a, __m512h b) { return _mm512_max_ph(a, b); }
static inline __m512h f16_dot(__m512h sum, __m512h b, __m512h a) { return _mm512_fmadd_ph(b, a, sum); }
static inline __m512h f16_plus(__m512h a, __m512h b) { return _mm512_add_ph(a, b); }
// x * alpha, a float32, rounded once.
static inline __m512h f16_scaled(__m512h x, __m512 alpha) {
  const __m512i bits = _mm512_castph_si512(x);
  __m512 low = _mm512_cvtph_ps(_mm512_castsi512_si256(bits)),
         high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(bits, 1));
  __m256i first = _mm512_cvtps_ph(_mm512_mul_ps(alpha, low), _MM_FROUND_TO_NEAREST_INT);
  __m256i second = _mm512_cvtps_ph(_mm512_mul_ps(alpha, high), _MM_FROUND_TO_NEAREST_INT);
  return f16_of(_mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1));
}
static inline __attribute__((always_inline)) __m512h f16_leaky(__m512h x, float alpha) {
  __mmask32 negative = _mm512_mask_cmp_ph_mask(0xffffffffu, x, _mm512_setzero_ph(), _CMP_LT_OQ);
  return _mm512_mask_blend_ph(negative, x, f16_scaled(x, _mm512_set1_ps(alpha)));
}
static inline __attribute__((always_inline)) __m512h f16_bounded(__m512h x, float low, float high) {
  return _mm512_min_ph(_mm512_set1_ph((_Float16)high), _mm512_max_ph(_mm512_set1_ph((_Float16)low), x));
}

// Words of two float16.
#define F16_TILE_ROWS 14
typedef __m512h f16x2_vector;
static inline __m512h f16x2_zero(void) { return _mm512_setzero_ph(); }
static inline __m512h f16x2_values(const void *p) { return f16_of(i32_load(p)); }
static inline __m512h f16x2_weight(const void *p) { return f16_of(i32_broadcast(p)); }
static inline __m512h f16x2_dot(__m512h sum, __m512h b, __m512h a) { return _mm512_fmadd_ph(b, a, sum); }
// The two of every word as float32, added.
static inline __m512 f16x2_folded(__m512h sums) {
  // Even halves go to the lower 16 lanes, odd ones to the upper.
  const __m512i order = _mm512_set_epi16(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1, 30, 28, 26, 24, 22,
                                         20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i halves = _mm512_permutexvar_epi16(order, _mm512_castph_si512(sums));
  return _mm512_add_ps(_mm512_cvtph_ps(_mm512_castsi512_si256(halves)),
                       _mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1)));
}

#endif
