// The vector operations the *_body.h files are written in, for AVX-512 (F, BW, DQ, VL): 16 words.
#ifndef DQ_KERNELS_VECTOR_AVX512_H
#define DQ_KERNELS_VECTOR_AVX512_H

#include <immintrin.h>

#include "lib/kernels/kernels_internal.h"

#define V_WORDS 16
typedef __m512 f32_vector;
typedef __m512i i32_vector;

// Lanes below count; count may be below 0 or above V_WORDS.
static inline __mmask16 v_mask(int count) {
  return count >= V_WORDS ? (__mmask16)0xffff : count <= 0 ? 0 : (__mmask16)((1u << count) - 1);
}

static inline __m512 f32_zero(void) { return _mm512_setzero_ps(); }
static inline __m512 f32_set(float x) { return _mm512_set1_ps(x); }
static inline __m512 f32_load(const void *p) { return _mm512_loadu_ps(p); }
static inline void f32_store(void *p, __m512 x) { _mm512_storeu_ps(p, x); }
static inline __m512 f32_load_some(const void *p, int count) { return _mm512_maskz_loadu_ps(v_mask(count), p); }
static inline void f32_store_some(void *p, __m512 x, int count) { _mm512_mask_storeu_ps(p, v_mask(count), x); }
static inline __m512 f32_broadcast(const void *p) { return _mm512_set1_ps(*(const float *)p); }
static inline __m512 f32_dot(__m512 sum, __m512 b, __m512 a) { return _mm512_fmadd_ps(b, a, sum); }
static inline __m512 f32_plus(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
static inline __m512 f32_bounded(__m512 x, __m512 low, __m512 high) {
  return _mm512_min_ps(high, _mm512_max_ps(low, x));
}
static inline __m512 f32_leaky(__m512 x, __m512 alpha) {
  __mmask16 below = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ);
  return _mm512_mask_mul_ps(x, below, alpha, x);
}

static inline __m512i i32_zero(void) { return _mm512_setzero_si512(); }
static inline __m512i i32_set(int32_t x) { return _mm512_set1_epi32(x); }
static inline __m512i i32_load(const void *p) { return _mm512_loadu_si512(p); }
static inline void i32_store(void *p, __m512i x) { _mm512_storeu_si512(p, x); }
static inline __m512i i32_load_some(const void *p, int count) {
  return _mm512_maskz_loadu_epi32(v_mask(count), p);
}
static inline void i32_store_some(void *p, __m512i x, int count) {
  _mm512_mask_storeu_epi32(p, v_mask(count), x);
}
static inline __m512i i32_broadcast(const void *p) { return _mm512_set1_epi32(*(const int32_t *)p); }
// Two int16 products per word: exact, |sum of two products| < 2^31 for |factors| <= 255.
static inline __m512i i16_dot(__m512i sum, __m512i b, __m512i a) {
  return _mm512_add_epi32(sum, _mm512_madd_epi16(b, a));
}
// Elements stride apart starting at element `at`, widened to words; never reads past the last one.
static inline __attribute__((always_inline)) __m512i i32_take_bytes(const uint8_t *row, int64_t at,
                                                                int64_t left, const int stride) {
  if (stride == 1) {
    __m128i bytes = _mm_maskz_loadu_epi8(v_mask(left < 16 ? (int)left : 16), row + at);
    return _mm512_cvtepu8_epi32(bytes);
  }
  __mmask32 mask = left >= 16 ? 0x7fffffffu : (1u << (2 * left - 1)) - 1;
  __m256i bytes = _mm256_maskz_loadu_epi8(mask, row + 2 * at);
  return _mm512_cvtepu16_epi32(_mm256_and_si256(bytes, _mm256_set1_epi16(0xff)));
}

#ifdef __AVX512VNNI__
// Four products of bytes, b unsigned, a signed, without saturation.
static inline __m512i u8s8_dot(__m512i sum, __m512i b, __m512i a) {
  return _mm512_dpbusd_epi32(sum, b, a);
}
#endif

#endif
