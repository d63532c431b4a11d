// Sums whose columns are output channels, laid out as channels again: the transposition of a matrix with
// bias and activation, written once for every instruction set on top of vector_<set>.h.
// Sets: avx2 avx512
#include "lib/kernels/simd/vector.h"

// V_WORDS vectors become the columns of the square they are the rows of: each round interleaves vectors
// half the square apart, which rotates the bits of an element's place by one.
static inline __attribute__((always_inline)) void transpose(f32_vector *x) {
  for (int round = 1; round < V_WORDS; round *= 2) {
    f32_vector pairs[V_WORDS];
#pragma GCC unroll 8
    for (int k = 0; k < V_WORDS / 2; k++) {
      pairs[2 * k] = x[k], pairs[2 * k + 1] = x[k + V_WORDS / 2];
      f32_merge_2(pairs + 2 * k);
    }
#pragma GCC unroll 16
    for (int k = 0; k < V_WORDS; k++) x[k] = pairs[k];
  }
}

// One square, or what there is of it where it is not whole; ends: there is a bias or an activation.
static inline __attribute__((always_inline)) void transpose_square(const dq_columns *c, int64_t row, int64_t column,
                                                                   const bool scattered, const bool ends,
                                                                   const bool whole) {
  const f32_lanes loaded = f32_lanes_between(0, c->columns - column), stored = f32_lanes_between(0, c->rows - row);
  const float *from = NULL;
  float *to = c->to + column * c->to_stride + row;
  f32_vector x[V_WORDS];
#pragma GCC unroll 16
  for (int i = 0; i < V_WORDS; i++) {
    const bool there = whole || row + i < c->rows; // else a row again
    if (there) from = c->from + (scattered ? c->offsets[row + i] : (row + i) * c->from_stride) + column;
    x[i] = whole ? f32_load(from) : f32_load_lanes(from, loaded);
  }
  transpose(x);
#pragma GCC unroll 16
  for (int j = 0; j < V_WORDS; j++, to += c->to_stride) {
    if (!whole && column + j >= c->columns) return;
    if (ends && c->bias) x[j] = f32_plus(x[j], f32_set(c->bias[column + j]));
    if (ends && c->leaky) x[j] = f32_leaky(x[j], f32_set(c->alpha));
    else if (ends) x[j] = f32_bounded(x[j], f32_set(c->low), f32_set(c->high));
    if (whole) f32_store(to, x[j]);
    else f32_store_lanes(to, x[j], stored);
  }
}

static inline __attribute__((always_inline)) void transpose_all(const dq_columns *form, const bool scattered,
                                                                const bool ends) {
  const dq_columns copy = *form, *c = &copy; // which no store can change
  for (int64_t column = 0; column < c->columns; column += V_WORDS)
    for (int64_t row = 0; row < c->rows; row += V_WORDS)
      if (column + V_WORDS <= c->columns && row + V_WORDS <= c->rows)
        transpose_square(c, row, column, scattered, ends, true);
      else transpose_square(c, row, column, scattered, ends, false);
}

void DQ_FOR_SET(dq_f32_columns)(const dq_columns *c) {
  if (c->ends) transpose_all(c, false, true);
  else if (c->offsets) transpose_all(c, true, false);
  else transpose_all(c, false, false);
}
