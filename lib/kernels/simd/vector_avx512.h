// Vector operations in which bodies are written (lib/kernels/simd/vector.h), for AVX-512 (F, BW, DQ, VL): 16 words.
#ifndef DQ_KERNELS_VECTOR_AVX512_H
#define DQ_KERNELS_VECTOR_AVX512_H

#include <immintrin.h>

#include "lib/kernels/table/kernel_table.h"

#define V_WORDS 16
typedef __m512 f32_vector;
typedef __m512d f64_vector;
typedef __m512i i32_vector;

// Lanes below count; count may be below 0 or above V_WORDS.
static inline __mmask16 v_mask(int count) {
  return (__mmask16)(count >= V_WORDS ? 0xffffu : count <= 0 ? 0u : (1u << count) - 1u);
}

static inline __m512 f32_zero(void) { return _mm512_setzero_ps(); }
static inline __m512 f32_set(float x) { return _mm512_set1_ps(x); }
static inline __m512 f32_load(const void *p) { return _mm512_loadu_ps(p); }
static inline void f32_store(void *p, __m512 x) { _mm512_storeu_ps(p, x); }
static inline __m512 f32_load_some(const void *p, int count) { return _mm512_maskz_loadu_ps(v_mask(count), p); }
static inline void f32_store_some(void *p, __m512 x, int count) { _mm512_mask_storeu_ps(p, v_mask(count), x); }
// Loads and stores of the lanes in [first, end) only: other lanes are +0 after a load; memory under them is neither
// read nor written.
typedef __mmask16 f32_lanes;
static inline f32_lanes f32_lanes_between(int64_t first, int64_t end) {
  __mmask16 below = v_mask(first < V_WORDS ? (int)first : V_WORDS);
  return (f32_lanes)(v_mask(end < V_WORDS ? (int)end : V_WORDS) & ~below);
}
static inline __m512 f32_load_lanes(const float *p, f32_lanes lanes) { return _mm512_maskz_loadu_ps(lanes, p); }
static inline void f32_store_lanes(float *p, __m512 x, f32_lanes lanes) { _mm512_mask_storeu_ps(p, lanes, x); }
static inline __m512 f32_choose(f32_lanes lanes, __m512 inside, __m512 outside) {
  return _mm512_mask_blend_ps(lanes, outside, inside);
}
// Lane by lane a where a > b, else b; also where one of them is NaN.
static inline __m512 f32_larger(__m512 a, __m512 b) { return _mm512_max_ps(a, b); }
// Elements 0, 2, 4 ... and 1, 3, 5 ... of two vectors.
static inline __m512 f32_even(__m512 low, __m512 high) {
  const __m512i from = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_ps(low, from, high);
}
static inline __m512 f32_odd(__m512 low, __m512 high) {
  const __m512i from = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  return _mm512_permutex2var_ps(low, from, high);
}
static inline __m512 f32_broadcast(const void *p) { return _mm512_set1_ps(*(const float *)p); }
static inline __m512 f32_dot(__m512 sum, __m512 b, __m512 a) { return _mm512_fmadd_ps(b, a, sum); }
static inline __m512 f32_plus(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
static inline __m512 f32_bounded(__m512 x, __m512 low, __m512 high) {
  return _mm512_min_ps(high, _mm512_max_ps(low, x));
}
static inline __m512 f32_leaky(__m512 x, __m512 alpha) {
  __mmask16 below = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ);
  return _mm512_mask_mul_ps(x, below, alpha, x);
}
static inline __m512 f32_minus(__m512 a, __m512 b) { return _mm512_sub_ps(a, b); }
static inline __m512 f32_times(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
static inline __m512 f32_divided(__m512 a, __m512 b) { return _mm512_div_ps(a, b); }
// x 2^n of x from 1/2 to 2, rounded once, where `shifted` is n + 1.5 2^23 and n a whole number from -125 to 128.
static inline __m512 f32_times_power(__m512 x, __m512 shifted) {
  return _mm512_scalef_ps(x, _mm512_sub_ps(shifted, _mm512_set1_ps(0x1.8p23f)));
}
// Interleaves two vectors: the inverse of f32_even and f32_odd.
static inline void f32_merge_2(__m512 x[2]) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
  __m512 first = _mm512_permutex2var_ps(x[0], low, x[1]);
  x[1] = _mm512_permutex2var_ps(x[0], high, x[1]);
  x[0] = first;
}

// Factors of a tile: _values loads neighbouring words, _weight loads one word into all lanes, _dot adds their products.
#define F32_TILE_ROWS 14
#define F32_WINDOW_ROWS 8 // rows of outputs of a depthwise convolution, whose sums are in registers
dq_f32_window_function dq_f32_window3_avx512;
#define F32_WINDOW3 dq_f32_window3_avx512 // for 3x3 kernels of stride 1 on planes wider than a vector
static inline __m512 f32_values(const void *p) { return f32_load(p); }
static inline __m512 f32_weight(const void *p) { return f32_broadcast(p); }

static inline __m512d f64_zero(void) { return _mm512_setzero_pd(); }
static inline __m512d f64_load(const double *p) { return _mm512_loadu_pd(p); }
static inline void f64_store(double *p, __m512d x) { _mm512_storeu_pd(p, x); }
static inline __m512d f64_broadcast(const double *p) { return _mm512_set1_pd(*p); }
static inline __m512d f64_plus(__m512d a, __m512d b) { return _mm512_add_pd(a, b); }
static inline __m512d f64_minus(__m512d a, __m512d b) { return _mm512_sub_pd(a, b); }
static inline __m512d f64_times(__m512d a, __m512d b) { return _mm512_mul_pd(a, b); }
static inline __m512d f64_dot(__m512d sum, __m512d b, __m512d a) { return _mm512_fmadd_pd(b, a, sum); }

static inline __m512i i32_zero(void) { return _mm512_setzero_si512(); }
static inline __m512i i32_set(int32_t x) { return _mm512_set1_epi32(x); }
static inline __m512i i32_load(const void *p) { return _mm512_loadu_si512(p); }
static inline void i32_store(void *p, __m512i x) { _mm512_storeu_si512(p, x); }
static inline __m512i i32_load_some(const void *p, int count) { return _mm512_maskz_loadu_epi32(v_mask(count), p); }
static inline void i32_store_some(void *p, __m512i x, int count) { _mm512_mask_storeu_epi32(p, v_mask(count), x); }
static inline __m512i i32_broadcast(const void *p) { return _mm512_set1_epi32(*(const int32_t *)p); }

// Words of two int16: exact, |sum of two products| < 2^31 for |factors| <= 255.
#define I16_TILE_ROWS 12
static inline __m512i i16_values(const void *p) { return i32_load(p); }
static inline __m512i i16_weight(const void *p) { return i32_broadcast(p); }
static inline __m512i i16_dot(__m512i sum, __m512i b, __m512i a) {
  return _mm512_add_epi32(sum, _mm512_madd_epi16(b, a));
}
// Loads as many int8 as there are int16 in a vector, and widens them.
static inline __m512i i16_of_int8(const void *p) { return _mm512_cvtepi8_epi16(_mm256_loadu_si256(p)); }

// Words of four bytes, b unsigned, a signed: neighbouring products added in 16 bits, which saturates, then in 32.
#define PAIR_TILE_ROWS 12
static inline __m512i pair_values(const void *p) { return i32_load(p); }
static inline __m512i pair_weight(const void *p) { return i32_broadcast(p); }
static inline __m512i pair_products(__m512i b, __m512i a) { return _mm512_maddubs_epi16(b, a); }
static inline __m512i pair_widened(__m512i sum, __m512i products) {
  return _mm512_add_epi32(sum, _mm512_madd_epi16(products, _mm512_set1_epi16(1)));
}
static inline __m512i pair_dot(__m512i sum, __m512i b, __m512i a) { return pair_widened(sum, pair_products(b, a)); }

// The same with sums of 16 bits over several words.
#define SUMS16_TILE_ROWS 12
static inline __m512i i16_plus(__m512i a, __m512i b) { return _mm512_add_epi16(a, b); }

// ---- Bytes ----
typedef __m512i u8_vector;
static inline __mmask64 u8_mask(int64_t count) { return count >= 64 ? ~0ull : (1ull << count) - 1; }
static inline u8_vector u8_load(const uint8_t *p) { return _mm512_loadu_si512(p); }
static inline void u8_store(uint8_t *p, u8_vector x) { _mm512_storeu_si512(p, x); }
static inline u8_vector u8_load_some(const uint8_t *p, int64_t count) {
  return _mm512_maskz_loadu_epi8(u8_mask(count), p);
}
static inline void u8_store_some(uint8_t *p, u8_vector x, int64_t count) {
  _mm512_mask_storeu_epi8(p, u8_mask(count), x);
}
static inline u8_vector u8_set(int x) { return _mm512_set1_epi8((char)x); }
// 16 bytes, repeated to a whole vector.
static inline u8_vector u8_repeated(const uint8_t *p) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)p));
}
static inline u8_vector u8_minus_saturated_signed(u8_vector a, u8_vector b) { return _mm512_subs_epi8(a, b); }
// Picks in every 16 bytes: byte index % 16 of part, 0 where the top bit of the index is set.
static inline u8_vector u8_shuffled(u8_vector part, u8_vector index) { return _mm512_shuffle_epi8(part, index); }
static inline u8_vector u8_xor(u8_vector a, u8_vector b) { return _mm512_xor_si512(a, b); }
static inline u8_vector u8_larger_signed(u8_vector a, u8_vector b) { return _mm512_max_epi8(a, b); }
static inline u8_vector u8_larger_unsigned(u8_vector a, u8_vector b) { return _mm512_max_epu8(a, b); }
// Bytes 0, 2, 4... of a followed by b.
static inline u8_vector u8_even(u8_vector a, u8_vector b) {
  __m256i low = _mm512_cvtepi16_epi8(a), high = _mm512_cvtepi16_epi8(b);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// ---- Lines of dq_expansion ----
static inline uint32_t v_bits_below(int64_t count) {
  return count >= 16 ? 0xffffu : count <= 0 ? 0 : (1u << count) - 1;
}
// Bit i to bit 2 i.
static inline uint32_t v_spread(uint32_t bits) {
  bits = (bits | bits << 8) & 0x00ff00ffu;
  bits = (bits | bits << 4) & 0x0f0f0f0fu;
  bits = (bits | bits << 2) & 0x33333333u;
  return (bits | bits << 1) & 0x55555555u;
}
// Bits for the 16 words of a line from `at` on: those taken from the input (spread: at elements two apart), and those
// that exist.
typedef struct word_range {
  uint32_t taken, spread, stored;
} word_range;
static inline word_range i32_word_range(const dq_expansion *e, int64_t at) {
  uint32_t taken = v_bits_below(e->end - at) & ~v_bits_below(e->first - at);
  return (word_range){taken, v_spread(taken), v_bits_below(e->width - at)};
}
static inline void i32_store_range(uint32_t *to, __m512i words, word_range range, __m512i pad) {
  words = _mm512_mask_blend_epi32((__mmask16)range.taken, pad, words);
  _mm512_mask_storeu_epi32(to, (__mmask16)range.stored, words);
}
// The taken bytes, stride (1 or 2) apart, widened to words; no other byte is read.
static inline __attribute__((always_inline)) __m512i i32_take_bytes(const uint8_t *from, word_range range,
                                                                    const int stride) {
  if (stride == 1) return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8((__mmask16)range.taken, from));
  return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi8(range.spread, from));
}

#endif
