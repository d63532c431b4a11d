// Operators that make tensors: Constant, ConstantOfShape, Range, EyeLike.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/ops/table/operator.h"

// ---- Constant ----

static const dq_attribute_rule constant_attributes[] = {
    {"value", DQ_ATTRIBUTE_TENSOR, false},          {"value_float", DQ_ATTRIBUTE_FLOAT, false},
    {"value_floats", DQ_ATTRIBUTE_FLOATS, false},   {"value_int", DQ_ATTRIBUTE_INT, false},
    {"value_ints", DQ_ATTRIBUTE_INTS, false},       {"value_string", DQ_ATTRIBUTE_STRING, false},
    {"value_strings", DQ_ATTRIBUTE_STRINGS, false}, {0}};

// The attribute seen as a tensor that points at its elements.
static dq_status constant_value(const dq_op *op, dq_tensor *value) {
  const dq_attribute *found = NULL;
  for (const dq_attribute_rule *rule = constant_attributes; rule->name && !found; rule++)
    found = dq_node_attribute(op->node, rule->name);
  if (!found) return dq_op_fail(op, DQ_UNSUPPORTED, "Constant without one of the value attributes known");
  *value = (dq_tensor){.rank = 0};
  switch (found->type) {
  case DQ_ATTRIBUTE_TENSOR: *value = *found->tensor; return DQ_OK;
  case DQ_ATTRIBUTE_FLOAT:
    value->type = DQ_F32;
    value->data = (void *)(uintptr_t)&found->f;
    return DQ_OK;
  case DQ_ATTRIBUTE_INT:
    value->type = DQ_I64;
    value->data = (void *)(uintptr_t)&found->i;
    return DQ_OK;
  case DQ_ATTRIBUTE_STRING: value->type = DQ_STRING; return DQ_OK;
  default: break;
  }
  value->rank = 1;
  value->dims[0] = (int64_t)found->count;
  value->type = found->type == DQ_ATTRIBUTE_FLOATS ? DQ_F32 : found->type == DQ_ATTRIBUTE_INTS ? DQ_I64 : DQ_STRING;
  if (value->type == DQ_F32) value->data = (void *)(uintptr_t)found->floats;
  if (value->type == DQ_I64) value->data = (void *)(uintptr_t)found->ints;
  return DQ_OK;
}

static dq_status infer_Constant(dq_op *op) {
  dq_tensor value;
  DQ_TRY(constant_value(op, &value));
  return dq_op_shape(op, 0, value.type, value.rank, value.dims);
}

static dq_status run_Constant(dq_op *op) {
  dq_tensor value;
  DQ_TRY(constant_value(op, &value));
  if (!dq_dtype_computable(value.type))
    return dq_op_fail(op, DQ_UNSUPPORTED, "a constant of type %s is not supported", dq_dtype_name(value.type));
  size_t bytes = dq_tensor_bytes(&value);
  if (bytes) memcpy(op->outputs[0]->data, value.data, bytes);
  return DQ_OK;
}

const dq_operator dq_op_Constant = {
    .name = "Constant",
    .since = {1, 9, 11, 12, 13, 19, 21, 23, 24, 25},
    .inputs = {0, 0},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = constant_attributes,
    .infer = infer_Constant,
    .run = run_Constant,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};

// ---- ConstantOfShape ----

static dq_status fill_type(const dq_op *op, const dq_tensor **value, int *type) {
  *value = dq_node_tensor(op->node, "value");
  *type = *value ? (*value)->type : DQ_F32;
  if (*value && dq_tensor_count(*value) != 1)
    return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'value' has %" PRId64 " elements, expected 1",
                      dq_tensor_count(*value));
  return DQ_OK;
}

static dq_status infer_ConstantOfShape(dq_op *op) {
  const dq_tensor *value;
  int type, rank;
  int64_t dims[DQ_MAX_INTS];
  DQ_TRY(fill_type(op, &value, &type));
  if (!dq_op_known(op, 0)) return dq_op_unknown(op, 0, type);
  DQ_TRY(dq_op_read_ints(op, 0, dims, &rank));
  return dq_op_shape(op, 0, type, rank, dims);
}

static dq_status run_ConstantOfShape(dq_op *op) {
  const dq_tensor *value;
  int type;
  DQ_TRY(fill_type(op, &value, &type));
  if (!dq_dtype_computable(type) || (value && !value->data))
    return dq_op_fail(op, DQ_UNSUPPORTED, "a constant of type %s is not supported", dq_dtype_name(type));
  char *to = op->outputs[0]->data;
  size_t size = dq_dtype_size(type), bytes = dq_tensor_bytes(op->outputs[0]);
  if (!value) memset(to, 0, bytes);
  else
    for (size_t at = 0; at < bytes; at += size) memcpy(to + at, value->data, size);
  return DQ_OK;
}

static const dq_attribute_rule fill_attributes[] = {{"value", DQ_ATTRIBUTE_TENSOR, false}, {0}};
const dq_operator dq_op_ConstantOfShape = {
    .name = "ConstantOfShape",
    .since = {9, 20, 21, 23, 24, 25},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_I64),
    .attributes = fill_attributes,
    .infer = infer_ConstantOfShape,
    .run = run_ConstantOfShape,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};

// ---- Range: start + i * delta for i below ceil((limit - start) / delta) ----

static dq_status range_count(const dq_op *op, int64_t *count) {
  const dq_tensor *const *in = op->inputs;
  if (DQ_TYPES_FLOAT & DQ_BIT(in[0]->type)) {
    double start = dq_tensor_get(in[0], 0), delta = dq_tensor_get(in[2], 0);
    double number = ceil((dq_tensor_get(in[1], 0) - start) / delta);
    if (delta == 0 || !(number < 0x1p62))
      return dq_op_fail(op, DQ_BAD_INPUT, "start, limit and delta give no number of elements");
    *count = number > 0 ? (int64_t)number : 0;
    return DQ_OK;
  }
  __int128 delta = dq_tensor_get_i64(in[2], 0);
  if (delta == 0) return dq_op_fail(op, DQ_BAD_INPUT, "the delta of Range is 0");
  __int128 span = (__int128)dq_tensor_get_i64(in[1], 0) - dq_tensor_get_i64(in[0], 0);
  if (delta < 0) span = -span, delta = -delta;
  __int128 number = span > 0 ? (span + delta - 1) / delta : 0;
  *count = number > INT64_MAX ? INT64_MAX : (int64_t)number;
  return DQ_OK;
}

static dq_status infer_Range(dq_op *op) {
  int type = op->inputs[0]->type;
  for (int i = 0; i < 3; i++)
    if (dq_tensor_count(op->inputs[i]) != 1 || op->inputs[i]->type != type)
      return dq_op_fail(op, DQ_BAD_INPUT, "the inputs of Range are not three scalars of one type");
  if (!dq_op_known(op, 0) || !dq_op_known(op, 1) || !dq_op_known(op, 2)) return dq_op_unknown(op, 0, type);
  int64_t count;
  DQ_TRY(range_count(op, &count));
  return dq_op_shape(op, 0, type, 1, &count);
}

static dq_status run_Range(dq_op *op) {
  dq_tensor *output = op->outputs[0];
  int64_t count = dq_tensor_count(output);
  if (DQ_TYPES_FLOAT & DQ_BIT(output->type)) {
    double start = dq_tensor_get(op->inputs[0], 0), delta = dq_tensor_get(op->inputs[2], 0);
    for (int64_t i = 0; i < count; i++) dq_tensor_set(output, i, start + (double)i * delta);
    return DQ_OK;
  }
  uint64_t value = (uint64_t)dq_tensor_get_i64(op->inputs[0], 0);
  uint64_t delta = (uint64_t)dq_tensor_get_i64(op->inputs[2], 0);
  size_t size = dq_dtype_size(output->type);
  for (int64_t i = 0; i < count; i++, value += delta) // little endian: the low bytes come first
    memcpy((char *)output->data + (size_t)i * size, &value, size);
  return DQ_OK;
}

const dq_operator dq_op_Range = {
    .name = "Range",
    .since = {11, 27},
    .inputs = {3, 3},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64) | DQ_BIT(DQ_I16) | DQ_BIT(DQ_I32) | DQ_BIT(DQ_I64),
    .attributes = (const dq_attribute_rule[]){{"stash_type", DQ_ATTRIBUTE_INT, false}, {0}}, // of float16 alone
    .infer = infer_Range,
    .run = run_Range,
    .half_since = 27,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};

// ---- EyeLike: ones on the diagonal k ----

static dq_status infer_EyeLike(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int64_t type = dq_node_int(op->node, "dtype", input->type);
  if (input->rank != 2) return dq_op_fail(op, DQ_BAD_INPUT, "the input has %d dimensions, expected 2", input->rank);
  if (type <= 0 || type > INT32_MAX)
    return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'dtype' is %" PRId64 ", no type of elements", type);
  return dq_op_shape(op, 0, (int)type, 2, input->dims);
}

static dq_status run_EyeLike(dq_op *op) {
  dq_tensor *output = op->outputs[0];
  if (!dq_dtype_computable(output->type))
    return dq_op_fail(op, DQ_UNSUPPORTED, "elements of type %s are not supported", dq_dtype_name(output->type));
  int64_t rows = output->dims[0], columns = output->dims[1], k = dq_node_int(op->node, "k", 0);
  memset(output->data, 0, dq_tensor_bytes(output));
  if (k >= columns || k <= -rows) return DQ_OK;
  for (int64_t row = k < 0 ? -k : 0; row < rows && row + k < columns; row++)
    dq_tensor_set(output, row * columns + row + k, 1);
  return DQ_OK;
}

static const dq_attribute_rule eye_attributes[] = {
    {"dtype", DQ_ATTRIBUTE_INT, false}, {"k", DQ_ATTRIBUTE_INT, false}, {0}};
const dq_operator dq_op_EyeLike = {
    .name = "EyeLike",
    .since = {9, 22},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = eye_attributes,
    .infer = infer_EyeLike,
    .run = run_EyeLike,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_SHAPE_ONLY,
};
