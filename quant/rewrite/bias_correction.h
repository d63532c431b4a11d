// Bias correction: rounding weights shifts the mean of an output channel by sum (W_q - W) E[x]; the bias is changed by
// the opposite (Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019, section
// 4.2; here E[x] is measured).
#ifndef DQ_QUANT_BIAS_CORRECTION_H
#define DQ_QUANT_BIAS_CORRECTION_H

#include "calib/calib.h"
#include "lib/graph/graph.h"

// The mean of every channel (axis 1) of a value over pictures and positions.
typedef struct dq_channel_means {
  const char *value; // its name
  int64_t channels;
  const double *means; // [channels], in units of the value
} dq_channel_means;

typedef struct dq_input_means {
  const dq_channel_means *values;
  int count;
} dq_input_means;

// Measures the means of the inputs of all convolutions and Gemms with constant weights, on the pictures of `what` (its
// names are ignored). The result is in the arena; its names belong to what->graph. Statuses as dq_observe.
dq_status dq_input_means_measure(dq_input_means *means, const dq_observation *what, dq_arena *arena,
                                 const dq_context *context, dq_error *error);

// Measures the same means in the runs of another observation: dq_input_means_open fills *listener for the observation
// (dq_observation.also), and dq_input_means_finish computes the means from its sums when the observation has run. Sums
// and result are in the arena. DQ_SYSTEM: there is no memory.
typedef struct dq_mean_sums dq_mean_sums;
dq_status dq_input_means_open(dq_mean_sums **sums, dq_listener *listener, const dq_graph *graph, dq_arena *arena,
                              const dq_context *context, dq_error *error);
dq_status dq_input_means_finish(dq_input_means *means, const dq_mean_sums *all, dq_error *error);

// A copy of means->values with its names and numbers, in the arena; NULL: there is no memory.
dq_channel_means *dq_input_means_copy(const dq_input_means *means, dq_arena *arena);

// Computes in shift[output channels], in units of the result, what to add to the bias of `node` (Conv, or Gemm with
// transB) when its weight becomes scale * elements. `elements` has the shape of the weight; `scales` has one element
// for each output channel, or one in all (`scale_count`). False: the node has no such weight, or `means` has another
// number of channels; `shift` then means nothing.
bool dq_bias_shift(const dq_node *node, const dq_channel_means *means, const int8_t *elements, const float *scales,
                   int64_t scale_count, double *shift);

#endif
