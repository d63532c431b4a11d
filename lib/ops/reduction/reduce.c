// Reductions over axes: ReduceSum and its family, ArgMax, ArgMin, CumSum. Floats accumulate in
// double, integers modulo 2^64.
#include "lib/ops/common/reduction.h"

#include "lib/base/sizes.h"
#include "lib/ops/common/elementwise.h"
#include "lib/ops/emit/emit_reduce.h"
#include "lib/ops/gradient/gradient.h"

// ---- Elements in a wide form ----

enum { CHUNK = 256 };

typedef union wide {
  double number[CHUNK];   // of float types
  int64_t integer[CHUNK]; // of the others; uint64 with `flip`, which keeps its order
} wide;

static bool is_float(int type) { return type == DQ_F32 || type == DQ_F64; }
static int64_t order_flip(int type) { return type == DQ_U64 ? INT64_MIN : 0; }

#define LOAD(symbol, type, member, value)                                                                              \
  case DQ_##symbol: {                                                                                                  \
    const type *in = (const type *)input->data + offset;                                                               \
    for (int64_t i = 0; i < count; i++) to->member[i] = value;                                                         \
    break;                                                                                                             \
  }
#define LOAD_INTEGER(unused, symbol, type) LOAD(symbol, type, integer, (int64_t)in[i * stride] ^ flip)

// `count` (at most CHUNK) elements `stride` apart.
static void load(const dq_tensor *input, int64_t offset, int64_t stride, int64_t count, int64_t flip, wide *to) {
  switch (input->type) {
    LOAD(F32, float, number, (double)in[i * stride])
    LOAD(F64, double, number, in[i * stride])
    LOAD(BOOL, uint8_t, integer, in[i * stride] != 0)
    DQ_EACH_INTEGER(LOAD_INTEGER, )
  }
}

// Stores the low bits of an integer (little endian: the first bytes).
static void store_integer(dq_tensor *output, int64_t at, int64_t value) {
  size_t size = dq_dtype_size(output->type);
  memcpy((char *)output->data + (size_t)at * size, &value, size);
}

// ---- Reduce* ----

typedef struct reduce_job {
  dq_reduce_kind kind;
  dq_reduce_finish finish;
  dq_reduction plan;
  const dq_tensor *input;
  dq_tensor *output;
} reduce_job;

// Four chains in a fixed order.
#define SUMMED(expression)                                                                                             \
  {                                                                                                                    \
    double sums[4] = {0};                                                                                              \
    int64_t i = 0;                                                                                                     \
    for (; i + 4 <= count; i += 4)                                                                                     \
      for (int k = 0; k < 4; k++) {                                                                                    \
        const double x = values[i + k];                                                                                \
        sums[k] += expression;                                                                                         \
      }                                                                                                                \
    for (; i < count; i++) {                                                                                           \
      const double x = values[i];                                                                                      \
      sums[0] += expression;                                                                                           \
    }                                                                                                                  \
    return total + ((sums[0] + sums[1]) + (sums[2] + sums[3]));                                                        \
  }

static double step_number(dq_reduce_kind kind, const double *values, int64_t count, double total, double shift) {
  switch (kind) {
  case DQ_REDUCE_SUM: SUMMED(x)
  case DQ_REDUCE_SUM_ABS: SUMMED(fabs(x))
  case DQ_REDUCE_SUM_SQUARE: SUMMED(x * x)
  case DQ_REDUCE_SUM_EXP: SUMMED(exp(x - shift))
  case DQ_REDUCE_PRODUCT:
    for (int64_t i = 0; i < count; i++) total *= values[i];
    return total;
  case DQ_REDUCE_MAXIMUM: // NaN wins
    for (int64_t i = 0; i < count; i++) total = values[i] > total || values[i] != values[i] ? values[i] : total;
    return total;
  case DQ_REDUCE_MINIMUM:
    for (int64_t i = 0; i < count; i++) total = values[i] < total || values[i] != values[i] ? values[i] : total;
    return total;
  }
  return total;
}

static int64_t step_integer(dq_reduce_kind kind, const int64_t *values, int64_t count, int64_t start) {
  uint64_t total = (uint64_t)start;
  for (int64_t i = 0; i < count; i++) {
    uint64_t x = (uint64_t)values[i];
    switch (kind) {
    case DQ_REDUCE_SUM: total += x; break;
    case DQ_REDUCE_SUM_ABS: total += values[i] < 0 ? 0u - x : x; break;
    case DQ_REDUCE_SUM_SQUARE: total += x * x; break;
    case DQ_REDUCE_PRODUCT: total *= x; break;
    case DQ_REDUCE_MAXIMUM: total = values[i] > (int64_t)total ? x : total; break;
    case DQ_REDUCE_MINIMUM: total = values[i] < (int64_t)total ? x : total; break;
    case DQ_REDUCE_SUM_EXP: break;
    }
  }
  return (int64_t)total;
}

// The end of a type, in order_flip's form.
static int64_t end_of_type(int type, bool highest) {
  if (type == DQ_BOOL) return highest;
  if (type == DQ_U64 || type == DQ_I64) return highest ? INT64_MAX : INT64_MIN;
  int bits = dq_dtype_bits(type);
  if (DQ_TYPES_UNSIGNED & DQ_BIT(type)) return highest ? (int64_t)((1ull << bits) - 1) : 0;
  return highest ? (int64_t)((1ull << (bits - 1)) - 1) : -(int64_t)(1ull << (bits - 1));
}

// Calls the steps for all elements of the set that starts at `base`.
static double reduce_numbers(const reduce_job *job, int64_t base, dq_reduce_kind kind, double shift) {
  const dq_reduction *plan = &job->plan;
  double total = kind == DQ_REDUCE_PRODUCT   ? 1
                 : kind == DQ_REDUCE_MAXIMUM ? -HUGE_VAL
                 : kind == DQ_REDUCE_MINIMUM ? HUGE_VAL
                                             : 0;
  wide chunk;
  for (int64_t row = 0; row < plan->rows; row++) {
    int64_t offset = base + dq_reduction_row(plan, row);
    for (int64_t at = 0; at < plan->length; at += CHUNK) {
      int64_t count = dq_min_i64(CHUNK, plan->length - at);
      load(job->input, offset + at * plan->stride, plan->stride, count, 0, &chunk);
      if (!is_float(job->input->type))
        for (int64_t i = 0; i < count; i++) chunk.number[i] = (double)chunk.integer[i];
      total = step_number(kind, chunk.number, count, total, shift);
    }
  }
  return total;
}

static int64_t reduce_integers(const reduce_job *job, int64_t base) {
  const dq_reduction *plan = &job->plan;
  int type = job->input->type;
  bool ordered = job->kind == DQ_REDUCE_MAXIMUM || job->kind == DQ_REDUCE_MINIMUM;
  int64_t flip = ordered ? order_flip(type) : 0;
  int64_t total = ordered ? end_of_type(type, job->kind == DQ_REDUCE_MINIMUM) : job->kind == DQ_REDUCE_PRODUCT;
  wide chunk;
  for (int64_t row = 0; row < plan->rows; row++) {
    int64_t offset = base + dq_reduction_row(plan, row);
    for (int64_t at = 0; at < plan->length; at += CHUNK) {
      int64_t count = dq_min_i64(CHUNK, plan->length - at);
      load(job->input, offset + at * plan->stride, plan->stride, count, flip, &chunk);
      total = step_integer(job->kind, chunk.integer, count, total);
    }
  }
  return total ^ flip;
}

static double finish_number(const reduce_job *job, double total, double shift) {
  switch (job->finish) {
  case DQ_FINISH_MEAN: return total / (double)(job->plan.rows * job->plan.length);
  case DQ_FINISH_ROOT: return sqrt(total);
  case DQ_FINISH_LOG: return log(total) + shift;
  case DQ_FINISH_PLAIN: break;
  }
  return total;
}

static void reduce_span(void *argument, int64_t from, int64_t to) {
  const reduce_job *job = argument;
  int type = job->input->type;
  int64_t size = job->plan.rows * job->plan.length;
  for (int64_t set = from; set < to; set++) {
    int64_t base = dq_reduction_set(&job->plan, set);
    if (is_float(type) || job->kind == DQ_REDUCE_SUM_EXP) {
      double shift = job->kind == DQ_REDUCE_SUM_EXP ? reduce_numbers(job, base, DQ_REDUCE_MAXIMUM, 0) : 0;
      if (isinf(shift)) shift = 0;
      double total = reduce_numbers(job, base, job->kind, shift);
      dq_tensor_set(job->output, set, finish_number(job, total, shift));
      continue;
    }
    int64_t total = reduce_integers(job, base);
    if (job->finish == DQ_FINISH_MEAN && type == DQ_U64) total = size ? (int64_t)((uint64_t)total / (uint64_t)size) : 0;
    else if (job->finish == DQ_FINISH_MEAN) total = size ? total / size : 0;
    else if (job->finish != DQ_FINISH_PLAIN) total = (int64_t)trunc(finish_number(job, (double)total, 0));
    store_integer(job->output, set, total);
  }
}

// Output 0 of `type` without the axes, or with 1 in their place.
static dq_status infer_reduced(dq_op *op, int type, const bool *reduced) {
  const dq_tensor *input = op->inputs[0];
  bool keep = dq_node_int(op->node, "keepdims", 1) != 0;
  int64_t dims[DQ_MAX_RANK];
  int rank = 0;
  for (int axis = 0; axis < input->rank; axis++)
    if (!reduced[axis]) dims[rank++] = input->dims[axis];
    else if (keep) dims[rank++] = 1;
  return dq_op_shape(op, 0, type, rank, dims);
}

static dq_status infer_reduce(dq_op *op) {
  bool reduced[DQ_MAX_RANK], known;
  DQ_TRY(dq_reduced_axes(op, reduced, &known));
  if (!known) return dq_op_unknown(op, 0, op->inputs[0]->type);
  return infer_reduced(op, op->inputs[0]->type, reduced);
}

static dq_status reduce(dq_op *op, dq_reduce_kind kind, dq_reduce_finish finish) {
  reduce_job job = {.kind = kind, .finish = finish, .input = op->inputs[0], .output = op->outputs[0]};
  bool reduced[DQ_MAX_RANK], known;
  DQ_TRY(dq_reduced_axes(op, reduced, &known));
  dq_reduction_plan(job.input, reduced, &job.plan);
  dq_spans(op->context, job.plan.sets, dq_reduction_grain(&job.plan), reduce_span, &job);
  return DQ_OK;
}

static dq_status emit_reduce(dq_emission *to, dq_reduce_kind kind, dq_reduce_finish finish) {
  bool reduced[DQ_MAX_RANK], known;
  dq_reduction plan;
  DQ_TRY(dq_reduced_axes(to->op, reduced, &known));
  if (!known) return dq_op_fail(to->op, DQ_UNSUPPORTED, "its axes are computed");
  dq_reduction_plan(to->op->inputs[0], reduced, &plan);
  return dq_emit_reduction(to, &plan, kind, finish);
}

static const dq_attribute_rule reduce_attributes[] = {{"axes", DQ_ATTRIBUTE_INTS, false},
                                                      {"keepdims", DQ_ATTRIBUTE_INT, false},
                                                      {"noop_with_empty_axes", DQ_ATTRIBUTE_INT, false},
                                                      {0}};

#define WIDE_TYPES (DQ_TYPES_FLOAT | DQ_BIT(DQ_I32) | DQ_BIT(DQ_I64) | DQ_BIT(DQ_U32) | DQ_BIT(DQ_U64))

#define ROW(NAME, VERSIONS, KIND, FINISH, TYPES, COLOUR, ...)                                                          \
  static dq_status run_##NAME(dq_op *op) { return reduce(op, KIND, FINISH); }                                          \
  static dq_status emit_##NAME(dq_emission *to) { return emit_reduce(to, KIND, FINISH); }                              \
  const dq_operator dq_op_##NAME = {.name = #NAME,                                                                     \
                                    .since = DQ_VERSIONS VERSIONS,                                                     \
                                    .inputs = {1, 2},                                                                  \
                                    .outputs = {1, 1},                                                                 \
                                    .types = TYPES,                                                                    \
                                    .attributes = reduce_attributes,                                                   \
                                    .infer = infer_reduce,                                                             \
                                    .run = run_##NAME,                                                                 \
                                    .emit = emit_##NAME,                                                               \
                                    .category = COLOUR,                                                                \
                                    .quantization = DQ_QUANTIZE_NOT,                                                   \
                                    .flags = DQ_OP_HALF,                                                               \
                                    __VA_ARGS__};

ROW(ReduceSum, (1, 11, 13), DQ_REDUCE_SUM, DQ_FINISH_PLAIN, WIDE_TYPES, DQ_DENY, .bound = DQ_BOUND_UNKNOWN,
    .gradient = dq_gradient_reduce_sum, .pictures = DQ_PICTURES_REDUCED)
ROW(ReduceMean, (1, 11, 13, 18), DQ_REDUCE_SUM, DQ_FINISH_MEAN, WIDE_TYPES, DQ_DENY, .bound = DQ_BOUND_MOVE,
    .gradient = dq_gradient_reduce_mean, .pictures = DQ_PICTURES_REDUCED)
ROW(ReduceProd, (1, 11, 13, 18), DQ_REDUCE_PRODUCT, DQ_FINISH_PLAIN, WIDE_TYPES, DQ_DENY, .bound = DQ_BOUND_UNKNOWN)
ROW(ReduceL1, (1, 11, 13, 18), DQ_REDUCE_SUM_ABS, DQ_FINISH_PLAIN, WIDE_TYPES, DQ_DENY, .bound = DQ_BOUND_UNKNOWN)
ROW(ReduceL2, (1, 11, 13, 18), DQ_REDUCE_SUM_SQUARE, DQ_FINISH_ROOT, WIDE_TYPES, DQ_DENY, .bound = DQ_BOUND_UNKNOWN)
ROW(ReduceSumSquare, (1, 11, 13, 18), DQ_REDUCE_SUM_SQUARE, DQ_FINISH_PLAIN, WIDE_TYPES, DQ_DENY,
    .bound = DQ_BOUND_UNKNOWN)
ROW(ReduceLogSum, (1, 11, 13, 18, 28), DQ_REDUCE_SUM, DQ_FINISH_LOG, WIDE_TYPES, DQ_DENY, .bound = DQ_BOUND_UNKNOWN)
ROW(ReduceLogSumExp, (1, 11, 13, 18, 28), DQ_REDUCE_SUM_EXP, DQ_FINISH_LOG, WIDE_TYPES, DQ_DENY,
    .bound = DQ_BOUND_UNKNOWN)
ROW(ReduceMax, (1, 11, 12, 13, 18, 20), DQ_REDUCE_MAXIMUM, DQ_FINISH_PLAIN,
    WIDE_TYPES | DQ_BIT(DQ_I8) | DQ_BIT(DQ_U8) | DQ_BIT(DQ_BOOL), DQ_FOLLOW, .bound = DQ_BOUND_MOVE)
ROW(ReduceMin, (1, 11, 12, 13, 18, 20), DQ_REDUCE_MINIMUM, DQ_FINISH_PLAIN,
    WIDE_TYPES | DQ_BIT(DQ_I8) | DQ_BIT(DQ_U8) | DQ_BIT(DQ_BOOL), DQ_FOLLOW, .bound = DQ_BOUND_MOVE)

// ---- ArgMax, ArgMin ----

typedef struct arg_job {
  dq_reduction plan;
  const dq_tensor *input;
  int64_t *output;
  bool smallest, last;
} arg_job;

static void arg_span(void *argument, int64_t from, int64_t to) {
  const arg_job *job = argument;
  const dq_reduction *plan = &job->plan;
  int64_t flip = order_flip(job->input->type);
  bool number = is_float(job->input->type);
  for (int64_t set = from; set < to; set++) {
    int64_t base = dq_reduction_set(plan, set), best = 0, best_integer = 0;
    double best_number = 0;
    for (int64_t at = 0; at < plan->length; at += CHUNK) {
      wide chunk;
      int64_t count = dq_min_i64(CHUNK, plan->length - at);
      load(job->input, base + at * plan->stride, plan->stride, count, flip, &chunk);
      for (int64_t i = 0; i < count; i++) {
        double x = number ? chunk.number[i] : 0;
        int64_t n = number ? 0 : chunk.integer[i];
        bool better = job->smallest ? (x < best_number || n < best_integer) : (x > best_number || n > best_integer);
        bool equal = x == best_number && n == best_integer;
        if (at + i && !better && !(equal && job->last)) continue;
        best = at + i, best_number = x, best_integer = n;
      }
    }
    job->output[set] = best;
  }
}

static dq_status arg_axis(const dq_op *op, bool *reduced) {
  const dq_tensor *input = op->inputs[0];
  int axis;
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", 0), input->rank, &axis));
  for (int i = 0; i < input->rank; i++) reduced[i] = i == axis;
  if (input->dims[axis] == 0)
    return dq_op_fail(op, DQ_BAD_INPUT, "there is nothing to choose from along axis %d", axis);
  return DQ_OK;
}

static dq_status infer_arg(dq_op *op) {
  bool reduced[DQ_MAX_RANK];
  DQ_TRY(arg_axis(op, reduced));
  return infer_reduced(op, DQ_I64, reduced);
}

static dq_status run_arg(dq_op *op) {
  bool reduced[DQ_MAX_RANK];
  DQ_TRY(arg_axis(op, reduced));
  arg_job job = {.input = op->inputs[0],
                 .output = op->outputs[0]->data,
                 .smallest = op->row->name[3] == 'M' && op->row->name[4] == 'i',
                 .last = dq_node_int(op->node, "select_last_index", 0) != 0};
  dq_reduction_plan(job.input, reduced, &job.plan);
  dq_spans(op->context, job.plan.sets, dq_reduction_grain(&job.plan), arg_span, &job);
  return DQ_OK;
}

static dq_status emit_arg(dq_emission *to) {
  bool reduced[DQ_MAX_RANK];
  dq_reduction plan;
  DQ_TRY(arg_axis(to->op, reduced));
  dq_reduction_plan(to->op->inputs[0], reduced, &plan);
  return dq_emit_extreme(to, &plan, to->op->row->name[4] == 'i',
                         dq_node_int(to->op->node, "select_last_index", 0) != 0);
}

static const dq_attribute_rule arg_attributes[] = {{"axis", DQ_ATTRIBUTE_INT, false},
                                                   {"keepdims", DQ_ATTRIBUTE_INT, false},
                                                   {"select_last_index", DQ_ATTRIBUTE_INT, false},
                                                   {0}};
#define ARG_ROW(NAME)                                                                                                  \
  const dq_operator dq_op_##NAME = {                                                                                   \
      .name = #NAME,                                                                                                   \
      .since = {1, 11, 12, 13},                                                                                        \
      .inputs = {1, 1},                                                                                                \
      .outputs = {1, 1},                                                                                               \
      .types = DQ_TYPES_NUMBER,                                                                                        \
      .attributes = arg_attributes,                                                                                    \
      .infer = infer_arg,                                                                                              \
      .run = run_arg,                                                                                                  \
      .emit = emit_arg,                                                                                                \
      .category = DQ_FOLLOW,                                                                                           \
      .quantization = DQ_QUANTIZE_NOT,                                                                                 \
      .flags = DQ_OP_HALF,                                                                                             \
  };
ARG_ROW(ArgMax)
ARG_ROW(ArgMin)

// ---- CumSum ----

static dq_status run_CumSum(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  dq_tensor *output = op->outputs[0];
  int64_t axes[DQ_MAX_INTS];
  int count, axis;
  DQ_TRY(dq_op_read_ints(op, 1, axes, &count));
  if (count != 1) return dq_op_fail(op, DQ_BAD_INPUT, "%d axes, expected 1", count);
  DQ_TRY(dq_op_axis(op, axes[0], input->rank, &axis));
  bool exclusive = dq_node_int(op->node, "exclusive", 0) != 0;
  bool reverse = dq_node_int(op->node, "reverse", 0) != 0, reduced[DQ_MAX_RANK] = {false};
  reduced[axis] = true;
  dq_reduction plan;
  dq_reduction_plan(input, reduced, &plan);
  for (int64_t set = 0; set < plan.sets && plan.length; set++) {
    int64_t base = dq_reduction_set(&plan, set);
    double number = 0;
    uint64_t integer = 0;
    for (int64_t k = 0; k < plan.length; k++) {
      int64_t at = base + (reverse ? plan.length - 1 - k : k) * plan.stride;
      double x = is_float(input->type) ? dq_tensor_get(input, at) : 0;
      uint64_t n = is_float(input->type) ? 0 : (uint64_t)dq_tensor_get_i64(input, at);
      double out_number = exclusive ? number : number + x;
      uint64_t out_integer = exclusive ? integer : integer + n;
      number += x;
      integer += n;
      if (is_float(input->type)) dq_tensor_set(output, at, out_number);
      else store_integer(output, at, (int64_t)out_integer);
    }
  }
  return DQ_OK;
}

static dq_status emit_CumSum(dq_emission *to) {
  const dq_op *op = to->op;
  int64_t axes[DQ_MAX_INTS];
  int count, axis;
  if (!dq_op_known(op, 1)) return dq_op_fail(op, DQ_UNSUPPORTED, "its axis is computed");
  DQ_TRY(dq_op_read_ints(op, 1, axes, &count));
  DQ_TRY(dq_op_axis(op, axes[0], op->inputs[0]->rank, &axis));
  bool reduced[DQ_MAX_RANK] = {false};
  reduced[axis] = true;
  dq_reduction plan;
  dq_reduction_plan(op->inputs[0], reduced, &plan);
  return dq_emit_running_sum(to, &plan, dq_node_int(op->node, "exclusive", 0) != 0,
                             dq_node_int(op->node, "reverse", 0) != 0);
}

static const dq_attribute_rule cumsum_attributes[] = {
    {"exclusive", DQ_ATTRIBUTE_INT, false}, {"reverse", DQ_ATTRIBUTE_INT, false}, {0}};
const dq_operator dq_op_CumSum = {
    .name = "CumSum",
    .since = {11, 14},
    .inputs = {2, 2},
    .outputs = {1, 1},
    .types = WIDE_TYPES,
    .attributes = cumsum_attributes,
    .infer = dq_infer_same,
    .run = run_CumSum,
    .emit = emit_CumSum,
    .half_since = 14,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_HALF,
};
