// Tile of sums of unsigned by signed bytes, requantized in registers, two rows at a time.
#include "lib/kernels/simd/byte_results.h"
#include "lib/kernels/simd/vector_vnni.h"

typedef struct constants {
  byte_bounds bounds;
  __m512i order;
} constants;

static inline __attribute__((always_inline)) void store_32(uint8_t *to, __m256i bytes, int columns) {
  if (columns >= 32) _mm256_storeu_si256((void *)to, bytes);
  else _mm256_mask_storeu_epi8(to, (1u << columns) - 1, bytes);
}

// Rows i and, where there is one, i + 1.
static inline __attribute__((always_inline)) void finish_rows(const dq_tile *t, const constants *c, __m512i sums[][2],
                                                              int i, const int rows, const int vectors,
                                                              const byte_form form) {
  const dq_requantize_rows *r = t->requantize;
  const bool both = i + 1 < rows;
  __m512i q[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; v++) {
    const bool there = (v < 2 || both) && v % 2 < vectors;
    if (there)
      q[v] = byte_units(&c->bounds, sums[i + v / 2][v % 2], f32_set(r->multipliers[(i + v / 2) * r->multiplier_row]),
                        form);
    else q[v] = i32_zero();
  }
  const __m512i bytes = _mm512_permutexvar_epi32(c->order, byte_pack(&c->bounds, q, form));
  uint8_t *to = r->output + i * r->output_stride;
  store_32(to, _mm512_castsi512_si256(bytes), t->columns);
  if (both) store_32(to + r->output_stride, _mm512_extracti64x4_epi64(bytes, 1), t->columns);
}

static inline __attribute__((always_inline)) void finish_all(const dq_tile *t, const constants *c, __m512i sums[][2],
                                                             const int rows, const int vectors, const byte_form form) {
#pragma GCC unroll 8
  for (int i = 0; i < rows; i += 2) finish_rows(t, c, sums, i, rows, vectors, form);
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
  const constants c = {.bounds = byte_bounds_of(r->zero_point, r->low, r->high),
                       // Packing works in lanes of 128 bits; this puts words of four bytes back into their order.
                       .order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)};
  const __m512 multipliers = r->multiplier_row ? _mm512_maskz_loadu_ps((__mmask16)((1u << rows) - 1), r->multipliers)
                                               : f32_set(*r->multipliers);
  const bool small = _mm512_cmp_ps_mask(_mm512_abs_ps(multipliers), f32_set(0.5f), _CMP_LE_OQ) == 0xffff;
  switch (byte_form_of(r->zero_point, r->low, r->high, small)) {
  case BYTES_ANY: finish_all(t, &c, sums, rows, vectors, BYTES_ANY); return;
  case BYTES_SMALL: finish_all(t, &c, sums, rows, vectors, BYTES_SMALL); return;
  case BYTES_FULL: finish_all(t, &c, sums, rows, vectors, BYTES_FULL); return;
  case BYTES_PLAIN: finish_all(t, &c, sums, rows, vectors, BYTES_PLAIN); return;
  }
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
