// Requantization for AVX-512, 64 sums at a time.
//
// The upper bound is applied in float, where a NaN stays. Conversion to int32 rounds to the nearest,
// halves to even, and makes the lowest number of NaN and of what is below the range; packing and
// adding saturate; the lower bound is applied to bytes. This is dq_requantize_one, step by step.
#include "lib/kernels/vector_avx512.h"

typedef struct row {
  const int32_t *sums, *biases;
  const float *multipliers;
  __m512i bias;
  __m512 multiplier;
} row;
typedef struct constants {
  __m512i zero_point, low;
  __m512 upper;
} constants;

// 16 sums from `at` on, those in the mask, as integers in units of the output.
static inline __attribute__((always_inline)) __m512i
scaled(const row *r, __m512 upper, int64_t at, __mmask16 mask, const int bias_step,
       const int multiplier_step) {
  __m512i bias = bias_step ? _mm512_maskz_loadu_epi32(mask, r->biases + at) : r->bias;
  __m512i sum = _mm512_add_epi32(_mm512_maskz_loadu_epi32(mask, r->sums + at), bias);
  __m512 multiplier =
      multiplier_step ? _mm512_maskz_loadu_ps(mask, r->multipliers + at) : r->multiplier;
  __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), multiplier);
  return _mm512_cvtps_epi32(_mm512_min_ps(upper, x));
}

static inline __attribute__((always_inline)) __m512i
sixty_four(const row *r, const constants *c, int64_t at, __mmask64 mask, const int bias_step,
           const int multiplier_step, const int is_signed) {
  // Packing works in lanes of 128 bits; this puts words of four bytes back into their order.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  __m512i q[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; v++)
    q[v] = scaled(r, c->upper, at + 16 * v, (__mmask16)(mask >> (16 * v)), bias_step,
                  multiplier_step);
  __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(q[0], q[1]), c->zero_point);
  __m512i second = _mm512_adds_epi16(_mm512_packs_epi32(q[2], q[3]), c->zero_point);
  __m512i bytes = is_signed ? _mm512_max_epi8(_mm512_packs_epi16(first, second), c->low)
                            : _mm512_max_epu8(_mm512_packus_epi16(first, second), c->low);
  return _mm512_permutexvar_epi32(order, bytes);
}

static inline __attribute__((always_inline)) void
requantize(const dq_requantize_rows *p, const int bias_step, const int multiplier_step,
           const int is_signed) {
  const constants c = {.zero_point = _mm512_set1_epi16((int16_t)p->zero_point),
                       .low = _mm512_set1_epi8((int8_t)p->low),
                       .upper = f32_set((float)(p->high - p->zero_point))};
  const int64_t columns = p->columns, whole = columns & ~63ll, bias_row = p->bias_row;
  const int64_t sums_stride = p->sums_stride, output_stride = p->output_stride;
  const __mmask64 rest = (1ull << (columns - whole)) - 1;
  row r = {.sums = p->sums, .biases = p->bias, .multipliers = p->multipliers, .bias = i32_zero()};
  uint8_t *output = p->output;
  for (int64_t i = p->rows; i > 0; i--) {
    if (r.biases && !bias_step) r.bias = i32_set(*r.biases);
    if (!multiplier_step) r.multiplier = f32_set(*r.multipliers);
    for (int64_t at = 0; at < whole; at += 64)
      _mm512_storeu_si512(output + at, sixty_four(&r, &c, at, ~0ull, bias_step, multiplier_step,
                                                  is_signed));
    if (rest)
      _mm512_mask_storeu_epi8(output + whole, rest,
                              sixty_four(&r, &c, whole, rest, bias_step, multiplier_step,
                                         is_signed));
    r.sums += sums_stride;
    if (r.biases) r.biases += bias_row;
    r.multipliers += p->multiplier_row;
    output += output_stride;
  }
}

void dq_requantize_avx512(const dq_requantize_rows *p) {
  const bool bias_moves = p->bias && p->bias_step, is_signed = p->low < 0;
  if (p->columns <= 0) return;
  if (!bias_moves && !p->multiplier_step) {
    if (is_signed) requantize(p, 0, 0, 1);
    else requantize(p, 0, 0, 0);
  } else if (bias_moves && p->multiplier_step) {
    requantize(p, 1, 1, is_signed);
  } else if (bias_moves) {
    requantize(p, 1, 0, is_signed);
  } else {
    requantize(p, 0, 1, is_signed);
  }
}
