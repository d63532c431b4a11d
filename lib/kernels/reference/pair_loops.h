// Two quantized operands to one quantized result: dequantized, combined and quantized in registers, by plain loops
// that the compiler vectorises. The arithmetic is that of the three operators one after another, so the bits are
// theirs.
#ifndef DQ_KERNELS_PAIR_LOOPS_H
#define DQ_KERNELS_PAIR_LOOPS_H

#include "lib/kernels/reference/scalar.h"

typedef enum pair_operation { SUM, PRODUCT } pair_operation;

// x / divisor, rounded as a division is, from the rounded reciprocal: two corrections by the exact remainder
// (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", IBM Journal of
// Research and Development 34(1), 1990, theorem 8.1). Holds where nothing overflows or underflows.
static inline float quotient(float x, float divisor, float reciprocal) {
  float q = x * reciprocal;
  q = __builtin_fmaf(__builtin_fmaf(-q, divisor, x), reciprocal, q);
  return __builtin_fmaf(__builtin_fmaf(-q, divisor, x), reciprocal, q);
}

// Operands are whole numbers below 2^9 times their scales, which are so far from the ends of the range here
// that no sum, product or remainder comes near them.
static inline bool is_moderate(float scale) {
  const float least = 0x1p-20f, most = 0x1p20f;
  return __builtin_fabsf(scale) >= least && __builtin_fabsf(scale) <= most;
}

// Computes a row with constant steps; `divides`: by a true division, not by `quotient`.
static inline __attribute__((always_inline)) void pair_loop(const dq_pair_row *r, const pair_operation operation,
                                                            const int a_step, const int b_step, const bool divides) {
  const uint8_t *a = r->a, *b = r->b;
  uint8_t *output = r->output;
  const int a_flip = r->a_signed ? 128 : 0, b_flip = r->b_signed ? 128 : 0;
  const int a_zero = r->a_zero_point + a_flip, b_zero = r->b_zero_point + b_flip;
  const float a_scale = r->a_scale, b_scale = r->b_scale, scale = r->scale;
  const int32_t zero_point = r->zero_point;
  const float lower = (float)(r->low - zero_point), upper = (float)(r->high - zero_point);
  const float reciprocal = 1.0f / scale;
  const int64_t count = r->count;
  // An output lying on an operand is no dependence: iterations touch one element each.
  _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++) {
    float x = (float)((a[i * a_step] ^ a_flip) - a_zero) * a_scale;
    float y = (float)((b[i * b_step] ^ b_flip) - b_zero) * b_scale;
    x = operation == SUM ? x + y : x * y;
    x = divides ? x / scale : quotient(x, scale, reciprocal);
    x = x > lower ? x : lower;
    x = x < upper ? x : upper;
    output[i] = (uint8_t)((int32_t)dq_round_even(x) + zero_point);
  }
}

// Calls pair_loop with the steps of the row as constants, so that the compiler vectorises each case.
static inline __attribute__((always_inline)) void pair_steps(const dq_pair_row *r, const pair_operation operation,
                                                             const bool divides) {
  if (r->a_step && r->b_step) pair_loop(r, operation, 1, 1, divides);
  else if (r->a_step) pair_loop(r, operation, 1, 0, divides);
  else if (r->b_step) pair_loop(r, operation, 0, 1, divides);
  else pair_loop(r, operation, 0, 0, divides);
}

#ifdef __FMA__
// A sum by the factors of dq_add_8_shorten.
static inline void short_sum(const dq_pair_row *r) {
  const uint8_t *a = r->a, *b = r->b;
  uint8_t *output = r->output;
  const int a_flip = r->a_signed ? 128 : 0, b_flip = r->b_signed ? 128 : 0;
  const float a_factor = r->a_factor, b_factor = r->b_factor, offset = r->offset;
  const float lower = (float)r->low, upper = (float)r->high;
  const int64_t count = r->count;
  _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++) {
    float x = __builtin_fmaf((float)((b[i] ^ b_flip) - b_flip), b_factor, offset);
    x = __builtin_fmaf((float)((a[i] ^ a_flip) - a_flip), a_factor, x);
    x = x > lower ? x : lower;
    x = x < upper ? x : upper;
    output[i] = (uint8_t)(int32_t)dq_round_even(x);
  }
}
#endif

// Computes a row, as dq_pair_row says.
static inline __attribute__((always_inline)) void pair_row(const dq_pair_row *r, const pair_operation operation) {
#ifdef __FMA__ // a division takes longer than all the rest together
  bool divides = !is_moderate(r->a_scale) || !is_moderate(r->b_scale) || !is_moderate(r->scale);
#else
  const bool divides = true;
#endif
  if (divides) pair_steps(r, operation, true);
  else pair_steps(r, operation, false);
}

#endif
