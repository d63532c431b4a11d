// Geometry of the windows that convolutions and pools slide over their input.
#ifndef DQ_OPS_WINDOW_H
#define DQ_OPS_WINDOW_H

#include "lib/ops/table/operator.h"

enum { DQ_MAX_SPATIAL = 3 };

// Rows of the attribute table of every operator with windows. `kernel_needed`: kernel_shape is required, because the
// operator has no weight that gives it.
#define DQ_WINDOW_ATTRIBUTES(kernel_needed)                                                                            \
  {"auto_pad", DQ_ATTRIBUTE_STRING, false}, {"dilations", DQ_ATTRIBUTE_INTS, false},                                   \
      {"kernel_shape", DQ_ATTRIBUTE_INTS, kernel_needed}, {"pads", DQ_ATTRIBUTE_INTS, false}, {                        \
    "strides", DQ_ATTRIBUTE_INTS, false                                                                                \
  }

// The windows of an operator. Along each of `rank` spatial axes (in the order of the input's dimensions 2, 3, 4):
// output position o sees the input positions o * stride - begin + k * dilation for k in [0, kernel).
typedef struct dq_window {
  int rank;                      // spatial axes, 1 to DQ_MAX_SPATIAL
  int64_t input[DQ_MAX_SPATIAL]; // size without padding
  int64_t kernel[DQ_MAX_SPATIAL];
  int64_t stride[DQ_MAX_SPATIAL];
  int64_t dilation[DQ_MAX_SPATIAL];
  int64_t begin[DQ_MAX_SPATIAL], end[DQ_MAX_SPATIAL]; // padding, >= 0
  int64_t output[DQ_MAX_SPATIAL];                     // >= 0
} dq_window;

// Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode of a node whose input is
// N x C x spatial, and computes the output sizes. `kernel`: spatial sizes of a convolution's weight
// (one per spatial axis), which kernel_shape must repeat when it is there; NULL: kernel_shape is
// needed. Only the shape of `input` is read. DQ_BAD_INPUT for strides, dilations or kernels below 1, negative pads,
// lists of another length, pads other than 0 beside auto_pad, a number or an extent (dq_window_extent) above INT32_MAX,
// and an axis without an output position, as when the window is larger than the padded input; DQ_UNSUPPORTED for more
// than DQ_MAX_SPATIAL axes, and an input size above INT32_MAX. So only `output` can exceed INT32_MAX: it is at most
// input + begin + end.
dq_status dq_window_read(const dq_op *op, const dq_tensor *input, const int64_t *kernel, dq_window *window);

// Reads kernel, strides and dilations of `rank` spatial axes only, for transposed convolutions; begin, end and output
// are 0. `kernel` and statuses as dq_window_read.
dq_status dq_window_lists(const dq_op *op, int rank, const int64_t *kernel, dq_window *window);

// Reads kernel, strides, dilations, pads and auto_pad, all that does not depend on the size of the input; output is 0.
// Statuses as dq_window_read.
dq_status dq_window_check(const dq_op *op, int rank, const int64_t *kernel, dq_window *window);

// Makes the checks of dq_window_check for a pool, whose kernel_shape gives the number of axes; for dq_operator.check.
dq_status dq_pool_check(const dq_op *op);

typedef enum dq_auto_pad { DQ_PAD_NOTSET, DQ_PAD_VALID, DQ_PAD_SAME_UPPER, DQ_PAD_SAME_LOWER } dq_auto_pad;
// Reads the attribute auto_pad; DQ_PAD_NOTSET: the node does not have it. DQ_BAD_INPUT: its word is unknown.
dq_status dq_window_auto_pad(const dq_op *op, dq_auto_pad *auto_pad);

// Reads the attribute pads (begins, then ends) of window->rank axes into window->begin and window->end; zeros when the
// node does not have it. DQ_BAD_INPUT: a pad is negative, or the list has another length.
dq_status dq_window_pads(const dq_op *op, dq_window *window);

// The number of input positions that a window spans along an axis: (kernel - 1) * dilation + 1.
static inline int64_t dq_window_extent(const dq_window *window, int axis) {
  return (window->kernel[axis] - 1) * window->dilation[axis] + 1;
}

// Stores in [*first, *last) the positions of the kernel that lie inside the input at output position `o`.
static inline void dq_window_inside(const dq_window *window, int axis, int64_t o, int64_t *first, int64_t *last) {
  int64_t start = o * window->stride[axis] - window->begin[axis], d = window->dilation[axis];
  int64_t from = start < 0 ? (-start + d - 1) / d : 0, span = window->input[axis] - start;
  int64_t to = span <= 0 ? 0 : (span + d - 1) / d;
  *last = to < window->kernel[axis] ? to : window->kernel[axis];
  *first = from < *last ? from : *last;
}

// The output positions [first, last) along an axis for which kernel position `k` lies inside the input.
typedef struct dq_outputs {
  int64_t first, last;
} dq_outputs;
static inline dq_outputs dq_window_outputs(const dq_window *window, int axis, int64_t k) {
  int64_t offset = k * window->dilation[axis] - window->begin[axis], s = window->stride[axis];
  int64_t first = offset < 0 ? (-offset + s - 1) / s : 0, span = window->input[axis] - offset;
  int64_t last = span > 0 ? (span + s - 1) / s : 0;
  return (dq_outputs){first, last < window->output[axis] ? last : window->output[axis]};
}

// Positions of the kernel that an average divides by at output position `o`: those inside the input, or, when padding
// counts, those inside the padded input, beyond which a window that was rounded up may reach.
int64_t dq_window_counted(const dq_window *window, bool count_padding, int axis, int64_t o);

#endif
