// im2col and im2row with OpenBLAS, which uses one thread per call: columns are shared out over the pool.
#include "lib/kernels/conv_matrix/conv_matrix.h"

#include "lib/blas/blas.h"

static bool applicable(const dq_conv_plan *plan) {
  return dq_matrix_applicable(plan) && dq_blas_open(NULL) == DQ_OK && dq_blas_loaded()->threads > 0;
}

static void multiply_columns(void *argument, int64_t task, int thread) {
  const dq_matrix_product *m = argument;
  int64_t tasks = dq_pool_threads(m->pool);
  int64_t from = m->columns * task / tasks, count = m->columns * (task + 1) / tasks - from;
  const float *b = m->b + from * (m->transposed ? m->depth : 1);
  (void)thread;
  if (!count) return;
  dq_blas_loaded()->cblas_sgemm(CblasRowMajor, CblasNoTrans, m->transposed ? CblasTrans : CblasNoTrans, (int)m->rows,
                                (int)count, (int)m->depth, 1.0f, m->a, (int)m->depth, b,
                                (int)(m->transposed ? m->depth : m->columns), 0.0f, m->out + from, (int)m->out_stride);
  for (int64_t i = 0; i < m->rows; i++)
    for (int64_t j = from; j < from + count; j++) {
      float *at = m->out + i * m->out_stride + j;
      *at = dq_activate(&m->plan->shape.activation, *at + (m->bias ? m->bias[i] : 0.0f));
    }
}

static void multiply(const dq_matrix_product *product) {
  dq_pool_run(product->pool, dq_pool_threads(product->pool), multiply_columns, (void *)(uintptr_t)product);
}

static size_t scratch_words(const dq_conv_plan *plan, int64_t columns, bool transposed, int threads) {
  return (void)plan, (void)columns, (void)transposed, (void)threads, 0;
}

DQ_MATRIX_ALGORITHM(dq_conv_im2col_openblas, "im2col-openblas", matrix, false, applicable,
                    dq_blas_loaded()->set_threads(1))
DQ_MATRIX_ALGORITHM(dq_conv_im2row_openblas, "im2row-openblas", rows, false, applicable,
                    dq_blas_loaded()->set_threads(1))
