// Shapes of products of stacks of matrices, for MatMul and the operators that compute it on integers.
#ifndef DQ_OPS_MATMUL_H
#define DQ_OPS_MATMUL_H

#include "lib/ops/table/operator.h"

// `batch` products of a rows x depth matrix of A and a depth x columns matrix of B.
typedef struct dq_matmul {
  int64_t batch, rows, columns, depth;
  int rank;                                         // dimensions of the stack of results
  int64_t dims[DQ_MAX_RANK];                        // of that stack
  int64_t a_step[DQ_MAX_RANK], b_step[DQ_MAX_RANK]; // steps in the stacks of A and B, in matrices; 0: broadcast
} dq_matmul;

// Reads the shapes of the operands a and b by the rules of numpy.matmul, which the ONNX operator has. When B is one
// matrix, the stack of A becomes one tall matrix and batch is 1. DQ_BAD_INPUT: the shapes do not fit each other.
dq_status dq_matmul_read(const dq_op *op, const dq_tensor *a, const dq_tensor *b, dq_matmul *matmul);
// Makes the checks of dq_matmul_read, whose statuses it returns, and sets the shape of output 0 and its type, `type`.
dq_status dq_matmul_infer(dq_op *op, const dq_tensor *a, const dq_tensor *b, int type);
// The indices *a and *b, in the stacks of A and B, of the matrices that product `index` (0 to batch - 1) multiplies.
void dq_matmul_operands(const dq_matmul *matmul, int64_t index, int64_t *a, int64_t *b);
// Multiply-accumulates of a product of the operand `a` with the depth in its last dimension: the elements of output 0,
// whose shape was inferred, times that dimension. 0: a shape is not known, or a size is 0; INT64_MAX: the count does
// not fit.
int64_t dq_matmul_macs(const dq_op *op, const dq_tensor *a);

#endif
