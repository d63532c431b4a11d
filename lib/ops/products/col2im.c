// Col2Im: blocks laid out as columns added back into pictures, the opposite of im2col.
#include <inttypes.h>
#include <string.h>

#include "lib/ops/common/strided.h"
#include "lib/ops/common/window.h"

static dq_status check_columns(const dq_op *op, const dq_window *window, int64_t *channels) {
  const int64_t *dims = op->inputs[0]->dims;
  int64_t block = 1, places = 1;
  bool fits = op->inputs[0]->rank == 3;
  for (int i = 0; fits && i < window->rank; i++) {
    fits = !__builtin_mul_overflow(block, window->kernel[i], &block) &&
           !__builtin_mul_overflow(places, window->output[i], &places);
  }
  if (!fits || dims[1] % block || dims[2] != places)
    return dq_op_fail(op, DQ_BAD_INPUT, "the columns are not N x (channels x %" PRId64 ") x %" PRId64, block, places);
  *channels = dims[1] / block;
  return DQ_OK;
}

// The window over the picture; image_shape and block_shape must be known.
static dq_status read_window(const dq_op *op, dq_window *window, int64_t *channels) {
  int64_t image[DQ_MAX_INTS], block[DQ_MAX_INTS];
  int rank, block_rank;
  DQ_TRY(dq_op_read_ints(op, 1, image, &rank));
  DQ_TRY(dq_op_read_ints(op, 2, block, &block_rank));
  if (rank != block_rank)
    return dq_op_fail(op, DQ_BAD_INPUT, "image_shape has %d elements, block_shape %d, expected equal numbers", rank,
                      block_rank);
  DQ_TRY(dq_window_lists(op, rank, block, window));
  DQ_TRY(dq_window_pads(op, window));
  for (int i = 0; i < rank; i++) {
    int64_t span = image[i] + window->begin[i] + window->end[i] - dq_window_extent(window, i);
    if (image[i] < 0 || image[i] > INT32_MAX || span < 0)
      return dq_op_fail(op, DQ_BAD_INPUT, "a block of %" PRId64 " does not fit a picture of %" PRId64, block[i],
                        image[i]);
    window->input[i] = image[i];
    window->output[i] = span / window->stride[i] + 1;
  }
  return check_columns(op, window, channels);
}

static dq_status infer(dq_op *op) {
  dq_window window;
  int64_t dims[DQ_MAX_RANK];
  if (!dq_op_known(op, 1) || !dq_op_known(op, 2)) return dq_op_unknown(op, 0, op->inputs[0]->type);
  DQ_TRY(read_window(op, &window, &dims[1]));
  dims[0] = op->inputs[0]->dims[0];
  for (int i = 0; i < window.rank; i++) dims[2 + i] = window.input[i];
  return dq_op_shape(op, 0, op->inputs[0]->type, 2 + window.rank, dims);
}

// Position in the picture of block element `k` at place `o`, -1 in the padding.
static int64_t picture_position(const dq_window *w, int64_t k, int64_t o) {
  int64_t position = 0, stride = 1;
  for (int i = w->rank - 1; i >= 0; i--) {
    int64_t at = o % w->output[i] * w->stride[i] - w->begin[i] + k % w->kernel[i] * w->dilation[i];
    if (at < 0 || at >= w->input[i]) return -1;
    position += at * stride;
    stride *= w->input[i];
    o /= w->output[i];
    k /= w->kernel[i];
  }
  return position;
}

static dq_status run(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  dq_tensor *output = op->outputs[0];
  dq_window window;
  int64_t channels, block = 1;
  DQ_TRY(read_window(op, &window, &channels));
  for (int i = 0; i < window.rank; i++) block *= window.kernel[i];
  int64_t places = input->dims[2], volume = dq_tensor_product(output, 2, output->rank);
  if (dq_tensor_count(output)) memset(output->data, 0, dq_tensor_bytes(output));
  for (int64_t row = 0; row < input->dims[0] * channels * block; row++)
    for (int64_t o = 0; o < places; o++) {
      int64_t at = picture_position(&window, row % block, o);
      if (at < 0) continue;
      at += row / block * volume;
      dq_tensor_set(output, at, dq_tensor_get(output, at) + dq_tensor_get(input, row * places + o));
    }
  return DQ_OK;
}

const dq_operator dq_op_Col2Im = {
    .name = "Col2Im",
    .since = {18},
    .inputs = {3, 3},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64),
    .attributes = (const dq_attribute_rule[]){{"dilations", DQ_ATTRIBUTE_INTS, false},
                                              {"pads", DQ_ATTRIBUTE_INTS, false},
                                              {"strides", DQ_ATTRIBUTE_INTS, false},
                                              {0}},
    .infer = infer,
    .run = run,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_HALF,
};
