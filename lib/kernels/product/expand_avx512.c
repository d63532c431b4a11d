// Input rows to words for AVX-512: strides 1 and 2 by vectors with masks, since rows are often
// short and padded; other strides by loops.
#include "lib/kernels/simd/vector_avx512.h"

static inline __attribute__((always_inline)) void expand_pairs(const dq_expansion *e, const int stride) {
  const __m512i flip = _mm512_set1_epi16(e->is_signed ? 128 : 0), pad = i32_set((int32_t)e->pad);
  const __m512i zero = _mm512_set1_epi16((short)(e->zero_point + (e->is_signed ? 128 : 0)));
  for (int64_t at = 0; at < e->width; at += 16) { // masks are the same for every line
    word_range range = i32_word_range(e, at);
    uint32_t *to = (uint32_t *)e->words + at;
    int64_t from = (at - e->first) * stride;
    for (int64_t line = 0; line < e->lines; line++, to += e->width, from += e->line_step) {
      __m512i low = i32_take_bytes((const uint8_t *)e->rows[0] + from, range, stride);
      __m512i high = i32_take_bytes((const uint8_t *)e->rows[1] + from, range, stride);
      __m512i pairs = _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
      pairs = _mm512_sub_epi16(_mm512_xor_si512(pairs, flip), zero);
      i32_store_range(to, pairs, range, pad);
    }
  }
}

void dq_i16_expand_avx512(const dq_expansion *e) {
  if (e->stride == 1) expand_pairs(e, 1);
  else if (e->stride == 2) expand_pairs(e, 2);
  else dq_i16_expand_c(e);
}

static inline __attribute__((always_inline)) __m512 load_floats(const float *from, word_range range, const int stride) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  if (stride == 1) return _mm512_maskz_loadu_ps((__mmask16)range.taken, from);
  __m512 low = _mm512_maskz_loadu_ps((__mmask16)range.spread, from);
  __m512 high = _mm512_maskz_loadu_ps((__mmask16)(range.spread >> 16), from + 16);
  return _mm512_permutex2var_ps(low, even, high);
}

static inline __attribute__((always_inline)) void expand_floats(const dq_expansion *e, const int stride) {
  const __m512i pad = i32_set((int32_t)e->pad);
  for (int64_t at = 0; at < e->width; at += 16) { // masks are the same for every line
    word_range range = i32_word_range(e, at);
    uint32_t *to = (uint32_t *)e->words + at;
    const uint8_t *from = (const uint8_t *)e->rows[0] + (at - e->first) * stride * 4;
    for (int64_t line = 0; line < e->lines; line++, to += e->width, from += e->line_step) {
      __m512 values = load_floats((const float *)(const void *)from, range, stride);
      i32_store_range(to, _mm512_castps_si512(values), range, pad);
    }
  }
}

void dq_f32_expand_avx512(const dq_expansion *e) {
  if (e->stride == 1) expand_floats(e, 1);
  else if (e->stride == 2) expand_floats(e, 2);
  else dq_f32_expand_c(e);
}
