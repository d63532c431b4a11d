// Shape and Size: what a tensor's dimensions are, as a tensor.
#include "lib/ops/table/operator.h"

// The dimensions [*first, *last) that Shape returns; start and end are clamped to the rank.
static void shape_range(const dq_op *op, int *first, int *last) {
  int rank = op->inputs[0]->rank;
  int64_t start = dq_node_int(op->node, "start", 0), end = dq_node_int(op->node, "end", rank);
  if (start < 0) start += rank;
  if (end < 0) end += rank;
  *first = (int)(start < 0 ? 0 : start > rank ? rank : start);
  *last = (int)(end < *first ? *first : end > rank ? rank : end);
}

static dq_status infer_shape(dq_op *op) {
  int first, last;
  shape_range(op, &first, &last);
  int64_t count = last - first;
  return dq_op_shape(op, 0, DQ_I64, 1, &count);
}

static dq_status run_shape(dq_op *op) {
  int first, last;
  int64_t *elements = op->outputs[0]->data;
  shape_range(op, &first, &last);
  for (int i = first; i < last; i++) elements[i - first] = op->inputs[0]->dims[i];
  return DQ_OK;
}

static dq_status infer_size(dq_op *op) { return dq_op_shape(op, 0, DQ_I64, 0, NULL); }

static dq_status run_size(dq_op *op) {
  *(int64_t *)op->outputs[0]->data = dq_tensor_count(op->inputs[0]);
  return DQ_OK;
}

const dq_operator dq_op_Shape = {
    .name = "Shape",
    .since = {1, 13, 15, 19, 21, 23, 24, 25},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes =
        (const dq_attribute_rule[]){{"end", DQ_ATTRIBUTE_INT, false}, {"start", DQ_ATTRIBUTE_INT, false}, {0}},
    .infer = infer_shape,
    .run = run_shape,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_SHAPE_ONLY,
};

const dq_operator dq_op_Size = {
    .name = "Size",
    .since = {1, 13, 19, 21, 23, 24, 25},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .infer = infer_size,
    .run = run_size,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_SHAPE_ONLY,
};
