// Folding of operators that multiply each channel of the result of a convolution by a factor and add a number.
#ifndef DQ_PASSES_FOLD_AFFINE_H
#define DQ_PASSES_FOLD_AFFINE_H

#include "lib/graph/graph.h"

// The Conv or ConvTranspose that `node` can be folded into: the producer of its input, read by nothing else, with
// constant float32 weights (and bias). `node` is a BatchNormalization in inference mode, or an Add, Sub, Mul or Div
// (as divisor) of a constant with one element, or one for each channel. NULL: `node` cannot be folded.
dq_node *dq_affine_convolution(const dq_node *node);

// Folds: y = factor x + shift over the output channels of the convolution becomes weights `W factor` and bias
// `b factor + shift`, computed in double. For a BatchNormalization, factor = scale / sqrt(variance + epsilon) and shift
// = bias - mean factor. New weights and bias replace the old ones in
// `convolution`, which now produces the output of `node`; `node` is removed. Nothing is done when the new weights
// are not finite, or when float16 would not hold them as well as the old. DQ_BAD_INPUT: variance + epsilon is not
// positive, or a constant has another length than the channels; DQ_SYSTEM: there is no memory.
dq_status dq_affine_fold(dq_graph *graph, dq_node *convolution, dq_node *node, dq_error *error);

#endif
