// im2col and im2row with this library's own product, whose sums are the chain of all others.
#include "lib/kernels/conv_matrix/conv_matrix.h"
#include "lib/kernels/gemm/gemm_api.h"

static dq_gemm_parameters parameters_of(const dq_conv_plan *plan, int64_t columns, bool transposed) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t depth = dq_matrix_depth(plan);
  return (dq_gemm_parameters){.rows = p->out_channels / p->groups,
                              .columns = columns,
                              .depth = depth,
                              .transpose_b = transposed,
                              .a_stride = depth,
                              .b_stride = transposed ? depth : columns,
                              .alpha = 1,
                              .beta = 1,
                              .addend_row_stride = 1,
                              .activation = p->activation};
}

static size_t scratch_words(const dq_conv_plan *plan, int64_t columns, bool transposed, int threads) {
  dq_gemm_parameters gemm = parameters_of(plan, columns, transposed);
  return dq_gemm_f32_scratch_bytes(&gemm, plan->cpu, threads) / 4;
}

static void multiply(const dq_matrix_product *product) {
  dq_gemm_parameters gemm = parameters_of(product->plan, product->columns, product->transposed);
  gemm.out_stride = product->out_stride;
  gemm.addend = product->bias;
  dq_gemm_f32(&gemm, product->plan->cpu, product->a, product->b, NULL, product->out, product->scratch, product->pool);
}

DQ_MATRIX_ALGORITHM(dq_conv_im2col, "im2col", matrix, true, dq_matrix_applicable, (void)0)
DQ_MATRIX_ALGORITHM(dq_conv_im2row, "im2row", rows, true, dq_matrix_applicable, (void)0)
