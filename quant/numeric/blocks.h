// Weights whose partial sums provably fit 16 bits. A sum of products is cut, in its order (kernel row,
// kernel column, input channel of the group; lib/kernels/audit/conv_audit.h), into blocks of a few taps, and the
// weights of each block are kept so small that no input can carry the block outside int16.
//
// Two rules are used:
//   pairs   2 taps, inputs 0..255: what vpmaddubsw adds in 16 bits. |w0 + w1| <= 128 says the same, as
//           255 * 128 = 32640 fits and 255 * 129 = 32895 does not.
//   int16   blocks of a few taps, inputs less their zero point
#ifndef DQ_QUANT_BLOCKS_H
#define DQ_QUANT_BLOCKS_H

#include "lib/graph/graph.h"
#include "quant/numeric/parameters.h"

// Where the taps of an output channel lie in the weight of a product, in the order of its sum.
typedef struct dq_taps {
  int64_t outputs, depth;    // output channels; products of one
  int64_t channels, window;  // of the input (of a group); places of the kernel
  int64_t output_step, step; // elements between output channels, and between memory's own taps
} dq_taps;

// Of a convolution or a product with one matrix, the weight a float32 constant; false: of none of these.
bool dq_taps_of(dq_taps *taps, const dq_node *node);

// The place of a tap among the weights of an output channel as memory has them, channel by channel, and back.
static inline int64_t dq_tap_within(const dq_taps *taps, int64_t tap) {
  return tap % taps->channels * taps->window + tap / taps->channels;
}
static inline int64_t dq_tap_of(const dq_taps *taps, int64_t within) {
  return within % taps->window * taps->channels + within / taps->window;
}

// Index of an element of the weight.
static inline int64_t dq_tap_at(const dq_taps *taps, int64_t output, int64_t tap) {
  return output * taps->output_step + dq_tap_within(taps, tap) * taps->step;
}

// Every `length` taps from the first on, with inputs from `low` (<= 0) to `high` (>= 0), must fit
// int16; a shorter block at the end too.
typedef struct dq_block_rule {
  int64_t length; // 1..DQ_LONGEST_BLOCK
  int low, high;
} dq_block_rule;
enum {
  DQ_LONGEST_BLOCK = 64,
  DQ_SHORTEST_BLOCK = 4, // that weights are made to allow: below, adding up blocks costs more than it saves
};

// The neighbours that vpmaddubsw adds up.
#define DQ_PAIR_RULE ((dq_block_rule){2, 0, 255})
// Sums of `length` products with inputs less their zero point.
dq_block_rule dq_sum_rule(const dq_parameters *input, int64_t length);

// Whether a block of `count` weights is allowed.
bool dq_block_allowed(const dq_block_rule *rule, const int8_t *weights, int64_t count);

// From what to what weight `at` of an allowed block may be while the others stay; holds 0.
void dq_block_free_range(const dq_block_rule *rule, const int8_t *weights, int64_t count, int64_t at, int *low,
                         int *high);

// The allowed block near the real weights `wanted` (in steps of the scale): rounded to nearest, then
// taken towards 0 one by one, each time where it costs least squared error for what it brings.
void dq_block_project(const dq_block_rule *rule, const double *wanted, int8_t *weights, int64_t count);

// As dq_quantize_weight, with every block allowed. A slice that needs it gets the scale, between its
// own and that at which rounding alone would do, which has the least squared error of the weights
// when what is left over is projected.
dq_status dq_quantize_weight_blocks(const dq_tensor *weight, const dq_taps *taps, int axis, const float *least,
                                    const dq_block_rule *rule, dq_arena *arena, dq_quantized_weight *result,
                                    dq_error *error);

// Whether every block of a quantized weight is allowed.
bool dq_blocks_allowed(const dq_taps *taps, const int8_t *weights, const dq_block_rule *rule);

// Sum of squared differences of a weight and its quantized form, as a share of its sum of squares.
double dq_weight_noise(const dq_tensor *weight, const dq_quantized_weight *quantized);

// The longest block, at most `depth`, into which all sums of a layer may be cut: every block of that
// length fits int16 with the inputs of the rule, whose length is not used. At least 1, as single products
// of 8-bit numbers fit.
int64_t dq_longest_block(const dq_taps *taps, const int8_t *weights, const dq_block_rule *rule);

#endif
