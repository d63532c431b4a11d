// Depthwise convolution in float with the usual square kernels, straight from plane to plane: no expansion, no
// sums in memory. float16 only where its sums are float16 too.
//
// Packed: header; [channels] bias; [channels][taps] weights. No scratch.
#include "lib/kernels/conv/conv_algorithm.h"

#include <string.h>

// No instruction set is given up for it. Sums in float16 are others than in float32: they are taken everywhere.
static bool has_kernel(const dq_conv_plan *plan) {
  if (plan->half) return plan->half_sums;
  return dq_kernel_find(DQ_OPERATION_f32_window, plan->cpu)->feature ==
         dq_kernel_find(DQ_OPERATION_f32_correlate, plan->cpu)->feature;
}

enum {
  TASK_WORDS = 4096, // of input at a time: half of a first-level cache
  BAND_ROWS = 16,
};

static bool applicable(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  bool depthwise = p->groups == p->in_channels && p->groups == p->out_channels;
  bool square = p->kernel_height == p->kernel_width && p->stride_height == p->stride_width &&
                p->dilation_height == p->dilation_width && p->dilation_width <= DQ_WINDOW_DILATION;
  return plan->float32 && depthwise && square && (p->kernel_width == 3 || p->kernel_width == 5) &&
         (p->stride_width == 1 || (p->stride_width == 2 && p->dilation_width == 1)) && has_kernel(plan);
}

static void prepare(dq_conv_plan *plan) {
  plan->multiply = dq_kernel_find(plan->half ? DQ_OPERATION_f16_window : DQ_OPERATION_f32_window, plan->cpu);
  plan->word_values = 1;
  plan->depth = plan->shape.kernel_height * plan->shape.kernel_width;
}

// Words that so many elements take.
static size_t area(const dq_conv_plan *plan, int64_t count) {
  return dq_words(dq_ceil_div(count * (int64_t)dq_element_bytes(plan), 4));
}
static size_t weights_at(const dq_conv_plan *plan) {
  return DQ_CONV_HEADER_WORDS + area(plan, plan->shape.out_channels);
}
static size_t packed_words(const dq_conv_plan *plan) {
  return weights_at(plan) + area(plan, plan->shape.out_channels * plan->depth);
}
static size_t scratch_words(const dq_conv_plan *plan, int threads) { return (void)plan, (void)threads, 0; }

static void pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed) {
  size_t channel_bytes = (size_t)plan->shape.out_channels * dq_element_bytes(plan);
  memset(packed, 0, packed_words(plan) * 4);
  packed[0] = bias != NULL;
  if (bias) memcpy(packed + DQ_CONV_HEADER_WORDS, bias, channel_bytes);
  memcpy(packed + weights_at(plan), weights, channel_bytes * (size_t)plan->depth);
}

typedef struct stage {
  const dq_conv_call *call;
  int64_t channels, rows; // of a task
} stage;

// Some channels of an image; planes that are not small go through the cache a band of rows at a time.
static void channels_task(void *argument, int64_t task, int thread) {
  (void)thread;
  const stage *s = argument;
  const dq_conv_plan *plan = s->call->plan;
  const dq_conv_parameters *p = &plan->shape;
  const uint32_t *packed = s->call->packed;
  int64_t tasks = dq_ceil_div(p->out_channels, s->channels);
  int64_t c = task % tasks * s->channels, plane = task / tasks * p->out_channels + c;
  int64_t bytes = (int64_t)dq_element_bytes(plan);
  dq_bounds bounds = dq_activation_bounds(&p->activation);
  dq_plane_window window = {.input = (const uint8_t *)s->call->input + plane * p->in_height * p->in_width * bytes,
                            .output = (uint8_t *)s->call->output + plane * p->out_height * p->out_width * bytes,
                            .weights = (const uint8_t *)(packed + weights_at(plan)) + c * plan->depth * bytes,
                            .bias = packed[0] ? (const uint8_t *)(packed + DQ_CONV_HEADER_WORDS) + c * bytes : NULL,
                            .planes = dq_min_i64(s->channels, p->out_channels - c),
                            .in_height = p->in_height,
                            .in_width = p->in_width,
                            .out_height = p->out_height,
                            .out_width = p->out_width,
                            .pad_top = p->pad_top,
                            .pad_left = p->pad_left,
                            .dilation = p->dilation_width,
                            .kernel = (int)p->kernel_width,
                            .stride = (int)p->stride_width,
                            .leaky = bounds.leaky,
                            .low = bounds.low,
                            .high = bounds.high,
                            .alpha = bounds.alpha};
  for (int64_t row = 0; row < p->out_height; row += s->rows) {
    window.first_row = row;
    window.end_row = dq_min_i64(row + s->rows, p->out_height);
    ((dq_f32_window_function *)plan->multiply->function)(&window);
    // Several planes are whole ones, so what was written is one run.
    dq_conv_end(s->call, (plane * p->out_height + row) * p->out_width,
                ((window.planes - 1) * p->out_height + window.end_row - row) * p->out_width);
  }
}

// Channels (columns) and output rows (depth) at a time.
static dq_block_sizes blocks(const dq_conv_plan *plan, int threads) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t plane = dq_max_i64(p->in_height * p->in_width, 1), row = p->in_width * p->stride_height;
  int64_t words = dq_scaled(TASK_WORDS, p->tuning.columns);
  int64_t channels = dq_min_i64(dq_max_i64(1, words / plane), dq_ceil_div(p->out_channels, threads));
  int64_t rows = plane <= words ? p->out_height : dq_max_i64(BAND_ROWS, words / row / BAND_ROWS * BAND_ROWS);
  rows = dq_ceil_div(rows, p->dilation_height) * p->dilation_height;
  return (dq_block_sizes){channels, dq_min_i64(rows, p->out_height)};
}

static void run(const dq_conv_call *call) {
  const dq_conv_parameters *p = &call->plan->shape;
  dq_block_sizes sizes = blocks(call->plan, dq_pool_threads(call->pool));
  stage s = {.call = call, .channels = sizes.columns, .rows = sizes.depth};
  dq_pool_run(call->pool, p->batch * dq_ceil_div(p->out_channels, s.channels), channels_task, &s);
}

const dq_conv_algorithm dq_conv_window = {.name = "window",
                                          .applicable = applicable,
                                          .same_bits = true,
                                          .ends = true,
                                          .cost = dq_conv_cost_of_macs,
                                          .count = dq_conv_count_window,
                                          .knobs = DQ_KNOB_COLUMNS,
                                          .prepare = prepare,
                                          .blocks = blocks,
                                          .packed_words = packed_words,
                                          .scratch_words = scratch_words,
                                          .pack = pack,
                                          .run = run};
