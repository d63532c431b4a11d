// Depthwise sums of bytes for AVX2: four outputs lie within 16 bytes, from which a byte shuffle lays four neighbouring
// taps under each. The instruction that multiplies bytes adds neighbouring products in 16 bits, which saturates; where
// the weights of the channel allow a sum that does not fit, it multiplies every second byte only, twice.
#include "lib/kernels/simd/vector_avx2.h"

enum {
  GROUP = 4,                    // outputs whose bytes one shuffle of 16 bytes picks
  HALVES = DQ_SLIDE_LANES / 8,  // vectors of eight sums to a vector of the form
  MOST_OF_A_PAIR = 32767 / 255, // of the sum of the absolute values of two weights, in front of any two bytes
};

typedef struct taps {
  __m256i shuffle[HALVES];
  int64_t first[2 * HALVES]; // distance of the 16 bytes of each group
} taps;

static taps taps_of(const uint8_t *index) {
  taps t;
  for (int g = 0; g < 2 * HALVES; g++) t.first[g] = index[g * 4 * GROUP];
  for (int h = 0; h < HALVES; h++) {
    __m256i bytes = i32_load(index + 32 * h);
    t.shuffle[h] = u8_minus(bytes, u8_shuffled(bytes, i32_zero()));
  }
  return t;
}

static bool pairs_fit(const dq_slide *s) {
  for (int64_t k = 0; k < s->words; k++)
    for (int i = 0; i < 32; i += 16) {
      int a = (int8_t)(s->weights[k] >> i), b = (int8_t)(s->weights[k] >> (i + 8));
      if ((a < 0 ? -a : a) + (b < 0 ? -b : b) > MOST_OF_A_PAIR) return false;
    }
  return true;
}

static inline __attribute__((always_inline)) __m256i bytes_under(const taps *t, const uint8_t *at, int h) {
  __m256i low = _mm256_castsi128_si256(_mm_loadu_si128((const void *)(at + t->first[2 * h])));
  __m256i both = _mm256_inserti128_si256(low, _mm_loadu_si128((const void *)(at + t->first[2 * h + 1])), 1);
  return _mm256_shuffle_epi8(both, t->shuffle[h]);
}

// `count` vectors of sums, a constant; `fit`, another, is pairs_fit.
static inline __attribute__((always_inline)) void slide(const dq_slide *s, const taps *t, int64_t from, const int count,
                                                        const bool fit) {
  const uint8_t *plane = s->plane + from * s->step;
  __m256i sums[2 * HALVES];
  for (int v = 0; v < count * HALVES; v++) sums[v] = i32_set(s->start);
  for (int64_t k = 0; k < s->words; k++) {
    const uint8_t *at = plane + s->offsets[k];
    const __m256i weight = i32_set((int32_t)s->weights[k]);
    const __m256i even = fit ? weight : _mm256_and_si256(weight, i32_set(0x00ff00ff));
    const __m256i odd = _mm256_andnot_si256(i32_set(0x00ff00ff), weight);
#pragma GCC unroll 4
    for (int v = 0; v < count * HALVES; v++) {
      __m256i x = bytes_under(t, at + v / HALVES * s->step, v % HALVES);
      sums[v] = pair_dot(sums[v], x, even);
      if (!fit) sums[v] = pair_dot(sums[v], x, odd);
    }
  }
  for (int v = 0; v < count * HALVES; v++) i32_store(s->sums + from * DQ_SLIDE_LANES + 8 * v, sums[v]);
}

static inline __attribute__((always_inline)) void slide_all(const dq_slide *s, const bool fit) {
  const taps t = taps_of(s->index);
  int64_t v = 0;
  for (; v + 2 <= s->vectors; v += 2) slide(s, &t, v, 2, fit);
  if (v < s->vectors) slide(s, &t, v, 1, fit);
}

void dq_u8s8_slide_avx2(const dq_slide *s) {
  if (pairs_fit(s)) slide_all(s, true);
  else slide_all(s, false);
}
