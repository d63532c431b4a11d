// Folding of operators that multiply each channel by a factor and add a number: into the convolution in front, or into
// the product of matrices behind.
#ifndef DQ_PASSES_FOLD_AFFINE_H
#define DQ_PASSES_FOLD_AFFINE_H

#include "lib/ops/table/product.h"

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

// The plain product of matrices that alone reads the result of `node`, an operator as above, as its data: y = (factor x
// + shift) W, with the constants along the last axis, which numbers the inputs of the product (a BatchNormalization
// stands in front of a Gemm only). *product describes it. NULL: there is none.
dq_node *dq_affine_product(const dq_node *node, dq_product *product);

// Folds `node` into that product: weights `factor W`, and `shift W` is added to the bias of a Gemm or to the constant
// of the Add that alone reads a MatMul, computed in double. The product then reads the data of `node`, which is
// removed. *folded is false, and nothing is done, where there is no such product, nothing that takes the shift, or the
// new numbers are not finite. Statuses as dq_affine_fold.
dq_status dq_affine_fold_behind(dq_graph *graph, dq_node *node, bool *folded, dq_error *error);

#endif
