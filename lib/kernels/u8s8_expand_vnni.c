// Input bytes to words of four for vpdpbusd, whose first operand is unsigned: strides 1 and 2 by vectors
// with masks, since rows are often short.
#include "lib/kernels/vector_avx512.h"

static inline __attribute__((always_inline)) void take(const dq_expansion *e, const int stride) {
  const __m512i flip = i32_set(e->is_signed ? (int32_t)0x80808080u : 0);
  uint32_t *to = e->words;
  for (int64_t at = 0; at < e->count; at += 16) {
    int64_t left = e->count - at;
    __m512i word = i32_take_bytes(e->rows[0], at, left, stride);
    word = _mm512_or_si512(word, _mm512_slli_epi32(i32_take_bytes(e->rows[1], at, left, stride), 8));
    __m512i high = i32_take_bytes(e->rows[2], at, left, stride);
    high = _mm512_or_si512(high, _mm512_slli_epi32(i32_take_bytes(e->rows[3], at, left, stride), 8));
    word = _mm512_xor_si512(_mm512_or_si512(word, _mm512_slli_epi32(high, 16)), flip);
    i32_store_some(to + at, word, left < 16 ? (int)left : 16);
  }
}

void dq_u8s8_expand_vnni(const dq_expansion *e) {
  if (e->stride == 1) {
    take(e, 1);
  } else if (e->stride == 2) {
    take(e, 2);
  } else {
    uint32_t *to = e->words;
    for (int64_t i = 0; i < e->count; i++) {
      uint32_t word = 0;
      for (int row = 3; row >= 0; row--)
        word = word << 8 | ((const uint8_t *)e->rows[row])[i * e->stride];
      to[i] = word ^ (e->is_signed ? 0x80808080u : 0);
    }
  }
}
