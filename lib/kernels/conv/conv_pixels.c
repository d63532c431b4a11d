// Convolution in 8 bits with output channels in lanes: rows of a tile are pixels of the output, up to 14 of them, whose
// inputs are broadcast from expanded planes where they are. Nothing is packed, a plane of 7 x 7 wastes no lane, and
// threads share planes alone.
//
// Pixels are taken in runs of 4 to 7 neighbours of a row, two runs at a time. Planes whose rows follow each other
// without gaps are one row.
//
// Packed: header; [out_channels] starts; [groups][panels][depth][LANES] words of weights, the last panel of a group
// with half as many lanes where these do; [depth] offsets of 32 bits in the planes. Scratch: the expanded planes of one
// group; per thread the sums of two runs, for outputs that are not requantized.
#include "lib/kernels/conv/conv_algorithm.h"

#include <string.h>

enum {
  LANES = DQ_PIXEL_LANES,
  HALF = LANES / 2,
  LEAST_RUN = 4,
  BLOCK_WORDS = 128 * 1024, // of planes at a time: what stays in a second-level cache beside a panel of weights
};

static int64_t panels(const dq_conv_plan *plan) { return dq_ceil_div(dq_conv_group_out(plan), LANES); }
static int64_t group_lanes(const dq_conv_plan *plan) { return dq_ceil_div(dq_conv_group_out(plan), HALF) * HALF; }

// Rows of pixels: those of the output, or one where the planes have no gaps between these.
typedef struct pixel_rows {
  int64_t rows, outputs, words; // outputs of a row, words from one to the next
  int64_t parts, pixels;        // runs of a row, pixels of a run
} pixel_rows;

static bool has_gaps(const dq_conv_parameters *p) {
  return p->out_height > 1 && (p->kernel_width - 1) * p->dilation_width / p->stride_width > 0;
}

static pixel_rows rows_of(const dq_conv_parameters *p) {
  bool gaps = has_gaps(p);
  pixel_rows r = {.rows = gaps ? p->out_height : 1, .outputs = gaps ? p->out_width : p->out_height * p->out_width};
  r.words = r.outputs + (p->kernel_width - 1) * p->dilation_width / p->stride_width;
  r.parts = dq_ceil_div(r.outputs, DQ_PIXEL_RUN);
  r.pixels = dq_ceil_div(r.outputs, r.parts);
  return r;
}

static bool applicable(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  const dq_conv_int8_parameters *q = &plan->int8;
  if (plan->float32 || !dq_natural_zero_points(q->weight_zero_points, q->weight_zero_point_count, q->weight_signed) ||
      !dq_kernel_find(DQ_OPERATION_u8s8_pixels, plan->cpu) || dq_kernel_find(DQ_OPERATION_u8s8_block, plan->cpu))
    return false;
  int64_t height = p->in_height + p->pad_top + p->pad_bottom, width = p->in_width + p->pad_left + p->pad_right, words;
  bool fits = dq_mul_i64(height + p->stride_height, width + p->stride_width, &words) &&
              dq_mul_i64(words, dq_ceil_div(p->in_channels, 4), &words) && words < INT32_MAX;
  return fits && rows_of(p).pixels >= LEAST_RUN;
}

static double cost(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  enum { TURN = 4 }; // the bytes of a vector of sums brought into place cost as much as so many products
  // What is not packed, beside the cost of packing that `tiles` counts; a vector of lanes alone waits for its loads.
  const double unpacked = 0.92, alone = 1.2;
  pixel_rows r = rows_of(p);
  bool one_tap = dq_conv_taps(plan) == 1;
  int64_t vectors = group_lanes(plan) / HALF;
  double each = (double)(p->in_channels / p->groups * dq_conv_taps(plan) + TURN) * (one_tap ? 1 : unpacked);
  double lanes = (double)vectors + (one_tap && vectors % 2 ? alone - 1 : 0);
  return (double)(p->batch * p->groups * r.rows * r.parts * r.pixels) * lanes * each;
}

static void prepare(dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  plan->multiply = dq_kernel_find(DQ_OPERATION_u8s8_tile, plan->cpu);
  plan->bytes = dq_kernel_find(DQ_OPERATION_u8s8_pixels, plan->cpu);
  plan->word_values = 4;
  plan->expand = dq_conv_find_expand(plan);
  dq_conv_prepare_planes(plan, p->out_height);
  plan->group_words = dq_ceil_div(p->in_channels / p->groups, plan->word_values);
  plan->depth = plan->group_words * dq_conv_taps(plan);
  plan->panel_rows = LANES;
}

static int64_t group_weights(const dq_conv_plan *plan) { return plan->depth * group_lanes(plan); }
static size_t offsets_at(const dq_conv_plan *plan) {
  return dq_conv_weights_at(plan) + dq_words(plan->shape.groups * group_weights(plan));
}
static size_t packed_words(const dq_conv_plan *plan) { return offsets_at(plan) + dq_words(plan->depth); }

static size_t thread_area(void) { return (size_t)(2 * DQ_PIXEL_RUN * LANES); }
static size_t scratch_words(const dq_conv_plan *plan, int threads) {
  return dq_conv_planes_area(plan) + (size_t)threads * thread_area();
}

// The lanes of a panel.
static int64_t panel_lanes(const dq_conv_plan *plan, int64_t panel) {
  return dq_conv_group_out(plan) - panel * LANES > HALF ? LANES : HALF;
}

// Weights of an output channel as words, `lanes` apart; returns their sum.
static uint32_t pack_channel(const dq_conv_plan *plan, const uint8_t *weights, int64_t lanes, uint32_t *to) {
  int64_t channels = plan->shape.in_channels / plan->shape.groups, taps = dq_conv_taps(plan);
  int32_t zero = plan->int8.weight_signed ? 0 : 128;
  uint32_t sum = 0;
  for (int64_t c = 0; c < channels; c += plan->word_values)
    for (int64_t tap = 0; tap < taps; tap++, to += lanes) {
      int32_t values[4];
      int64_t count = dq_min_i64(plan->word_values, channels - c);
      for (int64_t i = 0; i < count; i++) {
        values[i] = dq_int8_value(weights[(c + i) * taps + tap], plan->int8.weight_signed) - zero;
        sum += (uint32_t)values[i];
      }
      *to = dq_weight_word(plan->word_values, values, count);
    }
  return sum;
}

static void pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t each = p->in_channels / p->groups * dq_conv_taps(plan);
  (void)bias;
  memset(packed, 0, packed_words(plan) * 4);
  for (int64_t o = 0; o < p->out_channels; o++) {
    int64_t row = o % dq_conv_group_out(plan), panel = row / LANES, lanes = panel_lanes(plan, panel);
    uint32_t *to = packed + dq_conv_weights_at(plan) + o / dq_conv_group_out(plan) * group_weights(plan);
    to += panel * LANES * plan->depth + row % LANES;
    uint32_t sum = pack_channel(plan, (const uint8_t *)weights + o * each, lanes, to);
    packed[DQ_CONV_HEADER_WORDS + o] = (uint32_t)dq_conv_start(plan, sum);
  }
  int32_t *offsets = (int32_t *)packed + offsets_at(plan);
  for (int64_t c = 0; c < plan->group_words; c++)
    for (int64_t ky = 0; ky < p->kernel_height; ky++)
      for (int64_t kx = 0; kx < p->kernel_width; kx++)
        *offsets++ = (int32_t)(c * dq_conv_plane_words(plan) + dq_conv_tap_offset(plan, ky, kx));
}

// ---- Running: one image and group at a time ----
typedef struct stage {
  const dq_conv_call *call;
  int64_t image, group;
  pixel_rows rows;
  int64_t runs, blocks, chunks; // tasks: blocks of runs times chunks of panels
} stage;

// Runs of a panel, to int32.
static void store_sums(const stage *s, dq_byte_pixels *form, int64_t channel, int32_t *sums) {
  const dq_conv_parameters *p = &s->call->plan->shape;
  int64_t plane = p->out_height * p->out_width, end = form->first + form->runs;
  int32_t *output = (int32_t *)s->call->output + (s->image * p->out_channels + channel) * plane;
  form->sums = sums;
  form->runs = 1;
  for (; form->first < end; form->first++) {
    ((dq_u8s8_pixels_function *)s->call->plan->bytes->function)(form);
    int64_t x = form->first % form->parts * form->pixels;
    int32_t *to = output + form->first / form->parts * form->row_outputs + x;
    int64_t count = dq_min_i64(form->pixels, form->row_outputs - x);
    for (int c = 0; c < form->channels; c++)
      for (int64_t i = 0; i < count; i++) to[c * plane + i] = sums[i * LANES + c];
  }
}

static void multiply_panel(const stage *s, int64_t panel, int64_t first, int64_t runs, int32_t *sums) {
  const dq_conv_call *call = s->call;
  const dq_conv_plan *plan = call->plan;
  const uint32_t *packed = call->packed;
  int64_t channel = s->group * dq_conv_group_out(plan) + panel * LANES;
  int64_t at = panel * LANES * plan->depth;
  dq_byte_pixels form = {.planes = call->scratch,
                         .offsets = (const int32_t *)packed + offsets_at(plan),
                         .weights = packed + dq_conv_weights_at(plan) + s->group * group_weights(plan) + at,
                         .starts = (const int32_t *)packed + DQ_CONV_HEADER_WORDS + channel,
                         .depth = plan->depth,
                         .first = first,
                         .runs = runs,
                         .parts = s->rows.parts,
                         .row_outputs = s->rows.outputs,
                         .row_words = s->rows.words,
                         .pixels = (int)s->rows.pixels,
                         .channels = (int)dq_min_i64(LANES, dq_conv_group_out(plan) - panel * LANES)};
  form.ahead = panel + 1 < panels(plan) ? form.weights + LANES * plan->depth : plan->next;
  if (!call->requantization) {
    store_sums(s, &form, channel, sums);
    return;
  }
  dq_requantize_rows end = dq_conv_requantize_form(call, s->image, channel);
  form.requantize = &end;
  ((dq_u8s8_pixels_function *)plan->bytes->function)(&form);
}

static void multiply_task(void *argument, int64_t task, int thread) {
  const stage *s = argument;
  const dq_conv_plan *plan = s->call->plan;
  int64_t block = task / s->chunks, chunk = task % s->chunks;
  int64_t first = s->runs * block / s->blocks, end = s->runs * (block + 1) / s->blocks;
  int32_t *sums = (int32_t *)s->call->scratch + dq_conv_planes_area(plan) + (size_t)thread * thread_area();
  for (int64_t panel = panels(plan) * chunk / s->chunks; panel < panels(plan) * (chunk + 1) / s->chunks; panel++)
    multiply_panel(s, panel, first, end - first, sums);
}

// Tasks by which all threads have something to do, as even as they can be.
static void choose_tasks(stage *s, int threads) {
  enum { TASKS = 4 }; // of a thread
  const dq_conv_plan *plan = s->call->plan;
  int64_t pairs = dq_ceil_div(s->runs, 2), words = plan->group_words * dq_conv_plane_words(plan);
  s->blocks = dq_ceil_div(words, dq_scaled(BLOCK_WORDS, plan->shape.tuning.columns));
  s->chunks = 1;
  if (threads > 1 && dq_conv_by_place(plan, threads)) s->blocks = dq_ceil_div(s->blocks, threads) * threads;
  else if (threads > 1) s->chunks = dq_min_i64(panels(plan), dq_ceil_div(TASKS * threads, s->blocks));
  s->blocks = dq_min_i64(s->blocks, pairs);
}

static void run(const dq_conv_call *call) {
  const dq_conv_plan *plan = call->plan;
  const dq_conv_parameters *p = &plan->shape;
  stage s = {.call = call, .rows = rows_of(p)};
  s.runs = s.rows.rows * s.rows.parts;
  choose_tasks(&s, dq_pool_threads(call->pool));
  memset(call->scratch + plan->group_words * dq_conv_plane_words(plan), 0, DQ_CONV_SLACK_WORDS * 4);
  for (s.image = 0; s.image < p->batch; s.image++)
    for (s.group = 0; s.group < p->groups; s.group++) {
      dq_conv_expand_group(call, s.image, s.group, dq_conv_plane_words(plan));
      dq_pool_run(call->pool, s.blocks * s.chunks, multiply_task, &s);
    }
}

const dq_conv_algorithm dq_conv_pixels = {.name = "pixels",
                                          .applicable = applicable,
                                          .same_bits = true,
                                          .cost = cost,
                                          .prepare = prepare,
                                          .packed_words = packed_words,
                                          .scratch_words = scratch_words,
                                          .pack = pack,
                                          .run = run};
