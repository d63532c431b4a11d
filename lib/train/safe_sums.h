// Weights of 8 bits whose partial sums provably fit 16 bits, as dq-int8 makes them, stay so in training.
#ifndef DQ_TRAIN_SAFE_SUMS_H
#define DQ_TRAIN_SAFE_SUMS_H

#include "quant/numeric/blocks.h"

typedef struct dq_safe_sums {
  dq_taps taps;
  dq_block_rule rules[2]; // [count]: pairs, and blocks of DQ_SHORTEST_BLOCK taps or more
  int count;
} dq_safe_sums;

// Fills *sums with the rules that the weight of a product obeys; none where its stored integers, `stored`, are not
// int8. `zero_point` is that of the data, NULL for 0 of uint8.
void dq_find_safe_sums(dq_safe_sums *sums, const dq_node *node, const dq_tensor *stored, const dq_tensor *zero_point);

// Moves weights of the blocks that do not obey a rule to integers that do, with the scales along `axis` of the weight.
void dq_keep_safe_sums(const dq_safe_sums *sums, dq_tensor *weight, const dq_tensor *scale, int axis);

#endif
