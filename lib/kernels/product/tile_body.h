// The tile of a matrix product (dq_tile), written once for every instruction set and type. The body that includes this
// file includes vector_<set>.h and defines TILE_FUNCTION (the symbol), TILE_ROWS (at most 14), V(name) (f32_name or
// i32_name, of sums), T(name) (of factors: T(values) and T(weight) load them, T(dot) adds their products) and
// TILE_FLOAT (1 or 0). Where sums are neither read nor stored it also defines TILE_ENDS, and begin_sums(t, sums, rows,
// vectors) and end_sums, with the same parameters. A row of the tile is two vectors, or one where fewer columns are
// left. The words of b are b_stride apart or, in float32, where a table of offsets says.
typedef V(vector) vector;
typedef __typeof__(T(values)(NULL)) values_vector;
typedef __typeof__(T(weight)(NULL)) weight_vector;

#ifndef TILE_ENDS
// The columns of the last vector of a row.
static inline int columns_left(const dq_tile *t, const int vectors) { return t->columns - (vectors - 1) * V_WORDS; }

// Sums go on from c; whole: no row ends within a vector.
static inline __attribute__((always_inline)) void load_sums(const dq_tile *t, vector sums[][2], const int rows,
                                                            const int vectors, const bool whole) {
  const uint32_t *c = t->c;
  const int left = columns_left(t, vectors);
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++, c += t->c_stride)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++)
      if (whole || v + 1 < vectors) sums[i][v] = V(load)(c + v * V_WORDS);
      else sums[i][v] = V(load_some)(c + v * V_WORDS, left);
}

static inline __attribute__((always_inline)) void start_sums(const dq_tile *t, vector sums[][2], const int rows,
                                                             const int vectors) {
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) sums[i][v] = V(zero)();
#if !TILE_FLOAT
  if (!t->start) return;
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) sums[i][v] = i32_set(t->start[i]);
#else
  (void)t;
#endif
}

static inline __attribute__((always_inline)) void store_sums(const dq_tile *t, vector sums[][2], const int rows,
                                                             const int vectors, const bool whole) {
  uint32_t *c = t->c;
  const int64_t c_stride = t->c_stride; // read once: a store might change it
  const int left = columns_left(t, vectors);
  __asm__("" : "+r"(c)); // or the compiler finds the rows of c before the products, and keeps them in memory
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++, c += c_stride)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++)
      if (whole || v + 1 < vectors) V(store)(c + v * V_WORDS, sums[i][v]);
      else V(store_some)(c + v * V_WORDS, sums[i][v], left);
}

#if TILE_FLOAT
// Bias, then activation.
static inline __attribute__((always_inline)) void finish_sums(const dq_tile *t, vector sums[][2], const int rows,
                                                              const int vectors) {
  const vector low = f32_set(t->low), high = f32_set(t->high), alpha = f32_set(t->alpha);
  if (t->bias)
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) sums[i][v] = f32_plus(sums[i][v], f32_set(t->bias[i]));
  if (t->leaky)
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) sums[i][v] = f32_leaky(sums[i][v], alpha);
  else
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) sums[i][v] = f32_bounded(sums[i][v], low, high);
}
#endif

static inline __attribute__((always_inline)) void begin_sums(const dq_tile *t, vector sums[][2], const int rows,
                                                             const int vectors) {
  if (!t->accumulate) start_sums(t, sums, rows, vectors);
  else if (t->columns == vectors * V_WORDS) load_sums(t, sums, rows, vectors, true);
  else load_sums(t, sums, rows, vectors, false);
}

static inline __attribute__((always_inline)) void end_sums(const dq_tile *t, vector sums[][2], const int rows,
                                                           const int vectors) {
#if TILE_FLOAT
  if (t->finish) finish_sums(t, sums, rows, vectors);
#endif
  if (t->columns == vectors * V_WORDS) store_sums(t, sums, rows, vectors, true);
  else store_sums(t, sums, rows, vectors, false);
}
#endif

static inline __attribute__((always_inline)) void add_products(const dq_tile *t, vector sums[][2], const int rows,
                                                               const int vectors, const bool scattered,
                                                               const bool looks_ahead, const bool looks_aside) {
  const uint32_t *a = t->a, *b = t->b;
  const char *ahead = t->ahead;
  const int64_t a_stride = t->a_stride, b_stride = t->b_stride;
  for (int64_t k = 0; k < t->depth; k++, a += a_stride, b += b_stride) {
    if (looks_ahead) __builtin_prefetch(ahead + k * 64, 0, 2);
    if (looks_aside) {
      __builtin_prefetch(ahead + k * t->ahead_stride * 4, 0, 2);
      __builtin_prefetch(ahead + k * t->ahead_stride * 4 + 64, 0, 2);
    }
    const uint32_t *from = scattered ? (const uint32_t *)t->b + t->offsets[k] : b;
    values_vector values[2];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) values[v] = T(values)(from + v * V_WORDS);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
      weight_vector weight = T(weight)(a + i);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) sums[i][v] = T(dot)(sums[i][v], values[v], weight);
    }
  }
}

static inline __attribute__((always_inline)) void tile(const dq_tile *t, const int rows, const int vectors) {
  vector sums[TILE_ROWS][2];
  begin_sums(t, sums, rows, vectors);
  if (TILE_FLOAT && t->offsets) add_products(t, sums, rows, vectors, true, false, false);
  else if (TILE_FLOAT && t->ahead_stride) add_products(t, sums, rows, vectors, false, false, true);
  else if (t->ahead) add_products(t, sums, rows, vectors, false, true, false);
  else add_products(t, sums, rows, vectors, false, false, false);
  end_sums(t, sums, rows, vectors);
}

#include "lib/kernels/product/tile_rows_body.h"
