// A tile of bytes whose sums run in 16 bits over as many words as provably fit (conv_sums16.c), then in 32: a run of
// n words takes n products (two bytes times two, added), n - 1 sums in 16 bits and one widening. Sums of 16
// bits are what stays in registers; those of 32 bits are touched once a run, where they will be stored.
// Sets: avx2 avx512
#include <string.h>

#include "lib/kernels/simd/vector.h"

#define TILE_FUNCTION DQ_FOR_SET(dq_u8s8_sums16_tile)
#define TILE_ROWS SUMS16_TILE_ROWS

// The compiler would rather have the sums of a run in memory and in registers.
#define KEEP_IN_REGISTER(x) __asm__("" : "+x"(x))

static inline __attribute__((always_inline)) void multiply_word(const uint32_t *b, const uint32_t *a,
                                                                i32_vector products[][2], const int rows,
                                                                const int vectors, const bool first) {
  i32_vector values[2];
#pragma GCC unroll 2
  for (int v = 0; v < vectors; v++) values[v] = i32_load(b + v * V_WORDS);
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++) {
    i32_vector weight = i32_broadcast(a + i);
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
      i32_vector one = pair_products(values[v], weight);
      products[i][v] = first ? one : i16_plus(products[i][v], one);
      KEEP_IN_REGISTER(products[i][v]);
    }
  }
}

static inline __attribute__((always_inline)) void add_runs(const dq_tile *t, uint32_t *c, int64_t c_stride,
                                                           const int rows, const int vectors) {
  const uint32_t *a = t->a, *b = t->b, *step = t->steps;
  const int64_t a_stride = t->a_stride, b_stride = t->b_stride;
  for (int64_t r = 0; r < t->run_count; r++) {
    i32_vector products[TILE_ROWS][2];
    multiply_word(b + *step++ * b_stride, a, products, rows, vectors, true);
    a += a_stride;
    for (uint32_t left = t->runs[r] - 1; left > 0; left--, a += a_stride)
      multiply_word(b + *step++ * b_stride, a, products, rows, vectors, false);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) {
        uint32_t *sum = c + i * c_stride + v * V_WORDS;
        i32_store(sum, pair_widened(i32_load(sum), products[i][v]));
      }
  }
}

static inline __attribute__((always_inline)) void tile(const dq_tile *t, const int rows, const int vectors) {
  enum { WIDTH = 2 * V_WORDS };
  uint32_t buffer[TILE_ROWS * WIDTH]; // for columns that end within a vector
  bool whole = t->columns == vectors * V_WORDS;
  uint32_t *c = whole ? t->c : buffer;
  int64_t c_stride = whole ? t->c_stride : WIDTH;
  for (int i = 0; i < rows; i++)
    for (int v = 0; v < vectors; v++) i32_store(c + i * c_stride + v * V_WORDS, i32_set(t->start[i]));
  add_runs(t, c, c_stride, rows, vectors);
  for (int i = 0; !whole && i < rows; i++)
    memcpy((uint32_t *)t->c + i * t->c_stride, buffer + i * WIDTH, (size_t)t->columns * sizeof *buffer);
}

#include "lib/kernels/product/tile_rows_body.h"
