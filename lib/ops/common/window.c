// Geometry of convolution and pooling windows, by the formulas of the operators Conv, AveragePool
// and MaxPool in the ONNX specification.
#include "lib/ops/common/window.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/text/find_row.h"

// Sizes beyond this cannot belong to a real layer and would overflow the products below.
static const int64_t limit = INT32_MAX;

// An optional list of `count` integers in [least, limit]; `fallback` where it is absent.
static dq_status read_list(const dq_op *op, const char *name, int count, int64_t least, int64_t fallback,
                           int64_t *values) {
  int found;
  const int64_t *ints = dq_node_ints(op->node, name, &found);
  for (int i = 0; i < count; i++) values[i] = fallback;
  if (!ints) return DQ_OK;
  if (found != count)
    return dq_op_fail(op, DQ_BAD_INPUT, "attribute '%s' has %d elements, expected %d", name, found, count);
  for (int i = 0; i < count; i++) {
    if (ints[i] < least || ints[i] > limit)
      return dq_op_fail(op, DQ_BAD_INPUT, "attribute '%s' holds %" PRId64 ", expected %" PRId64 " to %" PRId64, name,
                        ints[i], least, limit);
    values[i] = ints[i];
  }
  return DQ_OK;
}

static dq_status read_kernel(const dq_op *op, const int64_t *kernel, dq_window *window) {
  int found;
  const int64_t *given = dq_node_ints(op->node, "kernel_shape", &found);
  if (!given && !kernel) return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'kernel_shape' is missing");
  DQ_TRY(read_list(op, "kernel_shape", window->rank, 1, 1, window->kernel));
  for (int i = 0; kernel && i < window->rank; i++) {
    if (kernel[i] < 1 || kernel[i] > limit)
      return dq_op_fail(op, DQ_BAD_INPUT, "the kernel has size %" PRId64 " along axis %d, expected 1 or more",
                        kernel[i], i);
    if (given && given[i] != kernel[i])
      return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'kernel_shape' holds %" PRId64 ", the weight has %" PRId64,
                        given[i], kernel[i]);
    window->kernel[i] = kernel[i];
  }
  return DQ_OK;
}

dq_status dq_window_lists(const dq_op *op, int rank, const int64_t *kernel, dq_window *window) {
  memset(window, 0, sizeof *window);
  if (rank < 1 || rank > DQ_MAX_SPATIAL)
    return dq_op_fail(op, rank < 1 ? DQ_BAD_INPUT : DQ_UNSUPPORTED, "%d spatial dimensions, supported are 1 to %d",
                      rank, DQ_MAX_SPATIAL);
  window->rank = rank;
  DQ_TRY(read_kernel(op, kernel, window));
  DQ_TRY(read_list(op, "strides", rank, 1, 1, window->stride));
  DQ_TRY(read_list(op, "dilations", rank, 1, 1, window->dilation));
  for (int i = 0; i < rank; i++) {
    int64_t extent;
    if (!dq_mul_i64(window->kernel[i] - 1, window->dilation[i], &extent) || extent >= limit)
      return dq_op_fail(op, DQ_BAD_INPUT, "a kernel of %" PRId64 " with dilation %" PRId64 " is too large",
                        window->kernel[i], window->dilation[i]);
  }
  return DQ_OK;
}

dq_status dq_window_auto_pad(const dq_op *op, dq_auto_pad *auto_pad) {
  static const char *const names[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  const char *word = dq_node_string(op->node, "auto_pad", names[0]);
  if (!word[0]) word = names[0];
  const int found = dq_find_row(word, names, sizeof *names, DQ_COUNT(names));
  if (found < 0)
    return dq_op_fail(op, DQ_BAD_INPUT, "auto_pad is '%s', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", word);
  *auto_pad = (dq_auto_pad)found;
  return DQ_OK;
}

dq_status dq_window_pads(const dq_op *op, dq_window *window) {
  int64_t pads[2 * DQ_MAX_SPATIAL];
  DQ_TRY(read_list(op, "pads", 2 * window->rank, 0, 0, pads));
  for (int i = 0; i < window->rank; i++) {
    window->begin[i] = pads[i];
    window->end[i] = pads[window->rank + i];
  }
  return DQ_OK;
}

dq_status dq_window_check(const dq_op *op, int rank, const int64_t *kernel, dq_window *window) {
  dq_auto_pad auto_pad;
  DQ_TRY(dq_window_lists(op, rank, kernel, window));
  DQ_TRY(dq_window_auto_pad(op, &auto_pad));
  return dq_window_pads(op, window);
}

dq_status dq_pool_check(const dq_op *op) {
  int rank;
  dq_window window;
  dq_node_ints(op->node, "kernel_shape", &rank);
  return dq_window_check(op, rank, NULL, &window);
}

static dq_status slide(const dq_op *op, dq_window *window, int axis, bool round_up) {
  int64_t input = window->input[axis], extent = dq_window_extent(window, axis);
  int64_t stride = window->stride[axis], padded = input + window->begin[axis] + window->end[axis];
  int64_t span = padded - extent;
  int64_t output = span >= 0 ? span / stride + 1 : 0;
  if (round_up) {
    output = (span + stride - 1 >= 0 ? (span + stride - 1) / stride : -1) + 1;
    // The last window must not begin in the padding at the end.
    if (output > 0 && (output - 1) * stride >= input + window->begin[axis]) output--;
  }
  if (output < 1)
    return dq_op_fail(op, DQ_BAD_INPUT,
                      "the kernel covers %" PRId64 ", more than the %" PRId64
                      " elements of the padded input along spatial axis %d",
                      extent, padded, axis);
  window->output[axis] = output;
  return DQ_OK;
}

// SAME: output = ceil(input / stride); the odd element of padding goes to the end (UPPER) or the
// beginning (LOWER).
static void pad_same(dq_window *window, int axis, dq_auto_pad auto_pad) {
  int64_t input = window->input[axis], stride = window->stride[axis];
  int64_t output = input ? (input - 1) / stride + 1 : 0;
  int64_t total = (output - 1) * stride + dq_window_extent(window, axis) - input;
  if (total < 0 || !output) total = 0;
  window->begin[axis] = auto_pad == DQ_PAD_SAME_LOWER ? total - total / 2 : total / 2;
  window->end[axis] = total - window->begin[axis];
  window->output[axis] = output;
}

dq_status dq_window_read(const dq_op *op, const dq_tensor *input, const int64_t *kernel, dq_window *window) {
  dq_auto_pad auto_pad = DQ_PAD_NOTSET;
  DQ_TRY(dq_window_check(op, input->rank - 2, kernel, window));
  DQ_TRY(dq_window_auto_pad(op, &auto_pad));
  bool round_up = auto_pad == DQ_PAD_NOTSET && dq_node_int(op->node, "ceil_mode", 0) != 0;
  for (int i = 0; i < window->rank; i++) {
    window->input[i] = input->dims[2 + i];
    if (window->input[i] > limit)
      return dq_op_fail(op, DQ_UNSUPPORTED, "a dimension of %" PRId64 " is too large", window->input[i]);
    // Exporters write pads of zero beside auto_pad; only others contradict it.
    if (auto_pad != DQ_PAD_NOTSET && (window->begin[i] || window->end[i]))
      return dq_op_fail(op, DQ_BAD_INPUT, "both 'auto_pad' %s and 'pads' are given",
                        dq_node_string(op->node, "auto_pad", ""));
    if (auto_pad == DQ_PAD_SAME_UPPER || auto_pad == DQ_PAD_SAME_LOWER) pad_same(window, i, auto_pad);
    else DQ_TRY(slide(op, window, i, round_up));
  }
  return DQ_OK;
}

int64_t dq_window_counted(const dq_window *window, bool count_padding, int axis, int64_t o) {
  int64_t first, last;
  dq_window padded = *window;
  if (count_padding) {
    padded.input[axis] += padded.begin[axis] + padded.end[axis];
    padded.begin[axis] = 0;
  }
  dq_window_inside(&padded, axis, o, &first, &last);
  return last - first;
}
