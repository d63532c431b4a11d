// im2col and im2row with OpenBLAS, which uses one thread per call: columns are shared out over the pool.
#include "lib/kernels/conv_matrix.h"

#include <cblas.h>

static size_t scratch_words(const dq_conv_plan *plan, int threads) {
  (void)threads;
  return dq_matrix_words(plan);
}

static void multiply_columns(void *argument, int64_t task, int thread) {
  const dq_matrix_product *m = argument;
  int64_t tasks = dq_pool_threads(m->call->pool);
  int64_t from = m->columns * task / tasks, count = m->columns * (task + 1) / tasks - from;
  const float *b = m->b + from * (m->transposed ? m->depth : 1);
  (void)thread;
  if (!count) return;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, m->transposed ? CblasTrans : CblasNoTrans, (blasint)m->rows,
              (blasint)count, (blasint)m->depth, 1.0f, m->a, (blasint)m->depth, b,
              (blasint)(m->transposed ? m->depth : m->columns), 0.0f, m->out + from, (blasint)m->columns);
  for (int64_t i = 0; i < m->rows; i++)
    for (int64_t j = from; j < from + count; j++) {
      float *at = m->out + i * m->columns + j;
      *at = dq_activate(&m->call->plan->shape.activation, *at + (m->bias ? m->bias[i] : 0.0f));
    }
}

static void multiply(const dq_matrix_product *product) {
  openblas_set_num_threads(1);
  dq_pool_run(product->call->pool, dq_pool_threads(product->call->pool), multiply_columns,
              (void *)(uintptr_t)product);
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
                                    .prepare = dq_matrix_prepare,                                  \
                                    .packed_words = dq_matrix_packed_words,                        \
                                    .scratch_words = scratch_words,                                \
                                    .pack = dq_matrix_pack,                                        \
                                    .run = function};
ALGORITHM(dq_conv_im2col_openblas, "im2col-openblas", run_columns)
ALGORITHM(dq_conv_im2row_openblas, "im2row-openblas", run_rows)
