// The tile of a matrix product (dq_tile), written once for every instruction set and type. The body that includes this
// file includes vector_<set>.h and defines TILE_FUNCTION (the symbol), TILE_ROWS (at most 14), V(name) (f32_name or
// i32_name, of sums), T(name) (of factors: T(values) and T(weight) load them, T(dot) adds their products) and
// TILE_FLOAT (1 or 0). A row of the tile is two vectors, or one where fewer columns are left. The words of b are
// b_stride apart or, in float32, where a table of offsets says.
typedef V(vector) vector;
typedef __typeof__(T(values)(NULL)) values_vector;
typedef __typeof__(T(weight)(NULL)) weight_vector;

#if TILE_FLOAT
#include "lib/kernels/product/tile_finish_body.h"
#endif

static inline __attribute__((always_inline)) void start_row(const dq_tile *t, int row, vector *sums,
                                                            const int vectors) {
  const uint32_t *c = (const uint32_t *)t->c + row * t->c_stride;
  for (int v = 0; v < vectors; v++) {
    int count = t->columns - v * V_WORDS;
    if (t->accumulate) sums[v] = count >= V_WORDS ? V(load)(c + v * V_WORDS) : V(load_some)(c + v * V_WORDS, count);
#if !TILE_FLOAT
    else if (t->start) sums[v] = i32_set(t->start[row]);
#endif
    else sums[v] = V(zero)();
  }
}

static inline __attribute__((always_inline)) void store_row(const dq_tile *t, int row, const vector *sums,
                                                            const int vectors) {
  uint32_t *c = (uint32_t *)t->c + row * t->c_stride;
  for (int v = 0; v < vectors; v++) {
    int count = t->columns - v * V_WORDS;
    if (count >= V_WORDS) V(store)(c + v * V_WORDS, sums[v]);
    else V(store_some)(c + v * V_WORDS, sums[v], count);
  }
}

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
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++) start_row(t, i, sums[i], vectors);
  if (TILE_FLOAT && t->offsets) add_products(t, sums, rows, vectors, true, false, false);
  else if (TILE_FLOAT && t->ahead_stride) add_products(t, sums, rows, vectors, false, false, true);
  else if (t->ahead) add_products(t, sums, rows, vectors, false, true, false);
  else add_products(t, sums, rows, vectors, false, false, false);
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++) {
#if TILE_FLOAT
    if (t->finish)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; v++) sums[i][v] = finished(t, i, sums[i][v]);
#endif
    store_row(t, i, sums[i], vectors);
  }
}

#include "lib/kernels/product/tile_rows_body.h"
