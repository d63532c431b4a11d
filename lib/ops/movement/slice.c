// Slice: every step-th element between start and end along some axes.
#include <inttypes.h>
#include <string.h>

#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"

typedef struct slices {
  int64_t start[DQ_MAX_RANK], step[DQ_MAX_RANK], count[DQ_MAX_RANK]; // per axis of the input
} slices;

typedef struct parameters {
  int64_t starts[DQ_MAX_INTS], ends[DQ_MAX_INTS], axes[DQ_MAX_INTS], steps[DQ_MAX_INTS];
  int start_count, end_count, axis_count, step_count; // -1: not given
  bool known;
} parameters;

static dq_status read_parameters(const dq_op *op, parameters *p) {
  bool known[4];
  // Inputs since version 10, attributes before: inputs that old nodes cannot have are never found.
  bool old = op->version < 10;
  DQ_TRY(dq_op_axes(op, old ? "starts" : "", old ? 9 : 1, p->starts, &p->start_count, &known[0]));
  DQ_TRY(dq_op_axes(op, old ? "ends" : "", old ? 9 : 2, p->ends, &p->end_count, &known[1]));
  DQ_TRY(dq_op_axes(op, old ? "axes" : "", old ? 9 : 3, p->axes, &p->axis_count, &known[2]));
  DQ_TRY(dq_op_axes(op, "", old ? 9 : 4, p->steps, &p->step_count, &known[3]));
  p->known = known[0] && known[1] && known[2] && known[3];
  if (!p->known) return DQ_OK;
  if (p->start_count < 0 || p->end_count < 0) return dq_op_fail(op, DQ_BAD_INPUT, "starts or ends are missing");
  if (p->end_count != p->start_count || (p->axis_count >= 0 && p->axis_count != p->start_count) ||
      (p->step_count >= 0 && p->step_count != p->start_count))
    return dq_op_fail(op, DQ_BAD_INPUT, "starts, ends, axes and steps have different lengths");
  return DQ_OK;
}

static int64_t clamp(int64_t value, int64_t dim, int64_t least, int64_t most) {
  if (value < 0) value += dim; // cannot overflow: the signs differ
  return value < least ? least : value > most ? most : value;
}

static dq_status resolve(const dq_op *op, const parameters *p, slices *s) {
  const dq_tensor *input = op->inputs[0];
  bool seen[DQ_MAX_RANK] = {0};
  for (int i = 0; i < input->rank; i++) {
    s->start[i] = 0;
    s->step[i] = 1;
    s->count[i] = input->dims[i];
  }
  for (int i = 0; i < p->start_count; i++) {
    int axis;
    DQ_TRY(dq_op_axis(op, p->axis_count >= 0 ? p->axes[i] : i, input->rank, &axis));
    if (seen[axis]) return dq_op_fail(op, DQ_BAD_INPUT, "axis %d is given twice", axis);
    seen[axis] = true;
    int64_t dim = input->dims[axis], step = p->step_count >= 0 ? p->steps[i] : 1;
    if (step == 0) return dq_op_fail(op, DQ_BAD_INPUT, "the step along axis %d is 0", axis);
    int64_t least = step > 0 ? 0 : -1, most = step > 0 ? dim : dim - 1;
    int64_t start = clamp(p->starts[i], dim, step > 0 ? 0 : dim ? 0 : -1, most);
    int64_t end = clamp(p->ends[i], dim, least, most);
    // Steps beyond the axis take one element; bounding them keeps the sums below in range.
    if (step > dim) step = dim ? dim : 1;
    if (step < -dim) step = dim ? -dim : -1;
    int64_t span = step > 0 ? end - start : start - end, size = step > 0 ? step : -step;
    s->start[axis] = start;
    s->step[axis] = step;
    s->count[axis] = span > 0 ? (span + size - 1) / size : 0;
  }
  return DQ_OK;
}

static dq_status infer(dq_op *op) {
  parameters p;
  slices s;
  DQ_TRY(read_parameters(op, &p));
  if (!p.known) return dq_op_unknown(op, 0, op->inputs[0]->type);
  DQ_TRY(resolve(op, &p, &s));
  return dq_op_shape(op, 0, op->inputs[0]->type, op->inputs[0]->rank, s.count);
}

static dq_status run(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  size_t size = dq_dtype_size(input->type);
  parameters p;
  slices s;
  DQ_TRY(read_parameters(op, &p));
  DQ_TRY(resolve(op, &p, &s));
  if (dq_tensor_count(op->outputs[0]) == 0) return DQ_OK;
  dq_strided plan = {.rank = input->rank};
  int64_t strides[DQ_MAX_RANK], offset = 0;
  dq_strides(input->rank, input->dims, strides);
  memcpy(plan.dims, s.count, sizeof s.count);
  for (int i = 0; i < input->rank; i++) {
    plan.from[i] = strides[i] * s.step[i];
    offset += strides[i] * s.start[i];
  }
  dq_strides(plan.rank, plan.dims, plan.to);
  dq_strided_copy(op, &plan, size, (const char *)input->data + (size_t)offset * size, op->outputs[0]->data);
  return DQ_OK;
}

static dq_status gradient(const dq_gradient *gradient) {
  parameters p;
  slices s;
  DQ_TRY(read_parameters(gradient->op, &p));
  if (!p.known) return dq_op_fail(gradient->op, DQ_UNSUPPORTED, "training needs starts and ends that are constant");
  DQ_TRY(resolve(gradient->op, &p, &s));
  return dq_gradient_set(gradient, 0, dq_gradient_placed(gradient, gradient->outputs[0], 0, s.start, s.step));
}

const dq_operator dq_op_Slice = {
    .name = "Slice",
    .since = {1, 10, 11, 13},
    .inputs = {1, 5},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"axes", DQ_ATTRIBUTE_INTS, false},
                                              {"ends", DQ_ATTRIBUTE_INTS, false},
                                              {"starts", DQ_ATTRIBUTE_INTS, false},
                                              {0}},
    .infer = infer,
    .run = run,
    .gradient = gradient,
    .emit = dq_emit_move,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .flags = DQ_OP_MOVES_8_BIT | DQ_OP_MOVES_CHANNELS,
    .bound = DQ_BOUND_MOVE,
};
