// im2col and im2row with this library's own product, whose sums are the chain of all others.
#include "lib/kernels/conv_matrix.h"

static dq_gemm_parameters parameters_of(const dq_conv_plan *plan, const dq_matrix_product *product) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t depth = p->in_channels / p->groups * p->kernel_height * p->kernel_width;
  int64_t columns = p->out_height * p->out_width;
  bool transposed = product ? product->transposed : false;
  return (dq_gemm_parameters){.rows = p->out_channels / p->groups,
                              .columns = columns,
                              .depth = depth,
                              .transpose_b = transposed,
                              .a_stride = depth,
                              .b_stride = transposed ? depth : columns,
                              .out_stride = columns,
                              .alpha = 1,
                              .beta = 1,
                              .addend = product ? product->bias : NULL,
                              .addend_row_stride = 1,
                              .activation = p->activation};
}

static size_t scratch_words(const dq_conv_plan *plan, int threads) {
  dq_gemm_parameters gemm = parameters_of(plan, NULL);
  return dq_matrix_words(plan) + dq_gemm_f32_scratch_bytes(&gemm, plan->cpu, threads) / 4;
}

static void multiply(const dq_matrix_product *product) {
  const dq_conv_call *call = product->call;
  dq_gemm_parameters gemm = parameters_of(call->plan, product);
  dq_gemm_f32(&gemm, call->plan->cpu, product->a, product->b, NULL, product->out, product->scratch,
              call->pool);
}

static void run_columns(const dq_conv_call *call) {
  dq_matrix_run(call, false, multiply);
}
static void run_rows(const dq_conv_call *call) {
  dq_matrix_run(call, true, multiply);
}

#define ALGORITHM(symbol, text, function)                                                          \
  const dq_conv_algorithm symbol = {.name = text,                                                  \
                                    .applicable = dq_matrix_applicable,                            \
                                    .same_bits = true,                                             \
                                    .prepare = dq_matrix_prepare,                                  \
                                    .packed_words = dq_matrix_packed_words,                        \
                                    .scratch_words = scratch_words,                                \
                                    .pack = dq_matrix_pack,                                        \
                                    .run = function};
ALGORITHM(dq_conv_im2col, "im2col", run_columns)
ALGORITHM(dq_conv_im2row, "im2row", run_rows)
