// Byte tile for AVX2: 6 rows of 16 sums. Two products are added in 16 bits, which clips unless the
// weights are safe for pairs (dq_conv_pairs_safe): only then it is used, and exact.
#include "lib/kernels/vector_avx2.h"

static inline __m256i pair_dot(__m256i sum, __m256i b, __m256i a) {
  __m256i pairs = _mm256_maddubs_epi16(b, a);
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

#define TILE_FUNCTION dq_u8s8_pair_tile_avx2
#define TILE_ROWS 6
#define V(name) i32_##name
#define TILE_DOT pair_dot
#define TILE_FLOAT 0
#include "lib/kernels/tile_body.h"
