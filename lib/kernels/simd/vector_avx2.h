// Vector operations in which bodies are written (lib/kernels/simd/vector.h), for AVX2 with FMA: 8 words.
#ifndef DQ_KERNELS_VECTOR_AVX2_H
#define DQ_KERNELS_VECTOR_AVX2_H

#include <immintrin.h>

#include "lib/kernels/table/kernel_table.h"

#define V_WORDS 8
typedef __m256 f32_vector;
typedef __m256d f64_vector;
typedef __m256i i32_vector;

// Lanes below count; count may be below 0 or above V_WORDS.
static inline __m256i v_mask(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline __m256 f32_zero(void) { return _mm256_setzero_ps(); }
static inline __m256 f32_set(float x) { return _mm256_set1_ps(x); }
static inline __m256 f32_load(const void *p) { return _mm256_loadu_ps(p); }
static inline void f32_store(void *p, __m256 x) { _mm256_storeu_ps(p, x); }
static inline __m256 f32_load_some(const void *p, int count) { return _mm256_maskload_ps(p, v_mask(count)); }
static inline void f32_store_some(void *p, __m256 x, int count) { _mm256_maskstore_ps(p, v_mask(count), x); }
// Loads and stores of the lanes in [first, end) only: other lanes are +0 after a load; memory under them is neither
// read nor written.
typedef __m256i f32_lanes;
static inline f32_lanes f32_lanes_between(int64_t first, int64_t end) {
  __m256i below = v_mask(first < V_WORDS ? (int)first : V_WORDS);
  return _mm256_andnot_si256(below, v_mask(end < V_WORDS ? (int)end : V_WORDS));
}
static inline __m256 f32_load_lanes(const float *p, f32_lanes lanes) { return _mm256_maskload_ps(p, lanes); }
static inline void f32_store_lanes(float *p, __m256 x, f32_lanes lanes) { _mm256_maskstore_ps(p, lanes, x); }
static inline __m256 f32_choose(f32_lanes lanes, __m256 inside, __m256 outside) {
  return _mm256_blendv_ps(outside, inside, _mm256_castsi256_ps(lanes));
}
// Lane by lane a where a > b, else b; also where one of them is NaN.
static inline __m256 f32_larger(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
// Elements 0, 2, 4 ... and 1, 3, 5 ... of two vectors.
static inline __m256 f32_even(__m256 low, __m256 high) {
  __m256d halves = _mm256_castps_pd(_mm256_shuffle_ps(low, high, 0x88));
  return _mm256_castpd_ps(_mm256_permute4x64_pd(halves, 0xd8));
}
static inline __m256 f32_odd(__m256 low, __m256 high) {
  __m256d halves = _mm256_castps_pd(_mm256_shuffle_ps(low, high, 0xdd));
  return _mm256_castpd_ps(_mm256_permute4x64_pd(halves, 0xd8));
}
static inline __m256 f32_broadcast(const void *p) { return _mm256_broadcast_ss(p); }
static inline __m256 f32_dot(__m256 sum, __m256 b, __m256 a) { return _mm256_fmadd_ps(b, a, sum); }
static inline __m256 f32_plus(__m256 a, __m256 b) { return _mm256_add_ps(a, b); }
static inline __m256 f32_bounded(__m256 x, __m256 low, __m256 high) {
  return _mm256_min_ps(high, _mm256_max_ps(low, x));
}
static inline __m256 f32_leaky(__m256 x, __m256 alpha) {
  __m256 below = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
  return _mm256_blendv_ps(x, _mm256_mul_ps(alpha, x), below);
}
static inline __m256 f32_minus(__m256 a, __m256 b) { return _mm256_sub_ps(a, b); }
static inline __m256 f32_times(__m256 a, __m256 b) { return _mm256_mul_ps(a, b); }
static inline __m256 f32_divided(__m256 a, __m256 b) { return _mm256_div_ps(a, b); }
// x 2^n of x from 1/2 to 2, rounded once, where `shifted` is n + 1.5 2^23 and n a whole number from -125 to 128: 2 x
// times 2^(n - 1), whose exponent are the lowest bits of `shifted` plus 126.
static inline __m256 f32_times_power(__m256 x, __m256 shifted) {
  __m256i power = _mm256_add_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(126));
  return _mm256_mul_ps(_mm256_add_ps(x, x), _mm256_castsi256_ps(_mm256_slli_epi32(power, 23)));
}
// Interleaves two vectors: the inverse of f32_even and f32_odd.
static inline void f32_merge_2(__m256 x[2]) {
  __m256 low = _mm256_unpacklo_ps(x[0], x[1]), high = _mm256_unpackhi_ps(x[0], x[1]);
  x[0] = _mm256_permute2f128_ps(low, high, 0x20);
  x[1] = _mm256_permute2f128_ps(low, high, 0x31);
}

// Factors of a tile: _values loads neighbouring words, _weight loads one word into all lanes, _dot adds their products.
#define F32_TILE_ROWS 6
#define F32_WINDOW_ROWS 4 // rows of outputs of a depthwise convolution, whose sums are in registers
static inline __m256 f32_values(const void *p) { return f32_load(p); }
static inline __m256 f32_weight(const void *p) { return f32_broadcast(p); }

static inline __m256d f64_zero(void) { return _mm256_setzero_pd(); }
static inline __m256d f64_load(const double *p) { return _mm256_loadu_pd(p); }
static inline void f64_store(double *p, __m256d x) { _mm256_storeu_pd(p, x); }
static inline __m256d f64_broadcast(const double *p) { return _mm256_set1_pd(*p); }
static inline __m256d f64_plus(__m256d a, __m256d b) { return _mm256_add_pd(a, b); }
static inline __m256d f64_minus(__m256d a, __m256d b) { return _mm256_sub_pd(a, b); }
static inline __m256d f64_times(__m256d a, __m256d b) { return _mm256_mul_pd(a, b); }
static inline __m256d f64_dot(__m256d sum, __m256d b, __m256d a) { return _mm256_fmadd_pd(b, a, sum); }

static inline __m256i i32_zero(void) { return _mm256_setzero_si256(); }
static inline __m256i i32_set(int32_t x) { return _mm256_set1_epi32(x); }
static inline __m256i i32_load(const void *p) { return _mm256_loadu_si256(p); }
static inline void i32_store(void *p, __m256i x) { _mm256_storeu_si256(p, x); }
static inline __m256i i32_load_some(const void *p, int count) { return _mm256_maskload_epi32(p, v_mask(count)); }
static inline void i32_store_some(void *p, __m256i x, int count) { _mm256_maskstore_epi32(p, v_mask(count), x); }
static inline __m256i i32_broadcast(const void *p) { return _mm256_castps_si256(_mm256_broadcast_ss(p)); }

// Words of two int16: exact, |sum of two products| < 2^31 for |factors| <= 255.
#define I16_TILE_ROWS 6
static inline __m256i i16_values(const void *p) { return i32_load(p); }
static inline __m256i i16_weight(const void *p) { return i32_broadcast(p); }
static inline __m256i i16_dot(__m256i sum, __m256i b, __m256i a) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(b, a));
}
// Loads as many int8 as there are int16 in a vector, and widens them.
static inline __m256i i16_of_int8(const void *p) { return _mm256_cvtepi8_epi16(_mm_loadu_si128(p)); }

// Words of four bytes, b unsigned, a signed: neighbouring products added in 16 bits, which saturates, then in 32.
#define PAIR_TILE_ROWS 6
static inline __m256i pair_values(const void *p) { return i32_load(p); }
static inline __m256i pair_weight(const void *p) { return i32_broadcast(p); }
static inline __m256i pair_products(__m256i b, __m256i a) { return _mm256_maddubs_epi16(b, a); }
static inline __m256i pair_widened(__m256i sum, __m256i products) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(products, _mm256_set1_epi16(1)));
}
static inline __m256i pair_dot(__m256i sum, __m256i b, __m256i a) { return pair_widened(sum, pair_products(b, a)); }

// The same with sums of 16 bits over several words.
#define SUMS16_TILE_ROWS 6
static inline __m256i i16_plus(__m256i a, __m256i b) { return _mm256_add_epi16(a, b); }

// ---- Bytes ----
typedef __m256i u8_vector;
static inline u8_vector u8_load(const uint8_t *p) { return _mm256_loadu_si256((const void *)p); }
static inline void u8_store(uint8_t *p, u8_vector x) { _mm256_storeu_si256((void *)p, x); }
static inline u8_vector u8_set(int x) { return _mm256_set1_epi8((char)x); }
// 16 bytes, repeated to a whole vector.
static inline u8_vector u8_repeated(const uint8_t *p) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p));
}
static inline u8_vector u8_minus(u8_vector a, u8_vector b) { return _mm256_sub_epi8(a, b); }
static inline u8_vector u8_minus_saturated_signed(u8_vector a, u8_vector b) { return _mm256_subs_epi8(a, b); }
// Picks in every 16 bytes: byte index % 16 of part, 0 where the top bit of the index is set.
static inline u8_vector u8_shuffled(u8_vector part, u8_vector index) { return _mm256_shuffle_epi8(part, index); }
static inline u8_vector u8_xor(u8_vector a, u8_vector b) { return _mm256_xor_si256(a, b); }
static inline u8_vector u8_larger_signed(u8_vector a, u8_vector b) { return _mm256_max_epi8(a, b); }
static inline u8_vector u8_larger_unsigned(u8_vector a, u8_vector b) { return _mm256_max_epu8(a, b); }
// Bytes 0, 2, 4... of a followed by b.
static inline u8_vector u8_even(u8_vector a, u8_vector b) {
  const __m256i low = _mm256_set1_epi16(0xff);
  __m256i packed = _mm256_packus_epi16(_mm256_and_si256(a, low), _mm256_and_si256(b, low));
  return _mm256_permute4x64_epi64(packed, 0xd8);
}
#include "lib/kernels/simd/u8_some_body.h"

#endif
