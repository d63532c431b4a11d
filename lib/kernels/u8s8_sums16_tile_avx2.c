// Byte tile for AVX2 with sums of 16 bits where they provably fit (conv_sums16.c): 6 rows of 16 sums.
#include <string.h>

#include "lib/kernels/vector_avx2.h"

static inline __m256i pair_products(__m256i b, __m256i a) {
  return _mm256_maddubs_epi16(b, a);
}
static inline __m256i add_16(__m256i a, __m256i b) {
  return _mm256_add_epi16(a, b);
}
static inline __m256i widen(__m256i sum, __m256i products) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(products, _mm256_set1_epi16(1)));
}

#define TILE_FUNCTION dq_u8s8_sums16_tile_avx2
#define TILE_ROWS 6
#include "lib/kernels/sums16_tile_body.h"
