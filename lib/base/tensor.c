#include "lib/base/tensor.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/half.h"
#include "lib/base/sizes.h"

int64_t dq_tensor_product(const dq_tensor *tensor, int from, int to) {
  int64_t product = 1;
  for (int i = from; i < to; i++) product *= tensor->dims[i];
  return product;
}

int64_t dq_tensor_count(const dq_tensor *tensor) { return dq_tensor_product(tensor, 0, tensor->rank); }

size_t dq_tensor_bytes(const dq_tensor *tensor) {
  if (tensor->rank < 0) return 0;
  return ((size_t)dq_tensor_count(tensor) * (size_t)dq_dtype_bits(tensor->type) + 7) / 8;
}

bool dq_tensor_same_shape(const dq_tensor *a, const dq_tensor *b) {
  return a->rank == b->rank && (a->rank <= 0 || !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]));
}

dq_status dq_tensor_shape(dq_tensor *tensor, int type, int rank, const int64_t *dims, dq_error *error) {
  if (rank > DQ_MAX_RANK)
    return dq_fail(error, DQ_UNSUPPORTED, "%d dimensions, at most %d are supported", rank, DQ_MAX_RANK);
  int64_t elements = 1, bits;
  for (int i = 0; i < rank; i++) {
    if (dims[i] < 0) return dq_fail(error, DQ_BAD_INPUT, "dimension %d is %" PRId64 ", expected 0 or more", i, dims[i]);
    // Zero dimensions do not excuse an overflow in the others: strides are products of them too.
    if (!dq_mul_i64(elements, dims[i] ? dims[i] : 1, &elements))
      return dq_fail(error, DQ_BAD_INPUT, "the product of the dimensions overflows 64 bits");
  }
  if (!dq_mul_i64(elements, 128, &bits))
    return dq_fail(error, DQ_BAD_INPUT, "the product of the dimensions overflows 64 bits");
  tensor->type = type;
  tensor->rank = rank;
  if (rank > 0) memmove(tensor->dims, dims, (size_t)rank * sizeof *dims);
  return DQ_OK;
}

dq_tensor *dq_tensor_new(dq_arena *arena, int type, int rank, const int64_t *dims) {
  dq_tensor *tensor = DQ_NEW(arena, dq_tensor);
  if (!tensor || dq_tensor_shape(tensor, type, rank, dims, NULL) != DQ_OK) return NULL;
  tensor->data = dq_arena_alloc(arena, dq_tensor_bytes(tensor));
  return tensor->data ? tensor : NULL;
}

dq_tensor *dq_tensor_scalar_f32(dq_arena *arena, float value) {
  dq_tensor *tensor = dq_tensor_new(arena, DQ_F32, 0, NULL);
  if (tensor) memcpy(tensor->data, &value, sizeof value);
  return tensor;
}

dq_tensor *dq_tensor_scalar_i8(dq_arena *arena, int type, int value) {
  dq_tensor *tensor = dq_tensor_new(arena, type, 0, NULL);
  if (tensor) dq_tensor_set(tensor, 0, value);
  return tensor;
}

double dq_tensor_get(const dq_tensor *tensor, int64_t index) {
  switch (tensor->type) {
  case DQ_F32: return (double)((const float *)tensor->data)[index];
  case DQ_F64: return ((const double *)tensor->data)[index];
  case DQ_F16: return (double)dq_half_to_float(((const uint16_t *)tensor->data)[index]);
  case DQ_BF16: return (double)dq_bfloat_to_float(((const uint16_t *)tensor->data)[index]);
  case DQ_U64: return (double)((const uint64_t *)tensor->data)[index];
  default: return (double)dq_tensor_get_i64(tensor, index);
  }
}

int64_t dq_tensor_get_i64(const dq_tensor *tensor, int64_t index) {
  const void *data = tensor->data;
  switch (tensor->type) {
  case DQ_U8: return ((const uint8_t *)data)[index];
  case DQ_I8: return ((const int8_t *)data)[index];
  case DQ_U16: return ((const uint16_t *)data)[index];
  case DQ_I16: return ((const int16_t *)data)[index];
  case DQ_U32: return ((const uint32_t *)data)[index];
  case DQ_I32: return ((const int32_t *)data)[index];
  case DQ_U64: return (int64_t)((const uint64_t *)data)[index];
  case DQ_I64: return ((const int64_t *)data)[index];
  case DQ_BOOL: return ((const uint8_t *)data)[index] != 0;
  default: return (int64_t)dq_tensor_get(tensor, index);
  }
}

static double saturate(double value, double lowest, double highest) {
  if (isnan(value)) return 0;
  value = nearbyint(value);
  return value < lowest ? lowest : value > highest ? highest : value;
}

void dq_tensor_set(dq_tensor *tensor, int64_t index, double value) {
  void *data = tensor->data;
  switch (tensor->type) {
  case DQ_F32: ((float *)data)[index] = (float)value; break;
  case DQ_F64: ((double *)data)[index] = value; break;
  case DQ_F16: ((uint16_t *)data)[index] = dq_float_to_half((float)value); break;
  case DQ_BF16: ((uint16_t *)data)[index] = dq_float_to_bfloat((float)value); break;
  case DQ_U8: ((uint8_t *)data)[index] = (uint8_t)saturate(value, 0, UINT8_MAX); break;
  case DQ_I8: ((int8_t *)data)[index] = (int8_t)saturate(value, INT8_MIN, INT8_MAX); break;
  case DQ_U16: ((uint16_t *)data)[index] = (uint16_t)saturate(value, 0, UINT16_MAX); break;
  case DQ_I16: ((int16_t *)data)[index] = (int16_t)saturate(value, INT16_MIN, INT16_MAX); break;
  case DQ_U32: ((uint32_t *)data)[index] = (uint32_t)saturate(value, 0, UINT32_MAX); break;
  case DQ_I32: ((int32_t *)data)[index] = (int32_t)saturate(value, INT32_MIN, INT32_MAX); break;
  // The largest doubles below 2^64 and 2^63.
  case DQ_U64: ((uint64_t *)data)[index] = (uint64_t)saturate(value, 0, 0x1.fffffffffffffp63); break;
  case DQ_I64: ((int64_t *)data)[index] = (int64_t)saturate(value, -0x1p63, 0x1.fffffffffffffp62); break;
  case DQ_BOOL: ((uint8_t *)data)[index] = value != 0; break;
  default: break;
  }
}

const char *dq_tensor_shape_text(const dq_tensor *tensor, char *text, size_t size) {
  size_t used = 0;
  snprintf(text, size, tensor->rank < 0 ? "?" : "scalar");
  for (int i = 0; i < tensor->rank && used < size; i++) {
    int length = snprintf(text + used, size - used, i ? "x%" PRId64 : "%" PRId64, tensor->dims[i]);
    if (length < 0) break;
    used += (size_t)length;
  }
  return text;
}

bool dq_channels_last(int rank, const int64_t *dims) {
  return rank == 4 && dims[1] != 1 && dims[1] != 3 && (dims[3] == 1 || dims[3] == 3);
}

int64_t dq_tensor_first_not_finite(const dq_tensor *tensor) {
  int64_t count = dq_tensor_count(tensor);
  bool all = true;
  if (tensor->type != DQ_F32 && tensor->type != DQ_F16 && tensor->type != DQ_F64) return -1;
  if (tensor->type == DQ_F32) {
    const float *elements = tensor->data;
    for (int64_t i = 0; i < count; i++) all &= isfinite(elements[i]) != 0; // without a way out, so by vectors
    if (all) return -1;
  }
  for (int64_t i = 0; i < count; i++)
    if (!isfinite(dq_tensor_get(tensor, i))) return i;
  return -1;
}
