// Input bytes to words of four for vpdpbusd, whose first operand is unsigned: strides 1 and 2 by
// vectors with masks, since rows are often short and padded; other strides by loops.
#include "lib/kernels/simd/vector_avx512.h"

// 64 words whose bytes are all taken from the input and side by side.
static inline __attribute__((always_inline)) void expand_whole(const dq_expansion *e, int64_t at, __m512i flip) {
  // Unpacking works in lanes of 128 bits: lane l gets the bytes of words 4 l, 16 + 4 l, 32 + 4 l and
  // 48 + 4 l, so that what is unpacked has words in their order.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  uint32_t *to = (uint32_t *)e->words + at;
  const uint8_t *const rows[4] = {e->rows[0], e->rows[1], e->rows[2], e->rows[3]};
  int64_t from = at - e->first;
  for (int64_t line = e->lines; line > 0; line--, to += e->width, from += e->line_step) {
    __m512i b[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      __m512i bytes = _mm512_xor_si512(_mm512_loadu_si512(rows[i] + from), flip);
      b[i] = _mm512_permutexvar_epi32(order, bytes);
    }
    __m512i low = _mm512_unpacklo_epi8(b[0], b[1]), high = _mm512_unpackhi_epi8(b[0], b[1]);
    __m512i low2 = _mm512_unpacklo_epi8(b[2], b[3]), high2 = _mm512_unpackhi_epi8(b[2], b[3]);
    _mm512_storeu_si512(to, _mm512_unpacklo_epi16(low, low2));
    _mm512_storeu_si512(to + 16, _mm512_unpackhi_epi16(low, low2));
    _mm512_storeu_si512(to + 32, _mm512_unpacklo_epi16(high, high2));
    _mm512_storeu_si512(to + 48, _mm512_unpackhi_epi16(high, high2));
  }
}

// 16 words or fewer; masks are the same for every line.
static inline __attribute__((always_inline)) void expand_some(const dq_expansion *e, int64_t at, __m512i flip,
                                                              const int stride) {
  const __m512i pad = i32_set((int32_t)e->pad);
  const word_range range = i32_word_range(e, at);
  const uint8_t *const rows[4] = {e->rows[0], e->rows[1], e->rows[2], e->rows[3]};
  uint32_t *to = (uint32_t *)e->words + at;
  int64_t from = (at - e->first) * stride;
  for (int64_t line = e->lines; line > 0; line--, to += e->width, from += e->line_step) {
    __m512i bytes[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) bytes[i] = i32_take_bytes(rows[i] + from, range, stride);
    __m512i low = _mm512_or_si512(bytes[0], _mm512_slli_epi32(bytes[1], 8));
    __m512i high = _mm512_or_si512(bytes[2], _mm512_slli_epi32(bytes[3], 8));
    __m512i word = _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
    i32_store_range(to, _mm512_xor_si512(word, flip), range, pad);
  }
}

static inline __attribute__((always_inline)) void expand(const dq_expansion *e, const int stride) {
  const __m512i flip = i32_set(e->flips ? (int32_t)0x80808080u : 0);
  for (int64_t at = 0; at < e->width;) {
    if (stride == 1 && at >= e->first && at + 64 <= e->end) {
      expand_whole(e, at, flip);
      at += 64;
    } else {
      expand_some(e, at, flip, stride);
      at += 16;
    }
  }
}

static void expand_any(const dq_expansion *e) {
  uint32_t *to = e->words;
  for (int64_t line = 0; line < e->lines; line++)
    for (int64_t at = 0; at < e->width; at++) {
      bool inside = at >= e->first && at < e->end;
      int64_t from = line * e->line_step + (at - e->first) * e->stride;
      uint32_t word = 0;
      for (int row = 3; inside && row >= 0; row--) word = word << 8 | ((const uint8_t *)e->rows[row])[from];
      *to++ = inside ? word ^ (e->flips ? 0x80808080u : 0) : e->pad;
    }
}

void dq_u8s8_expand_vnni(const dq_expansion *e) {
  if (e->stride == 1) expand(e, 1);
  else if (e->stride == 2) expand(e, 2);
  else expand_any(e);
}
