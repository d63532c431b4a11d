// Functions of emitted C by the SIMD instructions of Armv7E-M.
// A section begins with a line of four equals signs and its name, and ends with such a line; helpers.def names it. The
// text in it is C99 that stands in emitted sources as it is here.
#ifndef DQ_OPS_EMITTED_DSP_H
#define DQ_OPS_EMITTED_DSP_H

#if defined(__ARM_FEATURE_SIMD32)
#include <arm_acle.h>
#include <stdint.h>

// ==== dq_even
/* Bytes 0 and 2 of a word as two numbers of 16 bits, and bytes 1 and 3. */
static inline uint32_t dq_even(const uint32_t word) {
  uint32_t pair;
  __asm__ volatile("uxtb16 %0, %1" : "=r"(pair) : "r"(word));
  return pair;
}

static inline uint32_t dq_odd(const uint32_t word) {
  uint32_t pair;
  __asm__ volatile("uxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word));
  return pair;
}

// ==== dq_signed_even
/* Bytes 0 and 2 of a word as two numbers of 16 bits, and bytes 1 and 3. */
static inline uint32_t dq_signed_even(const uint32_t word) {
  uint32_t pair;
  __asm__ volatile("sxtb16 %0, %1" : "=r"(pair) : "r"(word));
  return pair;
}

static inline uint32_t dq_signed_odd(const uint32_t word) {
  uint32_t pair;
  __asm__ volatile("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word));
  return pair;
}

// ==== dq_pair
typedef uint32_t __attribute__((may_alias, aligned(1))) dq_loose_word;
typedef uint16_t __attribute__((may_alias, aligned(1))) dq_loose_half;

/* A word, and a half of one, at any address. */
static inline uint32_t dq_any_word(const void *from) { return *(const dq_loose_word *)from; }
static inline uint32_t dq_any_half(const void *from) { return *(const dq_loose_half *)from; }

static inline uint32_t dq_pair(const int32_t a, const int32_t b) { return ((uint32_t)a & 65535u) | (uint32_t)b << 16; }

/* The sum plus the products of both numbers; plus that of the lower number of a; plus that of its upper number. */
static inline int32_t dq_two(const int32_t sum, const uint32_t a, const uint32_t b) {
  return __smlad((int16x2_t)a, (int16x2_t)b, sum);
}

static inline int32_t dq_bottom(const int32_t sum, const uint32_t a, const int32_t b) {
  return __smlabb((int32_t)a, b, sum);
}

static inline int32_t dq_top(const int32_t sum, const uint32_t a, const int32_t b) {
  return __smlatb((int32_t)a, b, sum);
}

// ====
// All is volatile, which keeps the order: eight sums, two pointers and four numbers are just as many as there are
// registers. For the same reason the loop is not unrolled further.
// ==== dq_blocks
typedef uint32_t __attribute__((may_alias)) dq_word;
typedef uint64_t __attribute__((may_alias)) dq_two_words;

/* The sum plus the products of both numbers. */
static inline int32_t dq_add(int32_t sum, const uint32_t a, const uint32_t b) {
  __asm__ volatile("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
}

/* The sums of four channels at two pixels. Each two words of weights are those of two elements. */
static void dq_blocks(const int32_t *w, const int16_t *x, const int32_t length, const int32_t *addends, int32_t *sums) {
  const volatile dq_word *from = (const dq_word *)w;
  const volatile dq_two_words *at = (const dq_two_words *)(const void *)x, *const end = &at[length / 2];
  int32_t s0 = addends[0], s2 = addends[1], s4 = addends[2], s6 = addends[3];
  int32_t s1 = s0, s3 = s2, s5 = s4, s7 = s6;
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC unroll 1
#endif
  do {
    for (int i = 0; i < 4; i++) {
      const uint64_t both = at[i];
      const uint32_t p = (uint32_t)both, q = (uint32_t)(both >> 32);
      uint32_t b = from[2 * i], a = dq_signed_even(b);
      b = dq_signed_odd(b);
      s0 = dq_add(s0, a, p);
      s1 = dq_add(s1, a, q);
      s2 = dq_add(s2, b, p);
      s3 = dq_add(s3, b, q);
      b = from[2 * i + 1];
      a = dq_signed_even(b);
      b = dq_signed_odd(b);
      s4 = dq_add(s4, a, p);
      s5 = dq_add(s5, a, q);
      s6 = dq_add(s6, b, p);
      s7 = dq_add(s7, b, q);
    }
    from += 8;
    at += 4;
  } while (at != end);
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
  sums[4] = s4;
  sums[5] = s5;
  sums[6] = s6;
  sums[7] = s7;
}

// ==== dq_dsp_high
/* Requantizes a sum. The factors were proven to give the result of float32 for every sum that can be. */
static inline int32_t dq_high(const int32_t sum, const int32_t factor, const int shift, const int32_t zero,
                              const int32_t low, const int32_t high) {
  int32_t q;
  __asm__("smmla %0, %1, %2, %3" : "=r"(q) : "r"(sum), "r"(factor), "r"((2 * zero + 1) * ((int32_t)1 << shift)));
  q >>= shift + 1;
  return q < low ? low : q > high ? high : q;
}

// ====
#endif

#endif
