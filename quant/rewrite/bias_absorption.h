// High-bias absorption: a channel behind a rectifier that always stays well above 0 wastes the lower part of its
// range. What it stays above is taken out of the bias in front of the rectifier and given to the biases of what reads
// the value, times their weights (Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias
// Correction", 2019, section 4.1.3; here the smallest value is observed too). The network is the same on all pictures
// that were looked at; on others a value below the amount becomes the amount.
#ifndef DQ_QUANT_BIAS_ABSORPTION_H
#define DQ_QUANT_BIAS_ABSORPTION_H

#include "quant/rewrite/bias_correction.h"
#include "quant/rewrite/equalize.h"

// Amounts, 0 or more, per channel of a value, by the value's name; kept as means are.
typedef dq_input_means dq_absorption;

// A value can give its channels away when
//   - Relu, or Clip from 0 to M, writes it, behind a Conv, ConvTranspose or Gemm that nothing else reads,
//   - all that reads it are Conv without padding (at the border 0 would stand for the amount) and Gemm, with constant
//     weights and biases, and it is no output of the network.
// A channel can spare the smaller of its least value and of its mean less three deviations on the pictures of `what`
// (its graph, shapes, data, first, pictures), nothing when that is not above 0 or when M was reached, which would have
// to come down. It gives no more than brings it below the channel that then reaches highest, and a value is listed
// where its range so becomes narrower by a hundredth at least. Everything goes into the arena.
dq_status dq_absorption_measure(dq_absorption *absorption, const dq_observation *what, dq_arena *arena,
                                const dq_context *context, dq_error *error);

// Changes biases, or adds them. *restated (in the arena) lists the values that no longer stand for themselves.
// DQ_BAD_INPUT names a value that cannot give its channels away.
dq_status dq_absorption_apply(dq_graph *graph, const dq_absorption *absorption, dq_arena *arena,
                              const dq_restated **restated, int *restated_count, dq_error *error);

#endif
