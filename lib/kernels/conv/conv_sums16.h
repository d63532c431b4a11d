// Sums of 16 bits over runs of words that provably fit; conv_tiles.c computes convolutions with them.
#ifndef DQ_KERNELS_CONV_SUMS16_H
#define DQ_KERNELS_CONV_SUMS16_H

#include "lib/kernels/conv/conv_plan.h"

// Reads the weights of the plan (plan->int8.weights), whose panel_rows are set: sets plan->tiles.most_steps and returns
// the number of instructions for one vector of all output channels, to compare costs.
double dq_sums16_prepare(dq_conv_plan *plan);
int64_t dq_sums16_panel_words(const dq_conv_plan *plan); // words of one packed panel of weights
// Packs the weights (OIHW) of all groups to `panels`, which must hold zeros.
void dq_sums16_pack(const dq_conv_plan *plan, const void *weights, uint32_t *panels);
// Sets the weights, steps and runs of *tile to those of a packed panel.
void dq_sums16_read(const dq_conv_plan *plan, const uint32_t *panel, dq_tile *tile);

#endif
