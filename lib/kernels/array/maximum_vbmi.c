// Maxima of windows for AVX-512 VBMI: 64 bytes down the rows stay in a register, and a byte permutation puts
// the places of the window under each output. What lies outside of the rows is the least number.
#include "lib/base/sizes.h"
#include "lib/kernels/simd/vector_avx512.h"

#define EIGHT(from, step)                                                                                              \
  (from), (from) + (step), (from) + 2 * (step), (from) + 3 * (step), (from) + 4 * (step), (from) + 5 * (step),         \
      (from) + 6 * (step), (from) + 7 * (step)
static const uint8_t places[64] = {EIGHT(0, 1),  EIGHT(8, 1),  EIGHT(16, 1), EIGHT(24, 1),
                                   EIGHT(32, 1), EIGHT(40, 1), EIGHT(48, 1), EIGHT(56, 1)};
static const uint8_t even_places[64] = {EIGHT(0, 2), EIGHT(16, 2), EIGHT(32, 2), EIGHT(48, 2)}; // outputs 0 to 31

static inline __mmask64 below(int64_t count) { return count >= 64 ? ~0ull : count <= 0 ? 0 : (1ull << count) - 1; }

static inline __attribute__((always_inline)) __m512i larger(__m512i a, __m512i b, const bool is_signed) {
  return is_signed ? _mm512_max_epi8(a, b) : _mm512_max_epu8(a, b);
}

static inline __attribute__((always_inline)) __m512i load_inside(__mmask64 inside, const uint8_t *from,
                                                                 const bool is_signed) {
  return is_signed ? _mm512_mask_loadu_epi8(_mm512_set1_epi8(-128), inside, from)
                   : _mm512_maskz_loadu_epi8(inside, from);
}

enum { KNOWN_ROWS = 3 };

// `rows`, `kernel` and `stride` are those of the row; where the compiler knows them a line takes a third of the time.
static inline __attribute__((always_inline)) void maximum_rows(const dq_maximum_row *given, const int64_t rows,
                                                               const int64_t kernel, const int64_t stride,
                                                               const bool is_signed) {
  const dq_maximum_row row = *given, *r = &row; // outputs may alias *given as far as the compiler knows
  const uint8_t *sources[KNOWN_ROWS];
  for (int64_t i = 0; i < rows && i < KNOWN_ROWS; i++) sources[i] = r->rows[i];
  const __m512i step = _mm512_set1_epi8((char)r->dilation);
  const __m512i first = stride == 2 ? _mm512_loadu_si512(even_places) : _mm512_loadu_si512(places);
  const int64_t outputs = (63 - (kernel - 1) * r->dilation) / stride + 1;
  for (int64_t at = 0; at < r->count; at += outputs) {
    const int64_t x = at * stride - r->begin;
    const __mmask64 inside = below(r->width - x) & ~below(-x), stored = below(dq_min_i64(outputs, r->count - at));
    int64_t from = x;
    uint8_t *to = r->output + at;
    for (int64_t line = 0; line < r->lines; line++, from += r->line_step, to += r->count) {
      __m512i down = load_inside(inside, sources[0] + from, is_signed), index = first;
      for (int64_t i = 1; i < rows; i++)
        down =
            larger(down, load_inside(inside, (i < KNOWN_ROWS ? sources[i] : r->rows[i]) + from, is_signed), is_signed);
      __m512i most = _mm512_permutexvar_epi8(index, down);
      for (int64_t k = 1; k < kernel; k++) {
        index = _mm512_add_epi8(index, step);
        most = larger(most, _mm512_permutexvar_epi8(index, down), is_signed);
      }
      _mm512_mask_storeu_epi8(to, stored, most);
    }
  }
}

static inline __attribute__((always_inline)) void choose_rows(const dq_maximum_row *r, const bool is_signed) {
  if (r->stride == 2 && r->kernel == 2 && r->row_count == 2) maximum_rows(r, 2, 2, 2, is_signed);
  else if (r->stride == 2 && r->kernel == 3 && r->row_count == 3) maximum_rows(r, 3, 3, 2, is_signed);
  else if (r->stride == 2) maximum_rows(r, r->row_count, r->kernel, 2, is_signed);
  else maximum_rows(r, r->row_count, r->kernel, 1, is_signed);
}

void dq_maximum_8_vbmi(const dq_maximum_row *r) {
  enum { MOST_REACH = 32 }; // of a window; beyond, few outputs are left in a vector
  if (r->stride > 2 || (r->kernel - 1) * r->dilation > MOST_REACH || r->row_count == 0) dq_maximum_8_avx512(r);
  else if (r->is_signed) choose_rows(r, true);
  else choose_rows(r, false);
}
