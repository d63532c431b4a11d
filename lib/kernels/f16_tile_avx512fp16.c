// Tile of float16 sums for AVX512-FP16: 14 rows of 32 outputs, words of two channels. Every chain of DQ_HALF_CHAIN
// words runs in float16, even and odd channels apart; then both become float32 and are added to the total.
#include "lib/kernels/vector_avx512.h"

enum { ROWS = 14 };

// Even halves in the lower 16 lanes, odd ones in the upper.
static inline __m512i parted(__m512h sums) {
  const __m512i order = _mm512_set_epi16(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1, 30, 28, 26, 24, 22,
                                         20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  return _mm512_permutexvar_epi16(order, _mm512_castph_si512(sums));
}

static inline __m512 folded(__m512h sums) {
  const __m512i halves = parted(sums);
  return _mm512_add_ps(_mm512_cvtph_ps(_mm512_castsi512_si256(halves)),
                       _mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1)));
}

static inline __m512 finished(const dq_tile *t, int row, __m512 sum) {
  if (t->bias) sum = f32_plus(sum, f32_set(t->bias[row]));
  if (t->leaky) return f32_leaky(sum, f32_set(t->alpha));
  return f32_bounded(sum, f32_set(t->low), f32_set(t->high));
}

// Adds the chains to the totals in c.
static inline __attribute__((always_inline)) void fold(const dq_tile *t, const __m512h sums[][2], bool first, bool last,
                                                       const int rows, const int vectors) {
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
      float *c = (float *)t->c + i * t->c_stride + v * V_WORDS;
      const __mmask16 mask = v_mask(t->columns - v * V_WORDS);
      __m512 total = folded(sums[i][v]);
      if (!first) total = f32_plus(_mm512_maskz_loadu_ps(mask, c), total);
      if (last) total = finished(t, i, total);
      _mm512_mask_storeu_ps(c, mask, total);
    }
}

static inline __attribute__((always_inline)) void tile(const dq_tile *t, const int rows, const int vectors) {
  const uint32_t *a = t->a, *b = t->b;
  const int64_t a_stride = t->a_stride, b_stride = t->b_stride;
  for (int64_t from = 0; from < t->depth; from += DQ_HALF_CHAIN) {
    __m512h sums[ROWS][2];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
      for (int v = 0; v < vectors; v++) sums[i][v] = _mm512_setzero_ph();
    const bool end = t->depth - from <= DQ_HALF_CHAIN;
    for (int64_t k = end ? t->depth - from : DQ_HALF_CHAIN; k > 0; k--, a += a_stride, b += b_stride) {
      __m512h values[2];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) values[v] = _mm512_castsi512_ph(i32_load(b + v * V_WORDS));
#pragma GCC unroll 16
      for (int i = 0; i < rows; i++) {
        const __m512h weight = _mm512_castsi512_ph(i32_broadcast(a + i));
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) sums[i][v] = _mm512_fmadd_ph(values[v], weight, sums[i][v]);
      }
    }
    fold(t, (const __m512h(*)[2])sums, from == 0 && !t->accumulate, end && t->finish, rows, vectors);
  }
}

#define ROWS_CASE(rows)                                                                                                \
  case rows:                                                                                                           \
    if (t->columns > V_WORDS) tile(t, rows, 2);                                                                        \
    else tile(t, rows, 1);                                                                                             \
    return;

void dq_f16_tile_avx512fp16(const dq_tile *t) {
  switch (t->rows) { // each a function of its own, so that all sums stay in registers
    ROWS_CASE(1)
    ROWS_CASE(2)
    ROWS_CASE(3)
    ROWS_CASE(4)
    ROWS_CASE(5)
    ROWS_CASE(6)
    ROWS_CASE(7)
    ROWS_CASE(8)
    ROWS_CASE(9)
    ROWS_CASE(10)
    ROWS_CASE(11)
    ROWS_CASE(12)
    ROWS_CASE(13)
    ROWS_CASE(14)
  }
}
