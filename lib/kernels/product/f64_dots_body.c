// Dot products of some rows of doubles with one vector, four rows at a time.
// Sets: avx2 avx512 neon
#include "lib/kernels/reference/reference.h"
#include "lib/kernels/simd/vector.h"

enum { ROWS = 4, DOUBLES = V_WORDS / 2, VECTORS = DQ_DOT_LANES / DOUBLES };

static void four(const dq_f64_dots *d, const double *rows, double *out) {
  const int64_t whole = d->columns / DQ_DOT_LANES * DQ_DOT_LANES;
  double lanes[ROWS][DQ_DOT_LANES];
  f64_vector sums[ROWS][VECTORS];
#pragma GCC unroll 4
  for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 2
    for (int v = 0; v < VECTORS; v++) sums[r][v] = f64_zero();
  for (int64_t i = 0; i < whole; i += DQ_DOT_LANES)
#pragma GCC unroll 2
    for (int v = 0; v < VECTORS; v++) {
      const f64_vector factor = f64_load(d->vector + i + v * DOUBLES);
#pragma GCC unroll 4
      for (int r = 0; r < ROWS; r++)
        sums[r][v] = f64_plus(sums[r][v], f64_times(f64_load(rows + r * d->stride + i + v * DOUBLES), factor));
    }
#pragma GCC unroll 4
  for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 2
    for (int v = 0; v < VECTORS; v++) f64_store(lanes[r] + v * DOUBLES, sums[r][v]);
  for (int r = 0; r < ROWS; r++)
    out[r] = dq_dot_end(lanes[r], d->columns - whole, rows + r * d->stride + whole, d->vector + whole);
}

void DQ_FOR_SET(dq_f64_dots)(const dq_f64_dots *d) {
  int64_t row = 0;
  for (; row + ROWS <= d->rows; row += ROWS) four(d, d->data + row * d->stride, d->out + row);
  const dq_f64_dots rest = {d->data + row * d->stride, d->vector, d->out + row, d->rows - row, d->columns, d->stride};
  dq_f64_dots_c(&rest);
}
