// Depthwise sums from plane to plane in float16 for AVX512-FP16.
#include "lib/kernels/vector_avx512fp16.h"

// x * alpha, a float32, rounded once.
static inline __m512h scaled(__m512h x, __m512 alpha) {
  const __m512i bits = _mm512_castph_si512(x);
  __m512 low = _mm512_cvtph_ps(_mm512_castsi512_si256(bits)), high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(bits, 1));
  __m256i first = _mm512_cvtps_ph(_mm512_mul_ps(alpha, low), _MM_FROUND_TO_NEAREST_INT);
  __m256i second = _mm512_cvtps_ph(_mm512_mul_ps(alpha, high), _MM_FROUND_TO_NEAREST_INT);
  return f16_of(_mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1));
}
static inline __attribute__((always_inline)) __m512h f16_ended(const dq_plane_window *w, __m512h x) {
  if (w->leaky) {
    __mmask32 negative = _mm512_mask_cmp_ph_mask(0xffffffffu, x, _mm512_setzero_ph(), _CMP_LT_OQ);
    return _mm512_mask_blend_ph(negative, x, scaled(x, _mm512_set1_ps(w->alpha)));
  }
  return _mm512_min_ph(_mm512_set1_ph((_Float16)w->high), _mm512_max_ph(_mm512_set1_ph((_Float16)w->low), x));
}

#define WINDOW_FUNCTION dq_f16_window_avx512fp16
#define W(name) f16_##name
#define WINDOW_LANES V_HALVES
#define WINDOW_ELEMENT uint16_t
#include "lib/kernels/window_body.h"
