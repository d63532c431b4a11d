// SparseTensorProto to a dense tensor.
#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/onnx/document.h"

// What a sparse tensor consists of: values [count], and indices [count] in row-major order or [count][rank].
typedef struct sparse_parts {
  const dq_tensor *values, *indices;
  int64_t count;
  bool linear;
} sparse_parts;

static dq_status check_indices(const sparse_parts *parts, const dq_tensor *dense, dq_error *error) {
  const dq_tensor *indices = parts->indices;
  if (indices->type != DQ_I64)
    return dq_fail(error, DQ_BAD_INPUT, "the indices are %s, expected int64", dq_dtype_name(indices->type));
  bool fits = indices->rank >= 1 && indices->dims[0] == parts->count &&
              (parts->linear || (indices->rank == 2 && indices->dims[1] == dense->rank));
  if (fits) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "the indices do not fit %" PRId64 " values of a tensor with %d dimensions",
                 parts->count, dense->rank);
}

static dq_status read_parts(const Onnx__SparseTensorProto *proto, dq_document *document, dq_arena *arena,
                            sparse_parts *parts, const dq_tensor *dense, dq_error *error) {
  dq_tensor *values, *indices;
  if (!proto->indices) return dq_fail(error, DQ_BAD_INPUT, "there are no indices");
  DQ_TRY(dq_tensor_from_proto(proto->values, document, arena, &values, error));
  DQ_TRY(dq_tensor_from_proto(proto->indices, document, arena, &indices, error));
  if (!values->data || !dq_dtype_size(values->type))
    return dq_fail(error, DQ_UNSUPPORTED, "sparse tensors of type %s are not supported", dq_dtype_name(values->type));
  if (values->rank != 1) return dq_fail(error, DQ_BAD_INPUT, "the values have %d dimensions, expected 1", values->rank);
  *parts = (sparse_parts){values, indices, values->dims[0], indices->rank == 1};
  return check_indices(parts, dense, error);
}

// The place of value i in row-major order; -1: an index is outside of its dimension.
static int64_t place_of(const sparse_parts *parts, const dq_tensor *dense, int64_t i) {
  const int64_t *indices = parts->indices->data;
  if (parts->linear) return indices[i] >= 0 && indices[i] < dq_tensor_count(dense) ? indices[i] : -1;
  int64_t place = 0;
  for (int d = 0; d < dense->rank; d++) {
    int64_t index = indices[i * dense->rank + d];
    if (index < 0 || index >= dense->dims[d]) return -1;
    place = place * dense->dims[d] + index;
  }
  return place;
}

static dq_status scatter(const sparse_parts *parts, dq_tensor *dense, dq_error *error) {
  size_t width = dq_dtype_size(dense->type);
  int64_t before = -1;
  for (int64_t i = 0; i < parts->count; i++) {
    int64_t place = place_of(parts, dense, i);
    if (place < 0) return dq_fail(error, DQ_BAD_INPUT, "index %" PRId64 " lies outside of the tensor", i);
    if (place <= before)
      return dq_fail(error, DQ_BAD_INPUT, "index %" PRId64 " is %s, expected ascending indices", i,
                     place == before ? "there twice" : "before the one in front of it");
    memcpy((uint8_t *)dense->data + (size_t)place * width, (uint8_t *)parts->values->data + (size_t)i * width, width);
    before = place;
  }
  return DQ_OK;
}

static dq_status make_dense(const Onnx__SparseTensorProto *proto, dq_document *document, dq_arena *arena,
                            dq_tensor *dense, dq_error *error) {
  sparse_parts parts = {0};
  if (proto->n_dims > DQ_MAX_RANK)
    return dq_fail(error, DQ_UNSUPPORTED, "%zu dimensions, at most %d are supported", proto->n_dims, DQ_MAX_RANK);
  DQ_TRY(dq_tensor_shape(dense, proto->values->data_type, (int)proto->n_dims, proto->dims, error));
  DQ_TRY(read_parts(proto, document, arena, &parts, dense, error));
  size_t bytes = dq_tensor_bytes(dense);
  if (!(dense->data = dq_arena_alloc(arena, bytes))) return dq_fail_memory(error, bytes);
  memset(dense->data, 0, bytes);
  return scatter(&parts, dense, error);
}

dq_status dq_tensor_from_sparse(const Onnx__SparseTensorProto *proto, dq_document *document, dq_arena *arena,
                                dq_tensor **tensor, dq_error *error) {
  *tensor = NULL;
  if (!proto || !proto->values) return dq_fail(error, DQ_BAD_INPUT, "a sparse tensor has no values");
  dq_tensor *dense = DQ_NEW(arena, dq_tensor);
  if (!dense) return dq_fail_memory(error, sizeof *dense);
  const char *name = proto->values->name;
  dq_status status = make_dense(proto, document, arena, dense, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "sparse tensor '%s'", name ? name : "");
  *tensor = dense;
  return DQ_OK;
}
