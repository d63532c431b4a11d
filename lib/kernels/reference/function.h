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
// x = n ln 2 + r: n with the magic added, and e^r by the polynomial of Cephes' expf (Moshier), ln 2 in
// two parts.
static inline float dq_exp_parts(float x, float *shifted) {
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

#endif
