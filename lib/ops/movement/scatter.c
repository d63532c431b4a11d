// Scatter, ScatterElements, ScatterND: a copy of the data with updates at the places that indices
// name, stored or combined with what is there.
#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/common/strided.h"
#include "lib/text/find_row.h"

typedef enum reduction { STORE, ADD, MULTIPLY, MAXIMUM, MINIMUM } reduction;

static dq_status read_reduction(const dq_op *op, reduction *kind) {
  static const char *const names[] = {"none", "add", "mul", "max", "min"};
  const char *word = dq_node_string(op->node, "reduction", names[0]);
  const int found = dq_find_row(word, names, sizeof *names, DQ_COUNT(names));
  if (found < 0) return dq_op_fail(op, DQ_BAD_INPUT, "reduction is '%s', expected none, add, mul, max or min", word);
  *kind = (reduction)found;
  return DQ_OK;
}

// Double is exact enough for one rounding at the end: it has more than twice the digits of float32.
static double combine_floats(reduction kind, double old, double update) {
  switch (kind) {
  case ADD: return old + update;
  case MULTIPLY: return old * update;
  case MAXIMUM: return old > update || old != old ? old : update;
  case MINIMUM: return old < update || old != old ? old : update;
  default: return update;
  }
}

// Sums and products wrap as in two's complement.
static int64_t combine_integers(reduction kind, bool is_unsigned, int64_t old, int64_t update) {
  bool greater = is_unsigned ? (uint64_t)old > (uint64_t)update : old > update;
  switch (kind) {
  case ADD: return (int64_t)((uint64_t)old + (uint64_t)update);
  case MULTIPLY: return (int64_t)((uint64_t)old * (uint64_t)update);
  case MAXIMUM: return greater ? old : update;
  case MINIMUM: return greater ? update : old;
  default: return update;
  }
}

// Puts elements [from, from + count) of the updates at [to, to + count) of the output.
static void put(const dq_op *op, reduction kind, int64_t to, int64_t from, int64_t count) {
  dq_tensor *output = op->outputs[0];
  const dq_tensor *updates = op->inputs[2];
  size_t size = dq_dtype_size(output->type);
  char *target = (char *)output->data + (size_t)to * size;
  if (kind == STORE) {
    memcpy(target, (const char *)updates->data + (size_t)from * size, (size_t)count * size);
    return;
  }
  bool is_unsigned = output->type == DQ_U64, is_bool = output->type == DQ_BOOL;
  for (int64_t i = 0; i < count; i++) {
    if (DQ_BIT(output->type) & DQ_TYPES_FLOAT) {
      double old = dq_tensor_get(output, to + i), update = dq_tensor_get(updates, from + i);
      dq_tensor_set(output, to + i, combine_floats(kind, old, update));
      continue;
    }
    int64_t old = dq_tensor_get_i64(output, to + i), update = dq_tensor_get_i64(updates, from + i);
    int64_t value = combine_integers(kind, is_unsigned, old, update);
    if (is_bool) value = value != 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(target + (size_t)i * size, &value, size);
#else
    memcpy(target + (size_t)i * size, (char *)&value + sizeof value - size, size);
#endif
  }
}

static dq_status check_types(const dq_op *op) {
  int type = op->inputs[1]->type;
  if (type != DQ_I64 && type != DQ_I32)
    return dq_op_fail(op, DQ_BAD_INPUT, "the indices are %s, expected int64 or int32", dq_dtype_name(type));
  if (op->inputs[2]->type != op->inputs[0]->type)
    return dq_op_fail(op, DQ_BAD_INPUT, "the updates are %s, the data %s, expected one type",
                      dq_dtype_name(op->inputs[2]->type), dq_dtype_name(op->inputs[0]->type));
  reduction kind = STORE;
  return read_reduction(op, &kind);
}

static dq_status read_index(const dq_op *op, int64_t i, int64_t dim, int64_t *index) {
  int64_t value = dq_tensor_get_i64(op->inputs[1], i);
  *index = value < 0 ? value + dim : value;
  if (*index >= 0 && *index < dim) return DQ_OK;
  return dq_op_fail(op, DQ_BAD_INPUT, "index %" PRId64 " is outside a dimension of %" PRId64, value, dim);
}

static dq_status infer_elements(dq_op *op) {
  const dq_tensor *data = op->inputs[0], *indices = op->inputs[1];
  int axis;
  DQ_TRY(check_types(op));
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", 0), data->rank, &axis));
  if (indices->rank != data->rank || !dq_tensor_same_shape(indices, op->inputs[2]))
    return dq_op_fail(op, DQ_BAD_INPUT, "indices and updates need the same shape and the %d dimensions of the data",
                      data->rank);
  for (int i = 0; i < data->rank; i++)
    if (i != axis && indices->dims[i] > data->dims[i])
      return dq_op_fail(op, DQ_BAD_INPUT, "dimension %d of the indices is %" PRId64 ", that of the data %" PRId64, i,
                        indices->dims[i], data->dims[i]);
  return dq_infer_same(op);
}

static dq_status run_elements(dq_op *op) {
  const dq_tensor *data = op->inputs[0], *indices = op->inputs[1];
  int64_t strides[DQ_MAX_RANK], count = dq_tensor_count(indices);
  int axis;
  reduction kind = STORE;
  DQ_TRY(read_reduction(op, &kind));
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", 0), data->rank, &axis));
  DQ_TRY(dq_run_copy(op));
  dq_strides(data->rank, data->dims, strides);
  for (int64_t i = 0; i < count; i++) {
    int64_t index;
    DQ_TRY(read_index(op, i, data->dims[axis], &index));
    put(op, kind, dq_place_along(indices, i, strides, axis, index), i, 1);
  }
  return DQ_OK;
}

static dq_status infer_nd(dq_op *op) {
  const dq_tensor *data = op->inputs[0], *indices = op->inputs[1], *updates = op->inputs[2];
  DQ_TRY(check_types(op));
  if (indices->rank < 1 || data->rank < 1)
    return dq_op_fail(op, DQ_BAD_INPUT, "data and indices need at least 1 dimension");
  int64_t tuple = indices->dims[indices->rank - 1];
  if (tuple > data->rank)
    return dq_op_fail(op, DQ_BAD_INPUT, "index tuples of %" PRId64 " elements for data of %d dimensions", tuple,
                      data->rank);
  int rank = indices->rank - 1 + data->rank - (int)tuple;
  bool fits = updates->rank == rank;
  for (int i = 0; fits && i < rank; i++) {
    int own = i - (indices->rank - 1);
    fits = updates->dims[i] == (own < 0 ? indices->dims[i] : data->dims[(int)tuple + own]);
  }
  char text[DQ_SHAPE_TEXT];
  if (!fits)
    return dq_op_fail(op, DQ_BAD_INPUT, "updates of shape %s do not fit data and indices",
                      dq_tensor_shape_text(updates, text, sizeof text));
  return dq_infer_same(op);
}

static dq_status run_nd(dq_op *op) {
  const dq_tensor *data = op->inputs[0], *indices = op->inputs[1];
  int tuple = (int)indices->dims[indices->rank - 1];
  int64_t strides[DQ_MAX_RANK], places = dq_tensor_product(indices, 0, indices->rank - 1);
  int64_t slice = dq_tensor_product(data, tuple, data->rank);
  reduction kind = STORE;
  DQ_TRY(read_reduction(op, &kind));
  DQ_TRY(dq_run_copy(op));
  dq_strides(data->rank, data->dims, strides);
  for (int64_t i = 0; slice && i < places; i++) {
    int64_t to = 0, index;
    for (int d = 0; d < tuple; d++) {
      DQ_TRY(read_index(op, i * tuple + d, data->dims[d], &index));
      to += index * strides[d];
    }
    put(op, kind, to, i * slice, slice);
  }
  return DQ_OK;
}

const dq_operator dq_op_Scatter = {
    .name = "Scatter",
    .since = {9},
    .inputs = {3, 3},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"axis", DQ_ATTRIBUTE_INT, false}, {0}},
    .infer = infer_elements,
    .run = run_elements,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_IN_PLACE,
};

const dq_operator dq_op_ScatterElements = {
    .name = "ScatterElements",
    .since = {11, 13, 16, 18},
    .inputs = {3, 3},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes =
        (const dq_attribute_rule[]){{"axis", DQ_ATTRIBUTE_INT, false}, {"reduction", DQ_ATTRIBUTE_STRING, false}, {0}},
    .infer = infer_elements,
    .run = run_elements,
    .reduces_by = "reduction",
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_IN_PLACE,
};

const dq_operator dq_op_ScatterND = {
    .name = "ScatterND",
    .since = {11, 13, 16, 18},
    .inputs = {3, 3},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"reduction", DQ_ATTRIBUTE_STRING, false}, {0}},
    .infer = infer_nd,
    .run = run_nd,
    .reduces_by = "reduction",
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_IN_PLACE,
};
