// What float and integer convolutions share: checks of their shapes, and plain loops for the forms
// the kernels do not have (three spatial axes, float64).
#ifndef DQ_OPS_CONVOLUTION_H
#define DQ_OPS_CONVOLUTION_H

#include "lib/kernels/conv/conv.h"
#include "lib/ops/operator.h"
#include "lib/ops/window.h"

// Input N x C x spatial, weight M x C/groups x kernel, bias M, output N x M x window.output.
typedef struct dq_convolution {
  dq_window window;
  int64_t batch, groups, in_channels, out_channels;
} dq_convolution;

// The check of any convolution for dq_operator.check: its attributes, and its weight and bias where they are constant.
// `weight` and `bias` are positions among the inputs; bias -1: the operator has none. DQ_BAD_INPUT or DQ_UNSUPPORTED.
dq_status dq_convolution_check(const dq_op *op, int weight, int bias);

// Parts of it. A weight has 3 dimensions or more, none 0; a bias (NULL and unknown ones are fine) has one element per
// output channel; attribute "group" is at least 1 and divides `channels`, which `what` names in the message.
dq_status dq_check_weight(const dq_op *op, const dq_tensor *weight);
dq_status dq_check_bias(const dq_op *op, const dq_tensor *bias, int64_t channels);
dq_status dq_check_groups(const dq_op *op, int64_t channels, const char *what);

// Reads the attributes and checks all sizes; inputs are given by their positions. A bias that is
// left out (or position -1) is fine. DQ_BAD_INPUT naming the sizes, DQ_UNSUPPORTED for more than
// three spatial axes.
dq_status dq_convolution_read(const dq_op *op, int input, int weight, int bias, dq_convolution *convolution);

// Checks as above and sets the shape of output 0.
dq_status dq_convolution_infer(dq_op *op, int input, int weight, int bias, int type);

// The form of the kernels; one or two spatial axes only.
dq_conv_parameters dq_convolution_parameters(const dq_convolution *convolution);

// Multiply-accumulates of a convolution: the elements of output 0, times C/groups, times the elements of the kernel.
// The addition of the bias does not count. `weight` is a position among the inputs; both shapes must have been
// inferred. 0 when one of them is not known, INT64_MAX when the product does not fit.
int64_t dq_convolution_macs(const dq_op *op, int weight);

// Plain loops over any number of axes, DQ_F32 (chains of fmaf in the order of the kernels), DQ_F64
// or DQ_I32 (sums wrap). Planes of the output are spread over the threads of `pool`.
void dq_convolution_direct(const dq_convolution *convolution, int type, const void *weight, const void *bias,
                           const void *input, void *output, dq_pool *pool);

// Says in `op` which algorithm the plan of its convolution chose.
void dq_convolution_tell(dq_op *op, const dq_conv_plan *plan);

// Leading axes of size 1 added until there are three, so that one loop serves all.
dq_window dq_window_three(const dq_window *window);

#endif
