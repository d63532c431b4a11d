// Requantization for AVX-512, 64 sums at a time.
//
// The upper bound is applied in float, where a NaN stays. Conversion to int32 rounds to the nearest,
// halves to even, and makes the lowest number of NaN and of what is below the range; packing and
// adding saturate; the lower bound is applied to bytes. This is dq_requantize_one, step by step. With a
// multiplier of at most 1/2, as nearly all are, no product leaves int32 and the upper bound may wait until
// there are bytes as well.
#include "lib/kernels/simd/vector_avx512.h"

enum { NO_BIAS = -1 }; // in place of a step

typedef struct row {
  const int32_t *sums, *biases;
  const float *multipliers;
  __m512i bias;
  __m512 multiplier;
} row;
typedef struct constants {
  __m512i zero_point, low, high;
  __m512 upper;
} constants;

// 16 sums from `at` on, those in the mask, as integers in units of the output.
static inline __attribute__((always_inline)) __m512i scaled(const row *r, __m512 upper, int64_t at, __mmask16 mask,
                                                            const int bias_step, const int multiplier_step,
                                                            const bool small) {
  __m512i bias = bias_step ? _mm512_maskz_loadu_epi32(mask, r->biases + at) : r->bias;
  __m512i sum = _mm512_maskz_loadu_epi32(mask, r->sums + at);
  if (bias_step != NO_BIAS) sum = _mm512_add_epi32(sum, bias);
  __m512 multiplier = multiplier_step ? _mm512_maskz_loadu_ps(mask, r->multipliers + at) : r->multiplier;
  __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), multiplier);
  return _mm512_cvtps_epi32(small ? x : _mm512_min_ps(upper, x));
}

static inline __attribute__((always_inline)) __m512i sixty_four(const row *r, const constants *c, int64_t at,
                                                                __mmask64 mask, const int bias_step,
                                                                const int multiplier_step, const int is_signed,
                                                                const bool small) {
  // Packing works in lanes of 128 bits; this puts words of four bytes back into their order.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  __m512i q[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; v++)
    q[v] = scaled(r, c->upper, at + 16 * v, (__mmask16)(mask >> (16 * v)), bias_step, multiplier_step, small);
  __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(q[0], q[1]), c->zero_point);
  __m512i second = _mm512_adds_epi16(_mm512_packs_epi32(q[2], q[3]), c->zero_point);
  __m512i bytes = is_signed ? _mm512_max_epi8(_mm512_packs_epi16(first, second), c->low)
                            : _mm512_max_epu8(_mm512_packus_epi16(first, second), c->low);
  if (small) bytes = is_signed ? _mm512_min_epi8(bytes, c->high) : _mm512_min_epu8(bytes, c->high);
  return _mm512_permutexvar_epi32(order, bytes);
}

static inline __attribute__((always_inline)) void requantize_row(const row *r, const constants *c, uint8_t *output,
                                                                 int64_t columns, const int bias_step,
                                                                 const int multiplier_step, const int is_signed,
                                                                 const bool small) {
  const int64_t whole = columns & ~63ll;
  const __mmask64 rest = (1ull << (columns - whole)) - 1;
  for (int64_t at = 0; at < whole; at += 64)
    _mm512_storeu_si512(output + at, sixty_four(r, c, at, ~0ull, bias_step, multiplier_step, is_signed, small));
  if (rest)
    _mm512_mask_storeu_epi8(output + whole, rest,
                            sixty_four(r, c, whole, rest, bias_step, multiplier_step, is_signed, small));
}

static inline __attribute__((always_inline)) void requantize(const dq_requantize_rows *p, const int bias_step,
                                                             const int multiplier_step, const int is_signed) {
  const constants c = {.zero_point = _mm512_set1_epi16((int16_t)p->zero_point),
                       .low = _mm512_set1_epi8((int8_t)p->low),
                       .high = _mm512_set1_epi8((int8_t)p->high),
                       .upper = f32_set((float)(p->high - p->zero_point))};
  row r = {.sums = p->sums, .biases = p->bias, .multipliers = p->multipliers, .bias = i32_zero()};
  uint8_t *output = p->output;
  for (int64_t i = p->rows; i > 0; i--) {
    if (bias_step == 0) r.bias = i32_set(*r.biases);
    if (!multiplier_step) r.multiplier = f32_set(*r.multipliers);
    if (!multiplier_step && __builtin_fabsf(*r.multipliers) <= 0.5f)
      requantize_row(&r, &c, output, p->columns, bias_step, multiplier_step, is_signed, true);
    else requantize_row(&r, &c, output, p->columns, bias_step, multiplier_step, is_signed, false);
    r.sums += p->sums_stride;
    if (r.biases) r.biases += p->bias_row;
    r.multipliers += p->multiplier_row;
    output += p->output_stride;
  }
}

void dq_requantize_avx512(const dq_requantize_rows *p) {
  const bool bias_moves = p->bias && p->bias_step, is_signed = p->low < 0;
  if (p->columns <= 0) return;
  if (!bias_moves && !p->multiplier_step) {
    if (p->bias && is_signed) requantize(p, 0, 0, 1);
    else if (p->bias) requantize(p, 0, 0, 0);
    else requantize(p, NO_BIAS, 0, is_signed);
  } else if (bias_moves && p->multiplier_step) {
    requantize(p, 1, 1, is_signed);
  } else if (bias_moves) {
    requantize(p, 1, 0, is_signed);
  } else if (p->bias) {
    requantize(p, 0, 1, is_signed);
  } else {
    requantize(p, NO_BIAS, 1, is_signed);
  }
}
