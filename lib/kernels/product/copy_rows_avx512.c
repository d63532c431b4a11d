// Rows of bytes from one distance to another for AVX-512; short rows are one masked vector.
#include "lib/kernels/simd/vector_avx512.h"

void dq_copy_rows_avx512(const dq_row_copy *c) {
  const __m512i flip = _mm512_set1_epi8(c->flips ? (char)0x80 : 0);
  const int64_t whole = c->bytes & ~63ll, rest = c->bytes - whole;
  const __mmask64 there = (1ull << rest) - 1;
  const uint8_t *from = c->from;
  uint8_t *to = c->to;
  for (int64_t row = 0; row < c->rows; row++, from += c->from_step, to += c->to_step) {
    for (int64_t at = 0; at < whole; at += 64)
      _mm512_storeu_si512(to + at, _mm512_xor_si512(flip, _mm512_loadu_si512(from + at)));
    if (!rest) continue;
    __m512i last = _mm512_xor_si512(flip, _mm512_maskz_loadu_epi8(there, from + whole));
    _mm512_mask_storeu_epi8(to + whole, there, last);
  }
}
