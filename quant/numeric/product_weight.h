// The weight of a product in 8 bits: its scales are such that all sums fit the integers that a rule asks for.
#ifndef DQ_QUANT_PRODUCT_WEIGHT_H
#define DQ_QUANT_PRODUCT_WEIGHT_H

#include "quant/numeric/accumulator.h"
#include "quant/numeric/blocks.h"

// A weight that is to be quantized.
typedef struct dq_product_weight {
  const dq_node *node;               // the product; input 1 is the weight, a float32 constant of finite elements
  const dq_weight_type *type;        // what it is quantized to
  int axis;                          // of the output channels in the weight; -1: one scale
  float *least;                      // [slices of the axis], the lowest scale of each; raised where int32 asks for more
  dq_parameters input;               // of the quantized input
  dq_accumulator_choice accumulator; // a rule besides int32, which holds in any case
} dq_product_weight;

// What the sums of a quantized weight fit, and what that took.
typedef struct dq_weight_sums {
  bool pairs_safe;     // every pair of neighbouring products fits int16 (DQ_PAIR_RULE)
  int64_t int16_block; // with the rule INT16: products that fit int16 together (dq_longest_block); else 0
  // The increase of the squared error of the weight by safe pairs, as a share of the sum of its squares, 0 or more,
  // whether the choice allows that or not. 0 with another rule.
  double block_noise;
} dq_weight_sums;

// Quantizes the weight as dq_quantize_weight does, with blocks that obey the rule. Scales are raised until every sum
// fits int32 together with its bias (input 2 of the node, a float32 constant with an element for each output channel),
// whatever the input. A transposed convolution and stacked matrices are rounded to the nearest, and *sums is 0 then.
// The tensors of *result are in the arena, what the rules need beside them too. DQ_SYSTEM: there is no memory.
dq_status dq_quantize_product_weight(const dq_product_weight *wanted, dq_quantized_weight *result, dq_weight_sums *sums,
                                     dq_arena *arena, dq_error *error);

// ---- Parts ----

// Does what dq_quantize_weight does, whose result for the same weight is `nearest`, with blocks that all obey the rule.
// A slice (output channel) whose rounded weights do not obey it gets the scale with the least squared error of the
// weights after dq_block_project, between the scale of `nearest` and the one with which rounding to the nearest obeys
// the rule. The tensors are new ones in the arena.
dq_status dq_quantize_weight_blocks(const dq_tensor *weight, const dq_taps *taps, const dq_quantized_weight *nearest,
                                    const dq_block_rule *rule, dq_arena *arena, dq_quantized_weight *result,
                                    dq_error *error);

// The sum of squared differences of a weight from its quantized form, divided by the sum of its squares.
double dq_weight_noise(const dq_tensor *weight, const dq_quantized_weight *quantized);

#endif
