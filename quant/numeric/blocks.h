// Weights whose partial sums provably fit int16. The products of a sum, in the order of the engine (kernel row, kernel
// column, input channel of the group; lib/kernels/audit/conv_audit.h), are divided into blocks of a few neighbours. A
// tap is one place of that order. The weights of a block are limited so that no input makes its sum leave int16.
//
// Two rules are used:
//   pairs   2 taps, inputs 0 to 255: the sums that vpmaddubsw adds in int16. For weights of one sign the rule is
//           |w0 + w1| <= 128, because 255 * 128 = 32640 fits int16 and 255 * 129 = 32895 does not.
//   int16   blocks of up to DQ_LONGEST_BLOCK taps, inputs less their zero point
#ifndef DQ_QUANT_BLOCKS_H
#define DQ_QUANT_BLOCKS_H

#include "lib/graph/graph.h"
#include "quant/numeric/parameters.h"

// The places of taps in the weight of a product.
typedef struct dq_taps {
  int64_t outputs, depth;    // number of output channels, and of taps (products) of each
  int64_t channels, window;  // input channels of a group; height x width of the kernel. depth = channels * window
  int64_t output_step, step; // distance in elements between output channels, and between neighbours of one of them
} dq_taps;

// Fills `taps` for a convolution, or for a product with one matrix, whose weight is a float32 constant. False: the node
// is neither.
bool dq_taps_of(dq_taps *taps, const dq_node *node);

// The same for the product `node` when its weight is replaced by `weight`, of any type, such as int8; only its shape is
// read. False also where the weight is not input 1 of the node.
bool dq_taps_of_weight(dq_taps *taps, const dq_node *node, const dq_tensor *weight);

// The weights of an output channel stand channel by channel in memory, and kernel place by kernel place in the sum.
// dq_tap_within gives the place in memory of tap `tap` of the sum (both 0 to depth - 1), dq_tap_of the tap at place
// `within` in memory.
static inline int64_t dq_tap_within(const dq_taps *taps, int64_t tap) {
  return tap % taps->channels * taps->window + tap / taps->channels;
}
static inline int64_t dq_tap_of(const dq_taps *taps, int64_t within) {
  return within % taps->window * taps->channels + within / taps->window;
}

// The index in the weight of the element of output channel `output` at place `tap` of the sum.
static inline int64_t dq_tap_at(const dq_taps *taps, int64_t output, int64_t tap) {
  return output * taps->output_step + dq_tap_within(taps, tap) * taps->step;
}

// Every block of `length` taps, counted from the first tap, and the shorter block at the end must have sums within
// int16 for all inputs from `low` (<= 0) to `high` (>= 0).
typedef struct dq_block_rule {
  int64_t length; // 1..DQ_LONGEST_BLOCK
  int low, high;
} dq_block_rule;
enum {
  DQ_LONGEST_BLOCK = 64,
  DQ_SHORTEST_BLOCK = 4, // of the int16 rule; the addition of shorter blocks costs more than it saves
};

// The pairs that vpmaddubsw adds.
#define DQ_PAIR_RULE ((dq_block_rule){2, 0, 255})
// The int16 rule for blocks of `length` (1 to DQ_LONGEST_BLOCK) products with inputs of these parameters: low and high
// are the ends of the type (uint8 or int8) less the zero point. The scale is not used.
dq_block_rule dq_int16_rule(const dq_parameters *input, int64_t length);

// Whether one block of `count` weights (at most rule->length) obeys the rule.
bool dq_block_allowed(const dq_block_rule *rule, const int8_t *weights, int64_t count);

// The interval [*low, *high] within which weight `at` of a block that obeys the rule may change while the other weights
// stay as they are. It contains 0 and lies within the range of `type`.
void dq_block_free_range(const dq_block_rule *rule, const dq_weight_type *type, const int8_t *weights, int64_t count,
                         int64_t at, int *low, int *high);

// Stores in `weights` a block that obeys the rule, close to the real weights `wanted` (in multiples of the scale). They
// are rounded to the nearest of `type`; then single weights move towards 0 by one step, each time the one with the
// least increase of the squared error for the decrease of the sum, until the block obeys the rule.
void dq_block_project(const dq_block_rule *rule, const dq_weight_type *type, const double *wanted, int8_t *weights,
                      int64_t count);

// Whether every block of a quantized weight obeys the rule.
bool dq_blocks_allowed(const dq_taps *taps, const int8_t *weights, const dq_block_rule *rule);

// The largest number of taps, 1 to taps->depth, for which all blocks of that length fit int16 with the inputs of the
// rule; rule->length is not used. A single product of 8-bit numbers always fits; 0: with wider inputs not even one
// does.
int64_t dq_longest_block(const dq_taps *taps, const int8_t *weights, const dq_block_rule *rule);

#endif
