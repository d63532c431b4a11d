// Kernels over arrays: requantization, conversions, tables, maxima, functions, elementwise operators. The rules of
// pointers are those of kernel_table.h; the structs of rows stand in forms.h.
#ifndef DQ_KERNELS_ARRAY_H
#define DQ_KERNELS_ARRAY_H

#include "lib/kernels/table/kernel_table.h"

// ---- Requantization of int32 sums in memory ----
// Requantizes sums[rows][columns] to out[rows][columns] of 8 bits, as dq_requantization says. Rows are sum_stride and
// out_stride elements apart. The channel of an element is its row (channel_is_row) or its column.
void dq_requantize(const dq_requantization *requantization, unsigned cpu, bool channel_is_row, int64_t rows,
                   int64_t columns, const int32_t *sums, int64_t sum_stride, void *out, int64_t out_stride);
// Replaces the same sums, which have no gaps between rows, by float32 numbers: (float)(sum + bias) * multiplier, with
// the addition of the bias modulo 2^32. Only the multipliers and the bias of `scaling` are read.
void dq_dequantize_sums(const dq_requantization *scaling, bool channel_is_row, int64_t rows, int64_t columns,
                        void *sums);

// ---- Conversions of `count` elements; input and output may be the same array where their elements have one size ----
// float32 to binary16, rounded to the nearest, ties to even, and back, which is exact. A NaN becomes a quiet NaN in
// both.
void dq_convert_f32_f16(unsigned cpu, const float *input, uint16_t *output, int64_t count);
void dq_convert_f16_f32(unsigned cpu, const uint16_t *input, float *output, int64_t count);
// Rounds every element to binary16 and back; input may be output.
void dq_round_f16(unsigned cpu, const float *input, float *output, int64_t count);

// q = clamp(round_half_even(x / scale) + zero_point) to the type, with a true division as in ONNX Runtime. NaN gives
// the lowest number of the type, an infinity the lowest or highest. `scale` is finite and above 0, `zero_point` a
// number of the type; x / scale is rounded to float32.
void dq_quantize_u8(unsigned cpu, const float *input, float scale, int32_t zero_point, uint8_t *output, int64_t count);
void dq_quantize_s8(unsigned cpu, const float *input, float scale, int32_t zero_point, int8_t *output, int64_t count);
// x = (float)(q - zero_point) * scale; zero point 0 for int32.
void dq_dequantize_u8(unsigned cpu, const uint8_t *input, float scale, int32_t zero_point, float *output,
                      int64_t count);
void dq_dequantize_s8(unsigned cpu, const int8_t *input, float scale, int32_t zero_point, float *output, int64_t count);
void dq_dequantize_s32(const int32_t *input, float scale, float *output, int64_t count);

// ---- Functions for rows of elements: a caller finds the function once and calls it for every row ----
// The function that looks bytes up in a table of 256 bytes (dq_lookup_function of forms.h), static, for the features
// `cpu`; never NULL.
dq_lookup_function *dq_lookup(unsigned cpu);
// The function that transposes matrices of elements of 4 bytes of any type (dq_columns of forms.h, without `ends`),
// static, for the features `cpu`; NULL: loops over elements are as fast.
dq_f32_columns_function *dq_transpose_32(unsigned cpu);
// Finds the two lines (dq_ramps of forms.h) whose rounded maximum is table[x] for every x from 0 to 255, and checks all
// 256 entries; it takes about 0.1 ms. False: no two lines were found that give every entry, or a lookup in the table is
// as fast for the features `cpu`.
bool dq_ramps_find(unsigned cpu, const uint8_t *table, dq_ramps *ramps);
// The function that computes two lines (dq_ramps of forms.h), static, for the features `cpu`.
dq_ramps_function *dq_ramps_of(unsigned cpu);

// The function that computes a row of outputs of a max pool on 8 bits, as dq_maximum_row says, and the bytes of scratch
// that it needs for a row of these sizes (the pointers of the row are not read).
dq_maximum_function *dq_maximum_8(unsigned cpu);
size_t dq_maximum_8_scratch(const dq_maximum_row *row);
// The functions that compute a row of a max pool on float32 and on binary16. The rows and the output of dq_maximum_row
// point to such elements; no scratch is needed. The maximum of a column of the window is its element in rows[0], which
// an element of a later row replaces only when it is larger; the maximum of the window is -infinity, which the maximum
// of a column replaces only when it is larger. An empty window therefore gives -infinity, a NaN in rows[0] hides the
// rest of its column, a NaN in a later row has no effect, and no result is NaN. NULL: the table has no vector kernel
// for the features `cpu`, and plain loops of the caller are as fast.
dq_maximum_function *dq_maximum_f32(unsigned cpu);
dq_maximum_function *dq_maximum_f16(unsigned cpu);

// ---- Sums and products of two quantized operands, as dq_pair_row says ----
void dq_add_8(unsigned cpu, const dq_pair_row *row);
// Looks for factors and for weights by which sums with the row's parameters (elements and count are not read) take
// fewer steps:
//   q = clamp(round_half_even(a * a_factor + (b * b_factor + offset)), low, high), two fused multiply-adds;
//   q = clamp(round_half_even(fma((float)(a' * a_weight + b' * b_weight), unit, start)), 0, 255), with a' and b' the
//   bytes with bit 7 inverted where the operand is signed, and q with bit 7 inverted and 128 added to its bounds where
//   the result is; the bytes a and b of an exception have the q that it says. Kernels that do not know weights, or
//   rows with a step of 0, take no notice of them.
// A formula is set when it gives the same bytes as that of dq_pair_row for each of the 65536 pairs of bytes. Otherwise,
// and always where the table has only plain loops, is_short becomes false, or the weights 0, and the fields mean
// nothing. It computes dq_add_8 on all pairs, then tries at most 49 pairs of factors near the quotients of the scales,
// each on all pairs until one differs, and at most 10 pairs of weights.
void dq_add_8_shorten(unsigned cpu, dq_pair_row *row);
void dq_multiply_8(unsigned cpu, const dq_pair_row *row);

// The smallest and largest element of input[count], and the number of NaN.
dq_range dq_find_range(unsigned cpu, const float *input, int64_t count);
// The bins of the elements of an array, its sums, and the squared errors of two arrays, as dq_bins_function,
// dq_moments_function and dq_squares_function say (lib/kernels/reference/forms.h).
void dq_find_bins(unsigned cpu, const float *input, int64_t count, int exponent, int32_t half, int32_t *bins);
void dq_find_moments(unsigned cpu, const float *input, int64_t count, double sums[2]);
void dq_find_squares(unsigned cpu, const float *exact, const float *other, int64_t count, double sums[2]);

// ---- Functions of float32; output may be input. The relative error is below 3e-7; NaN stays NaN. ----
void dq_exp_f32(unsigned cpu, const float *input, float *output, int64_t count);
void dq_sigmoid_f32(unsigned cpu, const float *input, float *output,
                    int64_t count); // 1 / (1 + e^-x)
void dq_tanh_f32(unsigned cpu, const float *input, float *output, int64_t count);
void dq_expm1_f32(unsigned cpu, const float *input, float *output, int64_t count);    // e^x - 1
void dq_softplus_f32(unsigned cpu, const float *input, float *output, int64_t count); // ln(1 + e^x)
void dq_erf_f32(unsigned cpu, const float *input, float *output, int64_t count);      // the error function

// ---- Elementwise operators on float32 arrays of `count` elements; output may be an input ----
void dq_add_f32(const float *a, const float *b, float *output, int64_t count); // a[i] + b[i]
void dq_mul_f32(const float *a, const float *b, float *output, int64_t count); // a[i] * b[i]
// The activation of each element; dq_activation_kind has the formulas.
void dq_activate_f32(const dq_activation *activation, const float *input, float *output, int64_t count);

#endif
