// Inside of the convolutions: the form of an algorithm, and the expansion of the input into planes
// of words in which every tap is a shift.
//
// An expanded plane holds, for one word of channels, the padded input split by stride phase:
// [slots_height][slots_width][plane_height][plane_width]. Tap (ky, kx) of output (y, x) is the word
// at dq_conv_tap_offset(ky, kx) + y * plane_width + x, for any stride and dilation.
#ifndef DQ_KERNELS_CONV_INTERNAL_H
#define DQ_KERNELS_CONV_INTERNAL_H

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

typedef struct dq_conv_algorithm {
  const char *name;
  bool (*applicable)(const dq_conv_plan *plan); // pure: looks at shape, types and cpu only
  bool same_bits;                               // sums are the chain of conv.h
  bool ends;                                    // run calls dq_conv_end for float outputs; else that is done behind it
  // Estimated time in multiply-adds of vectors of DQ_COST_LANES, to compare algorithms with; pure as well.
  // The same on every instruction set, so that results are. NULL: taken when asked for only.
  double (*cost)(const dq_conv_plan *plan);
  void (*prepare)(dq_conv_plan *plan); // sets the fields of the plan that it needs; NULL: none
  size_t (*packed_words)(const dq_conv_plan *plan);
  size_t (*scratch_words)(const dq_conv_plan *plan, int threads);
  void (*pack)(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed);
  void (*run)(const dq_conv_call *call);
} dq_conv_algorithm;

#define DQ_CONV_ALGORITHM(symbol, name, help) extern const dq_conv_algorithm dq_conv_##symbol;
#include "lib/kernels/conv/conv_algorithms.def"

// 1x1 without strides and pads.
bool dq_conv_is_flat(const dq_conv_parameters *parameters);
// Sets slots, plane size (for `rows` output rows) and word_values; shared by the algorithms.
void dq_conv_prepare_planes(dq_conv_plan *plan, int64_t rows);
int64_t dq_conv_tap_offset(const dq_conv_plan *plan, int64_t ky, int64_t kx);
static inline int64_t dq_conv_plane_words(const dq_conv_plan *plan) {
  return plan->planes.slots_height * plan->planes.slots_width * plan->planes.height * plan->planes.width;
}
// Where the words under output 0 are in planes that lie side by side, in the order (word of channels, tap).
void dq_conv_pack_offsets(const dq_conv_plan *plan, int64_t *offsets);

// Where the rows of a horizontal slot come from: words before first and from end on are padding.
typedef struct dq_row_geometry {
  int64_t first, end, width;
  int64_t offset; // bytes from the start of an input row to the word `first`
  uint32_t pad;
} dq_row_geometry;
dq_row_geometry dq_conv_row_geometry(const dq_conv_plan *plan, int64_t slot);
// Lines of words from input rows stride_height apart; rows point at the first element of input
// rows.
void dq_conv_expand_lines(const dq_conv_plan *plan, const dq_row_geometry *geometry, const void *const rows[4],
                          int64_t lines, uint32_t *words);
// A whole plane for output rows from first_row on; channels point at input planes (NULL: none).
void dq_conv_expand_plane(const dq_conv_plan *plan, const uint8_t *const channels[4], int64_t first_row,
                          uint32_t *words);

// The start of an input channel of a group of an image.
const uint8_t *dq_conv_input_channel(const dq_conv_call *call, int64_t image, int64_t group, int64_t channel);
// All planes of a group, plane_stride words apart, to the call's scratch, by its pool.
void dq_conv_expand_group(const dq_conv_call *call, int64_t image, int64_t group, int64_t plane_stride);

// Depth [from, end) in the order (word of channels, tap) and outputs [first, first + count), at most
// a panel of the kernel; offsets are those of the taps.
typedef struct dq_panel {
  int64_t from, end, first, count;
} dq_panel;
// Packs them to to[k][columns of the kernel]; writes up to 15 words past the end, which the next
// panel overwrites.
void dq_conv_pack_panel(const dq_conv_plan *plan, const uint32_t *planes, int64_t plane_stride, const int64_t *offsets,
                        dq_panel panel, uint32_t *to);
// Rows of `bytes` without what lies between them. A copy of whole pieces may run into the next row,
// which is written after it, but not past the end of the last.
void dq_conv_copy_rows(const void *from, size_t from_stride, uint8_t *to, size_t bytes, int64_t rows);

// The kernel that makes words of the plan's word_values.
const dq_kernel *dq_conv_find_expand(const dq_conv_plan *plan);
// The bias of every output channel as float32; NULL: nothing is done.
void dq_conv_pack_bias(const dq_conv_plan *plan, const void *bias, uint32_t *words);

// What a kernel does at the end of its sums.
dq_bounds dq_conv_bounds(const dq_conv_plan *plan);
// The plan's tail, if any, for elements [first, first + count) of the whole output, which have been stored.
static inline void dq_conv_end(const dq_conv_call *call, int64_t first, int64_t count) {
  const dq_conv_tail *tail = &call->plan->tail;
  if (!tail->kernel) return;
  dq_bounds bounds = dq_activation_bounds(&tail->activation);
  dq_tail form = {.values = (float *)call->output + first,
                  .addend = tail->adds ? call->addend + first : NULL,
                  .count = count,
                  .silu = tail->silu,
                  .leaky = bounds.leaky,
                  .low = bounds.low,
                  .high = bounds.high,
                  .alpha = bounds.alpha};
  ((dq_f32_tail_function *)tail->kernel->function)(&form);
}

// Sums to binary16, with what dq_conv_bounds leaves to be done.
void dq_conv_narrow(const dq_conv_plan *plan, const float *sums, uint16_t *to, int64_t count);

// True when int8 weights can be held as signed bytes without their zero points: all are the natural
// ones (0 of int8, 128 of uint8).
bool dq_natural_zero_points(const int32_t *zero_points, int64_t count, bool is_signed);

// The word of weights for values[0..count) already without zero point; the rest of the word is 0.
uint32_t dq_weight_word(int64_t word_values, const int32_t *values, int64_t count);
// The padding as a word of the expanded input.
uint32_t dq_conv_pad_word(const dq_conv_plan *plan);
// What a sum of bytes must start from: - input zero point (as the bytes hold it) * sum of weights.
int32_t dq_conv_start(const dq_conv_plan *plan, uint32_t weight_sum);

static inline int64_t dq_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
// Whether each thread better takes a part of all planes than some of the output channels. It then reads a part of the
// input only: elements take long to come from another processor. But all threads read all weights, of which small
// planes have many.
static inline bool dq_conv_by_place(const dq_conv_plan *plan, int threads) {
  const dq_conv_parameters *p = &plan->shape;
  enum { OUTPUTS = 4 }; // of a plane stand against the weights of a channel
  return threads > 1 && OUTPUTS * p->out_height * p->out_width >= dq_max_i64(p->in_channels, p->out_channels);
}
static inline size_t dq_words(int64_t words) { return dq_round_up((size_t)words, 16); }
static inline size_t dq_element_bytes(const dq_conv_plan *plan) { return plan->half ? 2 : plan->float32 ? 4 : 1; }

#endif
