// C of reductions: what lib/ops/reduction/reduce.c and lib/ops/reduction/normalization.c compute, in the same order.
#include "lib/ops/emit/emit_reduce.h"

#include <inttypes.h>
#include <string.h>

// ---- Loops ----

// Loops over dimensions, the first of which is the innermost, and the offset that their variables stand for.
static int open_dimensions(dq_emission *to, char name, int rank, const int64_t *dims, const int64_t *strides,
                           char text[300]) {
  int at = 0;
  *text = 0;
  for (int i = rank - 1; i >= 0; i--) {
    dq_emit(to, "for (int32_t %c%d = 0; %c%d < %" PRId64 "; %c%d++) {", name, i, name, i, dims[i], name, i);
    at += snprintf(text + at, (size_t)(300 - at), " + %c%d * %" PRId64, name, i, strides[i]);
  }
  return rank;
}

int dq_emit_sets(dq_emission *to, const dq_reduction *plan) {
  char offset[300];
  dq_emit(to, "int32_t set = 0;");
  if (!plan->kept_rank) dq_emit(to, "{");
  int braces = open_dimensions(to, 'k', plan->kept_rank, plan->kept_dims, plan->kept_strides, offset);
  dq_emit(to, "const int32_t base = 0%s;", offset);
  return braces ? braces : 1;
}

// Loops over the rows of a set; `row` is the first element of the row.
static int open_rows(dq_emission *to, const dq_reduction *plan) {
  char offset[300];
  if (!plan->outer_rank) dq_emit(to, "{");
  int braces = open_dimensions(to, 'g', plan->outer_rank, plan->outer_dims, plan->outer_strides, offset);
  dq_emit(to, "const int32_t row = base%s;", offset);
  return braces ? braces : 1;
}

int dq_emit_members(dq_emission *to, const dq_reduction *plan) {
  int rows = open_rows(to, plan);
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", plan->length);
  dq_emit(to, "const int32_t at = row + i * %" PRId64 ";", plan->stride);
  return rows + 1;
}

// ---- Reductions to one number ----

// By dq_reduce_kind: where floats and integers start, and what is added, or done, for each x. Maxima and minima start
// at the end of the type.
static const struct {
  const char *start, *term, *integer_start, *integer_term, *step;
} kinds[] = {
    [DQ_REDUCE_SUM] = {"0.0", "x", "0", "(uint64_t)x", NULL},
    [DQ_REDUCE_SUM_ABS] = {"0.0", "fabs(x)", "0", "(x < 0 ? 0u - (uint64_t)x : (uint64_t)x)", NULL},
    [DQ_REDUCE_SUM_SQUARE] = {"0.0", "x * x", "0", "(uint64_t)x * (uint64_t)x", NULL},
    [DQ_REDUCE_SUM_EXP] = {"0.0", "exp(x - shift)", NULL, NULL, NULL},
    [DQ_REDUCE_PRODUCT] = {"1.0", NULL, "1", NULL, "total *= x;"},
    [DQ_REDUCE_MAXIMUM] = {"-HUGE_VAL", NULL, NULL, NULL, "total = x > total ? x : total;"},
    [DQ_REDUCE_MINIMUM] = {"HUGE_VAL", NULL, NULL, NULL, "total = x < total ? x : total;"},
};

enum { CHUNK = 256, CHAINS = 4 }; // of sums of floats, as lib/ops/reduction/reduce.c has them

// Adds a term of each element to `total`: chunks of four chains.
static void add_terms(dq_emission *to, const dq_reduction *plan, const char *element, const char *term) {
  int rows = open_rows(to, plan);
  dq_emit(to, "for (int32_t from = 0; from < %" PRId64 "; from += %d) {", plan->length, CHUNK);
  dq_emit(to, "const int32_t left = %" PRId64 " - from, count = left < %d ? left : %d;", plan->length, CHUNK, CHUNK);
  dq_emit(to, "double sums[%d] = {0.0, 0.0, 0.0, 0.0};", CHAINS);
  dq_emit(to, "for (int32_t i = 0; i < count; i++) {");
  dq_emit(to, "const int32_t at = row + (from + i) * %" PRId64 ";", plan->stride);
  dq_emit(to, "const double x = (double)%s;", element);
  dq_emit(to, "sums[i < count / %d * %d ? i %% %d : 0] += %s;", CHAINS, CHAINS, CHAINS, term);
  dq_emit(to, "}");
  dq_emit(to, "total = total + ((sums[0] + sums[1]) + (sums[2] + sums[3]));");
  dq_emit_close(to, rows + 1);
}

static void apply_step(dq_emission *to, const dq_reduction *plan, const char *type, const char *element,
                       const char *step) {
  int members = dq_emit_members(to, plan);
  dq_emit(to, "const %s x = (%s)%s;", type, type, element);
  dq_emit(to, "%s", step);
  dq_emit_close(to, members);
}

static void reduce_floats(dq_emission *to, const dq_reduction *plan, const char *element, dq_reduce_kind kind,
                          dq_reduce_finish finish) {
  static const char *const ends[] = {[DQ_FINISH_PLAIN] = "total", [DQ_FINISH_ROOT] = "sqrt(total)"};
  const dq_tensor *y = to->op->outputs[0];
  const bool single = y->type != DQ_F64;
  char value[100], result[120];
  dq_emit_need(to, DQ_EMIT_MATH);
  if (kind == DQ_REDUCE_SUM_EXP) {
    dq_emit(to, "double shift = -HUGE_VAL;");
    apply_step(to, plan, "double", element, "shift = x > shift || x != x ? x : shift;");
    dq_emit(to, "shift = shift * 0.5 == shift ? 0.0 : shift;");
  }
  dq_emit(to, "double total = %s;", kinds[kind].start);
  if (kinds[kind].term) add_terms(to, plan, element, kinds[kind].term);
  else if (kind == DQ_REDUCE_PRODUCT) apply_step(to, plan, "double", element, kinds[kind].step);
  else
    apply_step(to, plan, "double", element,
               kind == DQ_REDUCE_MAXIMUM ? "total = x > total || x != x ? x : total;"
                                         : "total = x < total || x != x ? x : total;");
  if (finish == DQ_FINISH_MEAN) snprintf(value, sizeof value, "total / %" PRId64 ".0", plan->rows * plan->length);
  else if (finish == DQ_FINISH_LOG)
    snprintf(value, sizeof value, "log(total) + %s", kind == DQ_REDUCE_SUM_EXP ? "shift" : "0.0");
  else snprintf(value, sizeof value, "%s", ends[finish]);
  snprintf(result, sizeof result, single ? "(float)(%s)" : "%s", value);
  dq_emit_assign(to, 0, "set", result);
}

// The expression of the least or the largest element of an integer type.
static const char *end_of(int type, bool largest) {
  switch (type) {
  case DQ_I8: return largest ? "INT8_MAX" : "INT8_MIN";
  case DQ_I16: return largest ? "INT16_MAX" : "INT16_MIN";
  case DQ_I32: return largest ? "INT32_MAX" : "INT32_MIN";
  case DQ_I64: return largest ? "INT64_MAX" : "INT64_MIN";
  case DQ_U8: return largest ? "UINT8_MAX" : "0";
  case DQ_U16: return largest ? "UINT16_MAX" : "0";
  case DQ_U32: return largest ? "UINT32_MAX" : "0";
  case DQ_U64: return largest ? "UINT64_MAX" : "0";
  default: return largest ? "1" : "0";
  }
}

static void reduce_integers(dq_emission *to, const dq_reduction *plan, const char *element, dq_reduce_kind kind,
                            dq_reduce_finish finish) {
  const int type = to->op->inputs[0]->type;
  const char *wide = type == DQ_U64 ? "uint64_t" : "int64_t";
  char step[120], value[80];
  if (kind == DQ_REDUCE_MAXIMUM || kind == DQ_REDUCE_MINIMUM) {
    dq_emit(to, "%s total = %s;", dq_emit_type(type), end_of(type, kind == DQ_REDUCE_MINIMUM));
    apply_step(to, plan, dq_emit_type(type), element, kinds[kind].step);
    dq_emit_assign(to, 0, "set", "total");
    return;
  }
  dq_emit(to, "uint64_t total = %s;", kinds[kind].integer_start);
  snprintf(step, sizeof step, kind == DQ_REDUCE_PRODUCT ? "total *= (uint64_t)x;" : "total += %s;",
           kinds[kind].integer_term);
  apply_step(to, plan, type == DQ_U64 && kind == DQ_REDUCE_SUM_ABS ? "int64_t" : wide, element, step);
  int64_t size = plan->rows * plan->length;
  if (finish == DQ_FINISH_MEAN && size) snprintf(value, sizeof value, "(%s)total / %" PRId64, wide, size);
  else snprintf(value, sizeof value, finish == DQ_FINISH_MEAN ? "0" : "total");
  dq_emit_assign(to, 0, "set", value);
}

dq_status dq_emit_reduction(dq_emission *to, const dq_reduction *plan, dq_reduce_kind kind, dq_reduce_finish finish) {
  const bool real = DQ_BIT(to->op->inputs[0]->type) & DQ_TYPES_FLOAT;
  char element[100];
  if (!real && (kind == DQ_REDUCE_SUM_EXP || finish == DQ_FINISH_ROOT || finish == DQ_FINISH_LOG))
    return dq_op_fail(to->op, DQ_UNSUPPORTED, "operator %s of %s has no C yet", to->op->row->name,
                      dq_dtype_name(to->op->inputs[0]->type));
  dq_emit_element(to, 0, "at", element);
  int sets = dq_emit_sets(to, plan);
  (real ? reduce_floats : reduce_integers)(to, plan, element, kind, finish);
  dq_emit(to, "set++;");
  dq_emit_close(to, sets);
  return DQ_OK;
}

// ---- The place of an extreme, running sums ----

dq_status dq_emit_extreme(dq_emission *to, const dq_reduction *plan, bool smallest, bool last) {
  const dq_tensor *input = to->op->inputs[0];
  char first[100], element[100];
  const char *type = dq_emit_is_half(to, input) ? "float" : dq_emit_type(input->type);
  dq_emit_element(to, 0, "at", element);
  int sets = dq_emit_sets(to, plan);
  dq_emit(to, "int32_t best = 0;");
  snprintf(first, sizeof first, "%s extreme = 0;", type);
  dq_emit(to, "%s", first);
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", plan->length);
  dq_emit(to, "const int32_t at = base + i * %" PRId64 ";", plan->stride);
  dq_emit(to, "const %s x = %s;", type, element);
  dq_emit(to, "if (i == 0 || x %s%s extreme) {", smallest ? "<" : ">", last ? "=" : "");
  dq_emit(to, "best = i;");
  dq_emit(to, "extreme = x;");
  dq_emit_close(to, 2);
  dq_emit(to, "y0[set] = best;");
  dq_emit(to, "set++;");
  dq_emit_close(to, sets);
  return DQ_OK;
}

dq_status dq_emit_running_sum(dq_emission *to, const dq_reduction *plan, bool exclusive, bool reverse) {
  const bool real = DQ_BIT(to->op->inputs[0]->type) & DQ_TYPES_FLOAT;
  const char *type = real ? "double" : "uint64_t", *value = exclusive ? "before" : "sum";
  const bool single = real && to->op->outputs[0]->type != DQ_F64;
  char element[100], result[40];
  dq_emit_element(to, 0, "at", element);
  int sets = dq_emit_sets(to, plan);
  dq_emit(to, "%s sum = 0;", type);
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", plan->length);
  if (reverse)
    dq_emit(to, "const int32_t at = base + (%" PRId64 " - i) * %" PRId64 ";", plan->length - 1, plan->stride);
  else dq_emit(to, "const int32_t at = base + i * %" PRId64 ";", plan->stride);
  if (exclusive) dq_emit(to, "const %s before = sum;", type);
  dq_emit(to, "sum += (%s)%s;", type, element);
  snprintf(result, sizeof result, single ? "(float)%s" : "%s", value);
  dq_emit_assign(to, 0, "at", result);
  dq_emit(to, "}");
  dq_emit(to, "set++;");
  dq_emit_close(to, sets);
  return DQ_OK;
}

// ---- Means and variances ----

void dq_emit_moments(dq_emission *to, const dq_reduction *plan) {
  char element[100];
  dq_emit_element(to, 0, "at", element);
  dq_emit(to, "double total = 0.0, squares = 0.0, mean, variance;");
  int members = dq_emit_members(to, plan);
  dq_emit(to, "total += (double)%s;", element);
  dq_emit_close(to, members);
  dq_emit(to, "mean = total / %" PRId64 ".0;", plan->rows * plan->length);
  members = dq_emit_members(to, plan);
  dq_emit(to, "const double deviation = (double)%s - mean;", element);
  dq_emit(to, "squares += deviation * deviation;");
  dq_emit_close(to, members);
  dq_emit(to, "variance = squares / %" PRId64 ".0;", plan->rows * plan->length);
}

void dq_emit_normalized(dq_emission *to, const dq_reduction *plan, const char *mean, const char *factor,
                        const char *offset) {
  char element[100], value[300];
  const bool single = to->op->outputs[0]->type != DQ_F64;
  dq_emit_element(to, 0, "at", element);
  int members = dq_emit_members(to, plan);
  snprintf(value, sizeof value, "%s((double)%s - %s) * %s + %s%s", single ? "(float)(" : "", element, mean, factor,
           offset, single ? ")" : "");
  dq_emit_assign(to, 0, "at", value);
  dq_emit_close(to, members);
}
