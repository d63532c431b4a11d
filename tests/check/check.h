// Shared by the files of dqcheck, the program that holds every kernel against its C reference.
#ifndef DQ_TESTS_CHECK_CHECK_H
#define DQ_TESTS_CHECK_CHECK_H

#include "lib/base/random.h"
#include "lib/kernels/array/array.h"
#include "lib/kernels/conv/conv.h"
#include "lib/kernels/reference/forms.h"
#include "lib/kernels/reference/function.h"
#include "lib/kernels/gemm/gemm_api.h"
#include "lib/kernels/reference/reference.h"
#include "lib/kernels/reference/scalar.h"
#include "lib/kernels/table/kernel_table.h"

enum { CHECK_POOLS = 3 }; // 1, 2 and 3 threads

typedef struct checker {
  dq_random random;
  uint64_t case_seed; // of the case being run, for messages
  dq_pool *pools[CHECK_POOLS];
  const dq_kernel *row; // being checked
  unsigned cpu;         // features handed to the library
  int64_t passed, failed;
  int reached; // cases that ran through `row` itself
} checker;

// ---- Buffers: inputs end at a page that cannot be read, outputs lie between guard bytes ----
typedef struct input_buffer {
  void *data;
  void *map;
  size_t map_bytes;
} input_buffer;
typedef struct output_buffer {
  void *data;
  uint8_t *base;
  size_t bytes;
} output_buffer;

input_buffer input_new(size_t bytes);
void input_free(input_buffer *buffer);
// `shift` bytes past an alignment of 64.
output_buffer output_new(size_t bytes, size_t shift);
bool output_guards_hold(const output_buffer *buffer);
void output_free(output_buffer *buffer);

// ---- Random material ----
int64_t pick(checker *c, const int64_t *values, int count);
int64_t between(checker *c, int64_t low, int64_t high); // both included
bool chance(checker *c, int percent);
// A size around the tile size of the row: 1, tile - 1, tile, tile + 1, larger, or any up to limit.
int64_t tile_size(checker *c, int64_t tile, int64_t limit);
int64_t array_size(checker *c); // 0 and more, around the widths of vectors
enum float_mode { FLOATS_NORMAL, FLOATS_TINY, FLOATS_SPECIAL, FLOAT_MODES };
void fill_floats(checker *c, float *data, int64_t count, int mode);
void fill_bytes(checker *c, uint8_t *data, int64_t count, bool extremes);
typedef struct requantization_material {
  dq_requantization form;
  float *multipliers;
  int32_t *bias;
} requantization_material;
requantization_material requantization_new(checker *c, int64_t channels, int64_t depth);
void requantization_free(requantization_material *material);
dq_activation random_activation(checker *c);

// ---- Comparison: bits, or NaN for NaN ----
bool same_floats(const float *a, const float *b, int64_t count);
// 0 of none.
double largest_magnitude(const float *values, int64_t count);
// Reports one case: prints `text` when it failed.
void report(checker *c, bool good, const char *format, ...) __attribute__((format(printf, 3, 4)));
// The same of `what` with `count` elements, for kernels that every case reaches.
void finish_array(checker *c, bool good, const char *what, int64_t count);

// ---- One random case each ----
typedef void check_case(checker *c);
check_case check_conv_f32, check_depthwise_f32, check_window_f32, check_conv_channels, check_conv_int8,
    check_depthwise_int8, check_window_int8, check_conv_int8_pairs, check_conv_int8_sums16, check_conv_pixels;
check_case check_conv_f16, check_conv_f16_sums, check_depthwise_f16, check_window_f16;
check_case check_winograd, check_winograd_int8, check_conv_matrix;
check_case check_conv_gradient;
check_case check_gemm_f32, check_gemm_int8, check_f64_tile, check_f64_rotations, check_f64_dots;
check_case check_f32_expand, check_f16_expand, check_f16_pairs_expand, check_i16_expand, check_u8s8_expand,
    check_copy_rows;
check_case check_requantize, check_halves, check_halves_leaky, check_quantize, check_dequantize, check_range,
    check_bins, check_moments, check_squares, check_planes, check_combine, check_lookup, check_ramps, check_pair,
    check_maximum, check_maximum_f32, check_maximum_f16, check_functions, check_tail, check_audit;

// ---- Benchmarks ----
void bench_all(unsigned cpu, const char *only);

// The size of a convolution's output along an axis: floor((in + pads - dilation (kernel - 1) - 1) / stride) + 1; 0 when
// the kernel is larger than the padded input.
static inline int64_t output_size(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad_before,
                                  int64_t pad_after) {
  int64_t space = in + pad_before + pad_after - dilation * (kernel - 1) - 1;
  return space < 0 ? 0 : space / stride + 1;
}

#endif
