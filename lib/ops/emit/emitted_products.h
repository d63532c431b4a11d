// Sums of products of emitted C. It is compiled for weights and data of 8 bits, or for the types that T_WEIGHT and
// T_DATA are before it is included, once for each.
// A section begins with a line of four equals signs and its name, and ends with such a line; helpers.def names it. The
// text in it is C99 that stands in emitted sources as it is here.
#include <stdint.h>

#ifndef T_NAME
#define T_NAME dq_products
#define T_WEIGHT int8_t
#define T_DATA uint8_t
#define DQ_SIXTEEN_T_WEIGHT(from) DQ_SIXTEEN_int8_t(from)
#define DQ_SIXTEEN_T_DATA(from) DQ_SIXTEEN_uint8_t(from)
#endif

// ====
// The order of the data of four pixels.
// ==== DQ_STEP
/* Where compilers make vectors of loops, one pixel lies behind the other; else their elements lie in turn, so that
   all data of a step have one pointer. */
#if defined(__SSE2__) || defined(__ARM_NEON)
#define DQ_VECTORS 1
#define DQ_STEP 1
#define DQ_NEXT(length) (length)
#else
#define DQ_VECTORS 0
#define DQ_STEP 4
#define DQ_NEXT(length) 1
#endif
#if defined(__AVX2__) && !defined(__AVX512VNNI__) && !defined(__AVXVNNI__)
#include <immintrin.h>
#define DQ_PAIRS 1 /* pairs of products, which compilers do not find in bytes */
#define DQ_BYTES(from) _mm_loadu_si128((const __m128i *)(const void *)(from))
#define DQ_SIXTEEN_uint8_t(from) _mm256_cvtepu8_epi16(DQ_BYTES(from))
#define DQ_SIXTEEN_int8_t(from) _mm256_cvtepi8_epi16(DQ_BYTES(from))
#define DQ_SIXTEEN_int16_t(from) _mm256_loadu_si256((const __m256i *)(const void *)(from))
#else
#define DQ_PAIRS 0
#endif

// ====
// T_NAME is the function, T_WEIGHT and T_DATA are the types of its numbers. The plain form has a weight, and the places
// of the data: eight registers are enough, and offsets are within the 31 bytes that a load of Armv6-M has for them.
// ==== T_NAME
/* Addend plus products of weights and data, for four pixels. */
static void T_NAME(const T_WEIGHT *w, const T_DATA *x, const int32_t length, const int32_t addend, int32_t *sums) {
  int32_t s0 = addend, s1 = addend, s2 = addend, s3 = addend;
#if DQ_VECTORS
  const T_DATA *x1 = x + length, *x2 = x1 + length, *x3 = x2 + length;
  int32_t i = 0;
#if DQ_PAIRS
  __m256i t0 = _mm256_setzero_si256(), t1 = t0, t2 = t0, t3 = t0;
  for (; i + 16 <= length; i += 16) {
    const __m256i a = DQ_SIXTEEN_T_WEIGHT(w + i);
    t0 = _mm256_add_epi32(t0, _mm256_madd_epi16(a, DQ_SIXTEEN_T_DATA(x + i)));
    t1 = _mm256_add_epi32(t1, _mm256_madd_epi16(a, DQ_SIXTEEN_T_DATA(x1 + i)));
    t2 = _mm256_add_epi32(t2, _mm256_madd_epi16(a, DQ_SIXTEEN_T_DATA(x2 + i)));
    t3 = _mm256_add_epi32(t3, _mm256_madd_epi16(a, DQ_SIXTEEN_T_DATA(x3 + i)));
  }
  t0 = _mm256_hadd_epi32(_mm256_hadd_epi32(t0, t1), _mm256_hadd_epi32(t2, t3));
  const __m128i t = _mm_add_epi32(_mm256_castsi256_si128(t0), _mm256_extracti128_si256(t0, 1));
  s0 += _mm_extract_epi32(t, 0);
  s1 += _mm_extract_epi32(t, 1);
  s2 += _mm_extract_epi32(t, 2);
  s3 += _mm_extract_epi32(t, 3);
#endif
  for (; i < length; i++) {
    s0 += (int32_t)w[i] * (int32_t)x[i];
    s1 += (int32_t)w[i] * (int32_t)x1[i];
    s2 += (int32_t)w[i] * (int32_t)x2[i];
    s3 += (int32_t)w[i] * (int32_t)x3[i];
  }
#else
  const T_DATA *const end = x + 4 * length;
  do {
    int32_t a;
    a = (int32_t)w[0];
    s0 += a * (int32_t)x[0];
    s1 += a * (int32_t)x[1];
    s2 += a * (int32_t)x[2];
    s3 += a * (int32_t)x[3];
    a = (int32_t)w[1];
    s0 += a * (int32_t)x[4];
    s1 += a * (int32_t)x[5];
    s2 += a * (int32_t)x[6];
    s3 += a * (int32_t)x[7];
    a = (int32_t)w[2];
    s0 += a * (int32_t)x[8];
    s1 += a * (int32_t)x[9];
    s2 += a * (int32_t)x[10];
    s3 += a * (int32_t)x[11];
    a = (int32_t)w[3];
    s0 += a * (int32_t)x[12];
    s1 += a * (int32_t)x[13];
    s2 += a * (int32_t)x[14];
    s3 += a * (int32_t)x[15];
    w += 4;
    x += 16;
  } while (x != end);
#endif
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
}

// ====
