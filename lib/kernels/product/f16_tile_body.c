// The tile of float16 sums: words of two channels. Every chain of DQ_HALF_CHAIN words runs in float16, first and
// second channels apart; then both become float32 and are added to the total, which waits in c.
// Sets: avx512fp16 fp16
#include "lib/kernels/simd/vector.h"

#define TILE_FUNCTION DQ_FOR_SET(dq_f16_tile)
#define TILE_ROWS F16_TILE_ROWS
#include "lib/kernels/product/tile_finish_body.h"

static inline __attribute__((always_inline)) void fold(const dq_tile *t, const f16x2_vector sums[][2], bool first,
                                                       bool last, const int rows, const int vectors) {
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
      float *c = (float *)t->c + i * t->c_stride + v * V_WORDS;
      const int count = t->columns - v * V_WORDS;
      f32_vector total = f16x2_folded(sums[i][v]);
      if (!first) total = f32_plus(f32_load_some(c, count), total);
      if (last) total = finished(t, i, total);
      f32_store_some(c, total, count);
    }
}

static inline __attribute__((always_inline)) void chains(const dq_tile *t, const int rows, const int vectors,
                                                         const bool looks_ahead) {
  const uint32_t *a = t->a, *b = t->b;
  const char *ahead = t->ahead;
  const int64_t a_stride = t->a_stride, b_stride = t->b_stride;
  for (int64_t from = 0; from < t->depth; from += DQ_HALF_CHAIN) {
    f16x2_vector sums[TILE_ROWS][2];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) sums[i][v] = f16x2_zero();
    const bool end = t->depth - from <= DQ_HALF_CHAIN;
    for (int64_t k = end ? t->depth - from : DQ_HALF_CHAIN; k > 0; k--, a += a_stride, b += b_stride) {
      if (looks_ahead) __builtin_prefetch(ahead, 0, 2), ahead += 64;
      f16x2_vector values[2];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) values[v] = f16x2_values(b + v * V_WORDS);
#pragma GCC unroll 16
      for (int i = 0; i < rows; i++) {
        const f16x2_vector weight = f16x2_weight(a + i);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) sums[i][v] = f16x2_dot(sums[i][v], values[v], weight);
      }
    }
    fold(t, (const f16x2_vector(*)[2])sums, from == 0 && !t->accumulate, end && t->finish, rows, vectors);
  }
}

static inline __attribute__((always_inline)) void tile(const dq_tile *t, const int rows, const int vectors) {
  if (t->ahead) chains(t, rows, vectors, true);
  else chains(t, rows, vectors, false);
}

#include "lib/kernels/product/tile_rows_body.h"
