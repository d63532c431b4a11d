// Shapes of convolutions, and convolution by plain loops.
#include "lib/ops/common/convolution.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"

// Whether the weight is outputs x inputs, for a kernel of 1 at each place, and the row of the node allows that.
static bool is_of_points(const dq_op *op, const dq_tensor *weight) {
  dq_product product;
  return weight->rank == 2 && dq_product_of(op->node, &product) && product.kind == DQ_CONVOLUTION &&
         product.ranks[0] == 2;
}

dq_status dq_check_weight(const dq_op *op, const dq_tensor *weight) {
  char shape[DQ_SHAPE_TEXT];
  if (weight->rank < 3 && !is_of_points(op, weight))
    return dq_op_fail(op, DQ_BAD_INPUT, "weight has shape %s, expected 3 dimensions or more",
                      dq_tensor_shape_text(weight, shape, sizeof shape));
  for (int i = 0; i < weight->rank; i++)
    if (weight->dims[i] < 1)
      return dq_op_fail(op, DQ_BAD_INPUT, "weight has shape %s, all dimensions must be above 0",
                        dq_tensor_shape_text(weight, shape, sizeof shape));
  return DQ_OK;
}

dq_status dq_check_bias(const dq_op *op, const dq_tensor *bias, int64_t channels) {
  char shape[DQ_SHAPE_TEXT];
  if (!bias || bias->rank < 0 || (bias->rank == 1 && bias->dims[0] == channels)) return DQ_OK;
  return dq_op_fail(op, DQ_BAD_INPUT, "bias has shape %s, expected one element for each of %" PRId64 " output channels",
                    dq_tensor_shape_text(bias, shape, sizeof shape), channels);
}

dq_status dq_check_groups(const dq_op *op, int64_t channels, const char *what) {
  int64_t groups = dq_node_int(op->node, "group", 1);
  if (groups < 1) return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'group' is %" PRId64 ", expected 1 or more", groups);
  if (channels % groups)
    return dq_op_fail(op, DQ_BAD_INPUT, "%" PRId64 " groups do not divide %" PRId64 " %s channels", groups, channels,
                      what);
  return DQ_OK;
}

dq_status dq_convolution_check(const dq_op *op, int weight, int bias) {
  const dq_tensor *w = dq_op_input(op, weight);
  dq_window window;
  if (w->rank < 0) return dq_check_groups(op, 0, "output");
  DQ_TRY(dq_check_weight(op, w));
  DQ_TRY(dq_check_groups(op, w->dims[0], "output"));
  DQ_TRY(dq_check_bias(op, bias < 0 ? NULL : dq_op_input(op, bias), w->dims[0]));
  if (w->rank == 2) return DQ_OK; // the input tells how many axes there are
  return dq_window_check(op, w->rank - 2, w->dims + 2, &window);
}

static dq_status check_ranks(const dq_op *op, const dq_tensor *input, const dq_tensor *weight) {
  char shape[DQ_SHAPE_TEXT];
  if (input->rank < 3)
    return dq_op_fail(op, DQ_BAD_INPUT, "input has shape %s, expected batch x channels x spatial dimensions",
                      dq_tensor_shape_text(input, shape, sizeof shape));
  if (weight->rank != input->rank && !is_of_points(op, weight))
    return dq_op_fail(op, DQ_BAD_INPUT, "weight has shape %s, expected %d dimensions as the input has",
                      dq_tensor_shape_text(weight, shape, sizeof shape), input->rank);
  return dq_check_weight(op, weight);
}

static dq_status check_channels(const dq_op *op, const dq_tensor *weight, int64_t channels) {
  DQ_TRY(dq_check_groups(op, channels, "input"));
  DQ_TRY(dq_check_groups(op, weight->dims[0], "output"));
  int64_t groups = dq_node_int(op->node, "group", 1);
  if (weight->dims[1] != channels / groups)
    return dq_op_fail(op, DQ_BAD_INPUT,
                      "weight has %" PRId64 " input channels per group, expected %" PRId64 " (%" PRId64
                      " channels in %" PRId64 " groups)",
                      weight->dims[1], channels / groups, channels, groups);
  return DQ_OK;
}

dq_status dq_convolution_read(const dq_op *op, int input, int weight, int bias, dq_convolution *convolution) {
  const dq_tensor *x = dq_op_input(op, input), *w = dq_op_input(op, weight);
  const dq_tensor *b = bias < 0 ? NULL : dq_op_input(op, bias);
  DQ_TRY(check_ranks(op, x, w));
  DQ_TRY(check_channels(op, w, x->dims[1]));
  DQ_TRY(dq_check_bias(op, b, w->dims[0]));
  const int64_t point[DQ_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
  DQ_TRY(dq_window_read(op, x, w->rank == 2 ? point : w->dims + 2, &convolution->window));
  convolution->batch = x->dims[0];
  convolution->groups = dq_node_int(op->node, "group", 1);
  convolution->in_channels = x->dims[1];
  convolution->out_channels = w->dims[0];
  return DQ_OK;
}

dq_status dq_convolution_infer(dq_op *op, int input, int weight, int bias, int type) {
  dq_convolution c;
  int64_t dims[DQ_MAX_RANK];
  DQ_TRY(dq_convolution_read(op, input, weight, bias, &c));
  dims[0] = c.batch;
  dims[1] = c.out_channels;
  for (int i = 0; i < c.window.rank; i++) dims[2 + i] = c.window.output[i];
  return dq_op_shape(op, 0, type, 2 + c.window.rank, dims);
}

dq_window dq_window_three(const dq_window *window) {
  dq_window three;
  int shift = DQ_MAX_SPATIAL - window->rank;
  three.rank = DQ_MAX_SPATIAL;
  for (int i = 0; i < DQ_MAX_SPATIAL; i++) {
    int from = i - shift;
    bool given = from >= 0;
    three.input[i] = given ? window->input[from] : 1;
    three.kernel[i] = given ? window->kernel[from] : 1;
    three.stride[i] = given ? window->stride[from] : 1;
    three.dilation[i] = given ? window->dilation[from] : 1;
    three.begin[i] = given ? window->begin[from] : 0;
    three.end[i] = given ? window->end[from] : 0;
    three.output[i] = given ? window->output[from] : 1;
  }
  return three;
}

dq_conv_parameters dq_convolution_parameters(const dq_convolution *convolution) {
  dq_window w = dq_window_three(&convolution->window);
  return (dq_conv_parameters){
      .batch = convolution->batch,
      .groups = convolution->groups,
      .in_channels = convolution->in_channels,
      .out_channels = convolution->out_channels,
      .in_height = w.input[1],
      .in_width = w.input[2],
      .kernel_height = w.kernel[1],
      .kernel_width = w.kernel[2],
      .stride_height = w.stride[1],
      .stride_width = w.stride[2],
      .dilation_height = w.dilation[1],
      .dilation_width = w.dilation[2],
      .pad_top = w.begin[1],
      .pad_left = w.begin[2],
      .pad_bottom = w.end[1],
      .pad_right = w.end[2],
      .out_height = w.output[1],
      .out_width = w.output[2],
  };
}

int64_t dq_convolution_macs(const dq_op *op, int weight) {
  const dq_tensor *w = dq_op_input(op, weight), *y = dq_op_output(op, 0);
  if (!w || !y || w->rank < 2 || y->rank < 0) return 0;
  int64_t macs;
  return dq_mul_i64(dq_tensor_count(y), dq_tensor_product(w, 1, w->rank), &macs) ? macs : INT64_MAX;
}

void dq_convolution_ask(const dq_op *op, dq_conv_parameters *parameters) {
  parameters->algorithm = op->convolution.algorithm;
  parameters->tuning = op->convolution.tuning;
}

void dq_convolution_report(dq_op *op, dq_conv_plan *plan, const void *packed) {
  dq_op_convolution *convolution = &op->convolution;
  const int asked = convolution->algorithm;
  convolution->computed_by = dq_conv_algorithm_name(plan);
  convolution->misfit =
      asked > DQ_CONV_AUTO && strcmp(convolution->computed_by, dq_conv_choice_name((dq_conv_choice)asked));
  convolution->knobs = dq_conv_knobs(plan);
  convolution->plan = plan;
  convolution->weights = packed;
}

// ---- Plain loops ----

typedef struct direct {
  dq_window window; // three axes
  int64_t in_group, out_group, in_channels, out_channels;
  int64_t in_plane, out_plane, taps;
  const void *weight, *bias, *input;
  void *output;
} direct;

// One output element: `x` is the first input plane of its group, `w` the weights of its channel.
#define DQ_DIRECT_SUM(name, type, multiply_add)                                                                        \
  static type name(const direct *d, const type *x, const type *w, const int64_t *position) {                           \
    int64_t first[3], last[3], start[3];                                                                               \
    const dq_window *v = &d->window;                                                                                   \
    for (int i = 0; i < 3; i++) {                                                                                      \
      dq_window_inside(v, i, position[i], &first[i], &last[i]);                                                        \
      start[i] = position[i] * v->stride[i] - v->begin[i];                                                             \
    }                                                                                                                  \
    type sum = 0;                                                                                                      \
    for (int64_t c = 0; c < d->in_group; c++, x += d->in_plane, w += d->taps)                                          \
      for (int64_t kz = first[0]; kz < last[0]; kz++)                                                                  \
        for (int64_t ky = first[1]; ky < last[1]; ky++) {                                                              \
          int64_t z = start[0] + kz * v->dilation[0], y = start[1] + ky * v->dilation[1];                              \
          const type *x_row = x + (z * v->input[1] + y) * v->input[2];                                                 \
          const type *w_row = w + (kz * v->kernel[1] + ky) * v->kernel[2];                                             \
          for (int64_t kx = first[2]; kx < last[2]; kx++)                                                              \
            sum = multiply_add(x_row[start[2] + kx * v->dilation[2]], w_row[kx], sum);                                 \
        }                                                                                                              \
    return sum;                                                                                                        \
  }

// One plane of the output.
#define DQ_DIRECT_PLANE(name, type, sum)                                                                               \
  static void name(void *argument, int64_t plane, int thread) {                                                        \
    const direct *d = argument;                                                                                        \
    int64_t n = plane / d->out_channels, channel = plane % d->out_channels, p[3];                                      \
    int64_t group = channel / d->out_group;                                                                            \
    const type *x = (const type *)d->input + (n * d->in_channels + group * d->in_group) * d->in_plane;                 \
    const type *w = (const type *)d->weight + channel * d->in_group * d->taps;                                         \
    type *out = (type *)d->output + plane * d->out_plane;                                                              \
    const type *bias = d->bias;                                                                                        \
    (void)thread;                                                                                                      \
    for (p[0] = 0; p[0] < d->window.output[0]; p[0]++)                                                                 \
      for (p[1] = 0; p[1] < d->window.output[1]; p[1]++)                                                               \
        for (p[2] = 0; p[2] < d->window.output[2]; p[2]++) {                                                           \
          type value = sum(d, x, w, p);                                                                                \
          *out++ = bias ? (type)(value + bias[channel]) : value;                                                       \
        }                                                                                                              \
  }

// Sums wrap modulo 2^32: unsigned numbers do what signed ones may not.
#define DQ_WRAPPING(x, w, sum) ((x) * (w) + (sum))

DQ_DIRECT_SUM(sum_f32, float, fmaf)
DQ_DIRECT_SUM(sum_f64, double, fma)
DQ_DIRECT_SUM(sum_u32, uint32_t, DQ_WRAPPING)
DQ_DIRECT_PLANE(plane_f32, float, sum_f32)
DQ_DIRECT_PLANE(plane_f64, double, sum_f64)
DQ_DIRECT_PLANE(plane_u32, uint32_t, sum_u32)

void dq_convolution_direct(const dq_convolution *convolution, int type, const void *weight, const void *bias,
                           const void *input, void *output, dq_pool *pool) {
  dq_window w = dq_window_three(&convolution->window);
  direct d = {.window = w,
              .in_group = convolution->in_channels / convolution->groups,
              .out_group = convolution->out_channels / convolution->groups,
              .in_channels = convolution->in_channels,
              .out_channels = convolution->out_channels,
              .in_plane = w.input[0] * w.input[1] * w.input[2],
              .out_plane = w.output[0] * w.output[1] * w.output[2],
              .taps = w.kernel[0] * w.kernel[1] * w.kernel[2],
              .weight = weight,
              .bias = bias,
              .input = input,
              .output = output};
  void (*plane)(void *, int64_t, int) = type == DQ_F32 ? plane_f32 : type == DQ_F64 ? plane_f64 : plane_u32;
  dq_pool_run(pool, convolution->batch * convolution->out_channels, plane, &d);
}
