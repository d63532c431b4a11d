// Shapes of products of stacks of matrices.
#include "lib/ops/common/matmul.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"

// An operand as a stack of matrices; a vector is a row (A) or a column (B).
typedef struct stack {
  int rank; // of the stack
  int64_t dims[DQ_MAX_RANK];
  int64_t rows, columns;
} stack;

static stack stack_of(const dq_tensor *tensor, bool column) {
  stack s = {.rank = tensor->rank - 2};
  if (tensor->rank == 1) {
    s.rank = 0;
    s.rows = column ? tensor->dims[0] : 1;
    s.columns = column ? 1 : tensor->dims[0];
    return s;
  }
  memcpy(s.dims, tensor->dims, (size_t)s.rank * sizeof *s.dims);
  s.rows = tensor->dims[s.rank];
  s.columns = tensor->dims[s.rank + 1];
  return s;
}

// One matrix, given without a stack or as a stack of one.
static bool is_single(const stack *s) {
  for (int i = 0; i < s->rank; i++)
    if (s->dims[i] != 1) return false;
  return true;
}

// Sets dims, steps and count of the stack of results; false when they do not broadcast or the count
// overflows (which a stack with a dimension of 0 can bring about).
static bool broadcast(const stack *a, const stack *b, dq_matmul *m) {
  m->rank = a->rank > b->rank ? a->rank : b->rank;
  int64_t a_step = 1, b_step = 1;
  m->batch = 1;
  for (int i = m->rank - 1; i >= 0; i--) {
    int a_axis = i - (m->rank - a->rank), b_axis = i - (m->rank - b->rank);
    int64_t a_dim = a_axis < 0 ? 1 : a->dims[a_axis], b_dim = b_axis < 0 ? 1 : b->dims[b_axis];
    if (a_dim != b_dim && a_dim != 1 && b_dim != 1) return false;
    m->dims[i] = a_dim == 1 ? b_dim : a_dim;
    m->a_step[i] = a_dim == 1 ? 0 : a_step;
    m->b_step[i] = b_dim == 1 ? 0 : b_step;
    if (!dq_mul_i64(a_step, a_dim, &a_step) || !dq_mul_i64(b_step, b_dim, &b_step) ||
        !dq_mul_i64(m->batch, m->dims[i], &m->batch))
      return false;
  }
  return true;
}

static dq_status read_stacks(const dq_op *op, const dq_tensor *a, const dq_tensor *b, dq_matmul *m) {
  char a_text[DQ_SHAPE_TEXT], b_text[DQ_SHAPE_TEXT];
  memset(m, 0, sizeof *m);
  bool fits = a->rank > 0 && b->rank > 0;
  if (fits) {
    stack left = stack_of(a, false), right = stack_of(b, true);
    fits = left.columns == right.rows && broadcast(&left, &right, m);
    m->rows = left.rows;
    m->depth = left.columns;
    m->columns = right.columns;
  }
  if (!fits)
    return dq_op_fail(op, DQ_BAD_INPUT, "shapes %s and %s cannot be multiplied as matrices",
                      dq_tensor_shape_text(a, a_text, sizeof a_text), dq_tensor_shape_text(b, b_text, sizeof b_text));
  return DQ_OK;
}

dq_status dq_matmul_read(const dq_op *op, const dq_tensor *a, const dq_tensor *b, dq_matmul *matmul) {
  DQ_TRY(read_stacks(op, a, b, matmul));
  stack right = stack_of(b, true);
  if (!is_single(&right)) return DQ_OK;
  if (!dq_mul_i64(matmul->rows, matmul->batch, &matmul->rows))
    return dq_op_fail(op, DQ_BAD_INPUT, "%" PRId64 " matrices of %" PRId64 " rows are too many", matmul->batch,
                      matmul->rows);
  matmul->batch = 1;
  matmul->rank = 0;
  return DQ_OK;
}

dq_status dq_matmul_infer(dq_op *op, const dq_tensor *a, const dq_tensor *b, int type) {
  dq_matmul m;
  DQ_TRY(read_stacks(op, a, b, &m));
  int64_t dims[DQ_MAX_RANK + 2];
  int rank = m.rank;
  memcpy(dims, m.dims, (size_t)rank * sizeof *dims);
  if (a->rank > 1) dims[rank++] = m.rows;
  if (b->rank > 1) dims[rank++] = m.columns;
  return dq_op_shape(op, 0, type, rank, dims);
}

void dq_matmul_operands(const dq_matmul *matmul, int64_t index, int64_t *a, int64_t *b) {
  *a = *b = 0;
  for (int i = matmul->rank - 1; i >= 0; i--) {
    int64_t position = index % matmul->dims[i];
    index /= matmul->dims[i];
    *a += position * matmul->a_step[i];
    *b += position * matmul->b_step[i];
  }
}

int64_t dq_matmul_macs(const dq_op *op, const dq_tensor *a) {
  const dq_tensor *y = dq_op_output(op, 0);
  if (!a || !y || a->rank < 1 || y->rank < 0) return 0;
  int64_t macs;
  return dq_mul_i64(dq_tensor_count(y), a->dims[a->rank - 1], &macs) ? macs : INT64_MAX;
}
