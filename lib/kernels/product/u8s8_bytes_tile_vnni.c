// Tile of sums of unsigned by signed bytes, requantized in registers as in requantize_avx512.c, two rows at a time.
// Signed results are computed with 128 added to each.
#include "lib/kernels/simd/vector_vnni.h"

typedef struct constants {
  __m512i zero_point, low, high, out_flip, order;
  __m512 upper;
} constants;

// Sums of a row, as integers in units of the output.
static inline __attribute__((always_inline)) __m512i scaled(__m512i sum, __m512 multiplier, __m512 upper,
                                                            const bool small) {
  __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), multiplier);
  return _mm512_cvtps_epi32(small ? x : _mm512_min_ps(upper, x));
}

static inline __attribute__((always_inline)) void store_32(uint8_t *to, __m256i bytes, int columns) {
  if (columns >= 32) _mm256_storeu_si256((void *)to, bytes);
  else _mm256_mask_storeu_epi8(to, (1u << columns) - 1, bytes);
}

// Rows i and, where there is one, i + 1.
static inline __attribute__((always_inline)) void finish_rows(const dq_tile *t, const constants *c, __m512i sums[][2],
                                                              int i, const int rows, const int vectors,
                                                              const bool small) {
  const dq_requantize_rows *r = t->requantize;
  const bool both = i + 1 < rows;
  __m512i q[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; v++) {
    const bool there = (v < 2 || both) && v % 2 < vectors;
    if (there)
      q[v] = scaled(sums[i + v / 2][v % 2], f32_set(r->multipliers[(i + v / 2) * r->multiplier_row]), c->upper, small);
    else q[v] = i32_zero();
  }
  __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(q[0], q[1]), c->zero_point);
  __m512i second = _mm512_adds_epi16(_mm512_packs_epi32(q[2], q[3]), c->zero_point);
  __m512i bytes = _mm512_max_epu8(_mm512_packus_epi16(first, second), c->low);
  if (small) bytes = _mm512_min_epu8(bytes, c->high);
  bytes = _mm512_permutexvar_epi32(c->order, _mm512_xor_si512(bytes, c->out_flip));
  uint8_t *to = r->output + i * r->output_stride;
  store_32(to, _mm512_castsi512_si256(bytes), t->columns);
  if (both) store_32(to + r->output_stride, _mm512_extracti64x4_epi64(bytes, 1), t->columns);
}

static inline __attribute__((always_inline)) void finish_all(const dq_tile *t, const constants *c, __m512i sums[][2],
                                                             const int rows, const int vectors, const bool small) {
#pragma GCC unroll 8
  for (int i = 0; i < rows; i += 2) finish_rows(t, c, sums, i, rows, vectors, small);
}

static inline __attribute__((always_inline)) void end_sums(const dq_tile *t, __m512i sums[][2], const int rows,
                                                           const int vectors) {
  // Sums have one type of vector in products and another one here: without this the compiler keeps both of each, more
  // than there are registers.
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) __asm__("" : "+v"(sums[i][v]));
  const dq_requantize_rows *r = t->requantize;
  const int shift = r->low < 0 ? 128 : 0;
  const constants c = {.zero_point = _mm512_set1_epi16((int16_t)(r->zero_point + shift)),
                       .low = _mm512_set1_epi8((char)(r->low + shift)),
                       .high = _mm512_set1_epi8((char)(r->high + shift)),
                       .out_flip = _mm512_set1_epi8((char)shift),
                       // Packing works in lanes of 128 bits; this puts words of four bytes back into their order.
                       .order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
                       .upper = f32_set((float)(r->high - r->zero_point))};
  const __m512 multipliers = r->multiplier_row ? _mm512_maskz_loadu_ps((__mmask16)((1u << rows) - 1), r->multipliers)
                                               : f32_set(*r->multipliers);
  const bool small = _mm512_cmp_ps_mask(_mm512_abs_ps(multipliers), f32_set(0.5f), _CMP_LE_OQ) == 0xffff;
  if (small) finish_all(t, &c, sums, rows, vectors, true);
  else finish_all(t, &c, sums, rows, vectors, false);
}

// What wraps does so in whatever order start, bias and products are added.
static inline __attribute__((always_inline)) void begin_sums(const dq_tile *t, __m512i sums[][2], const int rows,
                                                             const int vectors) {
  const int32_t *bias = t->requantize->bias;
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++) {
    const uint32_t first = (uint32_t)(t->start ? t->start[i] : 0) + (uint32_t)(bias ? bias[i] : 0);
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) sums[i][v] = i32_set((int32_t)first);
  }
}

#define TILE_FUNCTION dq_u8s8_bytes_tile_vnni
#define TILE_ROWS U8S8_TILE_ROWS
#define V(name) i32_##name
#define T(name) u8s8_##name
#define TILE_FLOAT 0
#define TILE_ENDS
#include "lib/kernels/product/tile_body.h"
