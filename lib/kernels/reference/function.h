// fp32 functions of one value without library calls, so that loops over them vectorise. Additions,
// multiplications and fused multiply-adds one by one as written, each stored in a variable, so the bits are the same
// everywhere: machines that compute in wider types (FLT_EVAL_METHOD) round when they store. They may keep more digits
// of a constant too, so those in sums are converted.
#ifndef DQ_KERNELS_FUNCTION_H
#define DQ_KERNELS_FUNCTION_H

#include <math.h>
#include <stdint.h>
#include <string.h>

// The bits of a float as an integer, and back.
static inline uint32_t dq_float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static inline float dq_bits_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

#define DQ_EXP_MAGIC 0x1.8p23f // adding it leaves round(n) in the low bits of the mantissa
// x = n ln 2 + r: n with the magic added, and e^r - 1 by the polynomial of Cephes' expf (Moshier), ln 2 in
// two parts.
static inline float dq_exp_rest(float x, float *shifted) {
  *shifted = fmaf(x, 1.44269504088896341f, DQ_EXP_MAGIC);
  float n = *shifted - DQ_EXP_MAGIC;
  float r = fmaf(n, 2.12194440e-4f, fmaf(n, -0.693359375f, x));
  float p = 1.9875691500e-4f;
  p = fmaf(p, r, 1.3981999507e-3f);
  p = fmaf(p, r, 8.3334519073e-3f);
  p = fmaf(p, r, 4.1665795894e-2f);
  p = fmaf(p, r, 1.6666665459e-1f);
  p = fmaf(p, r, 5.0000001201e-1f);
  float square = r * r;
  p = fmaf(p, square, r);
  return p;
}
// The same, and e^r.
static inline float dq_exp_parts(float x, float *shifted) {
  float p = dq_exp_rest(x, shifted);
  p += 1.0f;
  return p;
}

// e^x within 2 units in the last place; overflows to infinity, underflows to 0 through the
// subnormals, NaN stays NaN.
static inline float dq_exp_one(float x) {
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  float shifted, p = dq_exp_parts(x, &shifted);
  // 2^n in two factors: n goes from -150 to 128, beyond what one exponent holds.
  uint32_t power = dq_float_bits(shifted) - dq_float_bits(DQ_EXP_MAGIC);
  uint32_t half = (uint32_t)((int32_t)power >> 1);
  p *= dq_bits_float((half + 127u) << 23);
  p *= dq_bits_float((power - half + 127u) << 23);
  return p;
}

// 1 / (1 + e^-x), the bits that dq_exp_one would give: below -87 nothing is left of e^-x beside 1, so 2^n
// is one factor, taken twice by half.
static inline float dq_sigmoid_one(float x) {
  x = -x;
  x = x > 89.0f ? 89.0f : x;
  x = x < -87.0f ? -87.0f : x;
  float shifted, p = dq_exp_parts(x, &shifted);
  p += p;
  p *= dq_bits_float((dq_float_bits(shifted) + 126u) << 23);
  p += 1.0f;
  p = 1.0f / p;
  return p;
}

// x / (1 + e^-x).
static inline float dq_silu_one(float x) {
  float y = x * dq_sigmoid_one(x);
  return y;
}

// tanh(x): by the polynomial of Cephes' tanhf (Moshier) below 0.625, by e^2x elsewhere; NaN stays NaN.
static inline float dq_tanh_one(float x) {
  float magnitude = dq_bits_float(dq_float_bits(x) & 0x7fffffffu), z = x * x;
  float p = -5.70498872745e-3f;
  p *= z, p += (float)2.06390887954e-2f;
  p *= z, p -= (float)5.37397155531e-2f;
  p *= z, p += (float)1.33314422036e-1f;
  p *= z, p -= (float)3.33332819422e-1f;
  p *= z, p *= x;
  float near = x + p, far = dq_exp_one(2.0f * magnitude);
  far += 1.0f;
  far = 2.0f / far;
  far = 1.0f - far;
  far = dq_bits_float(dq_float_bits(far) | (dq_float_bits(x) & 0x80000000u));
  return magnitude < 0.625f ? near : far;
}

// e^x - 1 within 2 units in the last place: with x = n ln 2 + r as above, 2^n (e^r - 1) + (2^n - 1), halved so that
// 2^128 is none of the factors; NaN stays NaN.
static inline float dq_expm1_one(float x) {
  x = x > 89.0f ? 89.0f : x;
  x = x < -18.0f ? -18.0f : x;
  float shifted, p = dq_exp_rest(x, &shifted);
  float half = dq_bits_float((dq_float_bits(shifted) - dq_float_bits(DQ_EXP_MAGIC) + 126u) << 23);
  float far = fmaf(half, p, half - 0.5f);
  far += far;
  far = shifted == DQ_EXP_MAGIC ? p : far;
  return dq_bits_float(dq_float_bits(far) | (dq_float_bits(x) & 0x80000000u));
}

// ln(1 + e^x) within 4 units in the last place: max(x, 0) + 2 artanh(u / (2 + u)) with u = e^-|x| and a polynomial
// for artanh up to 1/3, fitted by weighted least squares; NaN stays NaN.
static inline float dq_softplus_one(float x) {
  float magnitude = dq_bits_float(dq_float_bits(x) & 0x7fffffffu), u = dq_exp_one(-magnitude);
  float w = u + 2.0f;
  u += u;
  w = u / w;
  float z = w * w;
  z *= 0.25f;
  float p = 0.121505f;
  p = fmaf(p, z, 0.10713821f);
  p = fmaf(p, z, 0.14308444f);
  p = fmaf(p, z, 0.19999439f);
  p = fmaf(p, z, 0.33333337f);
  p *= z;
  p = fmaf(p, w, w);
  p += x > 0.0f ? x : 0.0f;
  return p;
}

// The error function within 2 units in the last place: x + x P(x^2) below 0.92, 1 - e^(-x - x Q(x)) elsewhere, with
// polynomials P and Q fitted by weighted least squares; NaN stays NaN.
static inline float dq_erf_one(float x) {
  float magnitude = dq_bits_float(dq_float_bits(x) & 0x7fffffffu), z = x * x;
  float p = -6.0133956e-4f;
  p = fmaf(p, z, 4.9980013e-3f);
  p = fmaf(p, z, -2.6770232e-2f);
  p = fmaf(p, z, 1.1281927e-1f);
  p = fmaf(p, z, -3.7612507e-1f);
  p = fmaf(p, z, 1.2837915e-1f);
  p = fmaf(p, x, x);
  float t = magnitude > 4.0f ? 4.0f : magnitude, q = 4.944841e-6f;
  q = fmaf(q, t, -4.569252e-5f);
  q = fmaf(q, t, -4.8850718e-5f);
  q = fmaf(q, t, 2.9276235e-3f);
  q = fmaf(q, t, -2.2669176e-2f);
  q = fmaf(q, t, 1.0525713e-1f);
  q = fmaf(q, t, 6.356286e-1f);
  q = fmaf(q, t, 1.2855093e-1f);
  q = fmaf(q, t, t);
  q = dq_exp_one(-q);
  q = 1.0f - q;
  q = dq_bits_float(dq_float_bits(q) | (dq_float_bits(x) & 0x80000000u));
  return magnitude < 0.921875f ? p : q;
}

#endif
