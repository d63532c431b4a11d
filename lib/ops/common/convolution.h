// What float and integer convolutions share: checks of their shapes, and plain loops for the forms that the kernels do
// not have (three spatial axes, float64). Functions that take a dq_op write the message to op->error.
#ifndef DQ_OPS_CONVOLUTION_H
#define DQ_OPS_CONVOLUTION_H

#include "lib/kernels/conv/conv.h"
#include "lib/ops/common/window.h"

// Input N x C x spatial, weight M x C/groups x kernel, bias M, output N x M x window.output.
typedef struct dq_convolution {
  dq_window window;
  int64_t batch, groups, in_channels, out_channels; // channels of all groups
} dq_convolution;

// The check of any convolution for dq_operator.check: its attributes, and its weight and bias where they are constant.
// `weight` and `bias` are positions among the inputs; bias -1: the operator has none. DQ_BAD_INPUT: a shape, `group` or
// an attribute of the window is wrong; DQ_UNSUPPORTED: there are too many spatial dimensions.
dq_status dq_convolution_check(const dq_op *op, int weight, int bias);

// Parts of that check; each returns DQ_BAD_INPUT where its condition does not hold. A weight must have 3 dimensions or
// more, or 2 where the product of the node allows that, none of them 0. A bias must have one element for each of
// `channels` output channels; NULL and a bias of unknown shape pass. The attribute "group" must be at least 1 and
// divide `channels`, which `what` ("input") names in the message.
dq_status dq_check_weight(const dq_op *op, const dq_tensor *weight);
dq_status dq_check_bias(const dq_op *op, const dq_tensor *bias, int64_t channels);
dq_status dq_check_groups(const dq_op *op, int64_t channels, const char *what);

// Fills *convolution from the attributes of the node and the shapes of its inputs, whose positions are `input`,
// `weight` and `bias` (-1, or an input that is left out: no bias). The shapes must be known. DQ_BAD_INPUT, with the
// sizes in the message: they do not fit each other; DQ_UNSUPPORTED: more than three spatial axes.
dq_status dq_convolution_read(const dq_op *op, int input, int weight, int bias, dq_convolution *convolution);

// Makes the checks of dq_convolution_read, whose statuses it returns, and sets the shape of output 0 and its type,
// `type`.
dq_status dq_convolution_infer(dq_op *op, int input, int weight, int bias, int type);

// The parameters for the kernels (lib/kernels/conv/conv.h), without activation; one or two spatial axes only.
dq_conv_parameters dq_convolution_parameters(const dq_convolution *convolution);

// Multiply-accumulates of a convolution: the elements of output 0, times C/groups, times the elements of the kernel.
// The addition of the bias does not count. `weight` is a position among the inputs; both shapes must have been
// inferred. 0 when one of them is not known, INT64_MAX when the product does not fit.
int64_t dq_convolution_macs(const dq_op *op, int weight);

// Computes a convolution by plain loops over any number of axes. All operands have the type `type`: DQ_F32 (chains of
// fmaf in the order of the kernels), DQ_F64 or DQ_I32 (sums modulo 2^32). `bias` NULL: none. Planes of the output are
// spread over the threads of `pool` (NULL: one thread).
void dq_convolution_direct(const dq_convolution *convolution, int type, const void *weight, const void *bias,
                           const void *input, void *output, dq_pool *pool);

// Copies what op->convolution asks for, algorithm and tuning, to the parameters of a kernel.
void dq_convolution_ask(const dq_op *op, dq_conv_parameters *parameters);

// Sets the fields of op->convolution that prepare sets: the plan and its packed weights, which the caller keeps, and
// what the plan says of its algorithm.
void dq_convolution_report(dq_op *op, dq_conv_plan *plan, const void *packed);

// The window `window` with three axes: axes of size 1 are added in front, so that one loop serves all ranks.
dq_window dq_window_three(const dq_window *window);

#endif
