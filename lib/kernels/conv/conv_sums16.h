// Sums of 16 bits over runs of words that provably fit; conv_tiles.c computes convolutions with them.
#ifndef DQ_KERNELS_CONV_SUMS16_H
#define DQ_KERNELS_CONV_SUMS16_H

#include "lib/kernels/conv/conv_plan.h"

// Looks at the weights of the plan, whose panel_rows are set: sets most_steps and returns the instructions
// that a vector of all outputs takes.
double dq_sums16_prepare(dq_conv_plan *plan);
int64_t dq_sums16_panel_words(const dq_conv_plan *plan);
void dq_sums16_pack(const dq_conv_plan *plan, const void *weights, uint32_t *panels); // which hold zeros
// The weights of a packed panel.
void dq_sums16_read(const dq_conv_plan *plan, const uint32_t *panel, dq_tile *tile);

#endif
