// The gradients of convolutions that are no row of their own.
#ifndef DQ_OPS_GRADIENT_CONV_H
#define DQ_OPS_GRADIENT_CONV_H

#include "lib/ops/common/window.h"
#include "lib/ops/gradient/gradient.h"

// The gradient function of transposed convolutions; `window` is theirs, with the sizes of input and output.
dq_status dq_gradient_conv_transpose(const dq_gradient *gradient, const dq_window *window);

#endif
