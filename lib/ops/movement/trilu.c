// Trilu: the upper or lower triangle of matrices, zeros elsewhere.
#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/common/strided.h"

static dq_status infer(dq_op *op) {
  const dq_tensor *k = dq_op_input(op, 1);
  if (op->inputs[0]->rank < 2)
    return dq_op_fail(op, DQ_BAD_INPUT, "the input has %d dimensions, expected 2 or more", op->inputs[0]->rank);
  if (k && (k->type != DQ_I64 || dq_tensor_count(k) != 1))
    return dq_op_fail(op, DQ_BAD_INPUT, "k is not one int64 element");
  return dq_infer_same(op);
}

static dq_status run(dq_op *op) {
  const dq_tensor *input = op->inputs[0], *k = dq_op_input(op, 1);
  bool upper = dq_node_int(op->node, "upper", 1) != 0;
  int64_t rows = input->dims[input->rank - 2], columns = input->dims[input->rank - 1];
  int64_t shift = k ? *(const int64_t *)k->data : 0;
  int64_t matrices = dq_tensor_product(input, 0, input->rank - 2);
  size_t size = dq_dtype_size(input->type);
  shift = dq_max_i64(-rows, dq_min_i64(shift, columns));
  DQ_TRY(dq_run_copy(op));
  for (int64_t row = 0; row < matrices * rows; row++) {
    // Upper keeps columns from the diagonal on, lower those up to it.
    int64_t diagonal = row % rows + shift;
    int64_t split = dq_max_i64(0, dq_min_i64(upper ? diagonal : diagonal + 1, columns));
    char *first = (char *)op->outputs[0]->data + (size_t)(row * columns) * size;
    if (upper) memset(first, 0, (size_t)split * size);
    else memset(first + (size_t)split * size, 0, (size_t)(columns - split) * size);
  }
  return DQ_OK;
}

const dq_operator dq_op_Trilu = {
    .name = "Trilu",
    .since = {14},
    .inputs = {1, 2},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"upper", DQ_ATTRIBUTE_INT, false}, {0}},
    .infer = infer,
    .run = run,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_IN_PLACE,
};
