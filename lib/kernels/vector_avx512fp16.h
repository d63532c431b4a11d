// The vector operations of window_body.h and float_maximum_body.h for AVX512-FP16: 32 float16.
#ifndef DQ_KERNELS_VECTOR_AVX512FP16_H
#define DQ_KERNELS_VECTOR_AVX512FP16_H

#include "lib/kernels/vector_avx512.h"

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
// a where it is larger, else b, NaN or not.
static inline __m512h f16_larger(__m512h a, __m512h b) { return _mm512_max_ph(a, b); }
static inline __m512h f16_dot(__m512h sum, __m512h b, __m512h a) { return _mm512_fmadd_ph(b, a, sum); }
static inline __m512h f16_plus(__m512h a, __m512h b) { return _mm512_add_ph(a, b); }

#endif
