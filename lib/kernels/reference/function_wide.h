// fp32 functions of one value that are rare enough to be computed in double, without library calls but the square
// root: additions, multiplications and divisions one by one as written, so the bits are the same everywhere. Series
// are those of Taylor, cut where what is left out is below 2^-52 of the sum; results are rounded to float once, so
// that hardly any differs from the exact value rounded.
#ifndef DQ_KERNELS_FUNCTION_WIDE_H
#define DQ_KERNELS_FUNCTION_WIDE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lib/kernels/reference/function.h"

// c[0] + c[1] x + ... + c[count - 1] x^(count - 1).
static inline double dq_series(double x, const double *c, int count) {
  double sum = c[count - 1];
  for (int i = count - 2; i >= 0; i--) {
    sum *= x;
    sum += c[i];
  }
  return sum;
}

// e^x for |x| up to 700: 2^n e^r, ln 2 in two parts.
static inline double dq_wide_exp(double x) {
  static const double c[14] = {1.0,
                               1.0,
                               1.0 / 2.0,
                               1.0 / 6.0,
                               1.0 / 24.0,
                               1.0 / 120.0,
                               1.0 / 720.0,
                               1.0 / 5040.0,
                               1.0 / 40320.0,
                               1.0 / 362880.0,
                               1.0 / 3628800.0,
                               1.0 / 39916800.0,
                               1.0 / 479001600.0,
                               1.0 / 6227020800.0};
  static const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33, log2_e = 0x1.71547652b82fep0;
  double scaled = x * log2_e;
  int32_t n = (int32_t)(scaled < 0.0 ? scaled - 0.5 : scaled + 0.5);
  double part = n * ln2_high, r = x - part;
  part = n * ln2_low;
  r -= part;
  uint64_t bits = (uint64_t)(n + 1023) << 52;
  double power;
  memcpy(&power, &bits, sizeof power);
  double result = dq_series(r, c, 14);
  result *= power;
  return result;
}

// ln x for normal x above 0: e ln 2 + 2 artanh((m - 1) / (m + 1)), m from 1 / sqrt(2) to sqrt(2).
static inline double dq_wide_log(double x) {
  static const double c[11] = {2.0 / 3.0,  2.0 / 5.0,  2.0 / 7.0,  2.0 / 9.0,  2.0 / 11.0, 2.0 / 13.0,
                               2.0 / 15.0, 2.0 / 17.0, 2.0 / 19.0, 2.0 / 21.0, 2.0 / 23.0};
  static const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint64_t from = bits - 0x3fe6a09e00000000u; // the bits of 1 / sqrt(2)
  const int32_t e = (int32_t)(from >> 52) - (from >> 63 ? 4096 : 0);
  bits -= (uint64_t)e << 52;
  double m;
  memcpy(&m, &bits, sizeof m);
  double s = m + 1.0;
  m -= 1.0;
  s = m / s;
  double z = s * s, result = dq_series(z, c, 11);
  result *= z;
  result *= s;
  result += e * ln2_low;
  result += 2.0 * s;
  result += e * ln2_high;
  return result;
}

// ln(1 + x) for x from 0 on: with u = 1 + x as it is rounded, ln u + (x - (u - 1)) / u.
static inline double dq_wide_log1p(double x) {
  double u = 1.0 + x;
  if (u == 1.0) return x;
  double lost = u - 1.0;
  lost = x - lost;
  lost /= u;
  lost += dq_wide_log(u);
  return lost;
}

// The arc tangent of x from 0 to infinity: of 1 / x beyond 1, then twice that of half the angle.
static inline double dq_wide_atan(double x) {
  static const double c[12] = {-1.0 / 3.0,  1.0 / 5.0,  -1.0 / 7.0,  1.0 / 9.0,  -1.0 / 11.0, 1.0 / 13.0,
                               -1.0 / 15.0, 1.0 / 17.0, -1.0 / 19.0, 1.0 / 21.0, -1.0 / 23.0, 1.0 / 25.0};
  static const double right = 0x1.921fb54442d18p0;
  double y = x > 1.0 ? 1.0 / x : x;
  for (int i = 0; i < 2; i++) {
    double half = y * y;
    half += 1.0;
    half = sqrt(half);
    half += 1.0;
    y /= half;
  }
  double z = y * y, result = dq_series(z, c, 12);
  result *= z;
  result *= y;
  result += y;
  result *= 4.0;
  return x > 1.0 ? right - result : result;
}

// A float with the sign of another one; NaN for no sign at all.
static inline float dq_signed_like(double magnitude, float x) {
  float result = (float)magnitude;
  return dq_bits_float(dq_float_bits(result) | (dq_float_bits(x) & 0x80000000u));
}

static inline float dq_nan(void) { return dq_bits_float(0x7fc00000u); }

static inline float dq_atan_one(float x) { return x != x ? x : dq_signed_like(dq_wide_atan(fabs((double)x)), x); }

static inline float dq_asin_one(float x) {
  double a = fabs((double)x), cosine = 1.0 - a;
  if (!(a <= 1.0)) return dq_nan();
  cosine *= 1.0 + a;
  cosine = sqrt(cosine);
  return dq_signed_like(a < 1.0 ? dq_wide_atan(a / cosine) : 0x1.921fb54442d18p0, x);
}

static inline float dq_acos_one(float x) {
  double above = 1.0 - (double)x, below = 1.0 + (double)x;
  if (!(above >= 0.0 && below >= 0.0)) return dq_nan();
  if (below == 0.0) return (float)0x1.921fb54442d18p1;
  double half = above / below;
  half = sqrt(half);
  half = dq_wide_atan(half);
  half += half;
  return (float)half;
}

// Uses the Taylor series where |x| < 1.
static inline float dq_sinh_one(float x) {
  static const double c[8] = {1.0 / 6.0,        1.0 / 120.0,        1.0 / 5040.0,          1.0 / 362880.0,
                              1.0 / 39916800.0, 1.0 / 6227020800.0, 1.0 / 1307674368000.0, 1.0 / 355687428096000.0};
  double a = fabs((double)x);
  if (a != a) return x;
  if (a < 1.0) {
    double z = a * a, result = dq_series(z, c, 8);
    result *= z;
    result *= a;
    result += a;
    return dq_signed_like(result, x);
  }
  double power = dq_wide_exp(a > 90.0 ? 90.0 : a), inverse = 1.0 / power;
  power -= inverse;
  power *= 0.5;
  return dq_signed_like(power, x);
}

static inline float dq_cosh_one(float x) {
  double a = fabs((double)x);
  if (a != a) return x;
  double power = dq_wide_exp(a > 90.0 ? 90.0 : a), inverse = 1.0 / power;
  power += inverse;
  power *= 0.5;
  return (float)power;
}

// ln(1 + a + a^2 / (1 + sqrt(1 + a^2))).
static inline float dq_asinh_one(float x) {
  double a = fabs((double)x);
  if (!(a < (double)INFINITY)) return x;
  double square = a * a, root = square + 1.0;
  root = sqrt(root);
  root += 1.0;
  root = square / root;
  root += a;
  return dq_signed_like(dq_wide_log1p(root), x);
}

// ln(1 + t + sqrt(2 t + t^2)) with t = x - 1.
static inline float dq_acosh_one(float x) {
  if (!(x >= 1.0f)) return dq_nan();
  if (!(x < INFINITY)) return x;
  double t = (double)x - 1.0, root = t * t;
  root += 2.0 * t;
  root = sqrt(root);
  root += t;
  return (float)dq_wide_log1p(root);
}

// ln(1 + 2 a / (1 - a)) / 2.
static inline float dq_atanh_one(float x) {
  double a = fabs((double)x);
  if (!(a <= 1.0)) return dq_nan();
  if (a == 1.0) return dq_signed_like((double)INFINITY, x);
  double t = 1.0 - a;
  t = a / t;
  t += t;
  t = dq_wide_log1p(t);
  t *= 0.5;
  return dq_signed_like(t, x);
}

// x of pi / 4 and more, finite, less the nearest multiple of pi / 2, which `quarters` receives modulo 4. x is an
// integer m times 2^e; of 2 / pi only the 96 bits count that make less than 4 and more than 2^-94 of the product
// (M. Payne, R. Hanek, Radian reduction for trigonometric functions, SIGNUM Newsletter 18, 1983).
static inline double dq_wide_rest(float x, uint32_t *quarters) {
  static const uint32_t two_over_pi[9] = {0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                          0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};
  const uint32_t bits = dq_float_bits(x) & 0x7fffffffu, m = (bits & 0x7fffffu) | 0x800000u;
  const uint32_t first = (bits >> 23) - 120; // of the bits of the table, which begins with 32 in front of the point
  const uint32_t word = first / 32, shift = first % 32;
  uint64_t product = 0, high = 0;
  for (uint32_t i = 3; i-- > 0;) {
    const uint64_t two = (uint64_t)two_over_pi[word + i] << 32 | two_over_pi[word + i + 1];
    const uint32_t part = (uint32_t)(two >> (32 - shift));
    product = (product >> 32) + (uint64_t)part * m;
    high = high >> 32 | (product & 0xffffffffu) << 32;
  }
  const uint64_t nearest = (high + 0x2000000000000000u) >> 62;
  const uint64_t rest = high - (nearest << 62);
  *quarters = (uint32_t)(nearest & 3u);
  const double magnitude = (double)(rest >> 63 ? 0u - rest : rest) * 0x1.921fb54442d18p-62;
  return rest >> 63 ? -magnitude : magnitude;
}

// Sine and cosine of the rest of x.
static inline float dq_tan_one(float x) {
  static const double s[8] = {-1.0 / 6.0,        1.0 / 120.0,        -1.0 / 5040.0,          1.0 / 362880.0,
                              -1.0 / 39916800.0, 1.0 / 6227020800.0, -1.0 / 1307674368000.0, 1.0 / 355687428096000.0};
  static const double c[9] = {-1.0 / 2.0,
                              1.0 / 24.0,
                              -1.0 / 720.0,
                              1.0 / 40320.0,
                              -1.0 / 3628800.0,
                              1.0 / 479001600.0,
                              -1.0 / 87178291200.0,
                              1.0 / 20922789888000.0,
                              -1.0 / 6402373705728000.0};
  double rest = fabs((double)x);
  uint32_t quarters = 0;
  if (!(rest < (double)INFINITY)) return dq_nan();
  if (rest >= 0x1.921fb6p-1) rest = dq_wide_rest(x, &quarters);
  double z = rest * rest, sine = dq_series(z, s, 8), cosine = dq_series(z, c, 9);
  sine *= z;
  sine *= rest;
  sine += rest;
  cosine *= z;
  cosine += 1.0;
  double result = quarters % 2 ? -cosine / sine : sine / cosine;
  float rounded = (float)result;
  return dq_bits_float(dq_float_bits(rounded) ^ (dq_float_bits(x) & 0x80000000u));
}

#endif
