// Weights of 8 bits whose partial sums provably fit 16 bits, as dq-int8 makes them, stay so in training.
#ifndef DQ_TRAIN_SAFE_SUMS_H
#define DQ_TRAIN_SAFE_SUMS_H

#include "quant/numeric/blocks.h"

typedef struct dq_safe_sums {
  dq_taps taps;
  dq_block_rule rules[2]; // [count]: pairs, and blocks of DQ_SHORTEST_BLOCK taps or more
  int count;
} dq_safe_sums;

// Fills *sums with the rules that the weight of the product `node` obeys. `stored` has the integers of the weight, in
// its shape. `zero_point` is the constant of the data that the node reads; NULL: the data are not quantized. There are
// no rules where the integers are not int8, or those of the data not of 8 bits.
void dq_find_safe_sums(dq_safe_sums *sums, const dq_node *node, const dq_tensor *stored, const dq_tensor *zero_point);

// Changes the elements of `weight`, the float32 form of the weight, in the blocks whose rounded integers do not obey a
// rule: the elements become multiples of their scale that obey it (dq_block_project). `scale` has one element, or one
// for each slice along `axis` of the weight.
void dq_enforce_safe_sums(const dq_safe_sums *sums, dq_tensor *weight, const dq_tensor *scale, int axis);

#endif
