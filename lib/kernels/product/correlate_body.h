// One row of sums over a flat plane (depthwise convolution, dq_correlation), written once for every instruction set and
// type. The body that includes this file includes vector_<set>.h and defines CORRELATE_FUNCTION (the symbol), V(name)
// (f32_name or i32_name, of sums), T(name) (of factors: T(values) and T(weight) load them, T(dot) adds their
// products) and CORRELATE_FLOAT (1 or 0).
typedef V(vector) vector;
typedef __typeof__(T(weight)(NULL)) weight_vector;

static inline __attribute__((always_inline)) vector finish(const dq_correlation *p, vector sum) {
#if CORRELATE_FLOAT
  if (p->has_bias) sum = f32_plus(sum, f32_set(p->bias));
  if (p->leaky) return f32_leaky(sum, f32_set(p->alpha));
  return f32_bounded(sum, f32_set(p->low), f32_set(p->high));
#else
  (void)p;
  return sum;
#endif
}

void CORRELATE_FUNCTION(const dq_correlation *p) {
  const uint32_t *a = p->a, *b = p->b;
  uint32_t *c = p->c;
  for (int64_t j = 0; j < p->count; j += 4 * V_WORDS) {
    vector sums[4];
#if CORRELATE_FLOAT
    sums[0] = sums[1] = sums[2] = sums[3] = f32_zero();
#else
    sums[0] = sums[1] = sums[2] = sums[3] = i32_set(p->start);
#endif
    for (int64_t t = 0; t < p->taps; t++) {
      const uint32_t *from = b + p->offsets[t] + j;
      weight_vector weight = T(weight)(a + t);
#pragma GCC unroll 4
      for (int v = 0; v < 4; v++) sums[v] = T(dot)(sums[v], T(values)(from + v * V_WORDS), weight);
    }
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) V(store)(c + j + v * V_WORDS, finish(p, sums[v]));
  }
}
