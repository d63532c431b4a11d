// Matrix products: validation shared by fp32 and int8.
#include "lib/kernels/kernels_internal.h"

#include "lib/base/sizes.h"

typedef struct matrix {
  const char *name;
  int64_t rows, columns, stride; // as stored
} matrix;

static dq_status check_matrices(const matrix *matrices, int count, dq_error *error) {
  for (int i = 0; i < count; i++) {
    const matrix *m = &matrices[i];
    if (m->rows < 0 || m->columns < 0)
      return dq_fail(error, DQ_BAD_INPUT, "matrix product of negative size (%s is %lldx%lld)", m->name,
                     (long long)m->rows, (long long)m->columns);
    if (m->stride < m->columns)
      return dq_fail(error, DQ_BAD_INPUT, "matrix %s has rows of %lld elements but a stride of %lld",
                     m->name, (long long)m->columns, (long long)m->stride);
    int64_t words;
    if (!dq_mul_i64(m->rows, m->stride, &words) || words > INT64_MAX / 1024)
      return dq_fail(error, DQ_BAD_INPUT, "matrix product sizes overflow (%s is %lldx%lld)", m->name,
                     (long long)m->rows, (long long)m->columns);
  }
  return DQ_OK;
}

static matrix stored(const char *name, int64_t rows, int64_t columns, bool transposed, int64_t stride) {
  return transposed ? (matrix){name, columns, rows, stride} : (matrix){name, rows, columns, stride};
}

dq_status dq_gemm_check(const dq_gemm_parameters *p, dq_error *error) {
  matrix matrices[] = {stored("A", p->rows, p->depth, p->transpose_a, p->a_stride),
                       stored("B", p->depth, p->columns, p->transpose_b, p->b_stride),
                       stored("the result", p->rows, p->columns, false, p->out_stride)};
  return check_matrices(matrices, 3, error);
}

dq_status dq_gemm_int8_check(const dq_gemm_int8_parameters *p, dq_error *error) {
  matrix matrices[] = {stored("A", p->rows, p->depth, p->transpose_a, p->a_stride),
                       stored("B", p->depth, p->columns, p->transpose_b, p->b_stride),
                       stored("the result", p->rows, p->columns, false, p->out_stride)};
  return check_matrices(matrices, 3, error);
}
