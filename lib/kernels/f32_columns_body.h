// Sums whose columns are output channels, laid out as channels again: the transposition of a matrix with
// bias and activation, written once for every instruction set on top of a vector_<isa>.h. The including
// file defines COLUMNS_FUNCTION (the symbol).

// V_WORDS vectors become the columns of the square they are the rows of: each round interleaves vectors
// half the square apart, which turns the bits of an element's place by one.
static inline __attribute__((always_inline)) void transpose(f32_vector *x) {
#if V_WORDS > 1
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
#else
  (void)x;
#endif
}

void COLUMNS_FUNCTION(const dq_columns *c) {
  const f32_vector low = f32_set(c->low), high = f32_set(c->high), alpha = f32_set(c->alpha);
  for (int64_t column = 0; column < c->columns; column += V_WORDS)
    for (int64_t row = 0; row < c->rows; row += V_WORDS) {
      f32_vector x[V_WORDS];
      for (int64_t i = 0; i < V_WORDS; i++)
        x[i] = f32_load(c->from + (row + i < c->rows ? row + i : row) * c->from_stride + column);
      transpose(x);
      for (int64_t j = 0; j < V_WORDS && column + j < c->columns; j++) {
        f32_vector y = c->bias ? f32_plus(x[j], f32_set(c->bias[column + j])) : x[j];
        y = c->leaky ? f32_leaky(y, alpha) : f32_bounded(y, low, high);
        f32_store_some(c->to + (column + j) * c->to_stride + row, y, (int)(c->rows - row));
      }
    }
}
