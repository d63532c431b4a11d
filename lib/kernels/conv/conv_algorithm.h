// The inside of the convolutions: the interface of an algorithm, and the expansion of the input into planes of words in
// which every tap of the kernel is a shift.
//
// An expanded plane holds, for one word of channels, the padded input split by stride phase:
// [slots_height][slots_width][plane_height][plane_width]. Tap (ky, kx) of output (y, x) is the word
// at dq_conv_tap_offset(ky, kx) + y * plane_width + x, for any stride and dilation.
#ifndef DQ_KERNELS_CONV_ALGORITHM_H
#define DQ_KERNELS_CONV_ALGORITHM_H

#include "lib/kernels/conv/conv.h"
#include "lib/kernels/reference/scalar.h"

#include "lib/base/sizes.h"

enum {
  DQ_COST_LANES = 16,
  DQ_CONV_HEADER_WORDS = 16, // of packed weights; the first word is 1 when there is a bias
  DQ_CONV_SLACK_WORDS = 64,  // behind every buffer kernels may overrun by a vector or four
};

typedef struct dq_conv_call {
  const dq_conv_plan *plan;
  const void *packed, *input;
  const float *addend; // where the plan's tail adds
  void *output;
  const dq_requantization *requantization;
  uint32_t *scratch;
  dq_pool *pool;
} dq_conv_call;

typedef struct dq_block_sizes {
  int64_t columns, depth; // in a measure of the algorithm: equal sizes are equal blocks
} dq_block_sizes;

typedef struct dq_conv_algorithm {
  const char *name;
  bool (*applicable)(const dq_conv_plan *plan); // pure: looks at shape, types and cpu only
  bool same_bits;                               // sums are the chain of conv.h
  bool ends;                                    // run calls dq_conv_end for float outputs; else that is done behind it
  // Estimated time in multiply-adds of vectors of DQ_COST_LANES, to compare algorithms with; pure as well.
  // The same on every instruction set, so that results are. NULL: taken when asked for only.
  double (*cost)(const dq_conv_plan *plan);
  // Adds what a run on so many threads does, of a prepared plan; NULL: the cost is all that is known.
  void (*count)(const dq_conv_plan *plan, int threads, dq_counts *counts);
  unsigned knobs;                      // DQ_KNOB_ bits: the sizes of the tuning that prepare or run reads
  void (*prepare)(dq_conv_plan *plan); // sets the fields of the plan that it needs; NULL: none
  // The sizes that follow from the tuning, of a prepared plan; NULL: there are none.
  dq_block_sizes (*blocks)(const dq_conv_plan *plan, int threads);
  size_t (*packed_words)(const dq_conv_plan *plan);
  size_t (*scratch_words)(const dq_conv_plan *plan, int threads);
  void (*pack)(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed);
  void (*run)(const dq_conv_call *call);
} dq_conv_algorithm;

#define DQ_CONV_ALGORITHM(symbol, name, help) extern const dq_conv_algorithm dq_conv_##symbol;
#include "lib/kernels/conv/conv_algorithms.def"

// conv_counts.c, for the rows of these algorithms; and the counts of any prepared plan on so many threads, all 0 where
// the algorithm is taken when asked for only.
void dq_conv_count_tiles(const dq_conv_plan *plan, int threads, dq_counts *counts);
void dq_conv_count_bands(const dq_conv_plan *plan, int threads, dq_counts *counts);
void dq_conv_count_channels(const dq_conv_plan *plan, int threads, dq_counts *counts);
void dq_conv_count_window(const dq_conv_plan *plan, int threads, dq_counts *counts);
void dq_conv_count_depthwise(const dq_conv_plan *plan, int threads, dq_counts *counts);
void dq_conv_count_slide(const dq_conv_plan *plan, int threads, dq_counts *counts);
dq_counts dq_conv_counts(const dq_conv_plan *plan, int threads);

// Whether a convolution has a 1x1 kernel without strides and pads, so that it is a product of matrices (pointwise).
bool dq_conv_is_pointwise(const dq_conv_parameters *parameters);
// Sets plan->planes for `rows` output rows, and word_values; called by `prepare` of algorithms that expand the input.
void dq_conv_prepare_planes(dq_conv_plan *plan, int64_t rows);
// The offset in words, within a plane, of the word under tap (ky, kx) of output (0, 0).
int64_t dq_conv_tap_offset(const dq_conv_plan *plan, int64_t ky, int64_t kx);
// The number of words of one plane.
static inline int64_t dq_conv_plane_words(const dq_conv_plan *plan) {
  return plan->planes.slots_height * plan->planes.slots_width * plan->planes.height * plan->planes.width;
}
// Fills offsets[group_words][taps] with the place, in words from the first expanded plane of a group, of the word that
// output 0 multiplies by each tap. Planes are dq_conv_plane_words apart.
void dq_conv_pack_offsets(const dq_conv_plan *plan, int64_t *offsets);

// The words of one line of a horizontal slot: words 0 to first - 1 and end to width - 1 are padding, the others come
// from an input row.
typedef struct dq_row_geometry {
  int64_t first, end, width;
  int64_t offset; // bytes from the start of an input row to the element of word `first`
  uint32_t pad;   // the word of padding
} dq_row_geometry;
dq_row_geometry dq_conv_row_geometry(const dq_conv_plan *plan, int64_t slot);
// Expands `lines` lines of words from input rows that are stride_height apart. rows[i] is the first element of the
// first input row of channel i of the words (word_values channels).
void dq_conv_expand_lines(const dq_conv_plan *plan, const dq_row_geometry *geometry, const void *const rows[4],
                          int64_t lines, uint32_t *words);
// Expands a whole plane for output rows from first_row on. channels[i] is the input plane of channel i of the words;
// NULL: there is none.
void dq_conv_expand_plane(const dq_conv_plan *plan, const uint8_t *const channels[4], int64_t first_row,
                          uint32_t *words);
// Expands all planes of a group of floats, one after another, for output rows from first_row on; `input` is the plane
// of the first channel. Only the first `lines` lines of each slot are expanded, at most planes.height; the other words
// stay as they are.
void dq_conv_expand_floats(const dq_conv_plan *plan, const uint8_t *input, int64_t first_row, int64_t lines,
                           uint32_t *words);

// The first element of an input channel of a group of an image.
const uint8_t *dq_conv_input_channel(const dq_conv_call *call, int64_t image, int64_t group, int64_t channel);
// Expands all planes of a group into call->scratch, plane_stride words apart, on the pool of the call.
void dq_conv_expand_group(const dq_conv_call *call, int64_t image, int64_t group, int64_t plane_stride);

// Words from `from` to end - 1 of the depth, in the order (word of channels, tap), for the outputs first to first +
// count
// - 1, which are at most the columns of the kernel.
typedef struct dq_panel {
  int64_t from, end, first, count;
} dq_panel;
// Packs these words from planes, plane_stride words apart, to to[k][columns of the kernel]; `offsets` are those of the
// taps (dq_conv_tap_offset). Writes up to 15 words past the end, which the next panel overwrites.
void dq_conv_pack_panel(const dq_conv_plan *plan, const uint32_t *planes, int64_t plane_stride, const int64_t *offsets,
                        dq_panel panel, uint32_t *to);
// Copies `rows` rows of `bytes` bytes, from_stride bytes apart, to `to` without gaps. Up to 15 bytes behind a row of
// `from` are read; nothing is written behind the last row.
void dq_conv_copy_rows(const void *from, size_t from_stride, uint8_t *to, size_t bytes, int64_t rows);

// The kernel that expands the input of the plan into words of word_values values.
const dq_kernel *dq_conv_find_expand(const dq_conv_plan *plan);
// Stores bias[out_channels], which has the type of the plan, as float32 in `words`; NULL: nothing happens.
void dq_conv_pack_bias(const dq_conv_plan *plan, const void *bias, uint32_t *words);

// The bounds that a kernel applies at the end of its sums: those of the activation of the plan, or none where the sum
// must be rounded to binary16 before the activation (dq_conv_narrow).
dq_bounds dq_conv_bounds(const dq_conv_plan *plan);
// Applies the tail of the plan, if there is one, to `count` elements of each of `rows` planes, which follow each other;
// they have been stored. `first` is the place of the first of them in the whole output.
static inline void dq_conv_end_rows(const dq_conv_call *call, int64_t first, int64_t rows, int64_t count) {
  const dq_conv_tail *tail = &call->plan->tail;
  if (!tail->kernel) return;
  dq_bounds bounds = dq_activation_bounds(&tail->activation);
  dq_tail form = {.values = (float *)call->output + first,
                  .addend = tail->adds ? call->addend + first : NULL,
                  .rows = rows,
                  .columns = count,
                  .stride = call->plan->shape.out_height * call->plan->shape.out_width,
                  .silu = tail->silu,
                  .leaky = bounds.leaky,
                  .low = bounds.low,
                  .high = bounds.high,
                  .alpha = bounds.alpha};
  ((dq_f32_tail_function *)tail->kernel->function)(&form);
}
// The same for elements first to first + count - 1.
static inline void dq_conv_end(const dq_conv_call *call, int64_t first, int64_t count) {
  dq_conv_end_rows(call, first, 1, count);
}

// Rounds `count` sums to binary16 and applies the part of the activation that dq_conv_bounds leaves out.
void dq_conv_narrow(const dq_conv_plan *plan, const float *sums, uint16_t *to, int64_t count);

// How sums of output channels from `channel` on, of all groups, become the bytes of their planes of an image, of a call
// with requantization; the form's sums, rows, columns and sums_stride are for the caller to set.
dq_requantize_rows dq_conv_requantize_form(const dq_conv_call *call, int64_t image, int64_t channel);

// Whether all `count` zero points of 8-bit weights are 0 (int8) or 128 (uint8), so that the weights less their zero
// points are signed bytes. count 0 means zero points of 0.
bool dq_natural_zero_points(const int32_t *zero_points, int64_t count, bool is_signed);

// A word of the weights values[count], which are already less their zero point; the rest of the word is 0.
uint32_t dq_weight_word(int64_t word_values, const int32_t *values, int64_t count);
// The word of padding in the expanded input: of bytes the input zero point, as the bytes of the plan hold it, four
// times; 0 for other words.
uint32_t dq_conv_pad_word(const dq_conv_plan *plan);
// The number that a sum of words of bytes must start from: - input zero point (as the bytes hold it) * weight_sum, the
// sum of the weights; 0 for other words.
int32_t dq_conv_start(const dq_conv_plan *plan, uint32_t weight_sum);

// A size of a block, scaled by a power of two of the tuning.
static inline int64_t dq_scaled(int64_t size, int power) {
  return power >= 0 ? size << power : dq_max_i64(1, size >> -power);
}
static inline int64_t dq_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
// Whether it is faster to divide the planes among the threads than the output channels. Each thread then reads only a
// part of the input, whose elements take long to come from another processor, but all weights, of which small planes
// have many.
static inline bool dq_conv_by_place(const dq_conv_plan *plan, int threads) {
  const dq_conv_parameters *p = &plan->shape;
  enum { OUTPUTS = 4 }; // of a plane stand against the weights of a channel
  return threads > 1 && OUTPUTS * p->out_height * p->out_width >= dq_max_i64(p->in_channels, p->out_channels);
}
// A number of words, rounded up to lines of the cache.
static inline size_t dq_words(int64_t words) { return dq_round_up((size_t)words, 16); }

// ---- Sizes that follow from the shape, and from what `prepare` has set ----

// The number of output channels of a group, of taps of the kernel, and of elements of an output plane.
static inline int64_t dq_conv_group_out(const dq_conv_plan *plan) {
  return plan->shape.out_channels / plan->shape.groups;
}
static inline int64_t dq_conv_taps(const dq_conv_plan *plan) {
  return plan->shape.kernel_height * plan->shape.kernel_width;
}
static inline int64_t dq_conv_outputs(const dq_conv_plan *plan) {
  return plan->shape.out_height * plan->shape.out_width;
}
// The number of panels of plan->panel_rows output channels that hold those of a group.
static inline int64_t dq_conv_panels(const dq_conv_plan *plan) {
  return dq_ceil_div(dq_conv_group_out(plan), plan->panel_rows);
}
// The word of the packed weights behind the header and a word for each output channel, where the weights begin.
static inline size_t dq_conv_weights_at(const dq_conv_plan *plan) {
  return DQ_CONV_HEADER_WORDS + dq_words(plan->shape.out_channels);
}
// The number of words that all expanded planes of a group take, with the slack behind them.
static inline size_t dq_conv_planes_area(const dq_conv_plan *plan) {
  return dq_words(plan->group_words * dq_conv_plane_words(plan) + DQ_CONV_SLACK_WORDS);
}
// The estimated time of an algorithm that takes no longer than its multiply-adds (dq_conv_algorithm.cost).
static inline double dq_conv_cost_of_macs(const dq_conv_plan *plan) {
  return (double)dq_conv_macs(&plan->shape) / DQ_COST_LANES;
}
// Bytes of an element of the input.
static inline size_t dq_element_bytes(const dq_conv_plan *plan) { return plan->half ? 2 : plan->float32 ? 4 : 1; }

#endif
