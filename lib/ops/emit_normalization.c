// C of normalizations by the mean and the variance of sets of elements: what lib/ops/normalization.c computes.
#include <inttypes.h>
#include <stdio.h>

#include "lib/base/sizes.h"
#include "lib/ops/emit_reduce.h"

static const char *real_double(float value, char text[40]) {
  snprintf(text, 40, "%.17g", (double)value);
  return text;
}

dq_status dq_emit_groups(dq_emission *to, int64_t groups, bool per_group) {
  const dq_tensor *input = to->op->inputs[0];
  const int64_t members = input->dims[1] / groups, plane = dq_tensor_product(input, 2, input->rank);
  const dq_reduction all = {.rows = 1,
                            .length = members * plane,
                            .stride = 1,
                            .sets = input->dims[0] * groups,
                            .kept_rank = 1,
                            .kept_dims = {input->dims[0] * groups},
                            .kept_strides = {members * plane}};
  const dq_reduction one = {.rows = 1, .length = plane, .stride = 1};
  char scale[100], offset[120], epsilon[40], factor[200];
  dq_emit_need(to, DQ_EMIT_MATH);
  dq_emit_element(to, 1, "channel", scale);
  dq_emit_element(to, 2, "channel", offset);
  int sets = dq_emit_sets(to, &all);
  dq_emit_moments(to, &all);
  dq_emit(to, "for (int32_t member = 0; member < %" PRId64 "; member++) {", members);
  if (per_group) dq_emit(to, "const int32_t channel = set %% %" PRId64 ";", groups);
  else dq_emit(to, "const int32_t channel = set %% %" PRId64 " * %" PRId64 " + member;", groups, members);
  snprintf(factor, sizeof factor, "(double)%s / sqrt(variance + %s)", scale,
           real_double(dq_node_float(to->op->node, "epsilon", 1e-5f), epsilon));
  dq_emit(to, "const double factor = %s, offset = (double)%s;", factor, offset);
  dq_emit(to, "const int32_t first = base + member * %" PRId64 ";", plane);
  dq_emit(to, "{");
  dq_emit(to, "const int32_t base = first;");
  dq_emit_normalized(to, &one, "mean", "factor", "offset");
  dq_emit_close(to, 2);
  dq_emit(to, "set++;");
  dq_emit_close(to, sets);
  return DQ_OK;
}

// Whether an operand has one element for each element of a set, or one for all.
static bool fits_set(const dq_tensor *operand, const dq_tensor *input, int axis) {
  if (!operand || dq_tensor_count(operand) == 1) return true;
  if (operand->rank < input->rank - axis) return false;
  return dq_tensor_count(operand) == dq_tensor_product(input, axis, input->rank) &&
         dq_tensor_product(operand, operand->rank - (input->rank - axis), operand->rank) == dq_tensor_count(operand);
}

static void store_statistic(dq_emission *to, int o, const char *value) {
  if (dq_op_output(to->op, o)) dq_emit(to, "y%d[set] = (%s)(%s);", o, dq_emit_type(to->op->outputs[o]->type), value);
}

dq_status dq_emit_layer(dq_emission *to, int axis) {
  const dq_op *op = to->op;
  const dq_tensor *input = op->inputs[0], *bias = dq_op_input(op, 2);
  const bool wide = op->outputs[0]->type == DQ_F64;
  bool reduced[DQ_MAX_RANK];
  dq_reduction plan;
  char element[100], scale[100], shift[100], epsilon[40];
  const char *type = wide ? "double" : "float";
  if (!fits_set(op->inputs[1], input, axis) || !fits_set(bias, input, axis) || dq_emit_is_half(to, input))
    return dq_op_fail(op, DQ_UNSUPPORTED,
                      "C is written for float32 and float64, scale and bias of the set's shape only");
  for (int i = 0; i < input->rank; i++) reduced[i] = i >= axis;
  dq_reduction_plan(input, reduced, &plan);
  dq_emit_need(to, DQ_EMIT_MATH);
  dq_emit_element(to, 0, "at", element);
  dq_emit_element(to, 1, dq_tensor_count(op->inputs[1]) == 1 ? "0" : "i", scale);
  if (bias) dq_emit_element(to, 2, dq_tensor_count(bias) == 1 ? "0" : "i", shift);
  int sets = dq_emit_sets(to, &plan);
  dq_emit_moments(to, &plan);
  dq_emit(to, "const double factor = 1.0 / sqrt(variance + %s);",
          real_double(dq_node_float(op->node, "epsilon", 1e-5f), epsilon));
  store_statistic(to, 1, "mean");
  store_statistic(to, 2, "factor");
  int members = dq_emit_members(to, &plan);
  dq_emit(to, "const %s normal = (%s)(((double)%s - mean) * factor + 0.0), scaled = normal * %s;", type, type, element,
          scale);
  dq_emit(to, bias ? "y0[at] = scaled + %s;" : "y0[at] = scaled;", shift);
  dq_emit_close(to, members);
  dq_emit(to, "set++;");
  dq_emit_close(to, sets);
  return DQ_OK;
}

dq_status dq_emit_mean_variance(dq_emission *to, const bool *reduced) {
  dq_reduction plan;
  dq_reduction_plan(to->op->inputs[0], reduced, &plan);
  dq_emit_need(to, DQ_EMIT_MATH);
  int sets = dq_emit_sets(to, &plan);
  dq_emit_moments(to, &plan);
  dq_emit(to, "const double factor = 1.0 / (sqrt(variance) + 1e-9);");
  dq_emit_normalized(to, &plan, "mean", "factor", "0.0");
  dq_emit(to, "set++;");
  dq_emit_close(to, sets);
  return DQ_OK;
}

dq_status dq_emit_lp(dq_emission *to, const bool *reduced, bool absolute) {
  dq_reduction plan;
  char element[100];
  dq_reduction_plan(to->op->inputs[0], reduced, &plan);
  dq_emit_need(to, DQ_EMIT_MATH);
  dq_emit_element(to, 0, "at", element);
  int sets = dq_emit_sets(to, &plan);
  dq_emit(to, "double norm = 0.0, factor;");
  int members = dq_emit_members(to, &plan);
  dq_emit(to, "const double x = (double)%s;", element);
  dq_emit(to, absolute ? "norm += fabs(x);" : "norm += x * x;");
  dq_emit_close(to, members);
  if (!absolute) dq_emit(to, "norm = sqrt(norm);");
  dq_emit(to, "factor = norm == 0.0 ? 0.0 : 1.0 / norm;");
  dq_emit_normalized(to, &plan, "0.0", "factor", "0.0");
  dq_emit(to, "set++;");
  dq_emit_close(to, sets);
  return DQ_OK;
}
