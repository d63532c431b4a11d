// Requantization for AVX2, 32 sums at a time, in the steps of requantize_avx512.c: the upper bound is applied in float,
// where a NaN stays; conversion to int32 makes the lowest number of NaN and of what is below the range; packing and
// adding saturate; the lower bound is applied to bytes.
#include "lib/kernels/simd/vector_avx2.h"

#include <string.h>

enum { WIDTH = 32 };

typedef struct row {
  const int32_t *sums, *bias; // bias NULL: none
  const float *multipliers;
  __m256i zero_point, low;
  __m256 upper;
  bool is_signed;
} row;

static inline __attribute__((always_inline)) __m256i scaled(const row *r, int64_t at, const bool bias_moves,
                                                            const bool multiplier_moves) {
  __m256i sum = i32_load(r->sums + at);
  if (r->bias) sum = _mm256_add_epi32(sum, bias_moves ? i32_load(r->bias + at) : i32_set(*r->bias));
  __m256 multiplier = multiplier_moves ? f32_load(r->multipliers + at) : f32_set(*r->multipliers);
  return _mm256_cvtps_epi32(_mm256_min_ps(r->upper, _mm256_mul_ps(_mm256_cvtepi32_ps(sum), multiplier)));
}

static inline __attribute__((always_inline)) __m256i thirty_two(const row *r, int64_t at, const bool bias_moves,
                                                                const bool multiplier_moves) {
  // Packing works in lanes of 128 bits; this puts words of four bytes back into their order.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  __m256i q[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; v++) q[v] = scaled(r, at + v * V_WORDS, bias_moves, multiplier_moves);
  __m256i first = _mm256_adds_epi16(_mm256_packs_epi32(q[0], q[1]), r->zero_point);
  __m256i second = _mm256_adds_epi16(_mm256_packs_epi32(q[2], q[3]), r->zero_point);
  __m256i bytes = r->is_signed ? _mm256_max_epi8(_mm256_packs_epi16(first, second), r->low)
                               : _mm256_max_epu8(_mm256_packus_epi16(first, second), r->low);
  return _mm256_permutevar8x32_epi32(bytes, order);
}

// A row of fewer than 32 sums, by way of whole vectors.
static void requantize_few(row r, int64_t count, bool bias_moves, bool multiplier_moves, uint8_t *output) {
  int32_t sums[WIDTH] = {0}, biases[WIDTH] = {0};
  float multipliers[WIDTH] = {0};
  uint8_t bytes[WIDTH];
  const size_t size = (size_t)count * 4;
  memcpy(sums, r.sums, size);
  if (r.bias && bias_moves) r.bias = memcpy(biases, r.bias, size);
  if (multiplier_moves) r.multipliers = memcpy(multipliers, r.multipliers, size);
  r.sums = sums;
  __m256i all = bias_moves         ? multiplier_moves ? thirty_two(&r, 0, true, true) : thirty_two(&r, 0, true, false)
                        : multiplier_moves ? thirty_two(&r, 0, false, true)
                                   : thirty_two(&r, 0, false, false);
  u8_store(bytes, all);
  memcpy(output, bytes, (size_t)count);
}

static inline __attribute__((always_inline)) void requantize(const dq_requantize_rows *p, const bool bias_moves,
                                                             const bool multiplier_moves) {
  row r = {.sums = p->sums,
           .bias = p->bias,
           .multipliers = p->multipliers,
           .zero_point = _mm256_set1_epi16((int16_t)p->zero_point),
           .low = _mm256_set1_epi8((int8_t)p->low),
           .upper = f32_set((float)(p->high - p->zero_point)),
           .is_signed = p->low < 0};
  const int64_t whole = p->columns / WIDTH * WIDTH;
  for (int64_t i = 0; i < p->rows; i++) {
    uint8_t *output = p->output + i * p->output_stride;
    for (int64_t at = 0; at < whole; at += WIDTH)
      u8_store(output + at, thirty_two(&r, at, bias_moves, multiplier_moves));
    if (whole && whole < p->columns) { // once more some that are done
      int64_t last = p->columns - WIDTH;
      u8_store(output + last, thirty_two(&r, last, bias_moves, multiplier_moves));
    } else if (!whole) {
      requantize_few(r, p->columns, bias_moves, multiplier_moves, output);
    }
    r.sums += p->sums_stride;
    if (r.bias) r.bias += p->bias_row;
    r.multipliers += p->multiplier_row;
  }
}

void dq_requantize_avx2(const dq_requantize_rows *p) {
  if (p->columns <= 0) return;
  const dq_requantize_rows rows = *p; // a copy that no store can change
  const bool bias_moves = p->bias && p->bias_step;
  if (bias_moves && p->multiplier_step) requantize(&rows, true, true);
  else if (bias_moves) requantize(&rows, true, false);
  else if (p->multiplier_step) requantize(&rows, false, true);
  else requantize(&rows, false, false);
}
