// ReverseSequence: the first elements of each sequence of a batch in the opposite order.
#include <inttypes.h>
#include <string.h>

#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"

static dq_status read_axes(const dq_op *op, int *batch, int *time) {
  const dq_tensor *input = op->inputs[0], *lengths = op->inputs[1];
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "batch_axis", 1), input->rank, batch));
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "time_axis", 0), input->rank, time));
  if (*batch == *time || *batch > 1 || *time > 1)
    return dq_op_fail(op, DQ_BAD_INPUT, "batch_axis is %d and time_axis %d, expected 0 and 1", *batch, *time);
  if (lengths->type != DQ_I64 || lengths->rank != 1 || lengths->dims[0] != input->dims[*batch])
    return dq_op_fail(op, DQ_BAD_INPUT, "sequence_lens is no vector of %" PRId64 " int64 elements",
                      input->dims[*batch]);
  return DQ_OK;
}

static dq_status infer(dq_op *op) {
  int batch, time;
  DQ_TRY(read_axes(op, &batch, &time));
  return dq_infer_same(op);
}

static dq_status run(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int batch, time;
  DQ_TRY(read_axes(op, &batch, &time));
  const int64_t *lengths = op->inputs[1]->data;
  size_t bytes = (size_t)dq_tensor_product(input, 2, input->rank) * dq_dtype_size(input->type);
  int64_t batch_stride = batch == 0 ? input->dims[1] : 1, time_stride = time == 0 ? input->dims[1] : 1;
  for (int64_t b = 0; b < input->dims[batch]; b++) {
    if (lengths[b] < 0 || lengths[b] > input->dims[time])
      return dq_op_fail(op, DQ_BAD_INPUT, "sequence length %" PRId64 ", expected 0 to %" PRId64, lengths[b],
                        input->dims[time]);
    for (int64_t t = 0; bytes && t < input->dims[time]; t++) {
      int64_t from = t < lengths[b] ? lengths[b] - 1 - t : t;
      memcpy((char *)op->outputs[0]->data + (size_t)(b * batch_stride + t * time_stride) * bytes,
             (const char *)input->data + (size_t)(b * batch_stride + from * time_stride) * bytes, bytes);
    }
  }
  return DQ_OK;
}

const dq_operator dq_op_ReverseSequence = {
    .name = "ReverseSequence",
    .since = {10, 28},
    .inputs = {2, 2},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = (const dq_attribute_rule[]){{"batch_axis", DQ_ATTRIBUTE_INT, false},
                                              {"time_axis", DQ_ATTRIBUTE_INT, false},
                                              {0}},
    .infer = infer,
    .run = run,
    .emit = dq_emit_move,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
};
