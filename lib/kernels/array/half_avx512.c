// binary16 conversions by AVX-512, 16 at a time, the last few under a mask.
#include "lib/kernels/simd/vector_avx512.h"

enum { NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

void dq_f32_to_f16_avx512(const float *input, uint16_t *output, int64_t count) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    _mm256_storeu_si256((void *)(output + i), _mm512_cvtps_ph(_mm512_loadu_ps(input + i), NEAREST));
  if (i == count) return;
  const __mmask16 rest = (__mmask16)v_bits_below(count - i);
  __m512 x = _mm512_maskz_loadu_ps(rest, input + i);
  _mm256_mask_storeu_epi16(output + i, rest, _mm512_cvtps_ph(x, NEAREST));
}

void dq_f32_to_f16_leaky_avx512(const float *input, float alpha, uint16_t *output, int64_t count) {
  const __m512 slope = f32_set(alpha);
  for (int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = (__mmask16)v_bits_below(count - i);
    __m512 x = _mm512_cvtph_ps(_mm512_cvtps_ph(_mm512_maskz_loadu_ps(mask, input + i), NEAREST));
    _mm256_mask_storeu_epi16(output + i, mask, _mm512_cvtps_ph(f32_leaky(x, slope), NEAREST));
  }
}

void dq_f16_to_f32_avx512(const uint16_t *input, float *output, int64_t count) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    _mm512_storeu_ps(output + i, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(input + i))));
  if (i == count) return;
  const __mmask16 rest = (__mmask16)v_bits_below(count - i);
  __m256i half = _mm256_maskz_loadu_epi16(rest, input + i);
  _mm512_mask_storeu_ps(output + i, rest, _mm512_cvtph_ps(half));
}

void dq_round_f16_avx512(const float *input, float *output, int64_t count) {
  for (int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = (__mmask16)v_bits_below(count - i);
    __m256i half = _mm512_cvtps_ph(_mm512_maskz_loadu_ps(mask, input + i), NEAREST);
    _mm512_mask_storeu_ps(output + i, mask, _mm512_cvtph_ps(half));
  }
}

// The taken halves, stride (1 or 2) apart, widened to words; no other half is read.
static inline __attribute__((always_inline)) __m512i load_halves(const void *from, word_range range, const int stride) {
  if (stride == 1) return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16((__mmask16)range.taken, from));
  return _mm512_and_si512(_mm512_maskz_loadu_epi16(range.spread, from), i32_set(0xffff));
}

static inline __attribute__((always_inline)) void expand_pairs(const dq_expansion *e, const int stride) {
  const __m512i pad = i32_set((int32_t)e->pad);
  const uint8_t *rows[2] = {e->rows[0], e->rows[1]};
  for (int64_t at = 0; at < e->width; at += 16) {
    const word_range range = i32_word_range(e, at);
    uint32_t *to = (uint32_t *)e->words + at;
    int64_t from = (at - e->first) * stride * 2;
    for (int64_t line = e->lines; line > 0; line--, to += e->width, from += e->line_step) {
      __m512i words = load_halves(rows[0] + from, range, stride);
      if (rows[1]) words = _mm512_or_si512(words, _mm512_slli_epi32(load_halves(rows[1] + from, range, stride), 16));
      i32_store_range(to, words, range, pad);
    }
  }
}

void dq_f16_pairs_expand_avx512(const dq_expansion *e) {
  if (e->stride == 1) expand_pairs(e, 1);
  else if (e->stride == 2) expand_pairs(e, 2);
  else dq_f16_pairs_expand_c(e);
}

// Strides 1 and 2 by vectors with masks, which are the same for every line.
static inline __attribute__((always_inline)) void expand(const dq_expansion *e, const int stride) {
  const __m512i pad = i32_set((int32_t)e->pad);
  for (int64_t at = 0; at < e->width; at += 16) {
    const word_range range = i32_word_range(e, at);
    uint32_t *to = (uint32_t *)e->words + at;
    const uint8_t *from = (const uint8_t *)e->rows[0] + (at - e->first) * stride * 2;
    for (int64_t line = e->lines; line > 0; line--, to += e->width, from += e->line_step) {
      __m256i half = stride == 1 ? _mm256_maskz_loadu_epi16((__mmask16)range.taken, from)
                                 : _mm512_cvtepi32_epi16(_mm512_maskz_loadu_epi16(range.spread, from));
      i32_store_range(to, _mm512_castps_si512(_mm512_cvtph_ps(half)), range, pad);
    }
  }
}

void dq_f16_expand_avx512(const dq_expansion *e) {
  if (e->stride == 1) expand(e, 1);
  else if (e->stride == 2) expand(e, 2);
  else dq_f16_expand_avx2(e);
}
