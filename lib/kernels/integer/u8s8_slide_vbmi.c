// Depthwise sums of bytes for AVX-512 VBMI and VNNI: a byte permutation lays four neighbouring taps under
// each of 16 outputs, whatever the stride and dilation.
#include "lib/kernels/simd/vector_vnni.h"

// `count` vectors of sums, a constant.
static inline __attribute__((always_inline)) void slide(const dq_slide *s, int64_t from, const int count) {
  const __m512i index = _mm512_loadu_si512(s->index);
  const uint8_t *plane = s->plane + from * s->step;
  const int64_t step = s->step;
  __m512i sums[4];
  for (int v = 0; v < count; v++) sums[v] = i32_set(s->start);
  for (int64_t k = 0; k < s->words; k++) {
    const uint8_t *at = plane + s->offsets[k];
    const __m512i weight = i32_set((int32_t)s->weights[k]);
#pragma GCC unroll 4
    for (int v = 0; v < count; v++)
      sums[v] = u8s8_dot(sums[v], _mm512_permutexvar_epi8(index, i32_load(at + v * step)), weight);
  }
  for (int v = 0; v < count; v++) i32_store(s->sums + (from + v) * DQ_SLIDE_LANES, sums[v]);
}

void dq_u8s8_slide_vbmi(const dq_slide *s) {
  int64_t v = 0;
  for (; v + 4 <= s->vectors; v += 4) slide(s, v, 4);
  switch (s->vectors - v) {
  case 3: slide(s, v, 3); break;
  case 2: slide(s, v, 2); break;
  case 1: slide(s, v, 1); break;
  default: break;
  }
}
