// C of normalizations by the mean and the variance of sets of elements: what lib/ops/reduction/normalization.c
// computes.
#include <inttypes.h>
#include <stdio.h>

#include "lib/base/sizes.h"
#include "lib/ops/common/quantized.h"
#include "lib/ops/emit/emit_reduce.h"

// ---- BatchNormalization ----

// Factor and offset of a channel by constant statistics, as arrays.
static dq_status constant_factors(dq_emission *to, int64_t channels, const char *type,
                                  void (*find)(const dq_op *op, int64_t channel, double *factor, double *offset)) {
  const bool wide = to->op->inputs[0]->type == DQ_F64;
  dq_tensor arrays[2];
  int numbers[2];
  for (int k = 0; k < 2; k++) {
    arrays[k] = (dq_tensor){.type = wide ? DQ_F64 : DQ_F32, .rank = 1, .dims = {channels}};
    if (!(arrays[k].data = dq_arena_array(to->arena, (size_t)channels, dq_dtype_size(arrays[k].type))))
      return dq_fail_memory(to->op->error, (size_t)channels * 8);
    numbers[k] = dq_emit_constant(to, arrays[k].type, arrays[k].data, channels);
  }
  for (int64_t c = 0; c < channels; c++) {
    double factor, offset;
    find(to->op, c, &factor, &offset);
    dq_tensor_set(&arrays[0], c, factor);
    dq_tensor_set(&arrays[1], c, offset);
  }
  dq_emit(to, "const %s factor = c%d[channel], offset = c%d[channel];", type, numbers[0], numbers[1]);
  return DQ_OK;
}

static void computed_factors(dq_emission *to, const char *type) {
  char parts[5][100], epsilon[48];
  for (int i = 1; i < 5; i++) dq_emit_element(to, i, "channel", parts[i]);
  dq_emit_need(to, DQ_EMIT_MATH);
  dq_emit(to, "const double ratio = (double)%s / sqrt((double)%s + %s), moved = (double)%s * ratio;", parts[1],
          parts[4], dq_emit_wide_literal((double)dq_node_float(to->op->node, "epsilon", 1e-5f), epsilon), parts[3]);
  dq_emit(to, "const %s factor = (%s)ratio, offset = (%s)((double)%s - moved);", type, type, type, parts[2]);
}

// Statistics of the batch itself, and the running ones that move towards them.
static dq_status batch_statistics(dq_emission *to) {
  const dq_op *op = to->op;
  bool reduced[DQ_MAX_RANK];
  dq_reduction plan;
  char scale[100], bias[100], epsilon[48], running[100], kept[48], added[48], value[400];
  const double momentum = (double)dq_node_float(op->node, "momentum", 0.9f);
  for (int axis = 0; axis < op->inputs[0]->rank; axis++) reduced[axis] = axis != 1;
  dq_reduction_plan(op->inputs[0], reduced, &plan);
  dq_emit_need(to, DQ_EMIT_MATH);
  dq_emit_element(to, 1, "set", scale);
  dq_emit_element(to, 2, "set", bias);
  int sets = dq_emit_sets(to, &plan);
  dq_emit_moments(to, &plan);
  dq_emit(to, "const double factor = (double)%s / sqrt(variance + %s), offset = (double)%s;", scale,
          dq_emit_wide_literal((double)dq_node_float(op->node, "epsilon", 1e-5f), epsilon), bias);
  dq_emit_normalized(to, &plan, "mean", "factor", "offset");
  for (int i = 1; i < 3; i++) {
    if (!dq_op_output(op, i)) continue;
    dq_emit_element(to, 2 + i, "set", running);
    snprintf(value, sizeof value, "%s((double)%s * %s + %s * %s)", op->outputs[i]->type == DQ_F64 ? "" : "(float)",
             running, dq_emit_wide_literal(momentum, kept), i == 1 ? "mean" : "variance",
             dq_emit_wide_literal(1 - momentum, added));
    dq_emit_assign(to, i, "set", value);
  }
  dq_emit(to, "set++;");
  dq_emit_close(to, sets);
  return DQ_OK;
}

dq_status dq_emit_batch(dq_emission *to, int64_t channels, bool training,
                        void (*factors)(const dq_op *op, int64_t channel, double *factor, double *offset)) {
  const dq_op *op = to->op;
  const dq_tensor *input = op->inputs[0];
  const int64_t planes = (input->rank < 2 ? 1 : input->dims[0]) * channels;
  const int64_t plane = planes ? dq_tensor_count(input) / planes : 0;
  const char *type = input->type == DQ_F64 ? "double" : "float";
  char element[100];
  if (training) return batch_statistics(to);
  for (int i = 1; i < op->output_count && op->version >= 14; i++)
    if (op->outputs[i])
      dq_emit(to, "(void)memcpy(y%d, %s, %zu);", i, dq_emit_input(to, 2 + i, element), dq_tensor_bytes(op->outputs[i]));
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", planes);
  dq_emit(to, "const int32_t channel = n %% %" PRId64 ";", channels);
  if (dq_op_known_but(op, 0)) DQ_TRY(constant_factors(to, channels, type, factors));
  else computed_factors(to, type);
  dq_emit(to, "for (int32_t i = n * %" PRId64 "; i < (n + 1) * %" PRId64 "; i++) {", plane, plane);
  dq_emit_element(to, 0, "i", element);
  dq_emit(to, "%s x = %s;", type, element);
  dq_emit(to, "x *= factor;");
  dq_emit_assign(to, 0, "i", "x + offset");
  dq_emit_close(to, 2);
  return DQ_OK;
}

// ---- Groups, layers, powers ----

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
  char scale[100], offset[120], epsilon[48], factor[200];
  dq_emit_need(to, DQ_EMIT_MATH);
  dq_emit_element(to, 1, "channel", scale);
  dq_emit_element(to, 2, "channel", offset);
  int sets = dq_emit_sets(to, &all);
  dq_emit_moments(to, &all);
  dq_emit(to, "for (int32_t member = 0; member < %" PRId64 "; member++) {", members);
  if (per_group) dq_emit(to, "const int32_t channel = set %% %" PRId64 ";", groups);
  else dq_emit(to, "const int32_t channel = set %% %" PRId64 " * %" PRId64 " + member;", groups, members);
  snprintf(factor, sizeof factor, "(double)%s / sqrt(variance + %s)", scale,
           dq_emit_wide_literal((double)dq_node_float(to->op->node, "epsilon", 1e-5f), epsilon));
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
  char text[60];
  if (!dq_op_output(to->op, o)) return;
  snprintf(text, sizeof text, to->op->outputs[o]->type == DQ_F64 ? "%s" : "(float)(%s)", value);
  dq_emit_assign(to, o, "set", text);
}

dq_status dq_emit_layer(dq_emission *to, int axis) {
  const dq_op *op = to->op;
  const dq_tensor *input = op->inputs[0], *bias = dq_op_input(op, 2);
  const bool wide = op->outputs[0]->type == DQ_F64;
  bool reduced[DQ_MAX_RANK];
  dq_reduction plan;
  char element[100], scale[100], shift[100], epsilon[48];
  const char *type = wide ? "double" : "float";
  if (!fits_set(op->inputs[1], input, axis) || !fits_set(bias, input, axis))
    return dq_op_fail(op, DQ_UNSUPPORTED, "C is written for scale and bias of the set's shape only");
  for (int i = 0; i < input->rank; i++) reduced[i] = i >= axis;
  dq_reduction_plan(input, reduced, &plan);
  dq_emit_need(to, DQ_EMIT_MATH);
  dq_emit_element(to, 0, "at", element);
  dq_emit_element(to, 1, dq_tensor_count(op->inputs[1]) == 1 ? "0" : "i", scale);
  if (bias) dq_emit_element(to, 2, dq_tensor_count(bias) == 1 ? "0" : "i", shift);
  int sets = dq_emit_sets(to, &plan);
  dq_emit_moments(to, &plan);
  dq_emit(to, "const double factor = 1.0 / sqrt(variance + %s);",
          dq_emit_wide_literal((double)dq_node_float(op->node, "epsilon", 1e-5f), epsilon));
  store_statistic(to, 1, "mean");
  store_statistic(to, 2, "factor");
  int members = dq_emit_members(to, &plan);
  dq_emit(to, "const %s normal = (%s)(((double)%s - mean) * factor + 0.0), scaled = normal * %s;", type, type, element,
          scale);
  snprintf(element, sizeof element, bias ? "scaled + %s" : "scaled", shift);
  dq_emit_assign(to, 0, "at", element);
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
