// Input bytes to words of four for vpdpbusd, whose first operand is unsigned: strides 1 and 2 by
// vectors with masks, since rows are often short and padded; other strides by loops.
#include "lib/kernels/vector_avx512.h"

static inline __attribute__((always_inline)) void take(const dq_expansion *e, const int stride) {
  const __m512i flip = i32_set(e->is_signed ? (int32_t)0x80808080u : 0);
  const __m512i pad = i32_set((int32_t)e->pad);
  for (int64_t at = 0; at < e->width; at += 16) { // masks are the same for every line
    word_range range = i32_word_range(e, at);
    uint32_t *to = (uint32_t *)e->words + at;
    int64_t from = (at - e->first) * stride;
    for (int64_t line = 0; line < e->lines; line++, to += e->width, from += e->line_step) {
      __m512i bytes[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; i++)
        bytes[i] = i32_take_bytes((const uint8_t *)e->rows[i] + from, range, stride);
      __m512i low = _mm512_or_si512(bytes[0], _mm512_slli_epi32(bytes[1], 8));
      __m512i high = _mm512_or_si512(bytes[2], _mm512_slli_epi32(bytes[3], 8));
      __m512i word = _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
      i32_store_range(to, _mm512_xor_si512(word, flip), range, pad);
    }
  }
}

static void take_any(const dq_expansion *e) {
  uint32_t *to = e->words;
  for (int64_t line = 0; line < e->lines; line++)
    for (int64_t at = 0; at < e->width; at++) {
      bool inside = at >= e->first && at < e->end;
      int64_t from = line * e->line_step + (at - e->first) * e->stride;
      uint32_t word = 0;
      for (int row = 3; inside && row >= 0; row--)
        word = word << 8 | ((const uint8_t *)e->rows[row])[from];
      *to++ = inside ? word ^ (e->is_signed ? 0x80808080u : 0) : e->pad;
    }
}

void dq_u8s8_expand_vnni(const dq_expansion *e) {
  if (e->stride == 1) take(e, 1);
  else if (e->stride == 2) take(e, 2);
  else take_any(e);
}
