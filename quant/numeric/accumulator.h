// How wide the sums of products may become: what is asked for and what a table remembers.
#ifndef DQ_QUANT_ACCUMULATOR_H
#define DQ_QUANT_ACCUMULATOR_H

// How wide sums must be, provably (quant/numeric/blocks.h): int32 (any model), int16 in every pair of
// neighbouring products, int16 in blocks of the sum. AUTO: pairs, where it costs little.
typedef enum dq_accumulator {
  DQ_ACCUMULATE_AUTO,
  DQ_ACCUMULATE_INT32,
  DQ_ACCUMULATE_PAIRS,
  DQ_ACCUMULATE_INT16,
} dq_accumulator;

// What is kept to. A layer's pairs are made safe when that adds at most `pairs_noise` to the squared
// error of its weights, as a share of their squares.
typedef struct dq_accumulator_choice {
  dq_accumulator rule; // not AUTO
  double pairs_noise;  // of DQ_ACCUMULATE_PAIRS; DQ_PAIRS_EVERYWHERE: all layers
} dq_accumulator_choice;
#define DQ_PAIRS_EVERYWHERE 1e9

#endif
