// Products of matrices in C: one sum at a time, the columns of the constant matrix lying in rows.
#include <inttypes.h>

#include "lib/ops/emit.h"

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
  else dq_emit(to, "float sum = 0;");
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", p->depth);
  if (p->sums) dq_emit(to, "sum += w[i] * x[i * %" PRId64 "];", p->depth_stride);
  else dq_emit(to, "sum = fmaf(x[i * %" PRId64 "], w[i], sum);", p->depth_stride);
  dq_emit(to, "}");
  if (p->sums) dq_emit_result(to, p->sums, "o", target, "sum");
  else dq_emit_need(to, DQ_EMIT_MATH), dq_emit(to, "%s = %s;", target, p->end);
  dq_emit_close(to, 2);
}
