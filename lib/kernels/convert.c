// Conversions of arrays, range and elementwise functions: the entry points.
#include "lib/kernels/kernels_internal.h"

#include "lib/base/half.h"

#include <math.h>

void dq_convert_f32_f16(unsigned cpu, const float *input, uint16_t *output, int64_t count) {
  (void)cpu;
  for (int64_t i = 0; i < count; i++) output[i] = dq_float_to_half(input[i]);
}
void dq_convert_f16_f32(unsigned cpu, const uint16_t *input, float *output, int64_t count) {
  (void)cpu;
  for (int64_t i = 0; i < count; i++) output[i] = dq_half_to_float(input[i]);
}
void dq_round_f16(unsigned cpu, const float *input, float *output, int64_t count) {
  (void)cpu;
  for (int64_t i = 0; i < count; i++) output[i] = dq_round_to_half(input[i]);
}
void dq_quantize_u8(unsigned cpu, const float *input, float scale, int32_t zero_point,
                    uint8_t *output, int64_t count) {
  (void)cpu;
  for (int64_t i = 0; i < count; i++)
    output[i] = (uint8_t)dq_round_clamped(input[i] / scale, zero_point, 0, 255);
}
void dq_quantize_s8(unsigned cpu, const float *input, float scale, int32_t zero_point, int8_t *output,
                    int64_t count) {
  (void)cpu;
  for (int64_t i = 0; i < count; i++)
    output[i] = (int8_t)dq_round_clamped(input[i] / scale, zero_point, -128, 127);
}
void dq_dequantize_u8(unsigned cpu, const uint8_t *input, float scale, int32_t zero_point,
                      float *output, int64_t count) {
  (void)cpu;
  for (int64_t i = 0; i < count; i++) output[i] = (float)(input[i] - zero_point) * scale;
}
void dq_dequantize_s8(unsigned cpu, const int8_t *input, float scale, int32_t zero_point,
                      float *output, int64_t count) {
  (void)cpu;
  for (int64_t i = 0; i < count; i++) output[i] = (float)(input[i] - zero_point) * scale;
}
void dq_dequantize_s32(unsigned cpu, const int32_t *input, float scale, float *output, int64_t count) {
  (void)cpu;
  for (int64_t i = 0; i < count; i++) output[i] = (float)input[i] * scale;
}
dq_range dq_find_range(unsigned cpu, const float *input, int64_t count) {
  (void)cpu;
  dq_range range = {INFINITY, -INFINITY, 0};
  for (int64_t i = 0; i < count; i++) {
    if (isnan(input[i])) range.nans++;
    if (input[i] < range.minimum) range.minimum = input[i];
    if (input[i] > range.maximum) range.maximum = input[i];
  }
  range.minimum += 0.0f; // -0 becomes +0
  range.maximum += 0.0f;
  return range;
}
