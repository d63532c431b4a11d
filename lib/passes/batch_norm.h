// Batch normalization as one multiplication and one addition per channel, for folding.
#ifndef DQ_PASSES_BATCH_NORM_H
#define DQ_PASSES_BATCH_NORM_H

#include "lib/graph/graph.h"

// The Conv that `node`, a BatchNormalization in inference mode with constant parameters, can be folded
// into: the producer of its input, read by nothing else, with constant float32 weights (and bias). NULL
// when it cannot.
dq_node *dq_batch_norm_conv(const dq_node *node);

// Folds: y = scale (x - mean) / sqrt(variance + epsilon) + shift over the output channels of the
// convolution becomes weights W scale / sqrt(...) and bias (b - mean) scale / sqrt(...) + shift,
// computed in double. New weights and bias replace the old ones in `conv`, which now produces the
// output of `node`; `node` is removed. In float16 nothing is done when that type would not hold the new
// weights as well as the old. DQ_BAD_INPUT when variance + epsilon is not positive or a
// length does not fit.
dq_status dq_batch_norm_fold(dq_graph *graph, dq_node *conv, dq_node *node, dq_error *error);

#endif
