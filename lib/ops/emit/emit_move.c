// Moves of elements in C.
#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/common/quantized.h"
#include "lib/ops/emit/emit.h"

// The number of the element of input 0 that each element of an output is.
typedef struct origins {
  int64_t count;
  double *numbers; // [count]
} origins;

static dq_status find_origins(dq_emission *to, const dq_op *original, int output, origins *found) {
  dq_op op = *original;
  dq_tensor input = *op.inputs[0], outputs[DQ_EMIT_OPERANDS];
  const dq_tensor *inputs[16];
  dq_tensor *results[DQ_EMIT_OPERANDS];
  input.type = op.row->types & DQ_BIT(DQ_I32) ? DQ_I32 : DQ_F32;
  if (op.input_count > 16 || op.output_count > DQ_EMIT_OPERANDS || dq_tensor_count(&input) > 1 << 24)
    return dq_op_fail(original, DQ_UNSUPPORTED, "it has more than 2^24 elements or %d outputs", DQ_EMIT_OPERANDS);
  input.data = dq_arena_array(to->arena, (size_t)dq_tensor_count(&input), 4);
  if (!input.data) return dq_fail_memory(original->error, 0);
  for (int64_t i = 0; i < dq_tensor_count(&input); i++) dq_tensor_set(&input, i, (double)(i + 1));
  for (int i = 0; i < op.input_count; i++) inputs[i] = i ? op.inputs[i] : &input;
  for (int o = 0; o < op.output_count; o++) {
    results[o] = op.outputs[o] ? &outputs[o] : NULL;
    if (!results[o]) continue;
    outputs[o] = *op.outputs[o];
    outputs[o].type = input.type;
    outputs[o].data = dq_arena_array(to->arena, (size_t)dq_tensor_count(&outputs[o]), 4);
    if (!outputs[o].data) return dq_fail_memory(original->error, 0);
  }
  op.inputs = inputs, op.outputs = results, op.state = NULL, op.scratch = NULL;
  DQ_TRY(dq_op_run(&op));
  found->count = dq_tensor_count(&outputs[output]);
  found->numbers = DQ_NEW_ARRAY(to->arena, found->count, double);
  if (!found->numbers) return dq_fail_memory(original->error, 0);
  for (int64_t i = 0; i < found->count; i++) found->numbers[i] = dq_tensor_get(&outputs[output], i) - 1;
  return DQ_OK;
}

// Whether the origin of element (i0, i1, ...) is base + f0[i0] + f1[i1] + ..., and the functions.
static bool is_separable(const dq_tensor *shape, const origins *from, int32_t *functions[DQ_MAX_RANK]) {
  double base = from->numbers[0];
  int64_t step = 1;
  for (int d = shape->rank - 1; d >= 0; step *= shape->dims[d--])
    for (int64_t i = 0; i < shape->dims[d]; i++) functions[d][i] = (int32_t)(from->numbers[i * step] - base);
  for (int64_t e = 0; e < from->count; e++) {
    double sum = base;
    int64_t left = e;
    for (int d = shape->rank - 1; d >= 0; left /= shape->dims[d--]) sum += functions[d][left % shape->dims[d]];
    if (sum != from->numbers[e]) return false;
  }
  return true;
}

static bool is_linear(const int32_t *function, int64_t count) {
  for (int64_t i = 1; i < count; i++)
    if (function[i] != i * function[1]) return false;
  return true;
}

// Dimensions whose function is no line take a table, and keep a loop of their own.
static void copy_loops(dq_emission *to, int output, const dq_tensor *shape, int64_t base,
                       int32_t *const functions[DQ_MAX_RANK]) {
  char from[400];
  int at = snprintf(from, sizeof from, "%" PRId64, base);
  dq_emit(to, "int32_t at = 0;");
  for (int d = 0; d < shape->rank; d++) {
    int64_t size = shape->dims[d];
    if (size == 1) continue;
    dq_emit(to, "for (int32_t i%d = 0; i%d < %" PRId64 "; i%d++) {", d, d, size, d);
    if (is_linear(functions[d], size))
      at += snprintf(from + at, sizeof from - (size_t)at, " + i%d * %d", d, functions[d][1]);
    else
      at += snprintf(from + at, sizeof from - (size_t)at, " + c%d[i%d]",
                     dq_emit_constant(to, DQ_I32, functions[d], size), d);
  }
  dq_emit(to, "y%d[at++] = x0[%s];", output, from);
  for (int d = 0; d < shape->rank; d++)
    if (shape->dims[d] != 1) dq_emit(to, "}");
}

// The places of all elements as a table.
static dq_status copy_by_table(dq_emission *to, int output, const origins *from) {
  enum { MOST = 1 << 16 }; // of 4 bytes
  int32_t *places = from->count > MOST ? NULL : DQ_NEW_ARRAY(to->arena, from->count, int32_t);
  if (from->count > MOST) return dq_op_fail(to->op, DQ_UNSUPPORTED, "its elements move in a way that has no C yet");
  if (!places) return dq_fail_memory(to->op->error, (size_t)from->count * sizeof *places);
  for (int64_t i = 0; i < from->count; i++) {
    if (from->numbers[i] < 0)
      return dq_op_fail(to->op, DQ_UNSUPPORTED, "an element of its result is no element of its input");
    places[i] = (int32_t)from->numbers[i];
  }
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) y%d[i] = x0[c%d[i]];", from->count, output,
          dq_emit_constant(to, DQ_I32, places, from->count));
  return DQ_OK;
}

static dq_status move_output(dq_emission *to, int output) {
  const dq_tensor *shape = to->op->outputs[output];
  origins from = {0};
  int32_t *functions[DQ_MAX_RANK];
  DQ_TRY(find_origins(to, to->op, output, &from));
  if (!from.count) return DQ_OK;
  for (int d = 0; d < shape->rank; d++)
    if (!(functions[d] = DQ_NEW_ARRAY(to->arena, shape->dims[d], int32_t))) return dq_fail_memory(to->op->error, 0);
  if (!is_separable(shape, &from, functions)) return copy_by_table(to, output, &from);
  dq_emit(to, "{");
  copy_loops(to, output, shape, (int64_t)from.numbers[0], functions);
  dq_emit(to, "}");
  return DQ_OK;
}

dq_status dq_emit_move(dq_emission *to) {
  if (to->op->inputs[0]->data) return dq_op_fail(to->op, DQ_UNSUPPORTED, "its input is constant");
  if (!dq_op_known_but(to->op, 0))
    return dq_op_fail(to->op, DQ_UNSUPPORTED, "an input other than the first is computed");
  for (int o = 0; o < to->op->output_count; o++)
    if (to->op->outputs[o]) DQ_TRY(move_output(to, o));
  return DQ_OK;
}
