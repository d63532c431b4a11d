// The rule for the width of sums of products: as options ask for it, and as a calibration table stores it.
#ifndef DQ_QUANT_ACCUMULATOR_H
#define DQ_QUANT_ACCUMULATOR_H

// The integer type that sums provably fit (quant/numeric/blocks.h). INT32: all sums fit int32, as in any model. PAIRS:
// every pair of neighbouring products fits int16. INT16: every block of a sum fits int16. AUTO: PAIRS for the layers in
// which that costs little.
typedef enum dq_accumulator {
  DQ_ACCUMULATE_AUTO,
  DQ_ACCUMULATE_INT32,
  DQ_ACCUMULATE_PAIRS,
  DQ_ACCUMULATE_INT16,
} dq_accumulator;

// The rule that was chosen. With PAIRS the pairs of a layer are made safe when that increases the squared error of its
// weights by at most `pairs_noise` times the sum of their squares.
typedef struct dq_accumulator_choice {
  dq_accumulator rule; // not AUTO
  double pairs_noise;  // 0 or more; DQ_PAIRS_EVERYWHERE: all layers. Other rules do not use it
} dq_accumulator_choice;
#define DQ_PAIRS_EVERYWHERE 1e9

#endif
