// TensorProto to tensor and back: raw bytes, typed fields, data beside the model.
#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/onnx/document.h"

// The typed field that holds each element type, and how many elements it has.
static size_t typed_count(const Onnx__TensorProto *proto, int type, const char **field) {
  switch (type) {
  case DQ_F32: *field = "float_data"; return proto->n_float_data;
  case DQ_F64: *field = "double_data"; return proto->n_double_data;
  case DQ_I64: *field = "int64_data"; return proto->n_int64_data;
  case DQ_U32:
  case DQ_U64: *field = "uint64_data"; return proto->n_uint64_data;
  case DQ_STRING: *field = "string_data"; return proto->n_string_data;
  default: *field = "int32_data"; return proto->n_int32_data;
  }
}

static size_t all_typed(const Onnx__TensorProto *proto) {
  return proto->n_float_data + proto->n_double_data + proto->n_int64_data + proto->n_uint64_data +
         proto->n_string_data + proto->n_int32_data;
}

// Bytes of an element of the types whose elements are loaded; 0: they are only carried through.
static size_t loaded_width(int type) { return type == DQ_BF16 ? sizeof(uint16_t) : dq_dtype_size(type); }

static dq_status copy_typed(const Onnx__TensorProto *proto, dq_tensor *tensor, dq_arena *arena, dq_error *error) {
  size_t bytes = dq_tensor_bytes(tensor);
  if (!(tensor->data = dq_arena_alloc(arena, bytes))) return dq_fail_memory(error, bytes);
  int64_t count = dq_tensor_count(tensor);
  if (!count) return DQ_OK; // the field is NULL then
  switch (tensor->type) {
  case DQ_F32: memcpy(tensor->data, proto->float_data, bytes); return DQ_OK;
  case DQ_F64: memcpy(tensor->data, proto->double_data, bytes); return DQ_OK;
  case DQ_I64: memcpy(tensor->data, proto->int64_data, bytes); return DQ_OK;
  case DQ_U64: memcpy(tensor->data, proto->uint64_data, bytes); return DQ_OK;
  default: break;
  }
  size_t width = loaded_width(tensor->type);
  for (int64_t i = 0; i < count; i++) { // the low bytes hold the value (little endian)
    uint64_t element = tensor->type == DQ_U32 ? proto->uint64_data[i] : (uint64_t)(int64_t)proto->int32_data[i];
    memcpy((uint8_t *)tensor->data + (size_t)i * width, &element, width);
  }
  return DQ_OK;
}

// Points into the file where the place is aligned for the type; a misaligned place is copied.
static dq_status copy_elements(dq_tensor *tensor, const uint8_t *data, size_t size, dq_arena *arena, dq_error *error) {
  size_t expected = dq_tensor_bytes(tensor), width = loaded_width(tensor->type);
  if (dq_dtype_bits(tensor->type) && size != expected)
    return dq_fail(error, DQ_BAD_INPUT, "%zu bytes of data, expected %zu", size, expected);
  if (!width) return DQ_OK;
  tensor->data = (void *)(uintptr_t)data;
  if (size == 0 || (uintptr_t)data % width) tensor->data = dq_arena_copy(arena, data, size);
  return tensor->data ? DQ_OK : dq_fail_memory(error, size);
}

static dq_status read_elements(const Onnx__TensorProto *proto, dq_document *document, dq_tensor *tensor,
                               dq_arena *arena, dq_error *error) {
  if (proto->has_data_location && proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
    const uint8_t *data;
    size_t size;
    if (!document) return dq_fail(error, DQ_UNSUPPORTED, "external data is not supported here");
    DQ_TRY(dq_external_bytes(document, proto, &data, &size, error));
    return copy_elements(tensor, data, size, arena, error);
  }
  size_t typed = all_typed(proto);
  if (proto->has_raw_data) {
    if (typed) return dq_fail(error, DQ_BAD_INPUT, "both raw_data and a typed field are set");
    DQ_TRY(copy_elements(tensor, proto->raw_data.data, proto->raw_data.len, arena, error));
    if (document && tensor->data != proto->raw_data.data) // copied: once in memory is enough
      dq_file_forget(&document->file, proto->raw_data.data, proto->raw_data.len);
    return DQ_OK;
  }
  const char *field;
  size_t count = typed_count(proto, tensor->type, &field);
  if (typed != count)
    return dq_fail(error, DQ_BAD_INPUT, "elements of type %s are not in %s", dq_dtype_name(tensor->type), field);
  if (!loaded_width(tensor->type)) return DQ_OK;
  if (count != (size_t)dq_tensor_count(tensor))
    return dq_fail(error, DQ_BAD_INPUT, "%zu elements in %s, expected %" PRId64, count, field, dq_tensor_count(tensor));
  return copy_typed(proto, tensor, arena, error);
}

static dq_status convert(const Onnx__TensorProto *proto, dq_document *document, dq_arena *arena, dq_tensor *tensor,
                         dq_error *error) {
  if (proto->segment) return dq_fail(error, DQ_UNSUPPORTED, "segmented data is not supported");
  int type = proto->has_data_type ? proto->data_type : 0;
  if (type <= 0) return dq_fail(error, DQ_BAD_INPUT, "element type is %d, expected one of ONNX's", type);
  tensor->type = type;
  tensor->rank = -1;
  if (proto->n_dims > DQ_MAX_RANK) { // checked, and carried through
    int64_t elements = 1;
    for (size_t i = 0; i < proto->n_dims; i++)
      if (proto->dims[i] < 0 || !dq_mul_i64(elements, proto->dims[i] ? proto->dims[i] : 1, &elements))
        return dq_fail(error, DQ_BAD_INPUT,
                       "dimension %zu is %" PRId64 ", expected 0 or more, with a product that fits 64 bits", i,
                       proto->dims[i]);
    return DQ_OK;
  }
  DQ_TRY(dq_tensor_shape(tensor, type, (int)proto->n_dims, proto->dims, error));
  return read_elements(proto, document, tensor, arena, error);
}

dq_status dq_tensor_from_proto(const Onnx__TensorProto *proto, dq_document *document, dq_arena *arena,
                               dq_tensor **tensor, dq_error *error) {
  *tensor = DQ_NEW(arena, dq_tensor);
  if (!*tensor) return dq_fail_memory(error, sizeof **tensor);
  dq_status status = convert(proto, document, arena, *tensor, error);
  if (status == DQ_OK) return status;
  return dq_error_prefix(error, status, "tensor '%s'", proto->name ? proto->name : "");
}

Onnx__TensorProto *dq_tensor_to_proto(const char *name, const dq_tensor *tensor, dq_arena *arena) {
  Onnx__TensorProto *proto = DQ_NEW(arena, Onnx__TensorProto);
  if (!proto) return NULL;
  onnx__tensor_proto__init(proto);
  proto->name = dq_arena_strdup(arena, name);
  proto->n_dims = (size_t)tensor->rank;
  proto->dims = dq_arena_copy(arena, tensor->dims, proto->n_dims * sizeof *proto->dims);
  proto->has_data_type = true;
  proto->data_type = tensor->type;
  proto->has_raw_data = true;
  proto->raw_data.data = tensor->data;
  proto->raw_data.len = dq_tensor_bytes(tensor);
  return proto->name && proto->dims ? proto : NULL;
}
