// QTable: what execution copies contain where a file has DequantizeLinear, functions of one value, and
// QuantizeLinear. A table of 256 results, or one for each index of an axis.
#include <inttypes.h>

#include "lib/base/sizes.h"
#include "lib/kernels/array/array.h"
#include "lib/ops/common/elementwise.h"
#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"

enum { ENTRIES = 256 };

// How the elements lie over the tables. An input of size 1 along the axis, or without it, is repeated
// as broadcasting against a constant of `channels` elements repeats it.
typedef struct layout {
  int64_t outer, channels, inner;
  bool repeats;
  int rank;
  int64_t dims[DQ_MAX_RANK]; // of the output
} layout;

static dq_status check_tables(const dq_op *op) {
  const dq_tensor *tables = op->inputs[1];
  if (tables->type < 32 && (DQ_TYPES_8_BIT & DQ_BIT(tables->type)) && (tables->rank == 1 || tables->rank == 2) &&
      tables->dims[tables->rank - 1] == ENTRIES)
    return DQ_OK;
  return dq_op_fail(op, DQ_BAD_INPUT, "the tables are not rows of %d elements of 8 bits", ENTRIES);
}

// Dimensions of the output, before the channels are in. The axis counts from the end, as broadcasting does, and may lie
// before the first dimension.
static dq_status widen(const dq_op *op, layout *l, int64_t axis) {
  const dq_tensor *input = op->inputs[0];
  const int64_t least_rank = dq_node_int(op->node, "least_rank", 0);
  if (axis < -DQ_MAX_RANK || axis >= 0 || least_rank < 0 || least_rank > DQ_MAX_RANK)
    return dq_op_fail(op, DQ_BAD_INPUT, "axis is %" PRId64 ", least_rank %" PRId64, axis, least_rank);
  if (input->rank < dq_node_int(op->node, "needed_rank", 0))
    return dq_op_fail(op, DQ_BAD_INPUT, "the slopes do not broadcast to the shape of the input");
  l->rank = (int)dq_max_i64(dq_max_i64(l->channels > 1 ? -axis : 0, least_rank), input->rank);
  const int missing = l->rank - input->rank;
  for (int i = 0; i < l->rank; i++) l->dims[i] = i < missing ? 1 : input->dims[i - missing];
  return DQ_OK;
}

static dq_status lay_out(const dq_op *op, layout *l) {
  const dq_tensor *input = op->inputs[0], *tables = op->inputs[1];
  const int64_t axis = dq_node_int(op->node, "axis", -1);
  DQ_TRY(check_tables(op));
  *l = (layout){1, tables->rank == 2 ? tables->dims[0] : 1, dq_tensor_count(input), false, input->rank, {0}};
  DQ_TRY(widen(op, l, axis));
  if (l->channels == 1) return DQ_OK;
  const int missing = l->rank - input->rank, at = l->rank + (int)axis;
  l->repeats = l->dims[at] == 1;
  if (l->repeats && dq_node_int(op->node, "needs_channels", 0))
    return dq_op_fail(op, DQ_BAD_INPUT, "the slopes do not broadcast to the shape of the input");
  if (l->dims[at] != l->channels && l->dims[at] != 1)
    return dq_op_fail(op, DQ_BAD_INPUT, "%" PRId64 " tables for %" PRId64 " elements along axis %" PRId64, l->channels,
                      l->dims[at], axis);
  l->dims[at] = l->channels;
  l->outer = dq_tensor_product(input, 0, at < missing ? 0 : at - missing);
  l->inner = dq_tensor_product(input, at < missing ? 0 : at - missing + 1, input->rank);
  return DQ_OK;
}

static dq_status infer(dq_op *op) {
  layout l;
  DQ_TRY(lay_out(op, &l));
  return dq_op_shape(op, 0, op->inputs[1]->type, l.rank, l.dims);
}

static dq_status emit(dq_emission *to) {
  const dq_op *op = to->op;
  layout l;
  DQ_TRY(lay_out(op, &l));
  if (!dq_op_known(op, 1)) return dq_op_fail(op, DQ_UNSUPPORTED, "its tables are computed");
  const dq_tensor *tables = op->inputs[1];
  int64_t in_outer = l.repeats ? l.inner : l.channels * l.inner;
  dq_emit_constant(to, tables->type, tables->data, dq_tensor_count(tables));
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", l.outer);
  dq_emit(to, "for (int32_t c = 0; c < %" PRId64 "; c++) {", l.channels);
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", l.inner);
  dq_emit(to,
          "y0[(n * %" PRId64 " + c) * %" PRId64 " + i] = c0[c * %d + (uint8_t)x0[n * %" PRId64 " + c * %" PRId64
          " + i]];",
          l.channels, l.inner, ENTRIES, in_outer, l.repeats ? 0 : l.inner);
  dq_emit_close(to, 3);
  return DQ_OK;
}

// A table for many elements may be two lines.
static dq_status prepare(dq_op *op, dq_arena *arena) {
  enum { WORTH = 1 << 12 };
  if (!dq_op_known(op, 1) || dq_tensor_count(op->inputs[1]) != ENTRIES) return DQ_OK;
  if (dq_tensor_count(op->outputs[0]) < WORTH) return DQ_OK;
  dq_ramps *ramps = DQ_NEW(arena, dq_ramps);
  if (!ramps) return dq_fail_memory(op->error, sizeof *ramps);
  if (dq_ramps_find(op->context ? op->context->cpu : 0, op->inputs[1]->data, ramps)) op->state = ramps;
  return DQ_OK;
}

typedef struct table_job {
  const uint8_t *input, *tables;
  uint8_t *output;
  layout layout;
  const dq_ramps *ramps; // NULL: the table
  dq_lookup_function *look_up;
  dq_ramps_function *follow;
} table_job;

static void look_up_span(void *argument, int64_t from, int64_t to) {
  const table_job *job = argument;
  if (job->ramps) job->follow(job->ramps, job->input + from, job->output + from, to - from);
  else job->look_up(job->input + from, job->tables, job->output + from, to - from);
}

static void look_up_channel(void *argument, int64_t i, int thread) {
  const table_job *job = argument;
  const layout *l = &job->layout;
  (void)thread;
  int64_t from = l->repeats ? i / l->channels : i;
  job->look_up(job->input + from * l->inner, job->tables + i % l->channels * ENTRIES, job->output + i * l->inner,
               l->inner);
}

// All channels of places whose channels are neighbours.
static void look_up_places(void *argument, int64_t from, int64_t to) {
  const table_job *job = argument;
  const layout *l = &job->layout;
  for (int64_t i = from; i < to; i++)
    for (int64_t c = 0; c < l->channels; c++)
      job->output[i * l->channels + c] = job->tables[c * ENTRIES + job->input[l->repeats ? i : i * l->channels + c]];
}

static dq_status run(dq_op *op) {
  unsigned cpu = op->context ? op->context->cpu : 0;
  table_job job = {.input = op->inputs[0]->data,
                   .tables = op->inputs[1]->data,
                   .output = op->outputs[0]->data,
                   .ramps = op->state,
                   .look_up = dq_lookup(cpu),
                   .follow = dq_ramps_of(cpu)};
  DQ_TRY(lay_out(op, &job.layout));
  const layout *l = &job.layout;
  if (l->channels == 1) dq_spans(op->context, l->outer * l->inner, DQ_GRAIN, look_up_span, &job);
  else if (l->inner == 1) dq_spans(op->context, l->outer, dq_max_i64(DQ_GRAIN / l->channels, 1), look_up_places, &job);
  else dq_op_parallel(op, l->outer * l->channels, l->inner, look_up_channel, &job);
  return DQ_OK;
}

const dq_operator dq_op_QTable = {
    .name = "QTable",
    .domain = "dq",
    .since = {1},
    .inputs = {2, 2},
    .outputs = {1, 1},
    .types = DQ_TYPES_8_BIT,
    .attributes =
        (const dq_attribute_rule[]){
            {"axis", DQ_ATTRIBUTE_INT, false},           // of the tables in the output, from its end: -1 is the last
            {"least_rank", DQ_ATTRIBUTE_INT, false},     // of the output, which gets dimensions of 1 in front
            {"needed_rank", DQ_ATTRIBUTE_INT, false},    // of the input
            {"needs_channels", DQ_ATTRIBUTE_INT, false}, // 1: an input of 1 element along the axis is not repeated
            {0}},
    .infer = infer,
    .prepare = prepare,
    .run = run,
    .emit = emit,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_IN_PLACE,
};
