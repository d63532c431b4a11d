// The calls that every row shares: inference, preparation, runs, float16 by float32.
#include "lib/ops/table/operator.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/kernels/array/array.h"
#include "lib/text/find_row.h"

dq_status dq_op_infer(dq_op *op) { return dq_with_label(op->node, op->row->infer(op), op->error); }

static bool has_half(const dq_op *op) {
  if (!(op->row->flags & DQ_OP_HALF)) return false;
  for (int i = 0; i < op->input_count; i++)
    if (op->inputs[i] && op->inputs[i]->type == DQ_F16) return true;
  for (int i = 0; i < op->output_count; i++)
    if (op->outputs[i] && op->outputs[i]->type == DQ_F16) return true;
  return false;
}

static unsigned cpu_of(const dq_op *op) { return op->context ? op->context->cpu : 0; }

// A float32 form of a float16 tensor, in the arena; elements only when they are known.
static dq_tensor *widened(const dq_tensor *half, unsigned cpu, dq_arena *arena) {
  dq_tensor *wide = DQ_NEW(arena, dq_tensor);
  if (!wide) return NULL;
  *wide = *half;
  wide->type = DQ_F32;
  if (!half->data) return wide;
  int64_t count = dq_tensor_count(half);
  float *to = wide->data = dq_arena_alloc(arena, (size_t)count * sizeof(float));
  if (!to) return NULL;
  const uint16_t *from = half->data;
  dq_convert_f16_f32(cpu, from, to, count);
  return wide;
}

// The same op on float32 forms of its float16 tensors; outputs get memory in the arena.
static dq_status widen(const dq_op *op, dq_op *wide, dq_arena *arena) {
  *wide = *op;
  wide->inputs = DQ_NEW_ARRAY(arena, op->input_count, const dq_tensor *);
  wide->outputs = DQ_NEW_ARRAY(arena, op->output_count, dq_tensor *);
  if (!wide->inputs || !wide->outputs) return dq_fail_memory(op->error, 0);
  for (int i = 0; i < op->input_count; i++) {
    const dq_tensor *input = wide->inputs[i] = op->inputs[i];
    if (input && input->type == DQ_F16 && !(wide->inputs[i] = widened(input, cpu_of(op), arena)))
      return dq_fail_memory(op->error, 2 * dq_tensor_bytes(input));
  }
  for (int i = 0; i < op->output_count; i++) {
    dq_tensor *output = wide->outputs[i] = op->outputs[i];
    if (!output || output->type != DQ_F16) continue;
    if (!(wide->outputs[i] = dq_tensor_new(arena, DQ_F32, output->rank, output->dims)))
      return dq_fail_memory(op->error, 2 * dq_tensor_bytes(output));
  }
  return DQ_OK;
}

static void narrow_outputs(const dq_op *op, const dq_op *wide) {
  for (int i = 0; i < op->output_count; i++) {
    dq_tensor *output = op->outputs[i];
    if (!output || output == wide->outputs[i]) continue;
    const float *from = wide->outputs[i]->data;
    uint16_t *to = output->data;
    int64_t count = dq_tensor_count(output);
    dq_convert_f32_f16(cpu_of(op), from, to, count);
  }
}

static dq_status run_as_float(dq_op *op) {
  dq_arena *arena = dq_context_arena(op->context);
  if (!arena) return dq_fail_memory(op->error, 0);
  dq_op wide;
  dq_status status = widen(op, &wide, arena);
  if (status == DQ_OK) status = op->row->run(&wide);
  if (status == DQ_OK) narrow_outputs(op, &wide);
  dq_arena_free(arena);
  return status;
}

// The float32 form of a float16 node in a plan, made once: constants are widened for good, everything
// else has a place in scratch behind the row's own.
struct dq_half_form {
  dq_op wide;
  size_t *input_offsets, *output_offsets; // in scratch; 0: none
  int64_t piece;                          // elements at a time (DQ_OP_ELEMENTWISE); 0: all
  int64_t channels;                       // above 0: a piece is a plane, constants have an element for each
  const dq_tensor **constants;            // with pieces: the whole ones, of which wide has single elements
};

enum { HALF_ALIGNMENT = 64, HALF_PIECE = 2048, LEAST_PIECE = 64 }; // a piece of two inputs and an output: 24 kB

static size_t place_in_scratch(const dq_tensor *half, int64_t piece, size_t *used) {
  size_t offset = dq_round_up(*used, HALF_ALIGNMENT);
  *used = offset + (piece ? (size_t)piece * sizeof(float) : 2 * dq_tensor_bytes(half));
  return offset;
}

// A constant with one element per channel of the output: a vector where the operator says so (of_vectors), else along
// dimension 1 as broadcasting aligns it.
static bool by_channel(const dq_tensor *input, const dq_tensor *output, bool of_vectors) {
  if (!input->data || output->rank < 3 || dq_tensor_count(input) != output->dims[1]) return false;
  int axis = of_vectors ? 0 : 1 - (output->rank - input->rank);
  return axis >= 0 && axis < input->rank && input->dims[axis] == output->dims[1];
}

// Pieces of an elementwise node stay in the cache between widening, computing and rounding. Inputs
// of another shape than the output's must be constant. Sets piece and channels.
static void choose_piece(const dq_op *op, struct dq_half_form *form) {
  const dq_tensor *output = op->outputs[0];
  bool vectors = (op->row->flags & DQ_OP_CHANNEL_VECTORS) && !dq_node_int(op->node, "training_mode", 0);
  if (!(op->row->flags & DQ_OP_ELEMENTWISE) && !vectors) return;
  if (op->output_count != 1 || output->type != DQ_F16) return;
  int channelled = 0;
  for (int i = 0; i < op->input_count; i++) {
    const dq_tensor *input = op->inputs[i];
    bool whole = input && !input->data && input->type == DQ_F16 && dq_tensor_same_shape(input, output);
    bool single = !input || (input->data && dq_tensor_count(input) == 1);
    bool channel = !whole && !single && by_channel(input, output, vectors);
    if (!whole && !single && !channel) return;
    channelled += channel;
  }
  form->piece = HALF_PIECE * dq_pool_threads(op->context ? op->context->pool : NULL);
  if (!channelled) return;
  form->channels = output->dims[1];
  form->piece = dq_tensor_product(output, 2, output->rank);
  if (form->piece < LEAST_PIECE) form->piece = form->channels = 0;
}

static dq_status form_inputs(const dq_op *op, struct dq_half_form *form, dq_arena *arena) {
  for (int i = 0; i < op->input_count; i++) {
    const dq_tensor *input = form->wide.inputs[i] = op->inputs[i];
    if (input && input->type == DQ_F16 && !(form->wide.inputs[i] = widened(input, cpu_of(op), arena)))
      return dq_fail_memory(op->error, 2 * dq_tensor_bytes(input));
  }
  return DQ_OK;
}

static dq_status form_outputs(const dq_op *op, struct dq_half_form *form, dq_arena *arena) {
  for (int i = 0; i < op->output_count; i++) {
    dq_tensor *output = form->wide.outputs[i] = op->outputs[i];
    if (!output || output->type != DQ_F16) continue;
    dq_tensor *wide = form->wide.outputs[i] = dq_arena_copy(arena, output, sizeof *output);
    if (!wide) return dq_fail_memory(op->error, sizeof *wide);
    wide->type = DQ_F32;
  }
  return DQ_OK;
}

// Constants become single elements, which run_piece points at those of its channel.
static dq_status prepare_channels(const dq_op *op, struct dq_half_form *form, dq_arena *arena) {
  if (!form->piece) return DQ_OK;
  form->constants = DQ_NEW_ARRAY(arena, op->input_count, const dq_tensor *);
  dq_tensor *single = DQ_NEW_ARRAY(arena, op->input_count, dq_tensor);
  if (!form->constants || !single) return dq_fail_memory(op->error, sizeof *single);
  for (int i = 0; i < op->input_count; i++) {
    const dq_tensor *constant = form->wide.inputs[i];
    if (!constant || !op->inputs[i]->data) continue;
    form->constants[i] = constant;
    single[i] = (dq_tensor){.type = constant->type, .rank = 1, .dims = {1}, .data = constant->data};
    form->wide.inputs[i] = &single[i];
  }
  return DQ_OK;
}

static void point_to_channel(struct dq_half_form *form, int i, int64_t from) {
  const dq_tensor *constant = form->constants[i];
  if (dq_tensor_count(constant) == 1) return;
  int64_t at = from / form->piece % form->channels;
  ((dq_tensor *)(uintptr_t)form->wide.inputs[i])->data = // made in prepare_channels
      (char *)constant->data + (size_t)at * dq_dtype_size(constant->type);
}

static dq_status prepare_half(dq_op *op, dq_arena *arena) {
  struct dq_half_form *form = DQ_NEW(arena, struct dq_half_form);
  if (!form) return dq_fail_memory(op->error, sizeof *form);
  form->wide = *op;
  form->wide.inputs = DQ_NEW_ARRAY(arena, op->input_count, const dq_tensor *);
  form->wide.outputs = DQ_NEW_ARRAY(arena, op->output_count, dq_tensor *);
  form->input_offsets = DQ_NEW_ARRAY(arena, op->input_count, size_t);
  form->output_offsets = DQ_NEW_ARRAY(arena, op->output_count, size_t);
  if (!form->wide.inputs || !form->wide.outputs || !form->input_offsets || !form->output_offsets)
    return dq_fail_memory(op->error, sizeof *form);
  DQ_TRY(form_inputs(op, form, arena));
  DQ_TRY(form_outputs(op, form, arena));
  if (op->row->prepare) DQ_TRY(op->row->prepare(&form->wide, arena));
  choose_piece(op, form);
  DQ_TRY(prepare_channels(op, form, arena));
  size_t used = form->wide.scratch_bytes + 1; // so that no offset is 0
  for (int i = 0; i < op->input_count; i++)
    if (form->wide.inputs[i] != op->inputs[i] && !op->inputs[i]->data)
      form->input_offsets[i] = place_in_scratch(op->inputs[i], form->piece, &used);
  for (int i = 0; i < op->output_count; i++)
    if (form->wide.outputs[i] != op->outputs[i])
      form->output_offsets[i] = place_in_scratch(op->outputs[i], form->piece, &used);
  op->half = form;
  op->state = form->wide.state;
  op->scratch_bytes = used;
  return DQ_OK;
}

// Elements [from, from + count) of the inputs and the output as a plane of one channel.
static dq_status run_piece(dq_op *op, int64_t from, int64_t count) {
  struct dq_half_form *form = op->half;
  dq_op *wide = &form->wide;
  for (int i = 0; i < op->input_count; i++) {
    if (form->constants && form->constants[i]) point_to_channel(form, i, from);
    if (!form->input_offsets[i]) continue;
    float *elements = (float *)((char *)op->scratch + form->input_offsets[i]);
    dq_tensor *input = (dq_tensor *)(uintptr_t)wide->inputs[i]; // made in form_inputs
    *input = (dq_tensor){.type = DQ_F32, .rank = 3, .dims = {1, 1, count}, .data = elements};
    dq_convert_f16_f32(cpu_of(op), (const uint16_t *)op->inputs[i]->data + from, elements, count);
  }
  float *result = (float *)((char *)op->scratch + form->output_offsets[0]);
  *wide->outputs[0] = (dq_tensor){.type = DQ_F32, .rank = 3, .dims = {1, 1, count}, .data = result};
  DQ_TRY(op->row->run(wide));
  dq_convert_f32_f16(cpu_of(op), result, (uint16_t *)op->outputs[0]->data + from, count);
  return DQ_OK;
}

static dq_status run_pieces(dq_op *op) {
  int64_t count = dq_tensor_count(op->outputs[0]), piece = op->half->piece;
  op->half->wide.error = op->error;
  op->half->wide.scratch = op->scratch;
  for (int64_t from = 0; from < count; from += piece) DQ_TRY(run_piece(op, from, dq_min_i64(piece, count - from)));
  return DQ_OK;
}

static dq_status run_half(dq_op *op) {
  struct dq_half_form *form = op->half;
  if (form->piece) return run_pieces(op);
  dq_op *wide = &form->wide;
  wide->error = op->error;
  wide->scratch = op->scratch;
  for (int i = 0; i < op->input_count; i++) {
    if (!form->input_offsets[i]) continue;
    float *elements = (float *)((char *)op->scratch + form->input_offsets[i]);
    dq_convert_f16_f32(cpu_of(op), op->inputs[i]->data, elements, dq_tensor_count(op->inputs[i]));
    ((dq_tensor *)(uintptr_t)wide->inputs[i])->data = elements; // made in form_inputs
  }
  for (int i = 0; i < op->output_count; i++)
    if (form->output_offsets[i]) wide->outputs[i]->data = (char *)op->scratch + form->output_offsets[i];
  DQ_TRY(op->row->run(wide));
  narrow_outputs(op, wide);
  return DQ_OK;
}

// What runs change of a tensor is its pointer and shape, so that each form has a tensor of its own, also for the
// single elements of constants (prepare_channels). Whole constants stay those of `origin`.
static dq_status share_tensors(dq_op *op, const dq_op *origin, struct dq_half_form *form, dq_arena *arena) {
  for (int i = 0; i < op->input_count; i++) {
    const dq_tensor *wide = origin->half->wide.inputs[i];
    bool changes = form->input_offsets[i] || (form->constants && form->constants[i]);
    form->wide.inputs[i] = wide == origin->inputs[i] ? op->inputs[i]
                           : changes                 ? dq_arena_copy(arena, wide, sizeof *wide)
                                                     : wide;
    if (wide && !form->wide.inputs[i]) return dq_fail_memory(op->error, sizeof *wide);
  }
  for (int i = 0; i < op->output_count; i++) {
    const dq_tensor *wide = origin->half->wide.outputs[i];
    form->wide.outputs[i] = wide == origin->outputs[i] ? op->outputs[i] : dq_arena_copy(arena, wide, sizeof *wide);
    if (wide && !form->wide.outputs[i]) return dq_fail_memory(op->error, sizeof *wide);
  }
  return DQ_OK;
}

static dq_status share_half(dq_op *op, const dq_op *origin, dq_arena *arena) {
  struct dq_half_form *form = op->half = dq_arena_copy(arena, origin->half, sizeof *form);
  if (!form) return dq_fail_memory(op->error, sizeof *form);
  form->wide.context = op->context;
  form->wide.inputs = DQ_NEW_ARRAY(arena, op->input_count, const dq_tensor *);
  form->wide.outputs = DQ_NEW_ARRAY(arena, op->output_count, dq_tensor *);
  if (!form->wide.inputs || !form->wide.outputs) return dq_fail_memory(op->error, sizeof *form);
  return share_tensors(op, origin, form, arena);
}

dq_status dq_op_share(dq_op *op, const dq_op *origin, dq_arena *arena) {
  const dq_op own = *op;
  *op = *origin;
  op->context = own.context, op->error = own.error;
  op->inputs = own.inputs, op->outputs = own.outputs;
  op->scratch = NULL;
  return op->half ? share_half(op, origin, arena) : DQ_OK;
}

dq_status dq_op_alloc(const dq_op *op, dq_arena *arena, size_t bytes, void **memory) {
  enum { ALIGNMENT = 64 };
  size_t padded;
  char *block = dq_add_size(bytes, ALIGNMENT, &padded) ? dq_arena_alloc(arena, padded) : NULL;
  if (!block) return dq_fail_memory(op->error, bytes);
  size_t past = (uintptr_t)block % ALIGNMENT;
  *memory = block + (past ? ALIGNMENT - past : 0);
  return DQ_OK;
}

static dq_status prepare(dq_op *op, dq_arena *arena) {
  bool half = has_half(op), itself = !half || (op->row->flags & DQ_OP_HALF_KERNEL);
  if (itself && op->row->prepare) DQ_TRY(op->row->prepare(op, arena));
  return half && !op->state ? prepare_half(op, arena) : DQ_OK;
}

dq_status dq_op_prepare(dq_op *op, dq_arena *arena) { return dq_with_label(op->node, prepare(op, arena), op->error); }

// A node outside of a plan whose row may take float16 itself.
static dq_status run_once(dq_op *op) {
  dq_arena *arena = dq_context_arena(op->context);
  if (!arena) return dq_fail_memory(op->error, 0);
  dq_op own = *op;
  own.scratch_bytes = 0;
  dq_status status = prepare(&own, arena);
  if (status == DQ_OK) status = dq_op_alloc(op, arena, own.scratch_bytes, &own.scratch);
  if (status == DQ_OK) status = own.half ? run_half(&own) : own.row->run(&own);
  dq_arena_free(arena);
  return status;
}

static dq_status run(dq_op *op) {
  if (op->half) return run_half(op);
  if (op->state || !has_half(op)) return op->row->run(op);
  return op->row->flags & DQ_OP_HALF_KERNEL ? run_once(op) : run_as_float(op);
}

static dq_status check_type(const dq_op *op) {
  const dq_tensor *input = dq_op_input(op, 0);
  if (!input) return DQ_OK;
  bool half = input->type == DQ_F16 && (op->row->flags & DQ_OP_HALF);
  int type = half ? DQ_F32 : input->type;
  if (dq_dtype_computable(type) && (op->row->types & DQ_BIT(type))) return DQ_OK;
  return dq_op_fail(op, DQ_UNSUPPORTED, "operator %s (version %d) with elements of type %s is not supported",
                    op->row->name, op->version, dq_dtype_name(input->type));
}

dq_status dq_op_run(dq_op *op) {
  dq_status status = check_type(op);
  if (status == DQ_OK) status = run(op);
  return dq_with_label(op->node, status, op->error);
}

dq_status dq_op_shape(dq_op *op, int i, int type, int rank, const int64_t *dims) {
  dq_tensor *output = dq_op_output(op, i);
  return output ? dq_tensor_shape(output, type, rank, dims, op->error) : DQ_OK;
}

dq_status dq_op_unknown(dq_op *op, int i, int type) {
  dq_tensor *output = dq_op_output(op, i);
  if (output) {
    output->type = type;
    output->rank = -1;
  }
  return DQ_OK;
}

bool dq_op_known(const dq_op *op, int i) {
  const dq_tensor *input = dq_op_input(op, i);
  return input && input->data;
}

dq_status dq_op_read_ints(const dq_op *op, int i, int64_t *values, int *count) {
  const dq_tensor *input = op->inputs[i];
  if ((input->type != DQ_I64 && input->type != DQ_I32) || input->rank > 1)
    return dq_op_fail(op, DQ_BAD_INPUT, "input %d is %s of rank %d, expected a vector of int64", i,
                      dq_dtype_name(input->type), input->rank);
  int64_t found = dq_tensor_count(input);
  if (found > DQ_MAX_INTS)
    return dq_op_fail(op, DQ_UNSUPPORTED, "input %d has %" PRId64 " elements, at most %d are supported", i, found,
                      DQ_MAX_INTS);
  for (int64_t e = 0; e < found; e++) values[e] = dq_tensor_get_i64(input, e);
  *count = (int)found;
  return DQ_OK;
}

dq_status dq_op_axes(const dq_op *op, const char *attribute, int i, int64_t *values, int *count, bool *known) {
  *known = true;
  *count = -1;
  const dq_tensor *input = dq_op_input(op, i);
  if (input) {
    *known = input->data != NULL;
    return *known ? dq_op_read_ints(op, i, values, count) : DQ_OK;
  }
  int found;
  const int64_t *ints = dq_node_ints(op->node, attribute, &found);
  if (!ints) return DQ_OK;
  if (found > DQ_MAX_INTS)
    return dq_op_fail(op, DQ_UNSUPPORTED, "attribute '%s' has %d elements, at most %d are supported", attribute, found,
                      DQ_MAX_INTS);
  memcpy(values, ints, (size_t)found * sizeof *ints);
  *count = found;
  return DQ_OK;
}

dq_status dq_op_axis(const dq_op *op, int64_t axis, int rank, int *result) {
  if (axis < -rank || axis >= rank)
    return dq_op_fail(op, DQ_BAD_INPUT, "axis %" PRId64 " is outside the %d dimensions", axis, rank);
  *result = (int)(axis < 0 ? axis + rank : axis);
  return DQ_OK;
}

dq_status dq_op_axis_of_input(const dq_op *op, int64_t missing, int *result) {
  return dq_op_axis(op, dq_node_int(op->node, "axis", missing), op->inputs[0]->rank, result);
}

dq_status dq_op_word(const dq_op *op, const char *attribute, const char *const *words, int count, int *index) {
  const char *word = dq_node_string(op->node, attribute, words[0]);
  *index = dq_find_row(word, words, sizeof *words, count);
  if (*index >= 0) return DQ_OK;
  return dq_op_fail(op, DQ_BAD_INPUT, "attribute '%s' is '%s', which is none of its %d known words", attribute, word,
                    count);
}

dq_status dq_op_broadcast(const dq_op *op, int count, int *rank, int64_t *dims) {
  *rank = 0;
  for (int i = 0; i < count; i++)
    if (op->inputs[i] && op->inputs[i]->rank > *rank) *rank = op->inputs[i]->rank;
  for (int axis = 0; axis < *rank; axis++) {
    int64_t size = 1;
    for (int i = 0; i < count; i++) {
      const dq_tensor *input = op->inputs[i];
      int own = input ? axis - (*rank - input->rank) : -1;
      int64_t dim = own < 0 ? 1 : input->dims[own];
      if (dim == 1 || dim == size) continue;
      if (size != 1)
        return dq_op_fail(op, DQ_BAD_INPUT, "inputs do not broadcast: dimension %d is %" PRId64 " and %" PRId64, axis,
                          size, dim);
      size = dim;
    }
    dims[axis] = size;
  }
  return DQ_OK;
}

dq_status dq_infer_same(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  return dq_op_shape(op, 0, input->type, input->rank, input->dims);
}

static dq_status infer_broadcast_as(dq_op *op, int type) {
  int rank;
  int64_t dims[DQ_MAX_RANK];
  DQ_TRY(dq_op_broadcast(op, op->input_count, &rank, dims));
  return dq_op_shape(op, 0, type, rank, dims);
}

dq_status dq_infer_broadcast(dq_op *op) { return infer_broadcast_as(op, op->inputs[0]->type); }

dq_status dq_infer_compare(dq_op *op) { return infer_broadcast_as(op, DQ_BOOL); }
