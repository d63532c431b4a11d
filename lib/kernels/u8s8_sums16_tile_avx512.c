// Byte tile for AVX-512 without VNNI with sums of 16 bits where they provably fit (conv_sums16.c): 12 rows of 32 sums.
#include <string.h>

#include "lib/kernels/vector_avx512.h"

static inline __m512i pair_products(__m512i b, __m512i a) {
  return _mm512_maddubs_epi16(b, a);
}
static inline __m512i add_16(__m512i a, __m512i b) {
  return _mm512_add_epi16(a, b);
}
static inline __m512i widen(__m512i sum, __m512i products) {
  return _mm512_add_epi32(sum, _mm512_madd_epi16(products, _mm512_set1_epi16(1)));
}

#define TILE_FUNCTION dq_u8s8_sums16_tile_avx512
#define TILE_ROWS 12
#include "lib/kernels/sums16_tile_body.h"
