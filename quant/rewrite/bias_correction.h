// Bias correction: rounding weights shifts the mean of an output channel by sum (W_q - W) E[x]; the
// bias takes it back (Nagel et al. 2019, section 4.2, with E[x] measured).
#ifndef DQ_QUANT_BIAS_CORRECTION_H
#define DQ_QUANT_BIAS_CORRECTION_H

#include "calib/calib.h"
#include "lib/graph/graph.h"

// Mean of every channel (axis 1) of a value over pictures and positions.
typedef struct dq_channel_means {
  const char *value;
  int64_t channels;
  const double *means;
} dq_channel_means;

typedef struct dq_input_means {
  const dq_channel_means *values;
  int count;
} dq_input_means;

// The means of the inputs of all convolutions and Gemms with constant weights. Everything goes into
// the arena.
dq_status dq_input_means_measure(dq_input_means *means, const dq_observation *what, dq_arena *arena,
                                 const dq_context *context, dq_error *error);

// Copies of `values` in the arena; NULL: no memory.
dq_channel_means *dq_input_means_copy(const dq_input_means *means, dq_arena *arena);

// NULL when there is none of that name.
const dq_channel_means *dq_input_means_find(const dq_input_means *means, const char *value);

// What to add to the bias of `node` (Conv, or Gemm with transB) when its weight becomes scale *
// elements: one number per output channel in `shift`. false when means and weight do not fit.
bool dq_bias_shift(const dq_node *node, const dq_channel_means *means, const int8_t *elements, const float *scales,
                   int64_t scale_count, double *shift);

#endif
