// Shared inside lib/kernels: the scalar form of every epilogue, the calling forms of the functions
// in kernels.def, and the search in that table.
#ifndef DQ_KERNELS_KERNELS_INTERNAL_H
#define DQ_KERNELS_KERNELS_INTERNAL_H

#include "lib/kernels/function.h"
#include "lib/kernels/kernels.h"

// ---- Scalar definitions ----
// The comparisons are written as the vector instructions behave: a NaN in x stays.
static inline float dq_activate(const dq_activation *activation, float x) {
  switch (activation->kind) {
  case DQ_ACTIVATION_NONE:
    return x;
  case DQ_ACTIVATION_RELU:
    return x < 0.0f ? 0.0f : x;
  case DQ_ACTIVATION_CLIP:
    x = activation->low > x ? activation->low : x;
    return activation->high < x ? activation->high : x;
  case DQ_ACTIVATION_LEAKY:
    return x < 0.0f ? activation->alpha * x : x;
  case DQ_ACTIVATION_SILU:
    return dq_silu_one(x);
  }
  return x;
}

static inline float dq_gemm_finish(const dq_gemm_parameters *p, float sum, int64_t i, int64_t j) {
  if (p->alpha != 1.0f) sum *= p->alpha;
  if (p->addend) {
    float addend = p->addend[i * p->addend_row_stride + j * p->addend_column_stride];
    sum += p->beta != 1.0f ? p->beta * addend : addend;
  }
  return dq_activate(&p->activation, sum);
}

static inline int32_t dq_int8_value(uint8_t byte, bool is_signed) {
  return is_signed ? (int8_t)byte : byte;
}

static inline int32_t dq_zero_point(const int32_t *zero_points, int64_t count, int64_t index) {
  return count == 0 ? 0 : zero_points[count == 1 ? 0 : index];
}

// Rounds to the nearest integer, ties to even, for |x| < 2^22.
static inline float dq_round_even(float x) {
  const float shift = 0x1.8p23f; // adding it leaves no bits for a fraction
  return (x + shift) - shift;
}

// The last step of requantization and quantization: x in units of the output, NaN gives low.
static inline int32_t dq_round_clamped(float x, int32_t zero_point, int32_t low, int32_t high) {
  float lower = (float)(low - zero_point), upper = (float)(high - zero_point);
  x = x > lower ? x : lower;
  x = x < upper ? x : upper;
  return (int32_t)dq_round_even(x) + zero_point;
}

static inline uint8_t dq_requantize_one(const dq_requantization *r, int64_t channel, int32_t sum) {
  if (r->bias) sum = (int32_t)((uint32_t)sum + (uint32_t)r->bias[channel]);
  float multiplier = r->multipliers[r->multiplier_count == 1 ? 0 : channel];
  return (uint8_t)dq_round_clamped((float)sum * multiplier, r->zero_point, r->low, r->high);
}

// ---- Calling forms ----
// A word is 32 bits: one float, two int16 or four bytes that are multiplied with a word of weights
// and added to one 32-bit sum.

// A tile of sums: sum[i][j] = start + dot(a[k][i], b[k][j]) over k ascending. Words of b are read
// up to whole vectors (the kernel's columns); words of c beyond `columns` are neither read nor
// written.
typedef struct dq_tile {
  const void *a, *b; // k-th words at a + k * a_stride and b + k * b_stride
  const int64_t *offsets; // fp32: k-th words of b at b + offsets[k] instead, unless NULL
  void *c;
  int64_t a_stride, b_stride, c_stride; // words
  int64_t depth;
  int rows, columns;
  const void *ahead;    // unless NULL: what is read behind this tile, brought near a line of 64 bytes for each k
  int64_t ahead_stride; // unless 0: fp32: two lines for each k instead, so many words apart
  bool accumulate;      // start from c
  const int32_t *start; // otherwise, integers: from start[i]; NULL: 0
  // u8s8_sums16_tile: `run_count` runs of runs[r] words, the next words of a with those of b at
  // b + *steps++ * b_stride; depth is not used.
  const uint32_t *steps, *runs;
  int64_t run_count;
  // The end of fp32 sums: + bias[i] unless NULL; then low and high bounds as DQ_ACTIVATION_CLIP
  // (infinite: none), or the slope below zero.
  bool finish, leaky;
  const float *bias;
  float low, high, alpha;
} dq_tile;
typedef void dq_tile_function(const dq_tile *tile);
typedef dq_tile_function dq_f32_tile_function, dq_i16_tile_function, dq_u8s8_tile_function,
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
  const uint32_t *a; // [panels of rows][tiles][panel_rows][DQ_BLOCK_WORDS]
  const uint32_t *b; // column j at j / columns of the row of the table * b_panel + the rest; columns
                     // are read up to whole ones of the row, words of depth up to tile_words
  const int64_t *offsets; // words; NULL: t * b_tile
  int64_t b_stride, b_panel, b_tile, tiles, rows, columns;
  int tile_words, panel_rows; // panel_rows: at most the row's, and at most `rows`
  int32_t *sums; // [panel_rows][columns up to whole ones]; of one panel at a time
  int64_t sums_stride;
  void (*finish)(void *argument, int64_t row, int64_t rows); // when those rows are in sums
  void *argument;
} dq_block;
typedef void dq_block_function(const dq_block *block);
typedef dq_block_function dq_u8s8_block_function;

// One row of sums over a flat plane: c[j] = start + dot(b[offsets[t] + j], a[t]) over t ascending,
// for j below count rounded up to the kernel's columns (b and c have that room); fp32 ends as a
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
typedef dq_correlate_function dq_f32_correlate_function, dq_i16_correlate_function,
    dq_u8s8_correlate_function;

// Sums over a plane of bytes: sum of lane i of vector v = start + sum over k of dot(weights[k], the four bytes
// at v * step + offsets[k] + index[4 i .. 4 i + 3]). Vectors have DQ_SLIDE_LANES lanes; 64 bytes are read at
// each offset, and whole vectors of sums written.
enum { DQ_SLIDE_LANES = 16, DQ_SLIDE_REACH = 64 };
typedef struct dq_slide {
  const uint8_t *plane;
  const uint8_t *index; // [4 DQ_SLIDE_LANES], below DQ_SLIDE_REACH
  const uint32_t *weights;
  const int64_t *offsets;
  int64_t words; // of weights, at least 1
  int64_t vectors, step;
  int32_t start;
  int32_t *sums; // [vectors][DQ_SLIDE_LANES]
} dq_slide;
typedef void dq_u8s8_slide_function(const dq_slide *slide);

// Rows of `bytes` from one distance to another, their top bits flipped if asked.
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
// Fills the padding of a line; returns its word `first`, which comes from element *from of row 0.
static inline uint32_t *dq_start_line(const dq_expansion *e, int64_t line, const void **from) {
  uint32_t *words = (uint32_t *)e->words + line * e->width;
  for (int64_t i = 0; i < e->first; i++) words[i] = e->pad;
  for (int64_t i = e->end; i < e->width; i++) words[i] = e->pad;
  *from = (const uint8_t *)e->rows[0] + line * e->line_step;
  return words + e->first;
}

// The transforms of Winograd's filtering F(m x m, 3 x 3), m = size (2 or 4), of a band of tiles_high x
// tiles_wide tiles of one channel. A tile is (m + 2)^2 values of the input, m apart, and becomes as many
// places; m x m outputs come from as many sums. Buffers are read and written up to whole vectors.
typedef struct dq_winograd_input {
  int size;
  int64_t tiles_high, tiles_wide;
  const float *rows; // `lines` lines, `width` apart: those of the band that are inside of the input; the first
  int64_t lines, width, taken; // `taken` values of each are used
  int64_t pad_left, pad_top;   // zeros before them, in columns and lines
  float *plane; // room of tiles_high m + 2 lines of plane_width and m + 1 vectors, zeroed by the caller once for
  int64_t plane_width; // all channels
  float *parts; // room of m (m + 2) part_stride, part_stride >= (tiles_high + 1) tiles_wide and a vector
  int64_t part_stride;
  // Place p of tile t = y * tiles_wide + x goes to to[p * place_stride + t / panel * panel_stride + t % panel].
  float *to;
  int64_t place_stride, panel, panel_stride;
} dq_winograd_input;
typedef void dq_winograd_input_function(const dq_winograd_input *input);

typedef struct dq_winograd_output {
  int size;
  int64_t tiles_high, tiles_wide;
  const float *from; // place p of tile t at p * place_stride + t
  int64_t place_stride;
  float *lines; // room of m line_stride, line_stride >= m tiles_high tiles_wide and m vectors
  int64_t line_stride;
  float *to; // `rows` rows of `width` values, at most what the tiles hold
  int64_t rows, width;
  bool has_bias, leaky; // and the end as in dq_tile
  float bias, low, high, alpha;
} dq_winograd_output;
typedef void dq_winograd_output_function(const dq_winograd_output *output);

// What follows a float32 convolution's activation, in place: x sigmoid(x) if asked; + addend unless
// NULL; then the end as in dq_tile.
typedef struct dq_tail {
  float *values;
  const float *addend;
  int64_t count;
  bool silu, leaky;
  float low, high, alpha;
} dq_tail;
typedef void dq_f32_tail_function(const dq_tail *tail);

// A matrix with rows and columns exchanged: element (row, column) of from goes to to[column * to_stride + row]. Where
// it ends sums, after + bias[column] unless NULL and what follows in dq_tile.
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

// Rows of sums to 8 bits. bias and multipliers advance by the steps (0 or 1) per column and per row.
typedef struct dq_requantize_rows {
  const int32_t *sums, *bias; // bias NULL: none
  const float *multipliers;
  uint8_t *output;
  int64_t rows, columns, sums_stride, output_stride;
  int bias_step, multiplier_step, bias_row, multiplier_row;
  int32_t zero_point, low, high;
} dq_requantize_rows;
typedef void dq_requantize_function(const dq_requantize_rows *rows);

typedef void dq_f32_to_f16_function(const float *input, uint16_t *output, int64_t count);
typedef void dq_f16_to_f32_function(const uint16_t *input, float *output, int64_t count);
typedef void dq_round_f16_function(const float *input, float *output, int64_t count);
// Rounded, then the slope below zero, then rounded again, as a LeakyRelu of its own.
typedef void dq_f32_to_f16_leaky_function(const float *input, float alpha, uint16_t *output, int64_t count);
typedef void dq_exp_f32_function(const float *input, float *output, int64_t count);
typedef dq_exp_f32_function dq_sigmoid_f32_function, dq_tanh_f32_function;
typedef void dq_quantize_function(const float *input, float scale, int32_t zero_point,
                                  bool is_signed, uint8_t *output, int64_t count);
typedef void dq_dequantize_function(const uint8_t *input, bool is_signed, float scale,
                                    int32_t zero_point, float *output, int64_t count);
typedef dq_maximum_function dq_maximum_8_function, dq_maximum_f32_function, dq_maximum_f16_function;
typedef void dq_add_8_function(const dq_pair_row *row);
typedef dq_add_8_function dq_multiply_8_function;
typedef void dq_range_function(const float *input, int64_t count, dq_range *range);

// The audit works on panels: DQ_AUDIT_LANES outputs side by side, panel[t * lanes + lane] the input
// less its zero point at tap t, in the order of the reduction.
enum { DQ_AUDIT_LANES = 32 };

// Sums in int16 that saturate at every addition, of `rows` (at most the kernel's, whose room last and
// top have) output channels:
// last[row][lane] is the end, top[row][lane] the largest after any tap (not below 0). Weight t of a
// row is in both halves of word weights[t * kernel rows + row]; |w| <= 128.
typedef struct dq_audit_sums {
  const int16_t *panel;
  const uint32_t *weights;
  int64_t depth;
  int rows;
  int16_t *last, *top;
} dq_audit_sums;
typedef void dq_audit_running_function(const dq_audit_sums *sums);

// Fills a panel: piece i is lanes from lane[i] on, `from[i]` numbers behind the window of a tap. The window of
// tap k of channel c is planes + c * plane_bytes + offsets[k]; DQ_AUDIT_LANES numbers behind every piece and
// behind the panel are readable and writable.
typedef struct dq_audit_panel {
  const uint8_t *planes;
  int64_t plane_bytes, channels, taps;
  const int64_t *offsets, *from;
  const int *lane;
  int pieces, zero; // what is taken from the numbers
  int16_t *panel;
} dq_audit_panel;
typedef void dq_audit_fill_function(const dq_audit_panel *panel);

// How many numbers of each window of some planes are at least each bound:
// counts[(plane * windows + window) * count_stride + b] of those with mask 1 and number >= bounds[b]. Planes are
// read in whole vectors of DQ_AUDIT_VECTOR numbers; masks are [vector][DQ_AUDIT_WINDOWS][DQ_AUDIT_VECTOR] bytes,
// 0 or 1, the same for all planes.
enum { DQ_AUDIT_VECTOR = 64, DQ_AUDIT_WINDOWS = 16 };
typedef struct dq_audit_windows {
  const uint8_t *plane, *masks; // the first plane
  int64_t planes, plane_bytes, vectors;
  int windows;           // at most DQ_AUDIT_WINDOWS
  const uint8_t *bounds; // 1..255; up to the next multiple of 32 they are read, and counts written
  int bound_count, count_stride;
  uint32_t *counts;
} dq_audit_windows;
typedef void dq_audit_windows_function(const dq_audit_windows *windows);

// counts[b]: how many of `vectors` times DQ_AUDIT_VECTOR numbers are at least bounds[b].
typedef struct dq_audit_reached {
  const uint8_t *numbers;
  int64_t vectors;
  const uint8_t *bounds; // 1..255; up to the next multiple of 32 they are read, and counts written
  int bound_count;
  uint32_t *counts;
} dq_audit_reached;
typedef void dq_audit_reached_function(const dq_audit_reached *reached);

// What a window lacks of a plane's rows and columns, as bits: those at the top and at the left are the lowest, then
// those at the bottom and at the right.
typedef struct dq_audit_trim {
  uint32_t rows, columns;
  uint32_t padding; // numbers of the window that lie in no row and column
} dq_audit_trim;
// counts[window][b] of some windows of a plane, from those of the whole plane and of the rows and columns that some
// window lacks, all of them count_stride apart.
typedef struct dq_audit_trims {
  const dq_audit_trim *trims; // by window
  int windows, rows, columns;
  const uint32_t *whole;     // of the plane, of the rows, of the columns
  const uint8_t *corners;    // [row][column]: the number in both
  uint8_t zero;              // in the padding
  const uint8_t *bounds;     // 1..255; up to the next multiple of 32 they are read, and counts written
  int bound_count, count_stride;
  uint32_t *counts;
} dq_audit_trims;
typedef void dq_audit_trims_function(const dq_audit_trims *trims);

// totals[i] += tables[tap][numbers[tap][i]] of all taps, modulo 2^32; of a table `size` entries are used, 64 may be
// read.
typedef struct dq_audit_totals {
  const uint32_t *tables;
  int64_t table_stride;
  int size, tap_count;
  const uint8_t *numbers;
  const int64_t *taps; // whose numbers lie number_stride apart
  int64_t number_stride, count;
  uint32_t *totals;
} dq_audit_totals;
typedef void dq_audit_totals_function(const dq_audit_totals *totals);

// Two neighbouring weights of one sign whose products can leave int16, as magnitudes.
typedef struct dq_audit_pair {
  int64_t tap; // of the first
  uint16_t first, second;
  uint16_t limit; // the largest magnitude of the sum that does not saturate
} dq_audit_pair;
// How often a pair saturates: of `count` unsigned numbers under either weight, whose vectors of
// DQ_AUDIT_VECTOR may be read whole, those with mask 1.
typedef uint64_t dq_audit_pairs_function(const dq_audit_pair *pair, const uint8_t *first, const uint8_t *second,
                                         const uint8_t *mask, int64_t count);

// How exact sums of `lanes` outputs of one channel compare with saturating ones.
typedef struct dq_audit_comparison {
  const int32_t *sums;
  const int16_t *last, *top;
  int lanes;
  int different, unsure; // results: how many differ, and how many are equal although the largest int16 was touched
} dq_audit_comparison;
typedef void dq_audit_compare_function(dq_audit_comparison *comparison);

// What exact sums of one output channel say by themselves.
typedef struct dq_audit_whole {
  const int32_t *sums;
  int64_t count;
  int32_t low16, high16, low32, high32; // what a sum must lie within to fit with its bias
  uint64_t outside16, outside_low16, outside_low32; // results: sums outside int16, and outside the bounds above
  int32_t lowest, highest;
} dq_audit_whole;
typedef void dq_audit_whole_function(dq_audit_whole *whole);

// Bytes of `channels` planes, channel_bytes apart, to places of channels: to[i * place_bytes + c] =
// from[c * channel_bytes + i] ^ flip, for i below count.
typedef void dq_audit_turn_function(const uint8_t *from, int64_t channel_bytes, int64_t channels, int64_t count,
                                    uint8_t flip, uint8_t *to, int64_t place_bytes);

// to[i * to_bytes + j] = from[i * from_bytes + j] for i below rows, j below count; up to the next multiple of 64 more
// bytes of each row are read and written.
typedef void dq_audit_rows_function(const uint8_t *from, int64_t from_bytes, int64_t rows, int64_t count, uint8_t *to,
                                    int64_t to_bytes);

// Exact sums of some outputs by blocks of DQ_AUDIT_BLOCK taps, for 16 output channels. Outputs that may leave int16
// within a block, and have not done so at the end, are looked at tap by tap.
enum { DQ_AUDIT_BLOCK = 32, DQ_AUDIT_ROWS = 64, DQ_AUDIT_CHANNELS = 16 };
typedef struct dq_audit_block_weights {
  int8_t *tiles; // [block][all, those above 0][block_bytes / 4][16 channels][4 taps]
  int8_t *lines; // [16 channels][blocks * DQ_AUDIT_BLOCK]
  int32_t low16[DQ_AUDIT_CHANNELS], high16[DQ_AUDIT_CHANNELS]; // what a sum must lie within to fit with its bias
} dq_audit_block_weights;
typedef struct dq_audit_block_counts { // by channel; added to
  uint32_t left[DQ_AUDIT_CHANNELS], outside[DQ_AUDIT_CHANNELS], outside_low[DQ_AUDIT_CHANNELS];
  int32_t lowest[DQ_AUDIT_CHANNELS], highest[DQ_AUDIT_CHANNELS];
  int64_t doubts; // outputs that were looked at tap by tap, of all blocks of taps
} dq_audit_block_counts;
// Where zero is not 0 a block holds, for each of its taps, how far the value is above zero, and then how far it is
// below; the weights of these are those with their sign turned.
typedef struct dq_audit_block_rows {
  const uint8_t *values;                  // [DQ_AUDIT_ROWS outputs][row_bytes], in the order of the reduction
  int64_t row_bytes, blocks, block_bytes; // block_bytes: DQ_AUDIT_BLOCK or twice as many
  int outputs;
} dq_audit_block_rows;
// running: whether prefixes may leave int16 at all, of `count` times 16 channels.
typedef void dq_audit_blocks_function(const dq_audit_block_rows *rows, const dq_audit_block_weights *weights,
                                      const bool *running, int64_t count, dq_audit_block_counts *counts);

// ---- The table ----
enum dq_operation {
#define DQ_OPERATION(operation, family) DQ_OPERATION_##operation,
#include "lib/kernels/kernels.def"
  DQ_OPERATIONS
};
#define DQ_KERNEL(operation, symbol, feature, rows, columns, types)                                \
  dq_##operation##_function symbol;
#include "lib/kernels/kernels.def"

// The row to use, NULL when the operation has none for this machine.
const dq_kernel *dq_kernel_find(int operation, unsigned cpu);
// What is added to bytes for a row whose types begin with s8 or u8: 0, or 128 with either sign, when
// their top bit is flipped.
static inline int32_t dq_byte_shift(const dq_kernel *row, bool is_signed) {
  bool wanted_signed = row->types[0] == 's';
  return wanted_signed == is_signed ? 0 : is_signed ? 128 : -128;
}
#define DQ_KERNEL_FUNCTION(operation, cpu)                                                         \
  ((dq_##operation##_function *)dq_kernel_find(DQ_OPERATION_##operation, cpu)->function)

// Bounds of an activation in the form of dq_tile.
typedef struct dq_bounds {
  bool leaky;
  float low, high, alpha;
} dq_bounds;
static inline dq_bounds dq_activation_bounds(const dq_activation *activation) {
  dq_bounds bounds = {false, -__builtin_inff(), __builtin_inff(), 0};
  if (activation->kind == DQ_ACTIVATION_RELU) bounds.low = 0;
  if (activation->kind == DQ_ACTIVATION_CLIP)
    bounds.low = activation->low, bounds.high = activation->high;
  if (activation->kind == DQ_ACTIVATION_LEAKY)
    bounds.leaky = true, bounds.alpha = activation->alpha;
  return bounds;
}

#endif
