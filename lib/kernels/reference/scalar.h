// Scalar definitions of what kernels do with one value at the end of a sum. Vector kernels give the same bits.
#ifndef DQ_KERNELS_SCALAR_H
#define DQ_KERNELS_SCALAR_H

#include "lib/kernels/reference/forms.h"
#include "lib/kernels/reference/function.h"

// The activation of x (dq_activation_kind). The comparisons give what the vector instructions give: a NaN in x stays.
static inline float dq_activate(const dq_activation *activation, float x) {
  switch (activation->kind) {
  case DQ_ACTIVATION_NONE: return x;
  case DQ_ACTIVATION_RELU: return x < 0.0f ? 0.0f : x;
  case DQ_ACTIVATION_CLIP:
    x = activation->low > x ? activation->low : x;
    return activation->high < x ? activation->high : x;
  case DQ_ACTIVATION_LEAKY: return x < 0.0f ? activation->alpha * x : x;
  case DQ_ACTIVATION_SILU: return dq_silu_one(x);
  }
  return x;
}

// The result of element (i, j) of a matrix product from its sum: alpha times the sum, plus the addend, then the
// activation.
static inline float dq_gemm_finish(const dq_gemm_parameters *p, float sum, int64_t i, int64_t j) {
  if (p->alpha != 1.0f) sum *= p->alpha;
  if (p->addend) {
    float addend = p->addend[i * p->addend_row_stride + j * p->addend_column_stride];
    sum += p->beta != 1.0f ? p->beta * addend : addend;
  }
  return dq_activate(&p->activation, sum);
}

// The number that a byte stands for as int8 or uint8.
static inline int32_t dq_int8_value(uint8_t byte, bool is_signed) { return is_signed ? (int8_t)byte : byte; }

// The zero point of channel `index` from a list of 0 (zero), 1 (the same for all) or more elements.
static inline int32_t dq_zero_point(const int32_t *zero_points, int64_t count, int64_t index) {
  return count == 0 ? 0 : zero_points[count == 1 ? 0 : index];
}

// Rounds to the nearest integer, ties to even, for |x| < 2^22.
static inline float dq_round_even(float x) {
  const float shift = 0x1.8p23f; // adding it leaves no bits for a fraction
  return (x + shift) - shift;
}

// Rounds to the nearest integer, ties to even, for |x| < 2^51.
static inline double dq_round_even_f64(double x) {
  const double shift = 0x1.8p52;
  return (x + shift) - shift;
}

// The last step of requantization and quantization: x in units of the output, NaN gives low.
static inline int32_t dq_round_clamped(float x, int32_t zero_point, int32_t low, int32_t high) {
  float lower = (float)(low - zero_point), upper = (float)(high - zero_point);
  x = x > lower ? x : lower;
  x = x < upper ? x : upper;
  return (int32_t)dq_round_even(x) + zero_point;
}

// Requantizes one sum, as dq_requantization says.
static inline uint8_t dq_requantize_one(const dq_requantization *r, int64_t channel, int32_t sum) {
  if (r->bias) sum = (int32_t)((uint32_t)sum + (uint32_t)r->bias[channel]);
  float multiplier = r->multipliers[r->multiplier_count == 1 ? 0 : channel];
  return (uint8_t)dq_round_clamped((float)sum * multiplier, r->zero_point, r->low, r->high);
}

// Fills the padding of a line of an expansion. Returns the word `first` of the line; *from receives the element of row
// 0 that this word comes from.
static inline uint32_t *dq_start_line(const dq_expansion *e, int64_t line, const void **from) {
  uint32_t *words = (uint32_t *)e->words + line * e->width;
  for (int64_t i = 0; i < e->first; i++) words[i] = e->pad;
  for (int64_t i = e->end; i < e->width; i++) words[i] = e->pad;
  *from = (const uint8_t *)e->rows[0] + line * e->line_step;
  return words + e->first;
}

// An activation in the form of dq_tile: a slope `alpha` below 0 (leaky), or a clamp to [low, high]. dq_bounded applies
// it to x; dq_activation_bounds makes it of a dq_activation other than SILU.
typedef struct dq_bounds {
  bool leaky;
  float low, high, alpha;
} dq_bounds;
static inline float dq_bounded(float x, dq_bounds bounds) {
  if (bounds.leaky) return x < 0.0f ? bounds.alpha * x : x;
  x = bounds.low > x ? bounds.low : x;
  return bounds.high < x ? bounds.high : x;
}
static inline dq_bounds dq_activation_bounds(const dq_activation *activation) {
  dq_bounds bounds = {false, -__builtin_inff(), __builtin_inff(), 0};
  if (activation->kind == DQ_ACTIVATION_RELU) bounds.low = 0;
  if (activation->kind == DQ_ACTIVATION_CLIP) bounds.low = activation->low, bounds.high = activation->high;
  if (activation->kind == DQ_ACTIVATION_LEAKY) bounds.leaky = true, bounds.alpha = activation->alpha;
  return bounds;
}

#endif
