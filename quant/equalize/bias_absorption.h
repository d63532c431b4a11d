// Bias absorption: a channel behind a rectifier that always stays well above 0 wastes the lower part of its range. An
// amount that the channel always exceeds is subtracted from the bias in front of the rectifier, and added, times the
// weights, to the biases of the products that read the value (Nagel et al., "Data-Free Quantization Through Weight
// Equalization and Bias Correction", 2019, section 4.1.3; here the smallest element is observed too). The network
// computes the same on all observed pictures; on others an element below the amount becomes the amount.
#ifndef DQ_QUANT_BIAS_ABSORPTION_H
#define DQ_QUANT_BIAS_ABSORPTION_H

#include "quant/equalize/equalize.h"
#include "quant/rewrite/bias_correction.h"

// The amounts, 0 or more and in units of the value, of each channel: `means` of dq_channel_means holds the amounts.
typedef dq_input_means dq_absorption;

// Finds the amounts in one run over the pictures of `what` (as for dq_observe, but its names and `doing` are ignored).
// Its graph must be indexed and does not change. Batch normalization must be folded before, because the function finds
// no product in front of one. A value can be absorbed when
//   - Relu, or Clip from 0 to M, computes it behind a Conv, ConvTranspose or Gemm whose result nothing else reads, and
//   - only Conv without padding (padding with 0 would stand for the amount) and Gemm read it, with constant weights and
//     biases, and it is no output of the network.
// The spare of a channel is the smaller of its least element and its mean less three standard deviations; it is 0 where
// that is negative or the channel reaches M. The new maximum of the value is the largest of (maximum - spare) of all
// channels, and the amount of a channel is what its maximum exceeds that by, or 0. The result has the values whose
// maximum becomes smaller by at least 1 %; there may be none. It is in the arena, as are 32 bytes for each channel that
// is watched. Statuses as dq_observe.
dq_status dq_absorption_measure(dq_absorption *absorption, const dq_observation *what, dq_arena *arena,
                                const dq_context *context, dq_error *error);

// Changes biases in the graph, which is indexed afterwards, and adds those that are missing: takes the amounts from the
// bias in front and gives them, times the weights, to the biases behind. After a failure the graph may hold a part of
// the changes and may only be freed. *restated (in the arena, *restated_count elements) lists the values that differ
// from their originals from now on. DQ_BAD_INPUT names a value that cannot be absorbed, as of a table of another
// network; DQ_SYSTEM: there is no memory.
dq_status dq_absorption_apply(dq_graph *graph, const dq_absorption *absorption, dq_arena *arena,
                              const dq_restated **restated, int *restated_count, dq_error *error);

#endif
