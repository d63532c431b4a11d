// Sums and products of quantized operands for AVX-512. Sums of two rows, 64 at a time: the steps of
// pair_loops.h, with bounds as packing and adding make them.
#include "lib/kernels/simd/vector_avx512.h"

#include "lib/kernels/reference/pair_loops.h"

typedef struct sum {
  const uint8_t *a, *b;
  __m512i a_zero, b_zero, zero_point, low;
  __m512 a_scale, b_scale, scale, reciprocal, upper;
} sum;
typedef struct short_form { // by the factors of dq_add_8_shorten
  __m512i low, high;
  __m512 a_factor, b_factor, offset;
} short_form;

static inline __attribute__((always_inline)) __m512 numbers(const uint8_t *bytes, __mmask16 mask,
                                                            const bool is_signed) {
  __m128i read = _mm_maskz_loadu_epi8(mask, bytes);
  return _mm512_cvtepi32_ps(is_signed ? _mm512_cvtepi8_epi32(read) : _mm512_cvtepu8_epi32(read));
}

static inline __attribute__((always_inline)) __m512i short_sixty_four(const short_form *s, const uint8_t *a,
                                                                      const uint8_t *b, __mmask64 mask,
                                                                      const bool a_signed, const bool b_signed,
                                                                      const bool is_signed) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  __m512i q[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; v++) {
    const __mmask16 part = (__mmask16)(mask >> (16 * v));
    __m512 x = _mm512_fmadd_ps(numbers(b + 16 * v, part, b_signed), s->b_factor, s->offset);
    q[v] = _mm512_cvtps_epi32(_mm512_fmadd_ps(numbers(a + 16 * v, part, a_signed), s->a_factor, x));
  }
  __m512i first = _mm512_packs_epi32(q[0], q[1]), second = _mm512_packs_epi32(q[2], q[3]);
  __m512i bytes = is_signed ? _mm512_packs_epi16(first, second) : _mm512_packus_epi16(first, second);
  bytes = is_signed ? _mm512_min_epi8(_mm512_max_epi8(bytes, s->low), s->high)
                    : _mm512_min_epu8(_mm512_max_epu8(bytes, s->low), s->high);
  return _mm512_permutexvar_epi32(order, bytes);
}

static inline __attribute__((always_inline)) void short_row(const dq_pair_row *r, const bool a_signed,
                                                            const bool b_signed, const bool is_signed) {
  const short_form s = {.low = _mm512_set1_epi8((int8_t)r->low),
                        .high = _mm512_set1_epi8((int8_t)r->high),
                        .a_factor = f32_set(r->a_factor),
                        .b_factor = f32_set(r->b_factor),
                        .offset = f32_set(r->offset)};
  const uint8_t *a = r->a, *b = r->b;
  uint8_t *to = r->output;
  int64_t left = r->count;
  for (; left >= 64; left -= 64, a += 64, b += 64, to += 64)
    _mm512_storeu_si512(to, short_sixty_four(&s, a, b, ~0ull, a_signed, b_signed, is_signed));
  const __mmask64 rest = (1ull << left) - 1;
  if (rest) _mm512_mask_storeu_epi8(to, rest, short_sixty_four(&s, a, b, rest, a_signed, b_signed, is_signed));
}

typedef struct weighed_form { // by the weights of dq_add_8_shorten
  __m512i weights, a_flip, b_flip, flip, low, high;
  __m512 unit, start;
} weighed_form;

// Bytes are unpacked and packed in lanes of 128 bits, which leaves them in their order.
static inline __attribute__((always_inline)) __m512i weighed_sixty_four(const dq_pair_row *r, const weighed_form *w,
                                                                        __m512i a, __m512i b, const bool plain) {
  const __m512i zero = i32_zero(), x = plain ? a : _mm512_xor_si512(a, w->a_flip);
  const __m512i y = plain ? b : _mm512_xor_si512(b, w->b_flip);
  const __m512i low = _mm512_unpacklo_epi8(x, y), high = _mm512_unpackhi_epi8(x, y);
  __m512i q[4] = {_mm512_unpacklo_epi8(low, zero), _mm512_unpackhi_epi8(low, zero), _mm512_unpacklo_epi8(high, zero),
                  _mm512_unpackhi_epi8(high, zero)};
#pragma GCC unroll 4
  for (int v = 0; v < 4; v++) {
    const __m512 both = _mm512_cvtepi32_ps(_mm512_madd_epi16(q[v], w->weights));
    q[v] = _mm512_cvtps_epi32(_mm512_fmadd_ps(both, w->unit, w->start));
  }
  __m512i bytes = _mm512_packus_epi16(_mm512_packs_epi32(q[0], q[1]), _mm512_packs_epi32(q[2], q[3]));
  if (!plain) bytes = _mm512_xor_si512(_mm512_min_epu8(_mm512_max_epu8(bytes, w->low), w->high), w->flip);
  for (int e = 0; e < r->exception_count; e++) {
    const uint32_t pair = r->exceptions[e];
    const __mmask64 here = _mm512_cmpeq_epi8_mask(a, _mm512_set1_epi8((char)pair));
    const __mmask64 there = _mm512_mask_cmpeq_epi8_mask(here, b, _mm512_set1_epi8((char)(pair >> 8)));
    bytes = _mm512_mask_mov_epi8(bytes, there, _mm512_set1_epi8((char)(pair >> 16)));
  }
  return bytes;
}

static inline __attribute__((always_inline)) void weighed_row(const dq_pair_row *row, const bool plain) {
  const dq_pair_row r = *row; // a copy that no store can change
  const int shift = r.low < 0 ? 128 : 0;
  const weighed_form w = {.weights = i32_set((int32_t)((uint32_t)r.b_weight << 16 | (uint32_t)(r.a_weight & 0xffff))),
                          .a_flip = _mm512_set1_epi8((char)(r.a_signed ? 128 : 0)),
                          .b_flip = _mm512_set1_epi8((char)(r.b_signed ? 128 : 0)),
                          .flip = _mm512_set1_epi8((char)shift),
                          .low = _mm512_set1_epi8((char)(r.low + shift)),
                          .high = _mm512_set1_epi8((char)(r.high + shift)),
                          .unit = f32_set(r.unit),
                          .start = f32_set(r.start)};
  int64_t at = 0;
  for (; at + 64 <= r.count; at += 64)
    _mm512_storeu_si512(r.output + at,
                        weighed_sixty_four(&r, &w, _mm512_loadu_si512(r.a + at), _mm512_loadu_si512(r.b + at), plain));
  const __mmask64 rest = (1ull << (r.count - at)) - 1;
  if (!rest) return;
  const __m512i a = _mm512_maskz_loadu_epi8(rest, r.a + at), b = _mm512_maskz_loadu_epi8(rest, r.b + at);
  _mm512_mask_storeu_epi8(r.output + at, rest, weighed_sixty_four(&r, &w, a, b, plain));
}

static inline __attribute__((always_inline)) __m512 scaled(__m128i bytes, __m512i zero, __m512 scale,
                                                           const bool is_signed) {
  __m512i value = is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
  return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(value, zero)), scale);
}

static inline __attribute__((always_inline)) __m512i sixteen(const sum *s, int64_t at, __mmask16 mask,
                                                             const bool a_signed, const bool b_signed) {
  __m512 x = _mm512_add_ps(scaled(_mm_maskz_loadu_epi8(mask, s->a + at), s->a_zero, s->a_scale, a_signed),
                           scaled(_mm_maskz_loadu_epi8(mask, s->b + at), s->b_zero, s->b_scale, b_signed));
  __m512 q = _mm512_mul_ps(x, s->reciprocal); // as quotient()
  q = _mm512_fmadd_ps(_mm512_fnmadd_ps(q, s->scale, x), s->reciprocal, q);
  q = _mm512_fmadd_ps(_mm512_fnmadd_ps(q, s->scale, x), s->reciprocal, q);
  return _mm512_cvtps_epi32(_mm512_min_ps(q, s->upper)); // what is far below becomes the lowest number
}

static inline __attribute__((always_inline)) __m512i
sixty_four(const sum *s, int64_t at, __mmask64 mask, const bool a_signed, const bool b_signed, const bool is_signed) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  __m512i q[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; v++) q[v] = sixteen(s, at + 16 * v, (__mmask16)(mask >> (16 * v)), a_signed, b_signed);
  __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(q[0], q[1]), s->zero_point);
  __m512i second = _mm512_adds_epi16(_mm512_packs_epi32(q[2], q[3]), s->zero_point);
  __m512i bytes = is_signed ? _mm512_max_epi8(_mm512_packs_epi16(first, second), s->low)
                            : _mm512_max_epu8(_mm512_packus_epi16(first, second), s->low);
  return _mm512_permutexvar_epi32(order, bytes);
}

static inline __attribute__((always_inline)) void
add_rows(const sum *s, uint8_t *output, int64_t count, const bool a_signed, const bool b_signed, const bool is_signed) {
  int64_t at = 0;
  for (; at + 64 <= count; at += 64)
    _mm512_storeu_si512(output + at, sixty_four(s, at, ~0ull, a_signed, b_signed, is_signed));
  const __mmask64 rest = (1ull << (count - at)) - 1;
  if (rest) _mm512_mask_storeu_epi8(output + at, rest, sixty_four(s, at, rest, a_signed, b_signed, is_signed));
}

void dq_add_8_avx512(const dq_pair_row *r) {
  const bool is_signed = r->low < 0;
  if ((r->a_weight || r->b_weight) && r->a_step && r->b_step) {
    if (!r->a_signed && !r->b_signed && r->low == 0 && r->high == 255) weighed_row(r, true);
    else weighed_row(r, false);
    return;
  }
  if (r->is_short && r->a_step && r->b_step) {
    if (r->a_signed && r->b_signed) short_row(r, true, true, is_signed);
    else if (r->a_signed) short_row(r, true, false, is_signed);
    else if (r->b_signed) short_row(r, false, true, is_signed);
    else short_row(r, false, false, is_signed);
    return;
  }
  if (!r->a_step || !r->b_step || !is_moderate(r->a_scale) || !is_moderate(r->b_scale) || !is_moderate(r->scale)) {
    pair_row(r, SUM);
    return;
  }
  const sum s = {.a = r->a,
                 .b = r->b,
                 .a_zero = i32_set(r->a_zero_point),
                 .b_zero = i32_set(r->b_zero_point),
                 .zero_point = _mm512_set1_epi16((int16_t)r->zero_point),
                 .low = _mm512_set1_epi8((int8_t)r->low),
                 .a_scale = f32_set(r->a_scale),
                 .b_scale = f32_set(r->b_scale),
                 .scale = f32_set(r->scale),
                 .reciprocal = f32_set(1.0f / r->scale),
                 .upper = f32_set((float)(r->high - r->zero_point))};
  if (r->a_signed && r->b_signed) add_rows(&s, r->output, r->count, true, true, is_signed);
  else if (r->a_signed) add_rows(&s, r->output, r->count, true, false, is_signed);
  else if (r->b_signed) add_rows(&s, r->output, r->count, false, true, is_signed);
  else add_rows(&s, r->output, r->count, false, false, is_signed);
}

void dq_multiply_8_avx512(const dq_pair_row *row) { pair_row(row, PRODUCT); }
