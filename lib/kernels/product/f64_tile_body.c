// Tile of sums in double precision: as many rows as a tile of float32 has, of two vectors each.
// Sets: avx2 avx512 neon
#include "lib/kernels/simd/vector.h"

enum { ROWS = F32_TILE_ROWS, DOUBLES = V_WORDS / 2 };

void DQ_FOR_SET(dq_f64_tile)(const dq_f64_tile *t) {
  f64_vector sums[ROWS][2];
  const double *a = t->a, *b = t->b;
#pragma GCC unroll 16
  for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 2
    for (int v = 0; v < 2; v++)
      sums[i][v] = t->accumulate ? f64_load(t->c + i * t->c_stride + v * DOUBLES) : f64_zero();
  for (int64_t k = 0; k < t->depth; k++, a += ROWS, b += 2 * DOUBLES) {
    const f64_vector first = f64_load(b), second = f64_load(b + DOUBLES);
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++) {
      const f64_vector factor = f64_broadcast(a + i);
      sums[i][0] = f64_dot(sums[i][0], first, factor);
      sums[i][1] = f64_dot(sums[i][1], second, factor);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 2
    for (int v = 0; v < 2; v++) f64_store(t->c + i * t->c_stride + v * DOUBLES, sums[i][v]);
}
