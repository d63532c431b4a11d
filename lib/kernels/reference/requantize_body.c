// Requantization of rows of sums as plain loops, which the compiler vectorises for each instruction set.
// Sets: c
#include "lib/kernels/reference/reference.h"
#include "lib/kernels/reference/scalar.h"
#include "lib/kernels/reference/set.h"

static inline __attribute__((always_inline)) void
requantize_row(const dq_requantize_rows *r, int64_t row, const int64_t bias_step, const int64_t multiplier_step) {
  static const int32_t none = 0;
  const int32_t *bias = r->bias ? r->bias + row * r->bias_row : &none;
  const int32_t *sums = r->sums + row * r->sums_stride;
  const float *multipliers = r->multipliers + row * r->multiplier_row;
  uint8_t *output = r->output + row * r->output_stride;
  const int32_t zero_point = r->zero_point;
  const float lower = (float)(r->low - zero_point), upper = (float)(r->high - zero_point);
  const int32_t first_bias = bias[0];
  const float first_multiplier = multipliers[0];
  const int64_t columns = r->columns; // output may alias *r as far as the compiler knows
  for (int64_t i = 0; i < columns; i++) {
    uint32_t sum = (uint32_t)sums[i] + (uint32_t)(bias_step ? bias[i] : first_bias);
    float x = (float)(int32_t)sum * (multiplier_step ? multipliers[i] : first_multiplier);
    x = x > lower ? x : lower;
    x = x < upper ? x : upper;
    output[i] = (uint8_t)((int32_t)dq_round_even(x) + zero_point);
  }
}

void DQ_FOR_SET(dq_requantize)(const dq_requantize_rows *r) {
  if (r->columns <= 0) return;
  const bool bias_moves = r->bias && r->bias_step;
  for (int64_t row = 0; row < r->rows; row++) {
    if (bias_moves && r->multiplier_step) requantize_row(r, row, 1, 1);
    else if (bias_moves) requantize_row(r, row, 1, 0);
    else if (r->multiplier_step) requantize_row(r, row, 0, 1);
    else requantize_row(r, row, 0, 0);
  }
}
