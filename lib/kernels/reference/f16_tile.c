// Tile of float16 sums in plain C: what f16_tile means, and slow.
#include "lib/base/half.h"
#include "lib/kernels/reference/reference.h"
#include "lib/kernels/reference/scalar.h"

// One chain of the words from `at` on, of the first (0) or the second (1) channels.
static float chain(const dq_tile *t, int64_t at, int row, int column, int channel) {
  const uint32_t *a = (const uint32_t *)t->a + row, *b = (const uint32_t *)t->b + column;
  uint16_t sum = 0;
  int64_t end = t->depth - at < DQ_HALF_CHAIN ? t->depth : at + DQ_HALF_CHAIN;
  for (int64_t k = at; k < end; k++)
    sum = dq_half_fma((uint16_t)(b[k * t->b_stride] >> 16 * channel), (uint16_t)(a[k * t->a_stride] >> 16 * channel),
                      sum);
  return dq_half_to_float(sum);
}

static float finish(const dq_tile *t, int row, float sum) {
  if (t->bias) sum += t->bias[row];
  return dq_bounded(sum, (dq_bounds){t->leaky, t->low, t->high, t->alpha});
}

void dq_f16_tile_c(const dq_tile *t) {
  for (int i = 0; i < t->rows; i++)
    for (int j = 0; j < t->columns; j++) {
      float *total = (float *)t->c + i * t->c_stride + j;
      for (int64_t k = 0; k < t->depth; k += DQ_HALF_CHAIN) {
        float sum = chain(t, k, i, j, 0) + chain(t, k, i, j, 1);
        *total = k || t->accumulate ? *total + sum : sum;
      }
      if (t->finish) *total = finish(t, i, *total);
    }
}
