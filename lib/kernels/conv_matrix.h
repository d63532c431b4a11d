// Convolution as one product of the weights with a matrix of the whole input: what im2col and im2row
// share.
#ifndef DQ_KERNELS_CONV_MATRIX_H
#define DQ_KERNELS_CONV_MATRIX_H

#include "lib/kernels/conv_internal.h"

// out [rows][columns] = activation(a [rows][depth] b + bias of the row), b [depth][columns] (im2col), or
// transposed [columns][depth] (im2row).
typedef struct dq_matrix_product {
  const dq_conv_call *call;
  const float *a, *b, *bias; // bias NULL: none
  int64_t rows, columns, depth;
  bool transposed;
  float *out;
  void *scratch; // room of the product's own
} dq_matrix_product;
typedef void dq_matrix_multiply(const dq_matrix_product *product);

bool dq_matrix_applicable(const dq_conv_plan *plan);
void dq_matrix_prepare(dq_conv_plan *plan);
size_t dq_matrix_packed_words(const dq_conv_plan *plan);
// Words of the matrix; a product's own room comes behind it.
size_t dq_matrix_words(const dq_conv_plan *plan);
void dq_matrix_pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed);
// The matrix of im2col, or of im2row where transposed, of a group's `input`, by the call's pool.
void dq_matrix_fill(const dq_conv_call *call, const float *input, bool transposed, float *matrix);
void dq_matrix_run(const dq_conv_call *call, bool transposed, dq_matrix_multiply *multiply);

#endif
