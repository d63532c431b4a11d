// Depthwise sums of bytes for AVX2: four outputs lie within 16 bytes, from which a byte shuffle lays four neighbouring
// taps under each. The instruction that multiplies bytes adds the products of two taps in 16 bits, which saturates: the
// shuffle brings them in the order of the word's pairing, and a word that fits in none is multiplied twice, by every
// second weight.
#include "lib/kernels/simd/vector_avx2.h"

enum {
  GROUP = 4,                   // outputs whose bytes one shuffle of 16 bytes picks
  HALVES = DQ_SLIDE_LANES / 8, // vectors of eight sums to a vector of the form
};

typedef struct taps {
  __m256i shuffle[DQ_SLIDE_ALONE + 1][HALVES]; // by pairing
  int64_t first[2 * HALVES];                   // distance of the 16 bytes of each group
} taps;

static void find_taps(const uint8_t *index, taps *t) {
  static const uint8_t orders[DQ_SLIDE_ALONE + 1][16] = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
      {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15},
      {0, 3, 2, 1, 4, 7, 6, 5, 8, 11, 10, 9, 12, 15, 14, 13},
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
  };
  for (int g = 0; g < 2 * HALVES; g++) t->first[g] = index[g * 4 * GROUP];
  for (int h = 0; h < HALVES; h++) {
    __m256i bytes = i32_load(index + 32 * h), picked = u8_minus(bytes, u8_shuffled(bytes, i32_zero()));
    for (int p = 0; p <= DQ_SLIDE_ALONE; p++) t->shuffle[p][h] = u8_shuffled(picked, u8_repeated(orders[p]));
  }
}

static inline __attribute__((always_inline)) __m256i bytes_under(const taps *t, const uint8_t *at, int h, int pairing) {
  __m256i low = _mm256_castsi128_si256(_mm_loadu_si128((const void *)(at + t->first[2 * h])));
  __m256i both = _mm256_inserti128_si256(low, _mm_loadu_si128((const void *)(at + t->first[2 * h + 1])), 1);
  return _mm256_shuffle_epi8(both, t->shuffle[pairing][h]);
}

// Adds the products of word k to `count` vectors of sums, a constant; `alone`, another, where its pairing is that.
static inline __attribute__((always_inline)) void add_word(const dq_slide *s, const taps *t, const uint8_t *plane,
                                                           int64_t k, __m256i *sums, const int count,
                                                           const bool alone) {
  const uint8_t *at = plane + s->offsets[k];
  const int pairing = s->pairings[k];
  const __m256i weight = i32_set((int32_t)s->weights[k]), low = i32_set(0x00ff00ff);
  const __m256i even = alone ? _mm256_and_si256(weight, low) : weight, odd = _mm256_andnot_si256(low, weight);
#pragma GCC unroll 4
  for (int v = 0; v < count * HALVES; v++) {
    __m256i x = bytes_under(t, at + v / HALVES * s->step, v % HALVES, pairing);
    sums[v] = pair_dot(sums[v], x, even);
    if (alone) sums[v] = pair_dot(sums[v], x, odd);
  }
}

// `count` vectors of sums, a constant.
static inline __attribute__((always_inline)) void slide(const dq_slide *s, const taps *t, int64_t from,
                                                        const int count) {
  const uint8_t *plane = s->plane + from * s->step;
  __m256i sums[2 * HALVES];
  for (int v = 0; v < count * HALVES; v++) sums[v] = i32_set(s->start);
  for (int64_t k = 0; k < s->words; k++) {
    if (s->pairings[k] == DQ_SLIDE_ALONE) add_word(s, t, plane, k, sums, count, true);
    else add_word(s, t, plane, k, sums, count, false);
  }
  for (int v = 0; v < count * HALVES; v++) i32_store(s->sums + from * DQ_SLIDE_LANES + 8 * v, sums[v]);
}

void dq_u8s8_slide_avx2(const dq_slide *form) {
  const dq_slide s = *form; // a copy that no store can change
  taps t;
  find_taps(s.index, &t);
  int64_t v = 0;
  for (; v + 2 <= s.vectors; v += 2) slide(&s, &t, v, 2);
  if (v < s.vectors) slide(&s, &t, v, 1);
}
