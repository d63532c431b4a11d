// binary16 conversions in plain C.
#include "lib/base/half.h"
#include "lib/kernels/reference/reference.h"
#include "lib/kernels/reference/scalar.h"

void dq_f32_to_f16_c(const float *input, uint16_t *output, int64_t count) {
  for (int64_t i = 0; i < count; i++) output[i] = dq_float_to_half(input[i]);
}

void dq_f32_to_f16_leaky_c(const float *input, float alpha, uint16_t *output, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    float x = dq_round_to_half(input[i]);
    output[i] = dq_float_to_half(x < 0.0f ? alpha * x : x);
  }
}

void dq_f16_to_f32_c(const uint16_t *input, float *output, int64_t count) {
  for (int64_t i = 0; i < count; i++) output[i] = dq_half_to_float(input[i]);
}

void dq_round_f16_c(const float *input, float *output, int64_t count) {
  for (int64_t i = 0; i < count; i++) output[i] = dq_round_to_half(input[i]);
}

void dq_f16_pairs_expand_c(const dq_expansion *e) {
  for (int64_t line = 0; line < e->lines; line++) {
    const void *row;
    uint32_t *to = dq_start_line(e, line, &row);
    const uint16_t *low = row, *high = NULL;
    if (e->rows[1]) high = (const void *)((const uint8_t *)e->rows[1] + line * e->line_step);
    for (int64_t i = 0; i < e->end - e->first; i++)
      to[i] = low[i * e->stride] | (high ? (uint32_t)high[i * e->stride] << 16 : 0u);
  }
}

void dq_f16_expand_c(const dq_expansion *e) {
  for (int64_t line = 0; line < e->lines; line++) {
    const void *row;
    float *to = (float *)dq_start_line(e, line, &row);
    const uint16_t *from = row;
    for (int64_t i = 0; i < e->end - e->first; i++) to[i] = dq_half_to_float(from[i * e->stride]);
  }
}
