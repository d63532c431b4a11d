// Gather, GatherElements, GatherND: elements picked by indices.
#include <inttypes.h>
#include <string.h>

#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"

static dq_status check_indices(const dq_op *op) {
  int type = op->inputs[1]->type;
  if (type == DQ_I64 || type == DQ_I32) return DQ_OK;
  return dq_op_fail(op, DQ_BAD_INPUT, "the indices are %s, expected int64 or int32", dq_dtype_name(type));
}

// Index `i` of the indices, made positive and checked against the dimension it selects from.
static inline dq_status read_index(const dq_op *op, int64_t i, int64_t dim, int64_t *index) {
  const dq_tensor *indices = op->inputs[1];
  int64_t value = indices->type == DQ_I64 ? ((const int64_t *)indices->data)[i] : ((const int32_t *)indices->data)[i];
  *index = value < 0 ? value + dim : value;
  if (*index >= 0 && *index < dim) return DQ_OK;
  return dq_op_fail(op, DQ_BAD_INPUT, "index %" PRId64 " is outside a dimension of %" PRId64, value, dim);
}

static dq_status infer_gather(dq_op *op) {
  const dq_tensor *data = op->inputs[0], *indices = op->inputs[1];
  int axis;
  DQ_TRY(check_indices(op));
  DQ_TRY(dq_op_axis_of_input(op, 0, &axis));
  int64_t dims[2 * DQ_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < axis; i++) dims[rank++] = data->dims[i];
  for (int i = 0; i < indices->rank; i++) dims[rank++] = indices->dims[i];
  for (int i = axis + 1; i < data->rank; i++) dims[rank++] = data->dims[i];
  return dq_op_shape(op, 0, data->type, rank, dims);
}

static dq_status run_gather(dq_op *op) {
  const dq_tensor *data = op->inputs[0];
  int axis;
  DQ_TRY(dq_op_axis_of_input(op, 0, &axis));
  int64_t count = dq_tensor_count(op->inputs[1]), outer = dq_tensor_product(data, 0, axis);
  size_t bytes = (size_t)dq_tensor_product(data, axis + 1, data->rank) * dq_dtype_size(data->type);
  for (int64_t i = 0; i < count; i++) {
    int64_t index;
    DQ_TRY(read_index(op, i, data->dims[axis], &index));
    for (int64_t o = 0; bytes && o < outer; o++)
      memcpy((char *)op->outputs[0]->data + (size_t)(o * count + i) * bytes,
             (const char *)data->data + (size_t)(o * data->dims[axis] + index) * bytes, bytes);
  }
  return DQ_OK;
}

// The transpose of the map that picks the elements.
static dq_status gradient_gather(const dq_gradient *gradient) {
  const dq_op *op = gradient->op;
  const dq_tensor *data = op->inputs[0], *indices = op->inputs[1];
  dq_gradient_shape shape = {.rank = data->rank};
  int axis;
  if (!indices->data) return dq_op_fail(op, DQ_UNSUPPORTED, "training needs indices that are constant");
  DQ_TRY(dq_op_axis_of_input(op, 0, &axis));
  dq_tensor *map = dq_gradient_matrix(gradient, data->dims[axis], dq_tensor_count(indices));
  for (int64_t i = 0; map && i < map->dims[1]; i++) {
    int64_t index;
    DQ_TRY(read_index(op, i, data->dims[axis], &index));
    dq_tensor_set(map, index * map->dims[1] + i, 1);
  }
  for (int i = 0; i < data->rank; i++) shape.dims[i] = i == axis ? dq_tensor_count(indices) : data->dims[i];
  return dq_gradient_set(gradient, 0, dq_gradient_mapped(gradient, gradient->outputs[0], &shape, axis, map));
}

// Computed indices, or constant data. Where run_gather refuses an index, the C takes the nearest one there is.
static dq_status emit_gather(dq_emission *to) {
  const dq_op *op = to->op;
  const dq_tensor *data = op->inputs[0], *indices = op->inputs[1];
  char index[100], name[16];
  int axis;
  if (!data->data && indices->data) return dq_emit_move(to);
  DQ_TRY(dq_op_axis_of_input(op, 0, &axis));
  const int64_t dim = data->dims[axis], inner = dq_tensor_product(data, axis + 1, data->rank);
  if (!dim) return dq_op_fail(op, DQ_BAD_INPUT, "there is nothing to choose from along axis %d", axis);
  dq_emit_element(to, 1, "i", index);
  dq_emit_input(to, 0, name);
  dq_emit(to, "int32_t at = 0;");
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", dq_tensor_product(data, 0, axis));
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", dq_tensor_count(indices));
  dq_emit(to, "const int64_t given = %s, index = given < 0 ? given + %" PRId64 " : given;", index, dim);
  dq_emit(to, "const int32_t inside = index < 0 ? 0 : index < %" PRId64 " ? (int32_t)index : %" PRId64 ";", dim,
          dim - 1);
  dq_emit(to, "for (int32_t k = 0; k < %" PRId64 "; k++) y0[at++] = %s[(n * %" PRId64 " + inside) * %" PRId64 " + k];",
          inner, name, dim, inner);
  dq_emit_close(to, 2);
  return DQ_OK;
}

static dq_status infer_elements(dq_op *op) {
  const dq_tensor *data = op->inputs[0], *indices = op->inputs[1];
  int axis;
  DQ_TRY(check_indices(op));
  DQ_TRY(dq_op_axis_of_input(op, 0, &axis));
  if (indices->rank != data->rank)
    return dq_op_fail(op, DQ_BAD_INPUT, "the indices have %d dimensions, the data %d", indices->rank, data->rank);
  for (int i = 0; i < data->rank; i++)
    if (i != axis && indices->dims[i] > data->dims[i])
      return dq_op_fail(op, DQ_BAD_INPUT, "dimension %d of the indices is %" PRId64 ", that of the data %" PRId64, i,
                        indices->dims[i], data->dims[i]);
  return dq_op_shape(op, 0, data->type, indices->rank, indices->dims);
}

static dq_status run_elements(dq_op *op) {
  const dq_tensor *data = op->inputs[0], *indices = op->inputs[1];
  size_t size = dq_dtype_size(data->type);
  int64_t strides[DQ_MAX_RANK], count = dq_tensor_count(indices);
  int axis;
  DQ_TRY(dq_op_axis_of_input(op, 0, &axis));
  dq_strides(data->rank, data->dims, strides);
  for (int64_t i = 0; i < count; i++) {
    int64_t index;
    DQ_TRY(read_index(op, i, data->dims[axis], &index));
    int64_t from = dq_place_along(indices, i, strides, axis, index);
    memcpy((char *)op->outputs[0]->data + (size_t)i * size, (const char *)data->data + (size_t)from * size, size);
  }
  return DQ_OK;
}

static dq_status infer_nd(dq_op *op) {
  const dq_tensor *data = op->inputs[0], *indices = op->inputs[1];
  int64_t batch = dq_node_int(op->node, "batch_dims", 0);
  DQ_TRY(check_indices(op));
  int least = data->rank < indices->rank ? data->rank : indices->rank;
  if (batch < 0 || batch >= least)
    return dq_op_fail(op, DQ_BAD_INPUT, "batch_dims is %" PRId64 ", expected 0 or more and less than %d", batch, least);
  int64_t tuple = indices->dims[indices->rank - 1];
  if (tuple < 1 || tuple > data->rank - batch)
    return dq_op_fail(op, DQ_BAD_INPUT, "index tuples of %" PRId64 " elements, expected 1 to %" PRId64, tuple,
                      data->rank - batch);
  for (int i = 0; i < batch; i++)
    if (indices->dims[i] != data->dims[i])
      return dq_op_fail(op, DQ_BAD_INPUT,
                        "batch dimension %d is %" PRId64 " in the data and %" PRId64 " in the indices", i,
                        data->dims[i], indices->dims[i]);
  int64_t dims[2 * DQ_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < indices->rank - 1; i++) dims[rank++] = indices->dims[i];
  for (int i = (int)(batch + tuple); i < data->rank; i++) dims[rank++] = data->dims[i];
  return dq_op_shape(op, 0, data->type, rank, dims);
}

static dq_status run_nd(dq_op *op) {
  const dq_tensor *data = op->inputs[0], *indices = op->inputs[1];
  int batch = (int)dq_node_int(op->node, "batch_dims", 0);
  int tuple = (int)indices->dims[indices->rank - 1];
  int64_t strides[DQ_MAX_RANK];
  dq_strides(data->rank, data->dims, strides);
  size_t size = dq_dtype_size(data->type);
  size_t bytes = (size_t)dq_tensor_product(data, batch + tuple, data->rank) * size;
  int64_t batches = dq_tensor_product(data, 0, batch);
  int64_t per_batch = dq_tensor_product(indices, batch, indices->rank - 1);
  int64_t batch_stride = dq_tensor_product(data, batch, data->rank);
  for (int64_t i = 0; bytes && i < batches * per_batch; i++) {
    int64_t from = i / per_batch * batch_stride, index;
    for (int d = 0; d < tuple; d++) {
      DQ_TRY(read_index(op, i * tuple + d, data->dims[batch + d], &index));
      from += index * strides[batch + d];
    }
    memcpy((char *)op->outputs[0]->data + (size_t)i * bytes, (const char *)data->data + (size_t)from * size, bytes);
  }
  return DQ_OK;
}

const dq_operator dq_op_Gather = {
    .name = "Gather",
    .since = {1, 11, 13},
    .inputs = {2, 2},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"axis", DQ_ATTRIBUTE_INT, false}, {0}},
    .infer = infer_gather,
    .run = run_gather,
    .gradient = gradient_gather,
    .emit = emit_gather,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .flags = DQ_OP_MOVES_CHANNELS,
    .bound = DQ_BOUND_MOVE,
};

const dq_operator dq_op_GatherElements = {
    .name = "GatherElements",
    .since = {11, 13},
    .inputs = {2, 2},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"axis", DQ_ATTRIBUTE_INT, false}, {0}},
    .infer = infer_elements,
    .run = run_elements,
    .emit = dq_emit_move,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
};

const dq_operator dq_op_GatherND = {
    .name = "GatherND",
    .since = {11, 12, 13},
    .inputs = {2, 2},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"batch_dims", DQ_ATTRIBUTE_INT, false}, {0}},
    .infer = infer_nd,
    .run = run_nd,
    .emit = dq_emit_move,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
};
