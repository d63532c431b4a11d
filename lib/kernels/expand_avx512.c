// Input rows to words for AVX-512: strides 1 and 2 by vectors with masks, since rows are often short;
// other strides by loops.
#include "lib/kernels/vector_avx512.h"

static inline __attribute__((always_inline)) void take_pairs(const dq_expansion *e, const int stride) {
  const __m512i flip = _mm512_set1_epi16(e->is_signed ? 128 : 0);
  const __m512i zero = _mm512_set1_epi16((short)(e->zero_point + (e->is_signed ? 128 : 0)));
  const uint8_t *first = e->rows[0], *second = e->rows[1];
  uint32_t *to = e->words;
  for (int64_t at = 0; at < e->count; at += 16) {
    int64_t left = e->count - at;
    __m512i low = i32_take_bytes(first, at, left, stride), high = i32_take_bytes(second, at, left, stride);
    __m512i pairs = _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
    pairs = _mm512_sub_epi16(_mm512_xor_si512(pairs, flip), zero);
    i32_store_some(to + at, pairs, left < 16 ? (int)left : 16);
  }
}

void dq_i16_expand_avx512(const dq_expansion *e) {
  if (e->stride == 1)
    take_pairs(e, 1);
  else if (e->stride == 2)
    take_pairs(e, 2);
  else
    dq_i16_expand_c(e);
}

void dq_f32_expand_avx512(const dq_expansion *e) {
  const float *from = e->rows[0];
  float *to = e->words;
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  if (e->stride > 2) {
    dq_f32_expand_c(e);
    return;
  }
  for (int64_t at = 0; at < e->count; at += 16) {
    int left = e->count - at < 16 ? (int)(e->count - at) : 16;
    __m512 values;
    if (e->stride == 1) {
      values = f32_load_some(from + at, left);
    } else {
      __m512 low = f32_load_some(from + 2 * at, 2 * left - 1);
      __m512 high = f32_load_some(from + 2 * at + 16, 2 * left - 17);
      values = _mm512_permutex2var_ps(low, even, high);
    }
    f32_store_some(to + at, values, left);
  }
}
