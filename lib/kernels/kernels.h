// Kernels on plain pointers: convolution, matrix product, requantization, conversions. They know no
// graphs and no tensors. Which function runs is read from the table kernels.def by the features in
// `cpu` (dq_context.cpu); results are the same bits for every set of features and thread count.
//
// Common rules. Pointers are not NULL unless said. `packed` and `scratch` come from the caller,
// aligned to 64 bytes (dq_arena_alloc of large blocks, aligned_alloc); inputs and outputs need only
// the alignment of their element. Inputs and outputs do not overlap unless said. `pool` may be NULL
// (one thread); scratch must have been sized for at least dq_pool_threads(pool) threads. Sizes are
// validated by the *_plan and *_check functions, everything after them cannot fail.
#ifndef DQ_KERNELS_KERNELS_H
#define DQ_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/cpu.h"
#include "lib/base/pool.h"
#include "lib/base/status.h"

enum { DQ_KERNEL_ALIGNMENT = 64 }; // of packed and scratch

// ---- Activation at the end of a kernel ----
typedef enum dq_activation_kind {
  DQ_ACTIVATION_NONE,
  DQ_ACTIVATION_RELU,  // x < 0 ? 0 : x (NaN stays NaN)
  DQ_ACTIVATION_CLIP,  // the larger of x and low, then the smaller of that and high; NaN stays NaN
  DQ_ACTIVATION_LEAKY, // x < 0 ? alpha * x : x
  DQ_ACTIVATION_SILU,  // x * sigmoid(x), sigmoid as dq_sigmoid_f32; of float32 convolutions only
} dq_activation_kind;

typedef struct dq_activation {
  dq_activation_kind kind;
  float low, high; // CLIP
  float alpha;     // LEAKY
} dq_activation;

// ---- Convolution ----
// How to compute a convolution: by the fastest algorithm whose results are the bits defined below, by the
// fastest of all (errors of Winograd's filtering are within docs/NUMERICS.md), or by one of the algorithms
// of conv_algorithms.def if it fits.
typedef enum dq_conv_choice {
  DQ_CONV_SAME_BITS,
  DQ_CONV_AUTO,
#define DQ_CONV_ALGORITHM(symbol, name, help) DQ_CONV_##symbol,
#include "lib/kernels/conv_algorithms.def"
  DQ_CONV_CHOICES
} dq_conv_choice;

// "direct" (DQ_CONV_SAME_BITS), "auto" or the name of an algorithm; NULL past the last.
const char *dq_conv_choice_name(dq_conv_choice choice);
// Whether the results of a choice are the bits defined below, whatever the shape.
bool dq_conv_same_bits(dq_conv_choice choice);

// 2-D convolution of NCHW input [batch][in_channels][in_height][in_width] with OIHW weights
// [out_channels][in_channels / groups][kernel_height][kernel_width] to NCHW output. A 1-D
// convolution is one of height 1. pad_bottom and pad_right only bound the windows; padding counts
// as 0.
typedef struct dq_conv_parameters {
  int64_t batch, groups, in_channels, out_channels;
  int64_t in_height, in_width;
  int64_t kernel_height, kernel_width;
  int64_t stride_height, stride_width;
  int64_t dilation_height, dilation_width;
  int64_t pad_top, pad_left, pad_bottom, pad_right;
  int64_t out_height, out_width;
  dq_activation activation; // fp32 only; int8 fuses Relu and Clip in dq_requantization low and high
  bool adds; // fp32 only: an operand of the output's shape is added behind the activation,
  dq_activation sum_activation; // and this ends the sum (not SILU)
  dq_conv_choice algorithm; // one that does not fit counts as DQ_CONV_AUTO
} dq_conv_parameters;

// floor((in + pads - dilation (kernel - 1) - 1) / stride) + 1; 0 or less when the kernel does not
// fit.
int64_t dq_conv_output_size(int64_t in, int64_t kernel, int64_t stride, int64_t dilation,
                            int64_t pad_before, int64_t pad_after);

// DQ_BAD_INPUT when a size is below 1 (batch: 0), pads are negative, groups do not divide the
// channels, a window reaches outside of the padded input, or sizes in bytes overflow.
dq_status dq_conv_check(const dq_conv_parameters *parameters, dq_error *error);

// Multiply-accumulates of the whole batch, padding counted as if it were there.
int64_t dq_conv_macs(const dq_conv_parameters *parameters);

// 8-bit operands. Zero points are numbers of the operand's type.
typedef struct dq_conv_int8_parameters {
  dq_conv_parameters shape;
  bool input_signed, weight_signed; // int8 or uint8
  int32_t input_zero_point;
  // weight_zero_point_count is 0 (all zero), 1, or out_channels; read by plan and by pack.
  const int32_t *weight_zero_points;
  int64_t weight_zero_point_count;
  bool pairs_safe; // what dq_conv_pairs_safe says of the weights; false when that was not asked
  const void *weights; // those that will be packed, for the plan to look at; NULL: not known yet
} dq_conv_int8_parameters;

// Whether the products of every two neighbouring input channels 2i, 2i + 1 of a filter's place add up
// within int16 whatever the input: weights (OIHW) as signed bytes, inputs as unsigned ones. A plan for
// weights of which it is true may add them up in 16 bits.
bool dq_conv_pairs_safe(const dq_conv_int8_parameters *parameters, const void *weights);

// How an int32 sum becomes 8 bits:
//   q = clamp(round_half_even((float)(sum + bias) * multiplier) + zero_point, low, high)
// computed as ONNX Runtime does (clamped in float before rounding, same result). NaN gives low.
typedef struct dq_requantization {
  const float *multipliers; // multiplier_count: 1 or one per channel (convolution: output channel;
  int64_t multiplier_count; // matrix product: column)
  const int32_t *bias;      // one per channel or NULL; the sum with the bias wraps modulo 2^32
  int32_t zero_point;       // of the output
  int32_t low, high;        // bounds in quantized numbers, within the output's type, low <= high
  bool output_signed;       // int8 or uint8
} dq_requantization;

// The bound on the relative error of an output that Winograd's filtering must keep (docs/NUMERICS.md).
#define DQ_WINOGRAD_ERROR 0.01
// Its tiles: size x size outputs each, high x wide of them, `rows` rows at a time.
typedef struct dq_winograd_tiles {
  int size;
  int64_t high, wide, rows;
} dq_winograd_tiles;

// What follows a convolution's activation while its outputs are still in the cache.
typedef struct dq_conv_tail {
  bool silu, adds;
  dq_activation activation; // of the sum
  const struct dq_kernel *kernel; // NULL: nothing follows
} dq_conv_tail;

// What was chosen for one convolution. Made by *_plan, then only read; treat the fields as private.
typedef struct dq_conv_plan {
  dq_conv_parameters shape;
  dq_conv_int8_parameters int8; // int8 only (its shape is unused)
  const struct dq_conv_algorithm *algorithm;
  unsigned cpu;
  const struct dq_kernel *multiply, *expand, *requantize;
  const struct dq_kernel *widen, *narrow; // binary16 to float32 and back
  int64_t most_steps;  // tiles with sums of 16 bits: words of a panel of weights, at most (conv_sums16.c)
  bool float32;        // else int8
  bool half;           // float32, but input, weights and output are binary16
  bool half_sums;      // half, and sums of many terms run in binary16 (f16_tile)
  int64_t word_values; // input values in a 32-bit word: 1 (fp32), 2 (int16, binary16), 4 (8 bits)
  int64_t group_words; // words along the input channels of a group
  int64_t panel_rows;  // output channels side by side in packed weights
  int64_t depth;       // words per output
  int64_t slots_height, slots_width; // distinct stride phases of the taps
  int64_t plane_height, plane_width; // of one phase, in words
  bool gapless; // every kernel column has planes of its own, as wide as the output
  bool flat;                         // 1x1 without strides and pads: a plane is one run of outputs
  bool direct; // tiles: flat and fp32, the input is read as it is, without expansion; blocks: planes
               // are read as they are, without packing
  int64_t block_columns, block_depth; // outputs at a time, words of depth at a time
  dq_winograd_tiles tile;             // winograd only
  dq_conv_tail tail; // fp32; shape.activation is what comes before it
} dq_conv_plan;

// fp32. Bits: every output is one chain of fmaf from +0 over (input channel of the group, kernel
// row, kernel column) ascending, padding entering as +0; then + bias (if given); then the
// activation; then + addend and sum_activation where the parameters say so.
dq_status dq_conv_f32_plan(const dq_conv_parameters *parameters, unsigned cpu, dq_conv_plan *plan,
                           dq_error *error);
size_t dq_conv_packed_bytes(const dq_conv_plan *plan);
size_t dq_conv_scratch_bytes(const dq_conv_plan *plan, int threads);
// weights OIHW; bias [out_channels] or NULL. They are copied, so may be freed afterwards.
void dq_conv_f32_pack(const dq_conv_plan *plan, const float *weights, const float *bias,
                      void *packed);
// addend: elements as the output's, not lying in it; NULL where nothing is added.
void dq_conv_f32_run(const dq_conv_plan *plan, const void *packed, const float *input,
                     const float *addend, float *output, void *scratch, dq_pool *pool);

// binary16 input, weights, bias and output; the plan is one of fp32, with the same bits: operands are
// widened and the result is rounded, before the activation too if that is LEAKY. Bounds of a CLIP must
// be binary16 themselves, so that it can be applied first. Packed weights stay binary16. With half_sums
// sums run in binary16, 64 words of two channels at a time, or all taps of a depthwise convolution with a usual
// kernel (docs/NUMERICS.md), on any machine, but fast with AVX512-FP16 only.
dq_status dq_conv_f16_plan(const dq_conv_parameters *parameters, bool half_sums, unsigned cpu,
                           dq_conv_plan *plan, dq_error *error);
void dq_conv_f16_pack(const dq_conv_plan *plan, const uint16_t *weights, const uint16_t *bias,
                      void *packed);
void dq_conv_f16_run(const dq_conv_plan *plan, const void *packed, const uint16_t *input,
                     uint16_t *output, void *scratch, dq_pool *pool);
const char *dq_conv_algorithm_name(const dq_conv_plan *plan); // for -v and benchmarks

// int8: sum over taps of (x - input_zero_point) (w - weight_zero_point[output channel]), modulo
// 2^32.
dq_status dq_conv_int8_plan(const dq_conv_int8_parameters *parameters, unsigned cpu,
                            dq_conv_plan *plan, dq_error *error);
void dq_conv_int8_pack(const dq_conv_plan *plan, const void *weights, void *packed);
// requantization NULL: output is int32 sums; else 8 bits.
void dq_conv_int8_run(const dq_conv_plan *plan, const void *packed, const void *input, void *output,
                      const dq_requantization *requantization, void *scratch, dq_pool *pool);

// ---- Matrix product ----
// fp32: out = activation(alpha * (op(A) op(B)) + beta * addend), row-major, with op(A) rows x depth
// and op(B) depth x columns. Strides are elements from one stored row to the next. Bits: product =
// one chain of fmaf from +0 over depth ascending; * alpha unless it is 1; + (beta * addend), the
// product by beta left out when it is 1; then the activation.
typedef struct dq_gemm_parameters {
  int64_t rows, columns, depth;
  bool transpose_a, transpose_b; // A is stored depth x rows, B columns x depth
  int64_t a_stride, b_stride, out_stride;
  float alpha, beta;
  const float
      *addend; // NULL: none; element (i, j) at i * addend_row_stride + j * addend_column_stride
  int64_t addend_row_stride, addend_column_stride; // 0 repeats
  dq_activation activation;
} dq_gemm_parameters;

// DQ_BAD_INPUT when a size is negative, a stride is below its row, or sizes overflow. depth 0 gives
// sums of zero.
dq_status dq_gemm_check(const dq_gemm_parameters *parameters, dq_error *error);
size_t dq_gemm_f32_scratch_bytes(const dq_gemm_parameters *parameters, unsigned cpu, int threads);
// B brought once into the order of the kernels, for constant B; depends on columns, depth,
// transpose_b, b_stride and cpu only.
size_t dq_gemm_f32_packed_bytes(const dq_gemm_parameters *parameters, unsigned cpu);
void dq_gemm_f32_pack(const dq_gemm_parameters *parameters, unsigned cpu, const float *b,
                      void *packed);
// packed: from dq_gemm_f32_pack with the same cpu, then b is not read; or NULL, then b is read.
void dq_gemm_f32(const dq_gemm_parameters *parameters, unsigned cpu, const float *a, const float *b,
                 const void *packed, float *out, void *scratch, dq_pool *pool);

// int8: sum over depth of (a - zero point of the row) (b - zero point of the column), modulo 2^32.
typedef struct dq_gemm_int8_parameters {
  int64_t rows, columns, depth;
  bool transpose_a, transpose_b;
  int64_t a_stride, b_stride, out_stride;
  bool a_signed, b_signed;
  const int32_t *a_zero_points; // count 0 (zero), 1, or rows
  int64_t a_zero_point_count;
  const int32_t *b_zero_points; // count 0 (zero), 1, or columns
  int64_t b_zero_point_count;
} dq_gemm_int8_parameters;

dq_status dq_gemm_int8_check(const dq_gemm_int8_parameters *parameters, dq_error *error);
size_t dq_gemm_int8_scratch_bytes(const dq_gemm_int8_parameters *parameters, unsigned cpu,
                                  int threads);
size_t dq_gemm_int8_packed_bytes(const dq_gemm_int8_parameters *parameters, unsigned cpu);
// Needs columns, depth, transpose_b, b_stride, b_signed and the zero points of B.
void dq_gemm_int8_pack(const dq_gemm_int8_parameters *parameters, unsigned cpu, const void *b,
                       void *packed);
// requantization NULL: out is int32 sums; else 8 bits with channel = column.
void dq_gemm_int8(const dq_gemm_int8_parameters *parameters, unsigned cpu, const void *a,
                  const void *b, const void *packed, void *out,
                  const dq_requantization *requantization, void *scratch, dq_pool *pool);

// ---- References: plain loops, no packing, one thread; what all others must equal bit by bit ----
void dq_conv_f32_reference(const dq_conv_parameters *parameters, const float *weights,
                           const float *bias, const float *input, const float *addend, float *output);
void dq_conv_int8_reference(const dq_conv_int8_parameters *parameters, const void *weights,
                            const void *input, void *output,
                            const dq_requantization *requantization);
void dq_gemm_f32_reference(const dq_gemm_parameters *parameters, const float *a, const float *b,
                           float *out);
void dq_gemm_int8_reference(const dq_gemm_int8_parameters *parameters, const void *a, const void *b,
                            void *out, const dq_requantization *requantization);

// ---- Requantization of sums already in memory ----
// sums [rows][columns] with sum_stride, out [rows][columns] of 8 bits with out_stride. The channel
// is the row (channel_is_row) or the column.
void dq_requantize(const dq_requantization *requantization, unsigned cpu, bool channel_is_row,
                   int64_t rows, int64_t columns, const int32_t *sums, int64_t sum_stride,
                   void *out, int64_t out_stride);
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
void dq_quantize_u8(unsigned cpu, const float *input, float scale, int32_t zero_point,
                    uint8_t *output, int64_t count);
void dq_quantize_s8(unsigned cpu, const float *input, float scale, int32_t zero_point,
                    int8_t *output, int64_t count);
// x = (float)(q - zero_point) * scale.
void dq_dequantize_u8(unsigned cpu, const uint8_t *input, float scale, int32_t zero_point,
                      float *output, int64_t count);
void dq_dequantize_s8(unsigned cpu, const int8_t *input, float scale, int32_t zero_point,
                      float *output, int64_t count);
void dq_dequantize_s32(const int32_t *input, float scale, float *output, int64_t count);

// output[i] = table[input[i]]: any function of 8 bits. The table has 256 entries, indexed by the bits of
// an element (an int8 -1 is 255); output may be input.
typedef void dq_lookup_function(const uint8_t *input, const uint8_t *table, uint8_t *output, int64_t count);
dq_lookup_function *dq_lookup(unsigned cpu);

// One row of outputs of a max pool on 8 bits: output[o] is the largest of rows[i][o * stride - begin + k *
// dilation] over all rows and k in [0, kernel) that lie inside of a row; the least number of the type when
// none does.
typedef struct dq_maximum_row {
  const uint8_t *const *rows;
  int64_t row_count, width; // rows may be 0
  int64_t begin, kernel, dilation, stride;
  uint8_t *output;
  int64_t count;
  bool is_signed;
  uint8_t *scratch; // dq_maximum_8_scratch bytes
} dq_maximum_row;
size_t dq_maximum_8_scratch(const dq_maximum_row *row); // needs no pointers
typedef void dq_maximum_function(const dq_maximum_row *row);
// Found once, called for every row.
dq_maximum_function *dq_maximum_8(unsigned cpu);
// The same on float32: rows and output point at floats, the least number is -infinity, no scratch. Down
// the rows, then along the window, a number is taken when it is larger than the one before it (so a NaN
// stays only in the first row, and not at all in the result).
// NULL: there are no vectors for it, and the caller's own loops are as good.
dq_maximum_function *dq_maximum_f32(unsigned cpu);
dq_maximum_function *dq_maximum_f16(unsigned cpu); // on binary16

// Two quantized operands to one: x = (float)(a - a_zero_point) * a_scale, y likewise from b, then
// q = clamp(round_half_even((x + y) / scale) + zero_point, low, high), or with x * y; each step rounded to
// float32 as DequantizeLinear, Add or Mul, QuantizeLinear do. A difference is a sum with b_scale negated.
// low and high lie within the output's type, which their range tells. output may be a or b.
typedef struct dq_pair_row {
  const uint8_t *a, *b;
  int a_step, b_step; // 1, or 0: one element for all
  bool a_signed, b_signed;
  float a_scale, b_scale, scale;
  int32_t a_zero_point, b_zero_point, zero_point;
  int32_t low, high;
  uint8_t *output;
  int64_t count;
  bool is_short; // of a sum: set by dq_add_8_shorten, like the rest
  float a_factor, b_factor, offset;
} dq_pair_row;
void dq_add_8(unsigned cpu, const dq_pair_row *row);
// Looks for factors by which sums with the row's parameters (elements and count are not read) take fewer steps:
//   q = clamp(round_half_even(a * a_factor + (b * b_factor + offset)), low, high), two fused multiply-adds.
// They are set when they give the numbers above for each of the 65536 pairs of bytes.
void dq_add_8_shorten(unsigned cpu, dq_pair_row *row);
void dq_multiply_8(unsigned cpu, const dq_pair_row *row);

typedef struct dq_range {
  float minimum, maximum; // of the elements that are not NaN; +infinity, -infinity when there are
                          // none; a zero is +0
  int64_t nans;
} dq_range;
dq_range dq_find_range(unsigned cpu, const float *input, int64_t count);

// ---- Functions, fp32; output may be input. Relative errors below 3e-7, NaN stays NaN. ----
void dq_exp_f32(unsigned cpu, const float *input, float *output, int64_t count);
void dq_sigmoid_f32(unsigned cpu, const float *input, float *output,
                    int64_t count); // 1 / (1 + e^-x)
void dq_tanh_f32(unsigned cpu, const float *input, float *output, int64_t count);

// ---- Elementwise fp32; output may be an input ----
void dq_add_f32(const float *a, const float *b, float *output, int64_t count);
void dq_mul_f32(const float *a, const float *b, float *output, int64_t count);
void dq_activate_f32(const dq_activation *activation, const float *input, float *output,
                     int64_t count);

// ---- The table ----
// One row of kernels.def: a function for one operation and one instruction set.
typedef struct dq_kernel {
  int operation; // rows of one operation are interchangeable
  const char *operation_name, *symbol;
  unsigned feature;  // one DQ_CPU_ bit, or 0 for any machine
  int rows, columns; // outputs side by side; 0 where it does not apply
  const char *types;
  void (*function)(void); // of the type dq_<operation>_function
} dq_kernel;

int dq_kernel_count(void);
const dq_kernel *dq_kernel_row(int index);
const char *dq_kernel_family(const dq_kernel *kernel); // what dqcheck --only names

#endif
