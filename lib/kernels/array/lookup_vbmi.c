// Tables of 256 bytes for AVX-512 VBMI: the table lies in four registers.
#include "lib/kernels/simd/vector_avx512.h"

void dq_lookup_vbmi(const uint8_t *input, const uint8_t *table, uint8_t *output, int64_t count) {
  const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64);
  const __m512i t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
  for (int64_t at = 0; at < count; at += 64) {
    int64_t rest = count - at;
    __mmask64 there = rest >= 64 ? ~0ull : (1ull << rest) - 1;
    __m512i index = _mm512_maskz_loadu_epi8(there, input + at);
    __m512i low = _mm512_permutex2var_epi8(t0, index, t1), high = _mm512_permutex2var_epi8(t2, index, t3);
    __m512i found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high);
    _mm512_mask_storeu_epi8(output + at, there, found);
  }
}
