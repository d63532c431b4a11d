// Rotations of rows of doubles. A sweep rotates neighbouring rows, the last ones first: the row that the next rotation
// reads as well stays in registers.
// Sets: avx2 avx512 neon
#include "lib/kernels/simd/vector.h"

enum { DOUBLES = V_WORDS / 2, VECTORS = DQ_ROTATED_COLUMNS / DOUBLES };

void DQ_FOR_SET(dq_f64_rotations)(const dq_rotation *rotations, int64_t count, double *rows) {
  const dq_rotation *r = rotations, *end = rotations + count;
  while (r < end) {
    double *low = rows + r->row * DQ_ROTATED_COLUMNS;
    f64_vector high[VECTORS];
#pragma GCC unroll 8
    for (int v = 0; v < VECTORS; v++) high[v] = f64_load(low + DQ_ROTATED_COLUMNS + v * DOUBLES);
    do {
      low = rows + r->row * DQ_ROTATED_COLUMNS;
      const f64_vector cosine = f64_broadcast(&r->cosine), sine = f64_broadcast(&r->sine);
#pragma GCC unroll 8
      for (int v = 0; v < VECTORS; v++) {
        const f64_vector a = f64_load(low + v * DOUBLES);
        f64_store(low + DQ_ROTATED_COLUMNS + v * DOUBLES, f64_plus(f64_times(sine, a), f64_times(cosine, high[v])));
        high[v] = f64_minus(f64_times(cosine, a), f64_times(sine, high[v]));
      }
      r++;
    } while (r < end && r->row == r[-1].row - 1);
#pragma GCC unroll 8
    for (int v = 0; v < VECTORS; v++) f64_store(low + v * DOUBLES, high[v]);
  }
}
