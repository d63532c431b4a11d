// Convolution in fp32 with few outputs: vectors hold output channels, rows of a tile are outputs. Where a plane
// does not fill whole vectors (7 x 7 is 3.06 of 16), channels do. A 1x1 without strides and pads (flat) reads the
// input where it is, others the matrix of im2col.
//
// Packed: header; [out_channels] bias; [groups][panels][depth][panel] weights, a panel as wide as the tile.
// Scratch: the matrix of a group (not flat); per thread sums [outputs][panel].
#include "lib/kernels/conv_matrix/conv_matrix.h"

#include <string.h>

enum {
  DEPTH = 256, // words of depth at a time: their weights stay in the first-level cache
  LINE = 16,   // words of a line of a cache
};

static int64_t panels(const dq_conv_plan *plan) {
  return dq_ceil_div(dq_conv_group_out(plan), plan->multiply->columns);
}

static double cost(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  enum {
    TURN = 12,                 // a vector of sums brought into place costs as much as so many products
    FILL = 100,                // a vector of the matrix does
    MATRIX_WORDS = 384 * 1024, // that stay in a second-level cache beside the weights
  };
  const double steps = 1.05, far = 1.3; // values are read in smaller pieces, from far away where there are many
  int64_t vectors = dq_ceil_div(dq_conv_group_out(plan), 2 * DQ_COST_LANES) * 2;
  int64_t words = dq_matrix_depth(plan) * dq_conv_outputs(plan);
  double each = (words > MATRIX_WORDS ? far : steps) * (double)dq_matrix_depth(plan) + TURN;
  double fill = dq_conv_is_pointwise(p) ? 0 : FILL * (double)dq_ceil_div(words, DQ_COST_LANES);
  return (double)(p->batch * p->groups) * ((double)(dq_conv_outputs(plan) * vectors) * each + fill);
}

static void prepare(dq_conv_plan *plan) {
  plan->multiply = dq_kernel_find(DQ_OPERATION_f32_tile, plan->cpu);
  plan->depth = dq_matrix_depth(plan);
  plan->channels.block_words = dq_min_i64(plan->depth, dq_scaled(DEPTH, plan->shape.tuning.depth));
  plan->panel_rows = dq_ceil_div(dq_conv_outputs(plan), dq_ceil_div(dq_conv_outputs(plan), plan->multiply->rows));
}

static int64_t panel_words(const dq_conv_plan *plan) { return plan->depth * plan->multiply->columns; }
static size_t packed_words(const dq_conv_plan *plan) {
  return dq_conv_weights_at(plan) + dq_words(plan->shape.groups * panels(plan) * panel_words(plan));
}
static size_t thread_area(const dq_conv_plan *plan) {
  return dq_words(dq_conv_outputs(plan) * plan->multiply->columns);
}
static size_t scratch_words(const dq_conv_plan *plan, int threads) {
  return dq_matrix_words(plan) + (size_t)threads * thread_area(plan);
}

static void pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed) {
  const float *from = weights;
  int64_t width = plan->multiply->columns;
  memset(packed, 0, packed_words(plan) * 4);
  packed[0] = bias != NULL;
  dq_conv_pack_bias(plan, bias, packed + DQ_CONV_HEADER_WORDS);
  for (int64_t o = 0; o < plan->shape.out_channels; o++) {
    int64_t row = o % dq_conv_group_out(plan), panel = o / dq_conv_group_out(plan) * panels(plan) + row / width;
    float *to = (float *)packed + dq_conv_weights_at(plan) + panel * panel_words(plan) + row % width;
    for (int64_t c = 0; c < plan->depth; c++) to[c * width] = *from++;
  }
}

// Sums of a panel of channels under outputs [from, end) of an image, input channels a block at a time.
static void multiply_panel(const dq_conv_plan *plan, int64_t from, int64_t end, const float *input,
                           const float *weights, float *sums) {
  int64_t width = plan->multiply->columns, stride = dq_conv_outputs(plan);
  // Later blocks of weights come from far away: each tile brings part of the next block near.
  for (int64_t k = 0; k < plan->depth; k += plan->channels.block_words)
    for (int64_t at = from; at < end; at += plan->panel_rows) {
      dq_tile tile = {.a = input + k * stride + at,
                      .b = weights + k * width,
                      .c = sums + (at - from) * width,
                      .a_stride = stride,
                      .b_stride = width,
                      .c_stride = width,
                      .depth = dq_min_i64(plan->channels.block_words, plan->depth - k),
                      .rows = (int)dq_min_i64(plan->panel_rows, end - at),
                      .columns = (int)width,
                      .accumulate = k > 0};
      int64_t taken = (at - from) / plan->panel_rows * tile.depth * LINE, size = tile.depth * width;
      if (taken < size) tile.ahead = (const float *)tile.b + size + taken;
      ((dq_tile_function *)plan->multiply->function)(&tile);
    }
}

typedef struct stage {
  const dq_conv_call *call;
  int64_t first, panels; // of all panels of all groups and images, those whose input is there
  int64_t parts;         // of the outputs of an image
  bool by_place;         // parts of all panels one after another, else parts of one
} stage;

static int64_t first_of(const stage *s, int64_t part) {
  const dq_conv_plan *plan = s->call->plan;
  int64_t rows = plan->panel_rows, tiles = dq_ceil_div(dq_conv_outputs(plan), rows);
  return dq_min_i64(dq_conv_outputs(plan), tiles * part / s->parts * rows);
}

// Outputs [from, end) of the channels of a panel, of all groups and images.
static void end_panel(const stage *s, int64_t index, int64_t from, int64_t end, const float *sums) {
  const dq_conv_plan *plan = s->call->plan;
  const float *packed = s->call->packed;
  int64_t width = plan->multiply->columns, panel = index % panels(plan), image_group = index / panels(plan);
  int64_t channel = image_group % plan->shape.groups * dq_conv_group_out(plan) + panel * width;
  int64_t image = image_group / plan->shape.groups;
  int64_t first = (image * plan->shape.out_channels + channel) * dq_conv_outputs(plan) + from;
  dq_bounds bounds = dq_conv_bounds(plan);
  dq_columns form = {.from = sums,
                     .from_stride = width,
                     .rows = end - from,
                     .columns = dq_min_i64(width, dq_conv_group_out(plan) - panel * width),
                     .to = (float *)s->call->output + first,
                     .to_stride = dq_conv_outputs(plan),
                     .ends = true,
                     .bias = *(const uint32_t *)s->call->packed ? packed + DQ_CONV_HEADER_WORDS + channel : NULL,
                     .leaky = bounds.leaky,
                     .low = bounds.low,
                     .high = bounds.high,
                     .alpha = bounds.alpha};
  DQ_KERNEL_FUNCTION(f32_columns, plan->cpu)(&form);
  dq_conv_end_rows(s->call, first, form.columns, form.rows);
}

static const float *input_of(const dq_conv_call *call, int64_t image, int64_t group) {
  return (const float *)(const void *)dq_conv_input_channel(call, image, group, 0);
}

static void panel_task(void *argument, int64_t task, int thread) {
  const stage *s = argument;
  const dq_conv_plan *plan = s->call->plan;
  int64_t index = s->first + (s->by_place ? task % s->panels : task / s->parts);
  int64_t part = s->by_place ? task / s->panels : task % s->parts;
  int64_t group = index / panels(plan) % plan->shape.groups, image = index / panels(plan) / plan->shape.groups;
  int64_t from = first_of(s, part), end = first_of(s, part + 1);
  const float *matrix = (const float *)s->call->scratch;
  const float *input = plan->flat ? input_of(s->call, image, group) : matrix;
  const float *weights = (const float *)s->call->packed + dq_conv_weights_at(plan) +
                         index % (plan->shape.groups * panels(plan)) * panel_words(plan);
  float *sums = (float *)s->call->scratch + dq_matrix_words(plan) + (size_t)thread * thread_area(plan);
  multiply_panel(plan, from, end, input, weights, sums);
  end_panel(s, index, from, end, sums);
}

static void run(const dq_conv_call *call) {
  enum { TASKS = 4 }; // for each thread, at least
  const dq_conv_plan *plan = call->plan;
  int64_t groups = plan->shape.groups, inputs = plan->shape.batch * groups, threads = dq_pool_threads(call->pool);
  stage s = {.call = call, .parts = 1, .by_place = dq_conv_by_place(plan, (int)threads)};
  s.panels = (plan->flat ? inputs : 1) * panels(plan);
  if (threads > 1) s.parts = dq_ceil_div(TASKS * threads, dq_max_i64(s.panels, 1));
  if (s.by_place) s.parts = dq_ceil_div(s.parts, threads) * threads;
  s.parts = dq_min_i64(s.parts, dq_ceil_div(dq_conv_outputs(plan), plan->panel_rows));
  for (; s.first < inputs * panels(plan); s.first += s.panels) {
    int64_t input = s.first / panels(plan);
    if (!plan->flat) dq_matrix_fill(call, input_of(call, input / groups, input % groups), (float *)call->scratch);
    dq_pool_run(call->pool, s.panels * s.parts, panel_task, &s);
  }
}

static dq_block_sizes blocks(const dq_conv_plan *plan, int threads) {
  (void)threads;
  return (dq_block_sizes){0, plan->channels.block_words};
}

const dq_conv_algorithm dq_conv_channels = {.name = "channels",
                                            .applicable = dq_matrix_applicable,
                                            .same_bits = true,
                                            .ends = true,
                                            .cost = cost,
                                            .count = dq_conv_count_channels,
                                            .knobs = DQ_KNOB_DEPTH,
                                            .prepare = prepare,
                                            .blocks = blocks,
                                            .packed_words = packed_words,
                                            .scratch_words = scratch_words,
                                            .pack = pack,
                                            .run = run};
