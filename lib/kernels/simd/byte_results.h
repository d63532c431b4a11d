// Bytes of results from sums in registers, for kernels of AVX-512 that end with them: dq_requantize_one step by step,
// as in requantize_avx512.c. Signed results are computed with 128 added to each.
#ifndef DQ_KERNELS_BYTE_RESULTS_H
#define DQ_KERNELS_BYTE_RESULTS_H

#include "lib/kernels/simd/vector_avx512.h"

typedef struct byte_bounds {
  __m512i zero_point, low, high, flip; // flip: bit 7 of each byte, where results are signed
  __m512 upper;                        // of a product with the multiplier, before the zero point is added
} byte_bounds;

static inline byte_bounds byte_bounds_of(int32_t zero_point, int32_t low, int32_t high) {
  const int shift = low < 0 ? 128 : 0;
  return (byte_bounds){.zero_point = _mm512_set1_epi16((int16_t)(zero_point + shift)),
                       .low = _mm512_set1_epi8((char)(low + shift)),
                       .high = _mm512_set1_epi8((char)(high + shift)),
                       .flip = _mm512_set1_epi8((char)shift),
                       .upper = f32_set((float)(high - zero_point))};
}

// What is known of all multipliers and of the bounds, so that steps that change nothing are left out.
typedef enum byte_form {
  BYTES_ANY,   // the upper bound is applied in float
  BYTES_SMALL, // multipliers are at most 1/2, so that no product leaves int32 and the upper bound is applied to bytes
  BYTES_FULL,  // and the bounds are the ends of the type, where packing saturates
  BYTES_PLAIN  // and the type is unsigned with a zero point of 0: nothing is added or inverted
} byte_form;

static inline byte_form byte_form_of(int32_t zero_point, int32_t low, int32_t high, bool small) {
  const int32_t shift = low < 0 ? 128 : 0;
  if (!small) return BYTES_ANY;
  if (low + shift != 0 || high + shift != 255) return BYTES_SMALL;
  return shift || zero_point ? BYTES_FULL : BYTES_PLAIN;
}

// 16 sums as integers in units of the output.
static inline __attribute__((always_inline)) __m512i byte_units(const byte_bounds *b, __m512i sums, __m512 multiplier,
                                                                const byte_form form) {
  __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), multiplier);
  return _mm512_cvtps_epi32(form == BYTES_ANY ? _mm512_min_ps(b->upper, x) : x);
}

// The bytes of four vectors of byte_units, in the order that packing in lanes of 128 bits leaves: words of four bytes
// with the numbers 0, 4, 8, 12, 1, 5, ... of the 16.
static inline __attribute__((always_inline)) __m512i byte_pack(const byte_bounds *b, const __m512i q[4],
                                                               const byte_form form) {
  __m512i first = _mm512_packs_epi32(q[0], q[1]), second = _mm512_packs_epi32(q[2], q[3]);
  if (form == BYTES_PLAIN) return _mm512_packus_epi16(first, second);
  first = _mm512_adds_epi16(first, b->zero_point);
  second = _mm512_adds_epi16(second, b->zero_point);
  __m512i bytes = _mm512_packus_epi16(first, second);
  if (form != BYTES_FULL) bytes = _mm512_max_epu8(bytes, b->low);
  if (form == BYTES_SMALL) bytes = _mm512_min_epu8(bytes, b->high);
  return _mm512_xor_si512(bytes, b->flip);
}

#endif
