// C of convolutions and products of integers whose parameters may be computed.
#ifndef DQ_OPS_EMIT_INTEGER_H
#define DQ_OPS_EMIT_INTEGER_H

#include "lib/ops/common/convolution.h"
#include "lib/ops/common/matmul.h"
#include "lib/ops/common/quantized.h"
#include "lib/ops/emit/emit.h"

// Positions of the inputs: x or matrix A, w or matrix B.
typedef struct dq_integer_inputs {
  int x, x_zero_point, w, w_zero_point;
  const dq_requantization_inputs *requantization; // NULL: the result is the sums
} dq_integer_inputs;

// Prints the body of a convolution of integers as plain loops over the result; scales are float32. Statuses as
// dq_read_bounds.
dq_status dq_emit_integer_convolution(dq_emission *to, const dq_convolution *shape, const dq_integer_inputs *at);
// Prints the body of a product of stacks of matrices of integers in the same way. DQ_UNSUPPORTED: a scale is float16;
// else statuses as dq_read_bounds.
dq_status dq_emit_integer_product(dq_emission *to, const dq_matmul *shape, const dq_integer_inputs *at,
                                  bool transpose_b);

#endif
