// Conversions of arrays and stored sums: entry points that pick the kernel.
#include "lib/kernels/array/array.h"

#include <string.h>

void dq_convert_f32_f16(unsigned cpu, const float *input, uint16_t *output, int64_t count) {
  DQ_KERNEL_FUNCTION(f32_to_f16, cpu)(input, output, count);
}

void dq_convert_f16_f32(unsigned cpu, const uint16_t *input, float *output, int64_t count) {
  DQ_KERNEL_FUNCTION(f16_to_f32, cpu)(input, output, count);
}

void dq_round_f16(unsigned cpu, const float *input, float *output, int64_t count) {
  DQ_KERNEL_FUNCTION(round_f16, cpu)(input, output, count);
}

void dq_quantize_u8(unsigned cpu, const float *input, float scale, int32_t zero_point, uint8_t *output, int64_t count) {
  DQ_KERNEL_FUNCTION(quantize, cpu)(input, scale, zero_point, false, output, count);
}

void dq_quantize_s8(unsigned cpu, const float *input, float scale, int32_t zero_point, int8_t *output, int64_t count) {
  DQ_KERNEL_FUNCTION(quantize, cpu)(input, scale, zero_point, true, (uint8_t *)output, count);
}

void dq_dequantize_u8(unsigned cpu, const uint8_t *input, float scale, int32_t zero_point, float *output,
                      int64_t count) {
  DQ_KERNEL_FUNCTION(dequantize, cpu)(input, false, scale, zero_point, output, count);
}

void dq_dequantize_s8(unsigned cpu, const int8_t *input, float scale, int32_t zero_point, float *output,
                      int64_t count) {
  DQ_KERNEL_FUNCTION(dequantize, cpu)
  ((const uint8_t *)input, true, scale, zero_point, output, count);
}

void dq_dequantize_s32(const int32_t *input, float scale, float *output, int64_t count) {
  for (int64_t i = 0; i < count; i++) output[i] = (float)input[i] * scale;
}

dq_lookup_function *dq_lookup(unsigned cpu) { return DQ_KERNEL_FUNCTION(lookup, cpu); }

size_t dq_maximum_8_scratch(const dq_maximum_row *row) {
  enum { VECTORS = 256 }; // read beyond the end
  int64_t reached = (row->count - 1) * row->stride + (row->kernel - 1) * row->dilation + 1;
  int64_t there = row->begin + row->width;
  return (size_t)(reached > there ? reached : there) + VECTORS;
}

dq_maximum_function *dq_maximum_8(unsigned cpu) { return DQ_KERNEL_FUNCTION(maximum_8, cpu); }

static dq_maximum_function *by_vectors(int operation, unsigned cpu) {
  const dq_kernel *row = dq_kernel_find(operation, cpu);
  return row->feature ? (dq_maximum_function *)row->function : NULL;
}
dq_maximum_function *dq_maximum_f32(unsigned cpu) { return by_vectors(DQ_OPERATION_maximum_f32, cpu); }

dq_maximum_function *dq_maximum_f16(unsigned cpu) { return by_vectors(DQ_OPERATION_maximum_f16, cpu); }

dq_f32_columns_function *dq_transpose_32(unsigned cpu) {
  const dq_kernel *row = dq_kernel_find(DQ_OPERATION_f32_columns, cpu);
  return row->feature ? (dq_f32_columns_function *)row->function : NULL;
}

dq_range dq_find_range(unsigned cpu, const float *input, int64_t count) {
  dq_range range;
  DQ_KERNEL_FUNCTION(range, cpu)(input, count, &range);
  return range;
}

void dq_find_bins(unsigned cpu, const float *input, int64_t count, int exponent, int32_t half, int32_t *bins) {
  DQ_KERNEL_FUNCTION(bins, cpu)(input, count, exponent, half, bins);
}

void dq_find_moments(unsigned cpu, const float *input, int64_t count, double sums[2]) {
  DQ_KERNEL_FUNCTION(moments, cpu)(input, count, sums);
}

void dq_find_squares(unsigned cpu, const float *exact, const float *other, int64_t count, double sums[2]) {
  DQ_KERNEL_FUNCTION(squares, cpu)(exact, other, count, sums);
}

void dq_requantize(const dq_requantization *r, unsigned cpu, bool channel_is_row, int64_t rows, int64_t columns,
                   const int32_t *sums, int64_t sum_stride, void *out, int64_t out_stride) {
  int per_channel = r->multiplier_count != 1;
  dq_requantize_rows form = {.sums = sums,
                             .bias = r->bias,
                             .multipliers = r->multipliers,
                             .output = out,
                             .rows = rows,
                             .columns = columns,
                             .sums_stride = sum_stride,
                             .output_stride = out_stride,
                             .bias_step = !channel_is_row,
                             .multiplier_step = !channel_is_row && per_channel,
                             .bias_row = channel_is_row,
                             .multiplier_row = channel_is_row && per_channel,
                             .zero_point = r->zero_point,
                             .low = r->low,
                             .high = r->high};
  DQ_KERNEL_FUNCTION(requantize, cpu)(&form);
}

static inline __attribute__((always_inline)) void dequantize_row(uint8_t *at, const int32_t *bias,
                                                                 const float *multipliers, int64_t count,
                                                                 const int bias_step, const int multiplier_step) {
  for (int64_t i = 0; i < count; i++) {
    int32_t sum;
    memcpy(&sum, at + 4 * i, 4);
    sum = (int32_t)((uint32_t)sum + (uint32_t)bias[i * bias_step]);
    float x = (float)sum * multipliers[i * multiplier_step];
    memcpy(at + 4 * i, &x, 4);
  }
}

void dq_dequantize_sums(const dq_requantization *r, bool channel_is_row, int64_t rows, int64_t columns, void *sums) {
  static const int32_t none = 0;
  bool own = r->multiplier_count != 1; // a multiplier of each channel
  for (int64_t i = 0; i < rows; i++) {
    uint8_t *at = (uint8_t *)sums + 4 * i * columns;
    if (channel_is_row)
      dequantize_row(at, r->bias ? r->bias + i : &none, r->multipliers + (own ? i : 0), columns, 0, 0);
    else if (r->bias && own) dequantize_row(at, r->bias, r->multipliers, columns, 1, 1);
    else dequantize_row(at, r->bias ? r->bias : &none, r->multipliers, columns, r->bias != NULL, own);
  }
}
