// Maxima of windows for AVX-512 VBMI: 64 bytes down the rows stay in a register, and a byte permutation puts
// the places of the window under each output. What lies outside of the rows is the least number.
#include "lib/base/sizes.h"
#include "lib/kernels/simd/vector_avx512.h"

static inline __mmask64 below(int64_t count) { return count >= 64 ? ~0ull : count <= 0 ? 0 : (1ull << count) - 1; }

static inline __attribute__((always_inline)) __m512i larger(__m512i a, __m512i b, const bool is_signed) {
  return is_signed ? _mm512_max_epi8(a, b) : _mm512_max_epu8(a, b);
}

// 64 bytes from column x on.
static inline __attribute__((always_inline)) __m512i down_rows(const dq_maximum_row *r, int64_t x,
                                                               const bool is_signed) {
  const __m512i least = is_signed ? _mm512_set1_epi8(-128) : _mm512_setzero_si512();
  const __mmask64 inside = below(r->width - x) & ~below(-x);
  __m512i most = _mm512_mask_loadu_epi8(least, inside, r->rows[0] + x);
  for (int64_t i = 1; i < r->row_count; i++)
    most = larger(most, _mm512_mask_loadu_epi8(least, inside, r->rows[i] + x), is_signed);
  return most;
}

static inline __attribute__((always_inline)) void maximum_row(const dq_maximum_row *given, int64_t outputs,
                                                              const bool is_signed) {
  const dq_maximum_row row = *given, *r = &row; // outputs may alias *given as far as the compiler knows
  const __m512i step = _mm512_set1_epi8((char)r->dilation);
  uint8_t numbers[64];
  for (int i = 0; i < 64; i++) numbers[i] = (uint8_t)(i * r->stride);
  const __m512i first = _mm512_loadu_si512(numbers);
  for (int64_t at = 0; at < r->count; at += outputs) {
    __m512i down = down_rows(r, at * r->stride - r->begin, is_signed), index = first;
    __m512i most = _mm512_permutexvar_epi8(index, down);
    for (int64_t k = 1; k < r->kernel; k++) {
      index = _mm512_add_epi8(index, step);
      most = larger(most, _mm512_permutexvar_epi8(index, down), is_signed);
    }
    _mm512_mask_storeu_epi8(r->output + at, below(dq_min_i64(outputs, r->count - at)), most);
  }
}

void dq_maximum_8_vbmi(const dq_maximum_row *r) {
  enum { MOST_REACH = 32 }; // of a window; beyond, few outputs are left in a vector
  int64_t reach = (r->kernel - 1) * r->dilation;
  if (r->stride > 2 || reach > MOST_REACH || r->row_count == 0) {
    dq_maximum_8_avx512(r);
    return;
  }
  int64_t outputs = (63 - reach) / r->stride + 1;
  if (r->is_signed) maximum_row(r, outputs, true);
  else maximum_row(r, outputs, false);
}
