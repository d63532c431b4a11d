// Two ramps for AVX2, 32 bytes at a time, in eight lanes of float32.
#include "lib/kernels/simd/vector_avx2.h"

#include <string.h>

enum { WIDTH = 32 };

typedef struct lines {
  __m256 rise, rise_at, fall, fall_at;
} lines;

// Eight bytes to the nearest integers, in 32 bits.
static inline __attribute__((always_inline)) __m256i eight(const lines *l, const uint8_t *input) {
  __m256 x = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)input)));
  __m256 rising = _mm256_fmadd_ps(x, l->rise, l->rise_at), falling = _mm256_fmadd_ps(x, l->fall, l->fall_at);
  return _mm256_cvtps_epi32(_mm256_max_ps(rising, falling));
}

static inline __attribute__((always_inline)) void thirty_two(const lines *l, const uint8_t *input, uint8_t *output) {
  // Packing works in lanes of 128 bits; this puts words of four bytes back into their order.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  __m256i first = _mm256_packs_epi32(eight(l, input), eight(l, input + 8));
  __m256i second = _mm256_packs_epi32(eight(l, input + 16), eight(l, input + 24));
  u8_store(output, _mm256_permutevar8x32_epi32(_mm256_packus_epi16(first, second), order));
}

void dq_ramps_avx2(const dq_ramps *r, const uint8_t *input, uint8_t *output, int64_t count) {
  const lines l = {f32_set(r->rise), f32_set(r->rise_at), f32_set(r->fall), f32_set(r->fall_at)};
  const int64_t whole = count / WIDTH * WIDTH;
  for (int64_t at = 0; at < whole; at += WIDTH) thirty_two(&l, input + at, output + at);
  if (whole == count) return;
  uint8_t rest[WIDTH] = {0};
  memcpy(rest, input + whole, (size_t)(count - whole));
  thirty_two(&l, rest, rest);
  memcpy(output + whole, rest, (size_t)(count - whole));
}
