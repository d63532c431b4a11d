// Byte tile for AVX-512 without VNNI: 12 rows of 32 sums. Two products are added in 16 bits, which clips unless the
// weights are safe for pairs (dq_conv_pairs_safe): only then it is used, and exact.
#include "lib/kernels/vector_avx512.h"

static inline __m512i pair_dot(__m512i sum, __m512i b, __m512i a) {
  __m512i pairs = _mm512_maddubs_epi16(b, a);
  return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}

#define TILE_FUNCTION dq_u8s8_pair_tile_avx512
#define TILE_ROWS 12
#define V(name) i32_##name
#define TILE_DOT pair_dot
#define TILE_FLOAT 0
#include "lib/kernels/tile_body.h"
