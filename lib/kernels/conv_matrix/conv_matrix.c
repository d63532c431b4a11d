// im2col (Chellapilla, Puri, Simard, "High Performance Convolutional Neural Networks for Document Processing",
// IWFHR 2006): the matrix of the whole input, filled by the pool, and the product. A 1x1 convolution without
// strides and pads (flat) is a product with the input as it is.
//
// Packed: header; [out_channels] bias; [out_channels][depth] weights. Scratch: the matrix of a group; the scratch of
// the product.
#include "lib/kernels/conv_matrix/conv_matrix.h"

#include <string.h>

bool dq_matrix_applicable(const dq_conv_plan *plan) { return plan->float32 && !plan->half; }

size_t dq_matrix_packed_words(const dq_conv_plan *plan) {
  return dq_conv_weights_at(plan) + dq_words(plan->shape.out_channels * dq_matrix_depth(plan));
}

size_t dq_matrix_words(const dq_conv_plan *plan) {
  return plan->flat ? 0 : dq_words(dq_matrix_depth(plan) * dq_conv_outputs(plan));
}
size_t dq_matrix_scratch_words(const dq_conv_plan *plan, int threads, dq_matrix_product_scratch *product_scratch) {
  return dq_matrix_words(plan) + product_scratch(plan, dq_conv_outputs(plan), false, threads);
}

void dq_matrix_pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed) {
  memset(packed, 0, dq_matrix_packed_words(plan) * 4);
  packed[0] = bias != NULL;
  dq_conv_pack_bias(plan, bias, packed + DQ_CONV_HEADER_WORDS);
  memcpy(packed + dq_conv_weights_at(plan), weights, (size_t)(plan->shape.out_channels * dq_matrix_depth(plan)) * 4);
}

typedef struct filling {
  const dq_conv_parameters *shape;
  const float *input; // of a group of an image
  float *matrix;
} filling;

// Outputs [*from, *end) along a row whose tap kx is inside of the input.
static void inside(const dq_conv_parameters *p, int64_t kx, int64_t *from, int64_t *end) {
  int64_t shift = kx * p->dilation_width - p->pad_left; // column = x * stride + shift
  *from = dq_min_i64(p->out_width, shift < 0 ? dq_ceil_div(-shift, p->stride_width) : 0);
  *end = p->in_width > shift ? dq_ceil_div(p->in_width - shift, p->stride_width) : 0;
  *end = dq_max_i64(*from, dq_min_i64(*end, p->out_width));
}

// One row of im2col: a tap of a channel under every output.
static void fill_tap(void *argument, int64_t row, int thread) {
  const filling *f = argument;
  const dq_conv_parameters *p = f->shape;
  int64_t kx = row % p->kernel_width, ky = row / p->kernel_width % p->kernel_height, from, end;
  const float *plane = f->input + row / (p->kernel_width * p->kernel_height) * p->in_height * p->in_width;
  float *to = f->matrix + row * p->out_height * p->out_width;
  (void)thread;
  inside(p, kx, &from, &end);
  for (int64_t y = 0; y < p->out_height; y++, to += p->out_width) {
    int64_t in = y * p->stride_height + ky * p->dilation_height - p->pad_top;
    bool there = in >= 0 && in < p->in_height && end > from;
    if (!there || from > 0 || end < p->out_width) memset(to, 0, (size_t)p->out_width * sizeof *to);
    if (!there) continue;
    const float *line = plane + in * p->in_width + kx * p->dilation_width - p->pad_left;
    if (p->stride_width == 1) memcpy(to + from, line + from, (size_t)(end - from) * sizeof *to);
    else
      for (int64_t x = from; x < end; x++) to[x] = line[x * p->stride_width];
  }
}

void dq_matrix_fill(const dq_conv_call *call, const float *input, float *matrix) {
  filling f = {&call->plan->shape, input, matrix};
  dq_pool_run(call->pool, dq_matrix_depth(call->plan), fill_tap, &f);
}

dq_matrix_product dq_matrix_group(const dq_conv_call *call, int64_t image, int64_t group) {
  const dq_conv_plan *plan = call->plan;
  const uint32_t *packed = call->packed;
  int64_t rows = plan->shape.out_channels / plan->shape.groups, channel = group * rows, count = dq_conv_outputs(plan);
  const float *bias = (const float *)packed + DQ_CONV_HEADER_WORDS;
  return (dq_matrix_product){.plan = plan,
                             .pool = call->pool,
                             .a = (const float *)packed + dq_conv_weights_at(plan) + channel * dq_matrix_depth(plan),
                             .b = (const float *)(const void *)dq_conv_input_channel(call, image, group, 0),
                             .bias = packed[0] ? bias + channel : NULL,
                             .rows = rows,
                             .columns = count,
                             .depth = dq_matrix_depth(plan),
                             .out = (float *)call->output + (image * plan->shape.out_channels + channel) * count,
                             .out_stride = count,
                             .scratch = call->scratch + dq_matrix_words(plan)};
}

void dq_matrix_run(const dq_conv_call *call, dq_matrix_multiply *multiply, dq_matrix_product_scratch *product_scratch) {
  float *matrix = (float *)call->scratch;
  (void)product_scratch; // comes behind the matrix, whatever its size
  for (int64_t image = 0; image < call->plan->shape.batch; image++)
    for (int64_t group = 0; group < call->plan->shape.groups; group++) {
      dq_matrix_product product = dq_matrix_group(call, image, group);
      if (!call->plan->flat) {
        dq_matrix_fill(call, product.b, matrix);
        product.b = matrix;
      }
      multiply(&product);
    }
}
