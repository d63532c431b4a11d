// Tile of float16 sums for AVX512-FP16: 14 rows of 32 outputs, words of two channels.
#include "lib/kernels/vector_avx512.h"

typedef __m512h f16_vector;
static inline __m512h f16_zero(void) { return _mm512_setzero_ph(); }
static inline __m512h f16_load(const void *p) { return _mm512_castsi512_ph(i32_load(p)); }
static inline __m512h f16_broadcast(const void *p) { return _mm512_castsi512_ph(i32_broadcast(p)); }
static inline __m512h f16_dot(__m512h sum, __m512h b, __m512h a) { return _mm512_fmadd_ph(b, a, sum); }

// Even halves in the lower 16 lanes, odd ones in the upper.
static inline __m512i parted(__m512h sums) {
  const __m512i order = _mm512_set_epi16(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1, 30, 28, 26, 24, 22,
                                         20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  return _mm512_permutexvar_epi16(order, _mm512_castph_si512(sums));
}
static inline __m512 f16_folded(__m512h sums) {
  const __m512i halves = parted(sums);
  return _mm512_add_ps(_mm512_cvtph_ps(_mm512_castsi512_si256(halves)),
                       _mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1)));
}

#define TILE_FUNCTION dq_f16_tile_avx512fp16
#define TILE_ROWS 14
#include "lib/kernels/f16_tile_body.h"
