// The end of fp32 sums of a row: bias, then activation; for the bodies of tiles.
static inline __attribute__((always_inline)) f32_vector finished(const dq_tile *t, int row, f32_vector sum) {
  if (t->bias) sum = f32_plus(sum, f32_set(t->bias[row]));
  if (t->leaky) return f32_leaky(sum, f32_set(t->alpha));
  return f32_bounded(sum, f32_set(t->low), f32_set(t->high));
}
