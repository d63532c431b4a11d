// binary16 conversions by the instructions every AArch64 has, 8 at a time; the last few one at a time.
#include <arm_neon.h>

#include "lib/kernels/reference/scalar.h"
#include "lib/kernels/table/kernel_table.h"

static inline float16x8_t narrow(const float *input) {
  return vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(input)), vld1q_f32(input + 4));
}

static inline void widen(float16x8_t half, float *output) {
  vst1q_f32(output, vcvt_f32_f16(vget_low_f16(half)));
  vst1q_f32(output + 4, vcvt_high_f32_f16(half));
}

void dq_f32_to_f16_neon(const float *input, uint16_t *output, int64_t count) {
  __fp16 *to = (__fp16 *)output;
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) vst1q_f16(to + i, narrow(input + i));
  for (; i < count; i++) to[i] = (__fp16)input[i];
}

void dq_f16_to_f32_neon(const uint16_t *input, float *output, int64_t count) {
  const __fp16 *from = (const __fp16 *)input;
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) widen(vld1q_f16(from + i), output + i);
  for (; i < count; i++) output[i] = (float)from[i];
}

void dq_round_f16_neon(const float *input, float *output, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) widen(narrow(input + i), output + i);
  for (; i < count; i++) output[i] = (float)(__fp16)input[i];
}

void dq_f16_expand_neon(const dq_expansion *e) {
  const int64_t count = e->end - e->first, stride = e->stride;
  for (int64_t line = 0; line < e->lines; line++) {
    const void *row;
    float *to = (float *)dq_start_line(e, line, &row);
    const __fp16 *from = row;
    if (stride == 1) dq_f16_to_f32_neon(row, to, count);
    else
      for (int64_t i = 0; i < count; i++) to[i] = (float)from[i * stride];
  }
}
