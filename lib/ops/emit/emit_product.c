// Products of matrices in C: one sum at a time, the columns of the constant matrix lying in rows.
#include <inttypes.h>

#include "lib/ops/common/matmul.h"
#include "lib/ops/emit/emit.h"

void dq_emit_product_body(dq_emission *to, const dq_emit_product *p) {
  const char *from = dq_emit_type(to->op->inputs[0]->type);
  char target[64];
  snprintf(target, sizeof target, "y0[r * %" PRId64 " + o]", p->columns);
  dq_emit(to, "for (int32_t r = 0; r < %" PRId64 "; r++) {", p->rows);
  dq_emit(to, "const %s *x = x0 + r * %" PRId64 ";", from, p->row_stride);
  if (p->sums) dq_emit_first_exception(to, p->sums);
  dq_emit(to, "for (int32_t o = 0; o < %" PRId64 "; o++) {", p->columns);
  dq_emit(to, "const %s *w = c%d + o * %" PRId64 ";", dq_emit_type(to->arrays[p->weights].type), p->weights, p->depth);
  if (p->sums) dq_emit_factors(to, p->sums, "o");
  if (p->sums) dq_emit_next_exception(to, p->sums, "o");
  if (p->sums) dq_emit(to, "int32_t sum = c%d[o];", p->sums->first + 1);
  else dq_emit(to, "float sum = 0.0f;");
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", p->depth);
  if (p->sums) dq_emit(to, "sum += (int32_t)w[i] * (int32_t)x[i * %" PRId64 "];", p->depth_stride);
  else dq_emit(to, "sum = fmaf(x[i * %" PRId64 "], w[i], sum);", p->depth_stride);
  dq_emit(to, "}");
  if (p->sums) dq_emit_result(to, p->sums, "o", target, "sum");
  else dq_emit_need(to, DQ_EMIT_MATH), dq_emit(to, "%s = %s;", target, p->end);
  dq_emit_close(to, 2);
}

int dq_emit_stack(dq_emission *to, const dq_matmul *m) {
  char a[300] = "0", b[300] = "0";
  int a_at = 1, b_at = 1;
  dq_emit(to, "int32_t product = 0;");
  if (!m->rank) dq_emit(to, "{");
  for (int i = 0; i < m->rank; i++) {
    dq_emit(to, "for (int32_t k%d = 0; k%d < %" PRId64 "; k%d++) {", i, i, m->dims[i], i);
    if (m->a_step[i])
      a_at += snprintf(a + a_at, sizeof a - (size_t)a_at, " + k%d * %" PRId64, i, m->a_step[i] * m->rows * m->depth);
    if (m->b_step[i])
      b_at += snprintf(b + b_at, sizeof b - (size_t)b_at, " + k%d * %" PRId64, i, m->b_step[i] * m->depth * m->columns);
  }
  dq_emit(to, "const int32_t a = %s, b = %s, at = product * %" PRId64 ";", a, b, m->rows * m->columns);
  return m->rank ? m->rank : 1;
}

void dq_emit_matrices_open(dq_emission *to, const dq_emit_matrices *p) {
  dq_emit(to, "for (int32_t r = 0; r < %" PRId64 "; r++) {", p->rows);
  dq_emit(to, "for (int32_t o = 0; o < %" PRId64 "; o++) {", p->columns);
  dq_emit(to, "const int32_t place = at + r * %" PRId64 " + o;", p->columns);
}

static const char *type_of(const dq_emission *to, int i) {
  const dq_tensor *input = to->op->inputs[i];
  return dq_emit_is_half(to, input) ? "float" : dq_emit_type(input->type);
}

void dq_emit_matrices_sum(dq_emission *to, const dq_emit_matrices *p) {
  char index[100], element[100];
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", p->depth);
  snprintf(index, sizeof index, "a + r * %" PRId64 " + i * %" PRId64, p->a_row, p->a_column);
  dq_emit_element(to, p->a, index, element);
  dq_emit(to, "const %s x = %s;", type_of(to, p->a), element);
  snprintf(index, sizeof index, "b + i * %" PRId64 " + o * %" PRId64, p->b_row, p->b_column);
  dq_emit_element(to, p->b, index, element);
  dq_emit(to, "const %s y = %s;", type_of(to, p->b), element);
  dq_emit(to, "%s", p->step);
  dq_emit(to, "}");
}
