// The matrices of im2col and im2row (Chellapilla, Puri, Simard, "High Performance Convolutional Neural
// Networks for Document Processing", IWFHR 2006), filled by the pool. A 1x1 convolution without strides
// and pads is a product with the input as it is.
#include "lib/kernels/conv_matrix.h"

#include <string.h>

static int64_t depth(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  return p->in_channels / p->groups * p->kernel_height * p->kernel_width;
}
static int64_t outputs(const dq_conv_plan *plan) {
  return plan->shape.out_height * plan->shape.out_width;
}

bool dq_matrix_applicable(const dq_conv_plan *plan) {
  return plan->float32 && !plan->half;
}

void dq_matrix_prepare(dq_conv_plan *plan) {
  plan->flat = dq_conv_is_flat(&plan->shape);
}

size_t dq_matrix_packed_words(const dq_conv_plan *plan) {
  return DQ_CONV_HEADER_WORDS + dq_words(plan->shape.out_channels) +
         dq_words(plan->shape.out_channels * depth(plan));
}

size_t dq_matrix_words(const dq_conv_plan *plan) {
  return plan->flat ? 0 : dq_words(depth(plan) * outputs(plan));
}

void dq_matrix_pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed) {
  memset(packed, 0, dq_matrix_packed_words(plan) * 4);
  packed[0] = bias != NULL;
  dq_conv_pack_bias(plan, bias, packed + DQ_CONV_HEADER_WORDS);
  memcpy(packed + DQ_CONV_HEADER_WORDS + dq_words(plan->shape.out_channels), weights,
         (size_t)(plan->shape.out_channels * depth(plan)) * 4);
}

typedef struct filling {
  const dq_conv_parameters *shape;
  const float *input; // of a group of an image
  float *matrix;
  int64_t depth;
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

// Taps of kernel row ky of a channel under output x.
static void fill_taps(const dq_conv_parameters *p, const float *line, bool there, int64_t x, float *to) {
  for (int64_t kx = 0; kx < p->kernel_width; kx++) {
    int64_t column = x * p->stride_width + kx * p->dilation_width;
    bool valid = there && column >= p->pad_left && column < p->in_width + p->pad_left;
    to[kx] = valid ? line[column] : 0.0f;
  }
}

// A row of im2row is all taps of one output; those of one output row are filled together, some channels at a
// time: what is written lies side by side, and the lines read stay in the cache for the next output.
static void fill_outputs(void *argument, int64_t y, int thread) {
  enum { CHANNELS = 64 };
  const filling *f = argument;
  const dq_conv_parameters *p = f->shape;
  const int64_t channels = p->in_channels / p->groups, top = y * p->stride_height - p->pad_top;
  float *rows = f->matrix + y * p->out_width * f->depth;
  int64_t from, end, first, last; // outputs whose taps are all inside
  (void)thread;
  inside(p, 0, &from, &last);
  inside(p, p->kernel_width - 1, &first, &end);
  from = dq_max_i64(from, first), end = dq_min_i64(end, last);
  bool three = p->kernel_width == 3 && p->dilation_width == 1;
  for (int64_t some = 0; some < channels; some += CHANNELS)
    for (int64_t x = 0; x < p->out_width; x++) {
      float *to = rows + x * f->depth + some * p->kernel_height * p->kernel_width;
      for (int64_t c = some; c < dq_min_i64(channels, some + CHANNELS); c++)
        for (int64_t ky = 0; ky < p->kernel_height; ky++, to += p->kernel_width) {
          int64_t in = top + ky * p->dilation_height;
          const float *line = f->input + (c * p->in_height + in) * p->in_width - p->pad_left;
          bool there = in >= 0 && in < p->in_height;
          if (three && there && x >= from && x < end) memcpy(to, line + x * p->stride_width, 3 * sizeof *to);
          else fill_taps(p, line, there, x, to);
        }
    }
}

void dq_matrix_fill(const dq_conv_call *call, const float *input, bool transposed, float *matrix) {
  const dq_conv_parameters *p = &call->plan->shape;
  filling f = {p, input, matrix, depth(call->plan)};
  dq_pool_run(call->pool, transposed ? p->out_height : f.depth, transposed ? fill_outputs : fill_tap, &f);
}

static void run_group(const dq_conv_call *call, int64_t image, int64_t group, bool transposed,
                      dq_matrix_multiply *multiply) {
  const dq_conv_plan *plan = call->plan;
  const dq_conv_parameters *p = &plan->shape;
  const uint32_t *packed = call->packed;
  int64_t rows = p->out_channels / p->groups, channel = group * rows;
  const float *input = (const float *)(const void *)dq_conv_input_channel(call, image, group, 0);
  const float *bias = (const float *)packed + DQ_CONV_HEADER_WORDS;
  dq_matrix_product product = {
      .call = call,
      .a = bias + dq_words(p->out_channels) + channel * depth(plan),
      .b = plan->flat ? input : (const float *)call->scratch,
      .bias = packed[0] ? bias + channel : NULL,
      .rows = rows,
      .columns = outputs(plan),
      .depth = depth(plan),
      .transposed = transposed && !plan->flat,
      .out = (float *)call->output + (image * p->out_channels + channel) * outputs(plan),
      .scratch = call->scratch + dq_matrix_words(plan)};
  if (!plan->flat) dq_matrix_fill(call, input, transposed, (float *)call->scratch);
  multiply(&product);
}

void dq_matrix_run(const dq_conv_call *call, bool transposed, dq_matrix_multiply *multiply) {
  for (int64_t image = 0; image < call->plan->shape.batch; image++)
    for (int64_t group = 0; group < call->plan->shape.groups; group++)
      run_group(call, image, group, transposed, multiply);
}
