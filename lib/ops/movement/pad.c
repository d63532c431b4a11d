// Pad: elements added (or, with negative pads, taken away) around a tensor.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/common/quantized.h"
#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"
#include "lib/text/find_row.h"

typedef enum pad_mode { CONSTANT, REFLECT, EDGE, WRAP } pad_mode;

typedef struct padding {
  pad_mode mode;
  bool known;
  int64_t begin[DQ_MAX_RANK], end[DQ_MAX_RANK];
} padding;

static dq_status read_mode(const dq_op *op, pad_mode *mode) {
  static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
  const char *word = dq_node_string(op->node, "mode", names[0]);
  const int found = dq_find_row(word, names, sizeof *names, DQ_COUNT(names));
  if (found < 0) return dq_op_fail(op, DQ_BAD_INPUT, "mode is '%s', expected constant, reflect, edge or wrap", word);
  *mode = (pad_mode)found;
  return DQ_OK;
}

static dq_status read_padding(const dq_op *op, padding *p) {
  int rank = op->inputs[0]->rank, count, axis_count;
  int64_t pads[DQ_MAX_INTS], axes[DQ_MAX_INTS];
  bool known;
  memset(p, 0, sizeof *p);
  DQ_TRY(read_mode(op, &p->mode));
  DQ_TRY(dq_op_axes(op, op->version == 1 ? "paddings" : "pads", 1, pads, &count, &p->known));
  DQ_TRY(dq_op_axes(op, "", 3, axes, &axis_count, &known));
  p->known = p->known && known;
  if (!p->known) return DQ_OK;
  if (count < 0) return dq_op_fail(op, DQ_BAD_INPUT, "pads are missing");
  int padded = axis_count < 0 ? rank : axis_count;
  if (count != 2 * padded) return dq_op_fail(op, DQ_BAD_INPUT, "pads has %d elements, expected %d", count, 2 * padded);
  for (int i = 0; i < padded; i++) {
    int axis;
    DQ_TRY(dq_op_axis(op, axis_count < 0 ? i : axes[i], rank, &axis));
    p->begin[axis] = pads[i];
    p->end[axis] = pads[padded + i];
  }
  return DQ_OK;
}

static dq_status infer(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  padding p;
  int64_t dims[DQ_MAX_RANK];
  DQ_TRY(read_padding(op, &p));
  if (!p.known) return dq_op_unknown(op, 0, input->type);
  for (int i = 0; i < input->rank; i++) {
    int64_t dim = input->dims[i];
    // What remains of the input is what the modes repeat.
    int64_t kept =
        dim + (p.begin[i] < 0 ? dq_max_i64(p.begin[i], -dim) : 0) + (p.end[i] < 0 ? dq_max_i64(p.end[i], -dim) : 0);
    if (!dq_add_i64(dim, p.begin[i], &dims[i]) || !dq_add_i64(dims[i], p.end[i], &dims[i]) || dims[i] < 0)
      return dq_op_fail(op, DQ_BAD_INPUT, "pads %" PRId64 " and %" PRId64 " do not fit dimension %d of %" PRId64,
                        p.begin[i], p.end[i], i, dim);
    if (p.mode != CONSTANT && kept <= 0 && dims[i] > 0)
      return dq_op_fail(op, DQ_BAD_INPUT, "nothing to repeat along dimension %d of %" PRId64, i, dim);
  }
  return dq_op_shape(op, 0, input->type, input->rank, dims);
}

// The fill value in the element type of the data: input 2, or the attribute before version 11.
static dq_status fill_value(const dq_op *op, uint64_t *bits) {
  dq_tensor value = {.type = op->inputs[0]->type, .rank = 0, .data = bits};
  const dq_tensor *given = dq_op_input(op, 2);
  *bits = 0;
  if (op->version < 11) {
    dq_tensor_set(&value, 0, (double)dq_node_float(op->node, "value", 0.0f));
  } else if (given) {
    if (given->type != value.type || dq_tensor_count(given) != 1)
      return dq_op_fail(op, DQ_BAD_INPUT, "constant_value is not one element of type %s", dq_dtype_name(value.type));
    memcpy(bits, given->data, dq_dtype_size(value.type));
  }
  return DQ_OK;
}

static dq_status run_constant(dq_op *op, const padding *p) {
  const dq_tensor *input = op->inputs[0], *output = op->outputs[0];
  size_t size = dq_dtype_size(input->type);
  uint64_t bits;
  DQ_TRY(fill_value(op, &bits));
  dq_fill_elements(output->data, dq_tensor_count(output), size, &bits);
  dq_strided plan = {.rank = input->rank};
  dq_strides(input->rank, input->dims, plan.from);
  dq_strides(input->rank, output->dims, plan.to);
  int64_t from = 0, to = 0;
  for (int i = 0; i < input->rank; i++) {
    int64_t first = p->begin[i] < 0 ? -p->begin[i] : 0;
    int64_t last = input->dims[i] + (p->end[i] < 0 ? p->end[i] : 0);
    if (last <= first) return DQ_OK;
    plan.dims[i] = last - first;
    from += first * plan.from[i];
    to += (p->begin[i] > 0 ? p->begin[i] : 0) * plan.to[i];
  }
  dq_strided_copy(op, &plan, size, (const char *)input->data + (size_t)from * size,
                  (char *)output->data + (size_t)to * size);
  return DQ_OK;
}

// Position in [0, size) that position `i`, counted from the first kept element, repeats.
static int64_t repeated(pad_mode mode, int64_t i, int64_t size) {
  if (mode == EDGE || size == 1) return i < 0 ? 0 : i >= size ? size - 1 : i;
  int64_t period = mode == WRAP ? size : 2 * (size - 1);
  int64_t phase = i % period;
  if (phase < 0) phase += period;
  return phase < size ? phase : period - phase;
}

// Offsets into the input for every position along every axis.
static int64_t *source_offsets(const dq_op *op, const padding *p) {
  const dq_tensor *input = op->inputs[0], *output = op->outputs[0];
  int64_t strides[DQ_MAX_RANK], total = 0;
  dq_strides(input->rank, input->dims, strides);
  for (int i = 0; i < input->rank; i++) total += output->dims[i];
  int64_t *offsets = dq_context_alloc(op->context, (size_t)total * sizeof *offsets), *next = offsets;
  for (int i = 0; offsets && i < input->rank; i++) {
    int64_t first = p->begin[i] < 0 ? -p->begin[i] : 0;
    int64_t kept = input->dims[i] + (p->end[i] < 0 ? p->end[i] : 0) - first;
    for (int64_t o = 0; o < output->dims[i]; o++)
      *next++ = (first + repeated(p->mode, o - p->begin[i] - first, kept)) * strides[i];
  }
  return offsets;
}

static dq_status run_repeating(dq_op *op, const padding *p) {
  const dq_tensor *input = op->inputs[0], *output = op->outputs[0];
  size_t size = dq_dtype_size(input->type);
  int64_t count = dq_tensor_count(output);
  if (!count) return DQ_OK;
  int64_t *offsets = source_offsets(op, p);
  if (!offsets) return dq_fail_memory(op->error, 0);
  for (int64_t i = 0; i < count; i++) {
    const int64_t *axis_offsets = offsets;
    int64_t from = 0, below = count, rest = i;
    for (int d = 0; d < input->rank; d++) {
      below /= output->dims[d];
      from += axis_offsets[rest / below];
      rest %= below;
      axis_offsets += output->dims[d];
    }
    memcpy((char *)output->data + (size_t)i * size, (const char *)input->data + (size_t)from * size, size);
  }
  dq_budget_free(offsets);
  return DQ_OK;
}

// Fills the result, and copies what is kept of the input into it.
static dq_status emit_constant(dq_emission *to, const padding *p) {
  const dq_tensor *x = to->op->inputs[0], *y = to->op->outputs[0];
  uint64_t *bits = DQ_NEW(to->arena, uint64_t);
  int64_t strides[DQ_MAX_RANK], from = 0, at = 0;
  char index[DQ_EMIT_OPERANDS][160];
  if (!bits) return dq_fail_memory(to->op->error, sizeof *bits);
  DQ_TRY(fill_value(to->op, bits));
  int value = dq_emit_constant(to, x->type, bits, 1);
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) y0[i] = c%d[0];", dq_tensor_count(y), value);
  dq_strides(x->rank, x->dims, strides);
  dq_emit_nest nest = dq_emit_nest_of(x->rank, y->dims);
  for (int i = 0; i < x->rank; i++) {
    int64_t first = p->begin[i] < 0 ? -p->begin[i] : 0, last = x->dims[i] + (p->end[i] < 0 ? p->end[i] : 0);
    if (last <= first) return DQ_OK;
    from += first * strides[i];
    at += (p->begin[i] > 0 ? p->begin[i] : 0) * nest.strides[0][i];
    nest.dims[i] = last - first, nest.strides[1][i] = strides[i];
  }
  nest.operands = 2;
  int loops = dq_emit_loops(to, &nest, index);
  dq_emit(to, "y0[%s + %" PRId64 "] = x0[%s + %" PRId64 "];", index[0], at, index[1], from);
  dq_emit_close(to, loops);
  return DQ_OK;
}

static dq_status emit(dq_emission *to) {
  padding p;
  if (!dq_op_known_but(to->op, 0)) return dq_op_fail(to->op, DQ_UNSUPPORTED, "its pads are computed");
  DQ_TRY(read_padding(to->op, &p));
  return p.mode == CONSTANT ? emit_constant(to, &p) : dq_emit_move(to);
}

static dq_status run(dq_op *op) {
  padding p;
  DQ_TRY(read_padding(op, &p));
  return p.mode == CONSTANT ? run_constant(op, &p) : run_repeating(op, &p);
}

// What a constant surrounds.
static dq_status gradient(const dq_gradient *gradient) {
  padding p;
  DQ_TRY(read_padding(gradient->op, &p));
  if (!p.known || p.mode != CONSTANT)
    return dq_op_fail(gradient->op, DQ_UNSUPPORTED, "training needs pads that are constant, of the mode constant");
  for (int i = 0; i < gradient->op->inputs[0]->rank; i++) p.begin[i] = -p.begin[i];
  return dq_gradient_set(gradient, 0, dq_gradient_placed(gradient, gradient->outputs[0], 0, p.begin, NULL));
}

const dq_operator dq_op_Pad = {
    .name = "Pad",
    .since = {1, 2, 11, 13, 18, 19, 21, 23, 24, 25},
    .inputs = {1, 4},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"mode", DQ_ATTRIBUTE_STRING, false},
                                              {"paddings", DQ_ATTRIBUTE_INTS, false},
                                              {"pads", DQ_ATTRIBUTE_INTS, false},
                                              {"value", DQ_ATTRIBUTE_FLOAT, false},
                                              {0}},
    .infer = infer,
    .run = run,
    .gradient = gradient,
    .emit = emit,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .bound = DQ_BOUND_MOVE,
};
