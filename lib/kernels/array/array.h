// Kernels over arrays: requantization, conversions, tables, maxima, functions, elementwise operators. The rules of
// pointers are those of kernel_table.h; the structs of rows stand in forms.h.
#ifndef DQ_KERNELS_ARRAY_H
#define DQ_KERNELS_ARRAY_H

#include "lib/kernels/table/kernel_table.h"

// ---- Requantization of sums already in memory ----
// sums [rows][columns] with sum_stride, out [rows][columns] of 8 bits with out_stride. The channel
// is the row (channel_is_row) or the column.
void dq_requantize(const dq_requantization *requantization, unsigned cpu, bool channel_is_row, int64_t rows,
                   int64_t columns, const int32_t *sums, int64_t sum_stride, void *out, int64_t out_stride);
// The same sums, without gaps, become float32 in place: (float)(sum + bias) * multiplier, the sum with the bias
// modulo 2^32. Of the requantization multipliers and bias are read.
void dq_dequantize_sums(const dq_requantization *scaling, bool channel_is_row, int64_t rows, int64_t columns,
                        void *sums);

// ---- Conversions of arrays; input and output of one element size may be the same array ----
void dq_convert_f32_f16(unsigned cpu, const float *input, uint16_t *output, int64_t count);
void dq_convert_f16_f32(unsigned cpu, const uint16_t *input, float *output, int64_t count);
// Rounds every element to binary16 and back; input may be output.
void dq_round_f16(unsigned cpu, const float *input, float *output, int64_t count);

// q = saturate(round_half_even(x / scale) + zero_point), a true division as ONNX Runtime; NaN gives
// the lowest value of the type, infinities saturate.
void dq_quantize_u8(unsigned cpu, const float *input, float scale, int32_t zero_point, uint8_t *output, int64_t count);
void dq_quantize_s8(unsigned cpu, const float *input, float scale, int32_t zero_point, int8_t *output, int64_t count);
// x = (float)(q - zero_point) * scale.
void dq_dequantize_u8(unsigned cpu, const uint8_t *input, float scale, int32_t zero_point, float *output,
                      int64_t count);
void dq_dequantize_s8(unsigned cpu, const int8_t *input, float scale, int32_t zero_point, float *output, int64_t count);
void dq_dequantize_s32(const int32_t *input, float scale, float *output, int64_t count);

// ---- Functions for rows of elements: a caller looks one up once and calls it for every row ----
// A table of 256 bytes.
dq_lookup_function *dq_lookup(unsigned cpu);

// A row of outputs of a max pool on 8 bits, as dq_maximum_row says, and the bytes of its scratch; for these the row's
// pointers are not read.
dq_maximum_function *dq_maximum_8(unsigned cpu);
size_t dq_maximum_8_scratch(const dq_maximum_row *row);
// A row of a max pool on float32 or binary16: rows and output of dq_maximum_row point at such elements, the least
// number is -infinity, and there is no scratch. Down the rows, then along the window, a number is taken when it is
// larger than the one before it, so a NaN stays only in the first row, and not at all in the result.
// NULL: the table has no vectors for it, and the caller's own loops are as fast.
dq_maximum_function *dq_maximum_f32(unsigned cpu);
dq_maximum_function *dq_maximum_f16(unsigned cpu);

// ---- Two quantized operands, as dq_pair_row says ----
void dq_add_8(unsigned cpu, const dq_pair_row *row);
// Looks for factors by which sums with the row's parameters (elements and count are not read) take fewer steps:
//   q = clamp(round_half_even(a * a_factor + (b * b_factor + offset)), low, high), two fused multiply-adds.
// row->is_short, a_factor, b_factor and offset are set when this formula gives the same bytes as that of dq_pair_row
// for each of the 65536 pairs of bytes. Otherwise, and always where the table has only plain loops, is_short becomes
// false and the factors are of no use. It computes dq_add_8 on all pairs, then tries at most 49 pairs of factors near
// the quotients of the scales, each on all pairs until one differs.
void dq_add_8_shorten(unsigned cpu, dq_pair_row *row);
void dq_multiply_8(unsigned cpu, const dq_pair_row *row);

dq_range dq_find_range(unsigned cpu, const float *input, int64_t count);

// ---- Functions, fp32; output may be input. Relative errors below 3e-7, NaN stays NaN. ----
void dq_exp_f32(unsigned cpu, const float *input, float *output, int64_t count);
void dq_sigmoid_f32(unsigned cpu, const float *input, float *output,
                    int64_t count); // 1 / (1 + e^-x)
void dq_tanh_f32(unsigned cpu, const float *input, float *output, int64_t count);

// ---- Elementwise fp32; output may be an input ----
void dq_add_f32(const float *a, const float *b, float *output, int64_t count);
void dq_mul_f32(const float *a, const float *b, float *output, int64_t count);
void dq_activate_f32(const dq_activation *activation, const float *input, float *output, int64_t count);

#endif
