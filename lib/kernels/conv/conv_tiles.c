// Convolution as a product of packed weights with panels of the expanded input, packed a block at a
// time, so that no im2col matrix ever exists as a whole.
//
// Packed: header; [out_channels] bias or starts; [groups][panels][depth][panel_rows] words of weights (binary16: two
// in a word, of neighbours, or of channels with binary16 sums); [taps] offsets of 64 bits in the planes. Scratch: the
// expanded planes of one group; per thread a block of panels, rows of sums and, for binary16, the widened weights of a
// panel.
#include "lib/kernels/conv/conv_algorithm.h"
#include "lib/kernels/conv/conv_sums16.h"

#include <string.h>

enum {
  BLOCK_WORDS = 48 * 1024, // of a packed block: a fraction of a second-level cache
  FLOAT_DEPTH = 384,       // words of depth at a time in fp32: rows of weights stay in the first level
  FEW_PANELS = 8,
  HELD_WORDS = 16, // of a thread: the block of columns whose panels it has packed
};

static bool always(const dq_conv_plan *plan) { return (void)plan, true; }

static int64_t panel_words(const dq_conv_plan *plan) {
  return plan->tiles.most_steps ? dq_sums16_panel_words(plan) : plan->depth * plan->panel_rows;
}
static int64_t plane_stride(const dq_conv_plan *plan) { return dq_conv_plane_words(plan); }

static int choose_multiply(const dq_conv_plan *plan) {
  const dq_conv_int8_parameters *q = &plan->int8;
  if (plan->half_sums) return DQ_OPERATION_f16_tile;
  if (plan->float32) return DQ_OPERATION_f32_tile;
  bool bytes = dq_natural_zero_points(q->weight_zero_points, q->weight_zero_point_count, q->weight_signed);
  if (bytes && dq_kernel_find(DQ_OPERATION_u8s8_tile, plan->cpu)) return DQ_OPERATION_u8s8_tile;
  if (bytes && q->pairs_safe && dq_kernel_find(DQ_OPERATION_u8s8_pair_tile, plan->cpu))
    return DQ_OPERATION_u8s8_pair_tile;
  return DQ_OPERATION_i16_tile;
}

static double cost(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  enum {
    PACK = 3,
    SKIP = 32
  }; // a vector packed costs as much as so many products; one of an input of which
     // little is multiplied, as strides leave it of a 1x1, does
  int64_t vectors = dq_ceil_div(p->out_height * p->out_width, DQ_COST_LANES);
  double depth = (double)(p->in_channels / p->groups * p->kernel_height * p->kernel_width);
  double product = (double)(p->batch * p->groups * vectors) * depth * (double)(dq_conv_group_out(plan) + PACK);
  bool skips = p->kernel_height * p->kernel_width == 1 && p->stride_height * p->stride_width > 1;
  if (!skips) return product;
  return product + (double)(p->batch * p->in_channels * dq_ceil_div(p->in_height * p->in_width, DQ_COST_LANES)) * SKIP;
}

static int64_t rows_of_panels(const dq_conv_plan *plan, const dq_kernel *multiply) {
  return dq_ceil_div(dq_conv_group_out(plan), dq_ceil_div(dq_conv_group_out(plan), multiply->rows));
}

// Takes sums of 16 bits where they take fewer instructions than the choice made without looking at the
// weights: for four input channels 4 with int16, a product and a sum each for two, or 3 with pairs.
static int look_at_weights(dq_conv_plan *plan, int operation) {
  const dq_conv_parameters *p = &plan->shape;
  const dq_conv_int8_parameters *q = &plan->int8;
  const dq_kernel *multiply = dq_kernel_find(DQ_OPERATION_u8s8_sums16_tile, plan->cpu);
  bool pairs = operation == DQ_OPERATION_u8s8_pair_tile;
  if (!q->weights || !multiply || (!pairs && operation != DQ_OPERATION_i16_tile)) return operation;
  if (!dq_natural_zero_points(q->weight_zero_points, q->weight_zero_point_count, q->weight_signed)) return operation;
  int64_t channels = p->in_channels / p->groups;
  int64_t each = pairs ? 3 * dq_ceil_div(channels, 4) : 2 * dq_ceil_div(channels, 2);
  plan->panel_rows = rows_of_panels(plan, multiply);
  double cost = dq_sums16_prepare(plan);
  if (cost < (double)(p->groups * dq_conv_panels(plan) * each * dq_conv_taps(plan)))
    return DQ_OPERATION_u8s8_sums16_tile;
  plan->tiles.most_steps = 0;
  return operation;
}

// Words of depth at a time. Tuning does not scale them in binary16, where the sums wait in memory for the next block.
static int64_t float_depth(const dq_conv_plan *plan) {
  return plan->half ? FLOAT_DEPTH : dq_scaled(FLOAT_DEPTH, plan->shape.tuning.depth);
}

static void prepare(dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  int operation = look_at_weights(plan, choose_multiply(plan));
  plan->multiply = dq_kernel_find(operation, plan->cpu);
  bool bytes = operation == DQ_OPERATION_u8s8_tile || operation == DQ_OPERATION_u8s8_pair_tile ||
               operation == DQ_OPERATION_u8s8_sums16_tile;
  plan->word_values = operation == DQ_OPERATION_f32_tile ? 1 : bytes ? 4 : 2;
  plan->expand = dq_conv_find_expand(plan);
  plan->requantize = dq_kernel_find(DQ_OPERATION_requantize, plan->cpu);
  plan->bytes = operation == DQ_OPERATION_u8s8_tile ? dq_kernel_find(DQ_OPERATION_u8s8_bytes_tile, plan->cpu) : NULL;
  dq_conv_prepare_planes(plan, p->out_height);
  plan->group_words = dq_ceil_div(p->in_channels / p->groups, plan->word_values);
  plan->depth = plan->group_words * p->kernel_height * p->kernel_width;
  plan->panel_rows = rows_of_panels(plan, plan->multiply);
  plan->tiles.reads_input = plan->flat && plan->float32;
  plan->tiles.block_words = plan->float32 ? dq_min_i64(plan->depth, float_depth(plan)) : plan->depth;
  int64_t width = plan->multiply->columns;
  int64_t outputs = dq_ceil_div(p->out_height * p->out_width, width);
  int64_t words = dq_scaled(BLOCK_WORDS, p->tuning.columns);
  int64_t most = dq_max_i64(1, words / (plan->tiles.block_words * width));
  plan->tiles.block_columns = dq_ceil_div(outputs, dq_ceil_div(outputs, most)) * width;
}

// Weights are widened before they are multiplied.
static bool widens(const dq_conv_plan *plan) { return plan->half && !plan->half_sums; }
static size_t weight_bytes(const dq_conv_plan *plan) { return widens(plan) ? 2 : 4; }
static size_t offsets_at(const dq_conv_plan *plan) {
  size_t weights = (size_t)(plan->shape.groups * dq_conv_panels(plan) * panel_words(plan));
  return DQ_CONV_HEADER_WORDS + dq_words(plan->shape.out_channels) + dq_round_up(weights * weight_bytes(plan), 64) / 4;
}
static size_t packed_words(const dq_conv_plan *plan) { return offsets_at(plan) + dq_words(2 * dq_conv_taps(plan)); }

static size_t plane_area(const dq_conv_plan *plan) {
  return plan->tiles.reads_input ? 0 : dq_words(plan->group_words * plane_stride(plan) + DQ_CONV_SLACK_WORDS);
}
static size_t block_area(const dq_conv_plan *plan) {
  return dq_words(plan->tiles.block_words * plan->tiles.block_columns + DQ_CONV_SLACK_WORDS);
}
// Rows of sums that wait: those of a panel, or all when there are several blocks of depth.
static size_t sums_area(const dq_conv_plan *plan) {
  if ((plan->float32 && !plan->half) || plan->bytes) return 0;
  int64_t rows = plan->depth > plan->tiles.block_words ? dq_conv_panels(plan) * plan->panel_rows : plan->panel_rows;
  return dq_words(rows * plan->tiles.block_columns);
}
static size_t thread_area(const dq_conv_plan *plan) {
  size_t widened = widens(plan) ? dq_words(plan->tiles.block_words * plan->panel_rows) : 0;
  return HELD_WORDS + block_area(plan) + sums_area(plan) + widened;
}
static size_t scratch_words(const dq_conv_plan *plan, int threads) {
  return plane_area(plan) + (size_t)threads * thread_area(plan);
}

// Weights of the `rows` output channels of a panel as they are, transposed: what is written lies side by side.
static inline __attribute__((always_inline)) void transpose_panel(const dq_conv_plan *plan, const uint8_t *weights,
                                                                  int64_t rows, uint8_t *to, const size_t bytes) {
  const size_t row_bytes = (size_t)plan->depth * bytes, gap = (size_t)(plan->panel_rows - rows) * bytes;
  for (int64_t k = 0; k < plan->depth; k++, weights += bytes, to += gap)
    for (const uint8_t *from = weights, *end = from + (size_t)rows * row_bytes; from < end; from += row_bytes) {
      memcpy(to, from, bytes);
      to += bytes;
    }
}

static void pack_floats(const dq_conv_plan *plan, const uint8_t *weights, int64_t rows, uint8_t *to) {
  if (weight_bytes(plan) == 4) transpose_panel(plan, weights, rows, to, 4);
  else transpose_panel(plan, weights, rows, to, 2);
}

// Pairs of neighbouring input channels' weights of one output channel, a word each, panel_rows apart.
static void pack_halves(const dq_conv_plan *plan, const uint16_t *weights, uint32_t *to) {
  int64_t channels = plan->shape.in_channels / plan->shape.groups, taps = dq_conv_taps(plan);
  for (int64_t c = 0; c < channels; c += 2)
    for (int64_t tap = 0; tap < taps; tap++, to += plan->panel_rows) {
      const uint16_t *first = weights + c * taps + tap;
      *to = *first | (c + 1 < channels ? (uint32_t)first[taps] << 16 : 0u);
    }
}

// Weights of one output channel as words, to[k * panel_rows], unless they are packed with others; returns
// their sum.
static uint32_t pack_channel(const dq_conv_plan *plan, const uint8_t *weights, int32_t zero, uint32_t *to) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t channels = p->in_channels / p->groups, taps = p->kernel_height * p->kernel_width;
  uint32_t sum = 0;
  for (int64_t c = 0; c < channels; c += plan->word_values)
    for (int64_t tap = 0; tap < taps; tap++, to += plan->panel_rows) {
      int32_t values[4];
      int64_t count = dq_min_i64(plan->word_values, channels - c);
      for (int64_t i = 0; i < count; i++) {
        values[i] = dq_int8_value(weights[(c + i) * taps + tap], plan->int8.weight_signed) - zero;
        sum += (uint32_t)values[i];
      }
      if (!plan->tiles.most_steps) *to = dq_weight_word(plan->word_values, values, count);
    }
  return sum;
}

static void pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed) {
  const dq_conv_parameters *p = &plan->shape;
  size_t row_bytes = (size_t)(p->in_channels / p->groups * p->kernel_height * p->kernel_width) * dq_element_bytes(plan);
  memset(packed, 0, packed_words(plan) * 4);
  packed[0] = bias != NULL;
  uint32_t *channel_words = packed + DQ_CONV_HEADER_WORDS;
  uint8_t *first = (uint8_t *)(channel_words + dq_words(p->out_channels));
  dq_conv_pack_bias(plan, bias, channel_words);
  if (plan->tiles.most_steps) dq_sums16_pack(plan, weights, (uint32_t *)(void *)first);
  for (int64_t o = 0; o < p->out_channels; o++) {
    int64_t group = o / dq_conv_group_out(plan), row = o % dq_conv_group_out(plan);
    int64_t panel = group * dq_conv_panels(plan) + row / plan->panel_rows;
    int32_t zero = dq_zero_point(plan->int8.weight_zero_points, plan->int8.weight_zero_point_count, o);
    const uint8_t *from = (const uint8_t *)weights + (size_t)o * row_bytes;
    uint8_t *to = first + (size_t)(panel * panel_words(plan) + row % plan->panel_rows) * weight_bytes(plan);
    if (plan->half_sums) pack_halves(plan, (const void *)from, (void *)to);
    else if (plan->float32 && row % plan->panel_rows == 0)
      pack_floats(plan, from, dq_min_i64(plan->panel_rows, dq_conv_group_out(plan) - row), to);
    else if (!plan->float32)
      channel_words[o] = (uint32_t)dq_conv_start(plan, pack_channel(plan, from, zero, (uint32_t *)(void *)to));
  }
  int64_t *offsets = (int64_t *)(void *)(packed + offsets_at(plan));
  for (int64_t ky = 0; ky < p->kernel_height; ky++)
    for (int64_t kx = 0; kx < p->kernel_width; kx++) *offsets++ = dq_conv_tap_offset(plan, ky, kx);
}

// ---- Running: one image and group at a time ----
typedef struct stage {
  const dq_conv_call *call;
  int64_t image, group;
  const uint32_t *planes; // expanded, or the input itself
  uint32_t *threads;      // scratch of thread 0
  int64_t columns;        // of a block
  int64_t rest;           // columns behind all blocks: each block multiplies them by its part of the panels as well
  bool shared;            // by several threads: values read first come from other processors
  int64_t blocks, chunks; // tasks: blocks of columns times chunks of panels
} stage;

// Full panels of a flat convolution with few weights are read where they are.
static bool in_place_panel(const dq_conv_plan *plan, int64_t count) {
  return plan->flat && !plan->half && count == plan->multiply->columns && dq_conv_panels(plan) <= FEW_PANELS;
}

// The planes are the input.
static void pack_flat_halves(const stage *s, int64_t from, int64_t end, int64_t first, int64_t count, uint32_t *to) {
  const dq_conv_plan *plan = s->call->plan;
  int64_t stride = plane_stride(plan), channels = plan->shape.in_channels / plan->shape.groups;
  int64_t values = plan->word_values, whole = dq_min_i64(end, channels / values);
  const uint16_t *row = (const uint16_t *)(const void *)s->planes + from * values * stride + first;
  dq_expansion form = {.rows = {row, row + stride},
                       .words = to,
                       .lines = whole - from,
                       .line_step = stride * values * 2,
                       .width = plan->multiply->columns,
                       .end = count,
                       .stride = 1};
  dq_expand_function *expand = (dq_expand_function *)plan->expand->function;
  expand(&form);
  if (whole == end) return;
  form.rows[0] = row + form.lines * values * stride; // the last of an odd number of channels
  form.rows[1] = NULL;
  form.words = to + form.lines * form.width;
  form.lines = 1;
  expand(&form);
}

static void pack_flat_panel(const stage *s, int64_t from, int64_t end, int64_t first, int64_t count, uint32_t *to) {
  const dq_conv_plan *plan = s->call->plan;
  int64_t width = plan->multiply->columns, stride = plane_stride(plan);
  const uint32_t *plane = s->planes + from * stride + first;
  bool whole = count == width && width % 8 == 0;
  if (plan->half) {
    pack_flat_halves(s, from, end, first, count, to);
    return;
  }
  for (int64_t k = from; k < end; k++, to += width, plane += stride) {
    if (whole) {
      for (int64_t at = 0; at < width; at += 8) memcpy(to + at, plane + at, 32);
    } else {
      memset(to, 0, (size_t)width * 4);
      memcpy(to, plane, (size_t)count * 4);
    }
  }
}

// Packs depth [from, end) of columns [first, first + count) to to[k][panel width].
static void pack_panel(const stage *s, int64_t from, int64_t end, int64_t first, int count, uint32_t *to) {
  const dq_conv_plan *plan = s->call->plan;
  if (in_place_panel(plan, count)) return;
  if (plan->flat) {
    pack_flat_panel(s, from, end, first, count, to);
    return;
  }
  const int64_t *offsets = (const int64_t *)(const void *)((const uint32_t *)s->call->packed + offsets_at(plan));
  dq_conv_pack_panel(plan, s->planes, plane_stride(plan), offsets, (dq_panel){from, end, first, count}, to);
}

typedef struct block {
  int64_t first, count; // columns
  int64_t depth_from, depth_end;
  int64_t first_panel; // that reads them
  uint32_t *packed, *sums;
  float *widened; // scratch for the weights of a panel
} block;

// Weights of a panel in the block's depth.
static const void *panel_weights(const stage *s, const block *b, int64_t panel) {
  const dq_conv_plan *plan = s->call->plan;
  const uint32_t *first = (const uint32_t *)s->call->packed + DQ_CONV_HEADER_WORDS + dq_words(plan->shape.out_channels);
  int64_t at = (s->group * dq_conv_panels(plan) + panel) * panel_words(plan) + b->depth_from * plan->panel_rows;
  if (!widens(plan)) return first + at;
  ((dq_f16_to_f32_function *)plan->widen->function)((const uint16_t *)(const void *)first + at, b->widened,
                                                    (b->depth_end - b->depth_from) * plan->panel_rows);
  return b->widened;
}

static void narrow_rows(const stage *s, int64_t channel, int64_t rows, uint32_t *sums, int64_t first, int64_t count) {
  const dq_conv_plan *plan = s->call->plan;
  int64_t outputs = plan->shape.out_height * plan->shape.out_width;
  uint16_t *to = (uint16_t *)s->call->output + (s->image * plan->shape.out_channels + channel) * outputs + first;
  for (int64_t i = 0; i < rows; i++, to += outputs, sums += plan->tiles.block_columns)
    dq_conv_narrow(plan, (float *)sums, to, count);
}

static void multiply_panel(const stage *s, const block *b, int64_t panel) {
  const dq_conv_plan *plan = s->call->plan;
  const dq_conv_parameters *p = &plan->shape;
  const uint32_t *packed = s->call->packed, *channel_words = packed + DQ_CONV_HEADER_WORDS;
  int64_t outputs = p->out_height * p->out_width, width = plan->multiply->columns;
  int64_t row = panel * plan->panel_rows, channel = s->group * dq_conv_group_out(plan) + row;
  int64_t rows = dq_min_i64(plan->panel_rows, dq_conv_group_out(plan) - row);
  bool in_place = plan->float32 ? !plan->half : !s->call->requantization;
  dq_bounds bounds = dq_conv_bounds(plan);
  dq_tile tile = {.a = panel_weights(s, b, panel),
                  .a_stride = plan->panel_rows,
                  .c_stride = in_place ? outputs : plan->tiles.block_columns,
                  .depth = b->depth_end - b->depth_from,
                  .rows = (int)rows,
                  .accumulate = b->depth_from > 0,
                  .start = (const int32_t *)channel_words + channel,
                  .finish = b->depth_end == plan->depth,
                  .leaky = bounds.leaky,
                  .bias = packed[0] ? (const float *)channel_words + channel : NULL,
                  .low = bounds.low,
                  .high = bounds.high,
                  .alpha = bounds.alpha};
  if (plan->tiles.most_steps) dq_sums16_read(plan, tile.a, &tile);
  const dq_kernel *multiply = plan->multiply;
  dq_requantize_rows end = {0};
  if (s->call->requantization) {
    end = dq_conv_requantize_form(s->call, s->image, channel);
    end.sums = (const int32_t *)b->sums, end.sums_stride = plan->tiles.block_columns;
    end.rows = rows, end.columns = b->count;
    end.output += b->first;
  }
  if (s->call->requantization && plan->bytes) {
    multiply = plan->bytes;
    tile.requantize = &end;
  }
  uint32_t *out =
      in_place ? (uint32_t *)s->call->output + (s->image * p->out_channels + channel) * outputs + b->first : b->sums;
  if (plan->half && plan->depth > plan->tiles.block_words) out += row * plan->tiles.block_columns;
  for (int64_t at = 0; at < b->count; at += width) {
    tile.c = out + at;
    tile.columns = (int)dq_min_i64(width, b->count - at);
    bool in_planes = in_place_panel(plan, tile.columns);
    tile.b = in_planes ? s->planes + b->depth_from * plane_stride(plan) + b->first + at : b->packed + at * tile.depth;
    tile.b_stride = in_planes ? plane_stride(plan) : width;
    tile.ahead =
        at ? NULL : (const uint32_t *)tile.a + tile.depth * tile.a_stride; // weights of the next panel or block
    bool far_values = s->shared && in_planes && panel == b->first_panel && at + width < b->count;
    if (far_values) tile.ahead = (const uint32_t *)tile.b + width;
    tile.ahead_stride = far_values ? tile.b_stride : 0;
    ((dq_tile_function *)multiply->function)(&tile);
    if (tile.requantize) end.output += width;
    if (tile.finish && plan->tail.kernel)
      dq_conv_end_rows(s->call, (uint32_t *)tile.c - (uint32_t *)s->call->output, rows, tile.columns);
  }
  if (!tile.finish || tile.requantize) return;
  if (in_place) return;
  if (plan->half) narrow_rows(s, channel, rows, out, b->first, b->count);
  else ((dq_requantize_function *)plan->requantize->function)(&end);
}

static void pack_block(const stage *s, const block *b) {
  int64_t width = s->call->plan->multiply->columns, depth = b->depth_end - b->depth_from;
  for (int64_t at = 0; at < b->count; at += width)
    pack_panel(s, b->depth_from, b->depth_end, b->first + at, (int)dq_min_i64(width, b->count - at),
               b->packed + at * depth);
}

// The columns behind all blocks, beside those of block `index`, which multiplies them by panels first_panel to end - 1.
static block rest_beside(const stage *s, const block *b, int64_t index, int64_t *end) {
  const dq_conv_plan *plan = s->call->plan;
  block rest = *b;
  rest.first = s->blocks * s->columns;
  rest.count = dq_min_i64(s->rest, plan->shape.out_height * plan->shape.out_width - rest.first);
  rest.first_panel = dq_conv_panels(plan) * index / s->blocks;
  rest.packed += s->columns * plan->tiles.block_words;
  *end = s->rest ? dq_conv_panels(plan) * (index + 1) / s->blocks : rest.first_panel;
  return rest;
}

static void multiply_task(void *argument, int64_t task, int thread) {
  const stage *s = argument;
  const dq_conv_plan *plan = s->call->plan;
  int64_t index = task / s->chunks, chunk = task % s->chunks;
  int64_t outputs = plan->shape.out_height * plan->shape.out_width;
  int64_t from = dq_conv_panels(plan) * chunk / s->chunks, end = dq_conv_panels(plan) * (chunk + 1) / s->chunks;
  int64_t rest_end;
  uint32_t *scratch = s->threads + (size_t)thread * thread_area(plan);
  int64_t *held = (int64_t *)(void *)scratch;
  block b = {.first = index * s->columns, .first_panel = from, .packed = scratch + HELD_WORDS};
  b.sums = b.packed + block_area(plan);
  b.widened = (float *)b.sums + sums_area(plan);
  b.count = dq_min_i64(s->columns, outputs - b.first);
  block rest = rest_beside(s, &b, index, &rest_end);
  for (int64_t k = 0; k < plan->depth; k += plan->tiles.block_words) {
    rest.depth_from = b.depth_from = k;
    rest.depth_end = b.depth_end = dq_min_i64(plan->depth, k + plan->tiles.block_words);
    if (*held != index) {
      pack_block(s, &b);
      pack_block(s, &rest);
    }
    for (int64_t panel = from; panel < end; panel++) {
      multiply_panel(s, &b, panel);
      if (panel >= rest.first_panel && panel < rest_end) multiply_panel(s, &rest, panel);
    }
  }
  *held = plan->depth <= plan->tiles.block_words ? index : -1;
}

// Divides the columns, in halves of a tile's width, into equal blocks of whole tiles for all threads; what is left is
// multiplied beside each. If that does not fit, into blocks as even as they can be; so too where sums are rounded
// behind a panel, which takes as long for a few columns as for many.
static void divide_columns(stage *s, int64_t half, int64_t halves, int threads) {
  const dq_conv_plan *plan = s->call->plan;
  int64_t width = plan->multiply->columns;
  s->blocks = dq_ceil_div(s->blocks, threads) * threads;
  int64_t columns = halves / s->blocks * half, rest = halves % s->blocks * half;
  bool fits = columns + dq_ceil_div(rest, width) * width <= plan->tiles.block_columns;
  if (plan->float32 && !plan->half && columns && columns % width == 0 && fits) {
    s->columns = columns;
    s->rest = rest;
    return;
  }
  s->columns = dq_ceil_div(halves, s->blocks) * half;
  s->blocks = dq_ceil_div(halves * half, s->columns);
}

// Tasks by which all threads have something to do.
static void choose_tasks(stage *s, int threads) {
  enum { TASKS = 4 }; // of a thread
  const dq_conv_plan *plan = s->call->plan;
  int64_t half = dq_max_i64(plan->multiply->columns / 2, 1); // tiles may be half as wide
  int64_t halves = dq_ceil_div(plan->shape.out_height * plan->shape.out_width, half);
  s->columns = plan->tiles.block_columns;
  s->blocks = dq_ceil_div(halves * half, s->columns);
  s->chunks = 1;
  if (threads == 1) return;
  if (dq_conv_by_place(plan, threads)) divide_columns(s, half, halves, threads);
  int64_t tasks =
      plan->depth <= plan->tiles.block_words || plan->flat ? TASKS : TASKS / 2; // panels are packed for each
  s->chunks = dq_min_i64(dq_conv_panels(plan), dq_ceil_div(tasks * threads, s->blocks));
}

static void run(const dq_conv_call *call) {
  const dq_conv_plan *plan = call->plan;
  const dq_conv_parameters *p = &plan->shape;
  stage s = {.call = call, .threads = call->scratch + plane_area(plan), .planes = call->scratch};
  int threads = dq_pool_threads(call->pool);
  s.shared = threads > 1;
  choose_tasks(&s, threads);
  for (s.image = 0; s.image < p->batch; s.image++)
    for (s.group = 0; s.group < p->groups; s.group++) {
      if (plan->tiles.reads_input) {
        s.planes = (const uint32_t *)(const void *)dq_conv_input_channel(call, s.image, s.group, 0);
      } else {
        dq_conv_expand_group(call, s.image, s.group, plane_stride(plan));
        memset(call->scratch + plan->group_words * plane_stride(plan), 0, DQ_CONV_SLACK_WORDS * 4);
      }
      for (int t = 0; t < threads; t++) *(int64_t *)(void *)(s.threads + (size_t)t * thread_area(plan)) = -1;
      dq_pool_run(call->pool, s.blocks * s.chunks, multiply_task, &s);
    }
}

static dq_block_sizes blocks(const dq_conv_plan *plan, int threads) {
  (void)threads;
  return (dq_block_sizes){plan->tiles.block_columns, plan->tiles.block_words};
}

const dq_conv_algorithm dq_conv_tiles = {.name = "tiles",
                                         .applicable = always,
                                         .same_bits = true,
                                         .ends = true,
                                         .cost = cost,
                                         .count = dq_conv_count_tiles,
                                         .knobs = DQ_KNOB_COLUMNS | DQ_KNOB_DEPTH,
                                         .prepare = prepare,
                                         .blocks = blocks,
                                         .packed_words = packed_words,
                                         .scratch_words = scratch_words,
                                         .pack = pack,
                                         .run = run};
