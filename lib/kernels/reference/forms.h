// Plain structs and function types of kernels: what a convolution, a matrix product and every kernel of kernels.def
// takes. Nothing here needs more than the C library, so that a program that dq writes can ship these files.
#ifndef DQ_KERNELS_FORMS_H
#define DQ_KERNELS_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- Activation at the end of a kernel ----
typedef enum dq_activation_kind {
  DQ_ACTIVATION_NONE,
  DQ_ACTIVATION_RELU,  // x < 0 ? 0 : x (NaN stays NaN)
  DQ_ACTIVATION_CLIP,  // the larger of x and low, then the smaller of that and high; NaN stays NaN
  DQ_ACTIVATION_LEAKY, // x < 0 ? alpha * x : x
  DQ_ACTIVATION_SILU,  // x * sigmoid(x), sigmoid as dq_sigmoid_f32; only of float32 convolutions
} dq_activation_kind;

typedef struct dq_activation {
  dq_activation_kind kind;
  float low, high; // CLIP
  float alpha;     // LEAKY
} dq_activation;

// ---- Parameters ----
// Choices of a convolution that change its time and no bit of its result (lib/wisdom). All 0: those of the cost model.
typedef struct dq_conv_tuning {
  int algorithm; // a dq_conv_choice (conv.h) that is taken where it fits and its bits are those of the usual choice
  int columns;   // the outputs that are computed at a time are those of the cost model times 2^columns, about
  int depth;     // the same of the depth that is added up at a time
} dq_conv_tuning;
enum { DQ_CONV_SCALES = 3 }; // columns and depth are -DQ_CONV_SCALES to DQ_CONV_SCALES

// A 2-D convolution of an NCHW input [batch][in_channels][in_height][in_width] with OIHW weights
// [out_channels][in_channels / groups][kernel_height][kernel_width] to an NCHW output [batch][out_channels][out_height]
// [out_width]. A 1-D convolution has height 1. Padding has the value 0; pad_bottom and pad_right only bound out_height
// and out_width, which the caller sets.
typedef struct dq_conv_parameters {
  int64_t batch, groups, in_channels, out_channels;
  int64_t in_height, in_width;
  int64_t kernel_height, kernel_width;
  int64_t stride_height, stride_width;
  int64_t dilation_height, dilation_width;
  int64_t pad_top, pad_left, pad_bottom, pad_right;
  int64_t out_height, out_width;
  dq_activation activation;     // fp32 only; int8 fuses Relu and Clip in dq_requantization low and high
  bool adds;                    // fp32 only: an operand of the shape of the output is added behind the activation
  dq_activation sum_activation; // activation of that sum (not SILU)
  int algorithm;                // a dq_conv_choice (conv.h); one that does not fit means DQ_CONV_AUTO
  dq_conv_tuning tuning;        // read where `algorithm` is DQ_CONV_SAME_BITS or DQ_CONV_AUTO
} dq_conv_parameters;

// A convolution of 8-bit operands. Zero points are numbers of the type of the operand.
typedef struct dq_conv_int8_parameters {
  dq_conv_parameters shape;
  bool input_signed, weight_signed; // int8 or uint8
  int32_t input_zero_point;
  // weight_zero_point_count is 0 (all zero), 1, or out_channels; read by plan and by pack.
  const int32_t *weight_zero_points;
  int64_t weight_zero_point_count;
  bool pairs_safe;     // the result of dq_conv_pairs_safe for the weights; false: not known
  const void *weights; // the weights that will be packed, which the choice of the algorithm reads; NULL: not known yet
} dq_conv_int8_parameters;

// How an int32 sum becomes 8 bits:
//   q = clamp(round_half_even((float)(sum + bias) * multiplier) + zero_point, low, high)
// computed as ONNX Runtime does (clamped in float before rounding, same result). NaN gives low.
typedef struct dq_requantization {
  const float *multipliers; // [multiplier_count], which is 1 or the number of channels: of a convolution its output
  int64_t multiplier_count; // channels, of a matrix product its columns
  const int32_t *bias;      // one for each channel, or NULL (none); sum + bias is taken modulo 2^32
  int32_t zero_point;       // of the output
  int32_t low, high;        // bounds in quantized numbers, within the output's type, low <= high
  bool output_signed;       // int8 or uint8
} dq_requantization;

// fp32: out = activation(alpha * (op(A) op(B)) + beta * addend), row-major, with op(A) rows x depth
// and op(B) depth x columns. Strides are elements from one stored row to the next. Bits: product =
// one chain of fmaf from +0 over depth ascending; * alpha unless it is 1; + (beta * addend), the
// product by beta left out when it is 1; then the activation.
typedef struct dq_gemm_parameters {
  int64_t rows, columns, depth;
  bool transpose_a, transpose_b; // A is stored depth x rows, B columns x depth
  int64_t a_stride, b_stride, out_stride;
  float alpha, beta;
  const float *addend; // NULL: none; element (i, j) at i * addend_row_stride + j * addend_column_stride
  int64_t addend_row_stride, addend_column_stride; // 0 repeats
  dq_activation activation;
} dq_gemm_parameters;

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

// ---- Calling forms ----
// A word is 32 bits: one float, two int16 or four bytes that are multiplied with a word of weights
// and added to one 32-bit sum.

// A tile of sums in c: sum[i][j] = start + the sum over k, ascending, of dot(a[k][i], b[k][j]), for i < rows and
// j < columns, which are at most those of the kernel. Words of b are read up to the columns of the kernel; words of c
// beyond `columns` are neither read nor written.
typedef struct dq_tile {
  const void *a, *b;      // k-th words at a + k * a_stride and b + k * b_stride
  const int64_t *offsets; // fp32: k-th words of b at b + offsets[k] instead, unless NULL
  void *c;
  int64_t a_stride, b_stride, c_stride; // words
  int64_t depth;
  int rows, columns;
  const void *ahead; // data that will be read after this tile: a line of 64 bytes is prefetched for each k; NULL: none
  int64_t ahead_stride; // fp32: when not 0, two lines are prefetched for each k, which are so many words apart
  bool accumulate;      // sums start from c
  const int32_t *start; // without accumulate, of integers: sums start from start[i]; NULL: from 0
  // u8s8_sums16_tile: `run_count` runs of runs[r] words, the next words of a with those of b at
  // b + *steps++ * b_stride; depth is not used.
  const uint32_t *steps, *runs;
  int64_t run_count;
  // The end of fp32 sums: + bias[i] unless NULL; then low and high bounds as DQ_ACTIVATION_CLIP
  // (infinite: none), or the slope below zero.
  bool finish, leaky;
  const float *bias;
  float low, high, alpha;
  // u8s8_bytes_tile: c is not used, sums are requantized to the output, whose first byte is that of sum[0][0]; the
  // form's sums, rows, columns and sums_stride are not read, bias_row is 1 and the steps within a row are 0.
  const struct dq_requantize_rows *requantize;
} dq_tile;
typedef void dq_tile_function(const dq_tile *tile);
typedef dq_tile_function dq_f32_tile_function, dq_i16_tile_function, dq_u8s8_tile_function, dq_u8s8_bytes_tile_function,
    dq_u8s8_pair_tile_function, dq_u8s8_sums16_tile_function, dq_f16_tile_function;

// f16_tile: a word is two float16 of neighbouring channels. Sums of DQ_HALF_CHAIN words run in float16 from +0, each
// a chain of fused multiply-adds, the first channels of the words apart from the second; then the two become float32,
// are added, and their sum is added to the float32 total (which the first one starts). finish as for fp32.
enum { DQ_HALF_CHAIN = 64 };

// Exact sums of bytes, signed weights times unsigned values, on hardware that multiplies whole tiles:
// the depth is cut into `tiles` of tile_words (at most DQ_BLOCK_WORDS) words. sum[i][j] = sum over t
// and k of dot(a[t][i][k], b[offset of tile t + k * b_stride + column j]).
enum { DQ_BLOCK_WORDS = 16 };
typedef struct dq_block {
  const uint32_t *a;      // [panels of rows][tiles][panel_rows][DQ_BLOCK_WORDS]
  const uint32_t *b;      // column j at j / columns of the row of the table * b_panel + the rest; columns
                          // are read up to whole ones of the row, words of depth up to tile_words
  const int64_t *offsets; // words; NULL: t * b_tile
  int64_t b_stride, b_panel, b_tile, tiles, rows, columns;
  int tile_words, panel_rows; // panel_rows: at most the row's, and at most `rows`
  int32_t *sums;              // [panel_rows][columns up to whole ones]; of one panel at a time
  int64_t sums_stride;
  void (*finish)(void *argument, int64_t row, int64_t rows); // when those rows are in sums
  void *argument;
} dq_block;
typedef void dq_block_function(const dq_block *block);
typedef dq_block_function dq_u8s8_block_function;

// One row of sums over a flat plane: c[j] = start + dot(b[offsets[t] + j], a[t]) over t ascending,
// for j below count rounded up to the kernel's columns (b and c are that long); fp32 ends as a
// tile does.
typedef struct dq_correlation {
  const void *a, *b;
  void *c;
  const int64_t *offsets;
  int64_t taps, count;
  int32_t start; // integers
  bool leaky, has_bias;
  float bias, low, high, alpha;
} dq_correlation;
typedef void dq_correlate_function(const dq_correlation *correlation);
typedef dq_correlate_function dq_f32_correlate_function, dq_i16_correlate_function, dq_u8s8_correlate_function;

// Sums over a plane of bytes: sum of lane i of vector v = start + sum over k of dot(weights[k], the four bytes
// at v * step + offsets[k] + index[4 i .. 4 i + 3]). Vectors have DQ_SLIDE_LANES lanes; 64 bytes are read at
// each offset, and whole vectors of sums written.
// A kernel that adds two products in 16 bits is given pairings: 0, or 1 or 2 where byte 1 of the word has changed
// places with byte 1 + pairing, so that bytes 0 and 1, 2 and 3 cannot pass int16; DQ_SLIDE_ALONE: no two bytes may be
// added.
enum { DQ_SLIDE_LANES = 16, DQ_SLIDE_REACH = 64, DQ_SLIDE_ALONE = 3 };
typedef struct dq_slide {
  const uint8_t *plane;
  const uint8_t *index; // [4 DQ_SLIDE_LANES], below DQ_SLIDE_REACH
  const uint32_t *weights;
  const int64_t *offsets;
  const uint8_t *pairings; // of each word, where the kernel multiplies in pairs
  int64_t words;           // of weights, at least 1
  int64_t vectors, step;
  int32_t start;
  int32_t *sums; // [vectors][DQ_SLIDE_LANES]
} dq_slide;
typedef void dq_u8s8_slide_function(const dq_slide *slide);

// Depthwise convolutions of bytes from plane to plane, in runs of up to 64 outputs that lie side by side in the output,
// one run behind the other. Output i of a run has the slot s = order[i]: lane s % 16 of vector v = s / 16. Its sum is
// start + bias + sum over k of dot(weights[k], four bytes), those at from + vector_at[v] + offsets[k] + index[4 lane ..
// 4 lane + 3] of the plane whose bits are set in masks[k][v], `pad` in place of the others. Sums are requantized as by
// dq_requantize_function. `flips` inverts bit 7 of the bytes of the input. Offsets and vector_at ascend.
enum { DQ_RUN_OUTPUTS = 64 };
typedef struct dq_byte_run {
  int32_t from;           // of a plane
  uint16_t masks;         // the set
  uint8_t count, vectors; // outputs; vectors that have some
} dq_byte_run;
typedef struct dq_byte_window {
  const uint8_t *input; // [bytes], of which no others are read
  int64_t bytes;
  int64_t first, step; // the plane of the first channel, and from one to the next
  uint8_t *output;     // [channels][outputs]
  int64_t channels, outputs;
  const dq_byte_run *runs; // [run_count]
  int64_t run_count;
  const uint8_t *index, *order; // [64], [64]
  const uint64_t *masks;        // [sets][words][4]
  int64_t vector_at[4];
  const int64_t *offsets;         // [words]
  const uint32_t *weights;        // [channels][words]
  const uint32_t *starts;         // [channels]
  const int32_t *bias;            // [channels] or NULL
  const float *multipliers;       // one, or [channels] with a step of 1
  int64_t words, multiplier_step; // words is at least 1
  int32_t zero_point, low, high;
  uint8_t pad;
  bool flips;
} dq_byte_window;
typedef void dq_u8s8_window_function(const dq_byte_window *window);

// Sums of bytes with up to DQ_PIXEL_LANES output channels in lanes. Pixels of the output lie in rows of row_outputs; a
// row has `parts` runs of `pixels` pixels (4 to DQ_PIXEL_RUN), the last one as many as are left. Runs `first` to first
// + runs
// - 1 are computed, those of row 0 before those of row 1. The sum of pixel x of row y is start + bias + sum over k of
// dot(weights[k], planes[y * row_words + x + offsets[k]]), requantized to the bytes y * row_outputs + x of the planes
// of the output, output_stride apart; of the form's other fields bias, multipliers, multiplier_row, zero_point, low and
// high are read. Words are read up to whole runs.
enum { DQ_PIXEL_LANES = 32, DQ_PIXEL_RUN = 7 };
typedef struct dq_byte_pixels {
  const uint32_t *planes;
  const int32_t *offsets;  // [depth]
  const uint32_t *weights; // [depth][lanes]: half of DQ_PIXEL_LANES where these hold all channels, else all
  const int32_t *starts;   // [channels]
  int64_t depth, first, runs, parts, row_outputs, row_words;
  int pixels, channels; // channels is at most DQ_PIXEL_LANES
  const void *ahead;    // data that will be read next, as many bytes as weights, is prefetched; NULL: none
  const struct dq_requantize_rows *requantize; // NULL: the sums of one run, or two, are stored to
  int32_t *sums;                               // [2 DQ_PIXEL_RUN][DQ_PIXEL_LANES], those of the runs behind each other
} dq_byte_pixels;
typedef void dq_u8s8_pixels_function(const dq_byte_pixels *pixels);

// A copy of `rows` rows (at least 0) of `bytes` bytes each: row r from from + r * from_step to to + r * to_step, steps
// in bytes. Source and destination must not overlap. Bytes of the destination between two rows keep their values.
// `flips` inverts bit 7 of every byte, which turns int8 into uint8 with an offset of 128, and back.
typedef struct dq_row_copy {
  const uint8_t *from;
  uint8_t *to;
  int64_t from_step, to_step, rows, bytes;
  bool flips;
} dq_row_copy;
typedef void dq_copy_rows_function(const dq_row_copy *copy);

// Output rows [first_row, end_row) of planes of a depthwise convolution with a square kernel of 3 or
// 5 and stride 1, or stride 2 without dilation (which is at most DQ_WINDOW_DILATION): taps in the
// order (row, column), padding enters as +0; then + bias and the end as in dq_tile. f16_window: elements are
// binary16 and every step is rounded to it; low and high are binary16 or infinite, alpha is not rounded.
enum { DQ_WINDOW_DILATION = 32 };
typedef struct dq_plane_window {
  const void *input, *weights; // [planes][in_height][in_width], [planes][kernel][kernel]
  const void *bias;            // [planes] or NULL
  void *output;                // [planes][out_height][out_width]
  int64_t planes, first_row, end_row;
  int64_t in_height, in_width, out_height, out_width, pad_top, pad_left, dilation;
  int kernel, stride;
  bool leaky;
  float low, high, alpha;
} dq_plane_window;
typedef void dq_f32_window_function(const dq_plane_window *window);
typedef dq_f32_window_function dq_f16_window_function;

// Sums of products of two planes, for each of `taps` shifts of the second one: sums[t][i % DQ_TAP_LANES] is one chain
// of fused multiply-adds over rows r and columns i, ascending, of values[r * values_step + i] and plane[offsets[t] +
// r * plane_step + i]. It starts from what the sums hold.
enum { DQ_TAP_LANES = 16 };
typedef struct dq_tap_sums {
  const float *values, *plane;
  const int64_t *offsets; // [taps]
  float *sums;            // [taps][DQ_TAP_LANES]
  int64_t taps, rows, columns, values_step, plane_step;
} dq_tap_sums;
typedef void dq_f32_taps_function(const dq_tap_sums *taps);

// Lines of `width` words from as many rows as a word has values: words [first, end) of a line come
// from every stride-th element, from rows[i] + line * line_step (bytes) on, the others are `pad`. A
// float stays as it is; binary16 becomes float, or stays as it is, two to a word, where rows[1] may be
// NULL for zeros; int16 is value - zero_point; bytes get their top bit flipped if asked.
typedef struct dq_expansion {
  const void *rows[4]; // the element of word `first`
  void *words;
  int64_t lines, line_step, width, first, end, stride;
  uint32_t pad;
  bool is_signed, flips; // int16; bytes
  int32_t zero_point;
} dq_expansion;
typedef void dq_expand_function(const dq_expansion *expansion);
typedef dq_expand_function dq_f32_expand_function, dq_f16_expand_function, dq_i16_expand_function,
    dq_u8s8_expand_function, dq_f16_pairs_expand_function;
// The transforms of Winograd's filtering F(m x m, 3 x 3), m = size (2 or 4), of a band of tiles_high x tiles_wide tiles
// of one channel. A tile is (m + 2)^2 values of the input; neighbouring tiles begin m values apart. The input transform
// makes (m + 2)^2 places of a tile; the output transform makes m x m outputs of the sums at these places. Buffers are
// read and written up to whole vectors.
typedef struct dq_winograd_input {
  int size;
  int64_t tiles_high, tiles_wide;
  const float *rows; // `lines` lines, `width` apart: those of the band that are inside of the input; the first
  int64_t lines, width, taken; // `taken` values of each are used
  int64_t pad_left, pad_top;   // zeros before them, in columns and lines
  // 8 bits: the padded plane, tiles_high m + 2 lines of plane_width, which `rows` are for the kernel. Else NULL.
  float *plane;
  int64_t plane_width;
  float *parts; // scratch of m (m + 2) part_stride, part_stride >= (tiles_high + 1) tiles_wide and a vector
  int64_t part_stride;
  // Place p of tile t = y * tiles_wide + x goes to to[p * place_stride + t / panel * panel_stride + t % panel].
  float *to;
  int64_t place_stride, panel, panel_stride;
} dq_winograd_input;
typedef void dq_winograd_input_function(const dq_winograd_input *input);
// i16: rows, parts and places hold words of two int16. The caller has stored all lines in the plane, which the rows
// are. Values of the plane are -255 to 255.
typedef dq_winograd_input_function dq_i16_winograd_input_function;

typedef struct dq_winograd_output {
  int size;
  int64_t tiles_high, tiles_wide;
  const float *from; // place p of tile t at p * place_stride + t
  int64_t place_stride;
  float *lines; // scratch of m line_stride, line_stride >= m tiles_high tiles_wide and m vectors
  int64_t line_stride;
  float *to; // `rows` rows of `width` values, at most what the tiles hold
  int64_t rows, width;
  bool has_bias, leaky; // and the end as in dq_tile
  float bias, low, high, alpha;
} dq_winograd_output;
typedef void dq_winograd_output_function(const dq_winograd_output *output);
// i32: `from`, lines and `to` hold int32, and nothing follows: `has_bias` to `alpha` are not read. An output is right
// where its magnitude is below 2^29 (size 2) or 2^25 (size 4); sums at places are modulo 2^32, of weights that are
// transformed by the matrix G with its rows times 2, 2, 2 and 2 (size 2) or 12, 6, 6, 24, 24 and 3 (size 4).
typedef dq_winograd_output_function dq_i32_winograd_output_function;
enum { DQ_INVERSE_OF_9 = 0x38e38e39 }; // modulo 2^32

// Transforms the weights of 3x3 kernels for i16_winograd_input, `count` kernels side by side: G g G^T with the rows of
// G times 2, 2, 2 and 2 (size 2) or 12, 6, 6, 24, 24 and 3 (size 4). Weights are -255 to 255. Reads and writes up to a
// vector past the end of each row of `count` values.
typedef struct dq_winograd_weights {
  int size;
  bool int16;       // weights are int16, else int8
  const void *from; // tap t of kernel i at from[t * count + i]
  int64_t count;
  int16_t *to; // place p of kernel i at to[p * place_stride + i]
  int64_t place_stride;
} dq_winograd_weights;
typedef void dq_i16_winograd_weights_function(const dq_winograd_weights *weights);

// What follows the activation of a float32 convolution, in place on rows of values that are `stride` apart: x
// sigmoid(x) with `silu`; then the element at the same place of `addend` is added, unless that is NULL, and the bounds
// or slope follow as in dq_tile. Elements between the rows are neither read nor written.
typedef struct dq_tail {
  float *values;
  const float *addend;
  int64_t rows, columns, stride;
  bool silu, leaky;
  float low, high, alpha;
} dq_tail;
typedef void dq_f32_tail_function(const dq_tail *tail);

// Transposes a matrix: element (row, column) of `from` is stored at to[column * to_stride + row]. With `ends` the
// elements are sums, to which bias[column] (unless NULL) and the bounds or slope as in dq_tile are applied before.
typedef struct dq_columns {
  const float *from;
  int64_t from_stride, rows, columns;
  const int64_t *offsets; // unless it ends sums: row r at from + offsets[r] instead, unless NULL
  float *to;
  int64_t to_stride;
  bool ends, leaky;
  const float *bias;
  float low, high, alpha;
} dq_columns;
typedef void dq_f32_columns_function(const dq_columns *columns);

// Requantizes rows of int32 sums to 8 bits, as dq_requantization says. `bias` and `multipliers` advance by bias_step
// and multiplier_step (0 or 1) for each column, by bias_row and multiplier_row for each row.
typedef struct dq_requantize_rows {
  const int32_t *sums, *bias; // bias NULL: none
  const float *multipliers;
  uint8_t *output;
  int64_t rows, columns, sums_stride, output_stride;
  int bias_step, multiplier_step, bias_row, multiplier_row;
  int32_t zero_point, low, high;
} dq_requantize_rows;
typedef void dq_requantize_function(const dq_requantize_rows *rows);

// Computes output[i] = table[input[i]], any function of 8 bits, for i < count. The table has 256 entries, indexed by
// the bits of an element (an int8 -1 is 255); output may be input.
typedef void dq_lookup_function(const uint8_t *input, const uint8_t *table, uint8_t *output, int64_t count);

// Computes output[i], for i < count, as the larger of the lines x rise + rise_at and x fall + fall_at at x = input[i],
// each one fused multiply-add, rounded to the nearest integer (ties to even) and brought into 0 to 255. Both lines are
// below 2^15 in magnitude; output may be input.
typedef struct dq_ramps {
  float rise, rise_at, fall, fall_at;
} dq_ramps;
typedef void dq_ramps_function(const dq_ramps *ramps, const uint8_t *input, uint8_t *output, int64_t count);

// Rows of outputs of a max pool on 8 bits: output[line * count + o] is the largest of rows[i][line * line_step + x], x
// = o * stride - begin + k * dilation, over all rows and k in [0, kernel) with x inside of a row; the least number of
// the type when there is none. In float there is one line.
typedef struct dq_maximum_row {
  const uint8_t *const *rows;
  int64_t row_count, width; // rows may be 0
  int64_t begin, kernel, dilation, stride;
  uint8_t *output;
  int64_t count;
  int64_t lines, line_step; // lines >= 1; line_step in bytes
  bool is_signed;
  uint8_t *scratch; // dq_maximum_8_scratch bytes
} dq_maximum_row;
typedef void dq_maximum_function(const dq_maximum_row *row);

// The sum or product of two quantized operands: x = (float)(a - a_zero_point) * a_scale, y likewise from b, then
// q = clamp(round_half_even((x + y) / scale) + zero_point, low, high), or x * y for a product. Each step is rounded to
// float32, as DequantizeLinear, Add or Mul, and QuantizeLinear do. A difference is a sum with b_scale negated. low and
// high lie within the type of the output. `output` may be a or b.
enum { DQ_PAIR_EXCEPTIONS = 4 };
typedef struct dq_pair_row {
  const uint8_t *a, *b;
  int a_step, b_step; // 1, or 0: one element for all
  bool a_signed, b_signed;
  float a_scale, b_scale, scale;
  int32_t a_zero_point, b_zero_point, zero_point;
  int32_t low, high;
  uint8_t *output;
  int64_t count;
  // What dq_add_8_shorten found for a sum, whose formulas give the same bytes; else zeros.
  bool is_short; // factors apply
  float a_factor, b_factor, offset;
  int32_t a_weight, b_weight; // both 0: weights do not apply
  float unit, start;
  int exception_count;
  uint32_t exceptions[DQ_PAIR_EXCEPTIONS]; // a + 256 b + 65536 q, of bytes as they are stored
} dq_pair_row;

typedef struct dq_range {
  float minimum, maximum; // of the elements that are not NaN; +infinity, -infinity when there are
                          // none; a zero is +0
  int64_t nans;
} dq_range;

typedef void dq_f32_to_f16_function(const float *input, uint16_t *output, int64_t count);
typedef void dq_f16_to_f32_function(const uint16_t *input, float *output, int64_t count);
typedef void dq_round_f16_function(const float *input, float *output, int64_t count);
// Rounds to binary16, then applies the slope `alpha` below zero, then rounds again, as a separate LeakyRelu would.
typedef void dq_f32_to_f16_leaky_function(const float *input, float alpha, uint16_t *output, int64_t count);
typedef void dq_exp_f32_function(const float *input, float *output, int64_t count);
typedef dq_exp_f32_function dq_sigmoid_f32_function, dq_tanh_f32_function, dq_expm1_f32_function;
typedef dq_exp_f32_function dq_softplus_f32_function, dq_erf_f32_function;
typedef void dq_quantize_function(const float *input, float scale, int32_t zero_point, bool is_signed, uint8_t *output,
                                  int64_t count);
typedef void dq_dequantize_function(const uint8_t *input, bool is_signed, float scale, int32_t zero_point,
                                    float *output, int64_t count);
typedef dq_maximum_function dq_maximum_8_function, dq_maximum_f32_function, dq_maximum_f16_function;
typedef void dq_add_8_function(const dq_pair_row *row);
typedef dq_add_8_function dq_multiply_8_function;
typedef void dq_range_function(const float *input, int64_t count, dq_range *range);
// Sums over `planes` planes of `elements` elements, `step` elements apart: totals[0] of x, (x - mean)^2 or (x - mean)
// y, and with the last of these totals[1] of y. Bits: a plane is added by DQ_LANE_SUM (shards.h) in float32, to the
// total of the planes before it, from 0 on.
typedef enum dq_plane_terms { DQ_PLANE_SUM, DQ_PLANE_SQUARES, DQ_PLANE_PRODUCTS } dq_plane_terms;
typedef struct dq_planes {
  const float *x, *y; // y: products only
  int64_t planes, elements, step;
  float mean;
  dq_plane_terms kind;
} dq_planes;
typedef void dq_plane_sums_function(const dq_planes *planes, double totals[2]);
// z[i] = (a (x[i] - mean) + b y[i]) + c, each operation rounded; terms: a, b, c, mean.
typedef void dq_combine_function(const float *x, const float *y, float *z, int64_t count, const float terms[4]);
// bins[i] = half + floor(input[i] / 2^exponent), of |input[i]| < 2^(exponent + 23).
typedef void dq_bins_function(const float *input, int64_t count, int exponent, int32_t half, int32_t *bins);
// sums[0] = sum of input[i], sums[1] = sum of input[i]^2 in float64 over `count`; element i is added in partial sum i
// mod 8, and a sum is 0 + s0 + ... + s7 in this order.
typedef void dq_moments_function(const float *input, int64_t count, double sums[2]);
// sums[0] = sum of exact[i]^2, sums[1] = sum of (exact[i] - other[i])^2 in float64 over `count`, a multiple of 4;
// element i is added in partial sum i mod 4, and a sum is (s0 + s1) + (s2 + s3).
typedef void dq_squares_function(const float *exact, const float *other, int64_t count, double sums[2]);

#endif
