// Convolution in fp32 with few input or output channels: a band of output rows is expanded once per kernel
// column, so that under every tap lie outputs without gaps, and the tiles read it where it is.
// Packing panels would cost as much there as multiplying them.
//
// Packed: header; [out_channels] bias; [groups][panels][depth][panel_rows] weights; [depth] offsets
// of 64 bits in the band. Scratch: a band per thread.
#include "lib/kernels/conv/conv_algorithm.h"

#include <string.h>

enum {
  MOST_CHANNELS = 64,     // of a group's input or output
  BAND_WORDS = 96 * 1024, // a fraction of a second-level cache
  LEAST_ROWS = 4,         // of a band: fewer repeat too much of the rows between bands
};

static int64_t group_in(const dq_conv_plan *plan) { return plan->shape.in_channels / plan->shape.groups; }

// Words of a band of so many output rows.
static int64_t band_words(const dq_conv_parameters *p, int64_t rows) {
  int64_t input_rows = (rows - 1) * p->stride_height + (p->kernel_height - 1) * p->dilation_height + 1;
  return p->in_channels / p->groups * p->kernel_width * p->out_width * input_rows;
}

// Output rows of a band: of those that fit, the number with the least work, counted in vectors: what
// is computed, and what is expanded, once for all output channels.
static int64_t choose_rows(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t best = 1, least = INT64_MAX, width = plan->multiply->columns;
  int64_t most = dq_scaled(BAND_WORDS, p->tuning.columns);
  for (int64_t rows = 1; rows <= p->out_height && (rows == 1 || band_words(p, rows) <= most); rows++) {
    int64_t columns = dq_ceil_div(rows * p->out_width, width) * width;
    int64_t sums = columns * group_in(plan) * p->kernel_height * p->kernel_width * dq_conv_group_out(plan);
    int64_t work = dq_ceil_div(p->out_height, rows) * (sums + 8 * band_words(p, rows));
    if (work <= least) least = work, best = rows;
  }
  return best;
}

static bool applicable(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t rows = dq_min_i64(p->out_height, LEAST_ROWS);
  bool few = group_in(plan) <= MOST_CHANNELS || dq_conv_group_out(plan) <= MOST_CHANNELS;
  return plan->float32 && !plan->half && !dq_conv_is_pointwise(p) && few && band_words(p, rows) <= BAND_WORDS;
}

static double cost(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  enum { EXPAND = 2 }; // a vector of a tap brought into the band costs as much as so many products
  int64_t vectors = dq_ceil_div(p->out_height * p->out_width, DQ_COST_LANES);
  double depth = (double)(group_in(plan) * p->kernel_height * p->kernel_width);
  return (double)(p->batch * p->groups * vectors) * depth * (double)(dq_conv_group_out(plan) + EXPAND);
}

static void prepare(dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  plan->multiply = dq_kernel_find(DQ_OPERATION_f32_tile, plan->cpu);
  plan->word_values = 1;
  plan->expand = dq_conv_find_expand(plan);
  plan->group_words = group_in(plan);
  plan->depth = plan->group_words * p->kernel_height * p->kernel_width;
  plan->panel_rows = dq_ceil_div(dq_conv_group_out(plan), dq_ceil_div(dq_conv_group_out(plan), plan->multiply->rows));
  plan->bands.rows = choose_rows(plan);
  plan->planes.gapless = true;
  dq_conv_prepare_planes(plan, plan->bands.rows);
}

static size_t offsets_at(const dq_conv_plan *plan) {
  int64_t rows = plan->shape.groups * dq_conv_panels(plan) * plan->panel_rows;
  return dq_conv_weights_at(plan) + dq_words(rows * plan->depth);
}
static size_t packed_words(const dq_conv_plan *plan) { return offsets_at(plan) + dq_words(2 * plan->depth); }
static size_t scratch_words(const dq_conv_plan *plan, int threads) {
  return (size_t)threads * dq_conv_planes_area(plan);
}

static void pack_weights(const dq_conv_plan *plan, const float *weights, float *to) {
  for (int64_t group = 0; group < plan->shape.groups; group++)
    for (int64_t o = 0; o < dq_conv_group_out(plan); o++, weights += plan->depth) {
      int64_t panel = group * dq_conv_panels(plan) + o / plan->panel_rows;
      float *row = to + panel * plan->panel_rows * plan->depth + o % plan->panel_rows;
      for (int64_t k = 0; k < plan->depth; k++) row[k * plan->panel_rows] = weights[k];
    }
}

static void pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed) {
  memset(packed, 0, packed_words(plan) * 4);
  packed[0] = bias != NULL;
  dq_conv_pack_bias(plan, bias, packed + DQ_CONV_HEADER_WORDS);
  pack_weights(plan, weights, (float *)packed + dq_conv_weights_at(plan));
  dq_conv_pack_offsets(plan, (int64_t *)(void *)(packed + offsets_at(plan)));
}

// ---- Running: a task is a band of a group of an image ----

// Lines of a slot of a plane that tiles of so many output rows read.
static int64_t lines_read(const dq_conv_plan *plan, int64_t rows) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t columns = (int64_t)dq_round_up((size_t)(rows * p->out_width), (size_t)plan->multiply->columns);
  int64_t below = (p->kernel_height - 1) * p->dilation_height / p->stride_height;
  return dq_min_i64(dq_ceil_div(columns, p->out_width) + below, plan->planes.height);
}

static void multiply_panel(const dq_conv_call *call, const dq_tile *band, int64_t group, int64_t panel, int64_t first,
                           int64_t count) {
  const dq_conv_plan *plan = call->plan;
  int64_t row = panel * plan->panel_rows, channel = group * dq_conv_group_out(plan) + row;
  const float *packed = call->packed, *bias = packed + DQ_CONV_HEADER_WORDS;
  float *out = (float *)call->output + first;
  dq_tile tile = *band;
  tile.a = packed + dq_conv_weights_at(plan) + (group * dq_conv_panels(plan) + panel) * plan->panel_rows * plan->depth;
  tile.rows = (int)dq_min_i64(plan->panel_rows, dq_conv_group_out(plan) - row);
  tile.bias = tile.bias ? bias + channel : NULL;
  for (int64_t at = 0; at < count; at += plan->multiply->columns) {
    tile.b = (const float *)band->b + at;
    tile.c = out + row * tile.c_stride + at;
    tile.columns = (int)dq_min_i64(plan->multiply->columns, count - at);
    ((dq_tile_function *)plan->multiply->function)(&tile);
    dq_conv_end_rows(call, first + row * tile.c_stride + at, tile.rows, tile.columns);
  }
}

typedef struct stage {
  const dq_conv_call *call;
  int64_t rows, bands; // output rows of a band, at most those of the plan; bands of a group
  int64_t chunks;      // of the panels, a task each: where there are fewer bands than threads, which then expand alike
} stage;

static void band_task(void *argument, int64_t index, int thread) {
  const stage *s = argument;
  const dq_conv_call *call = s->call;
  int64_t task = index / s->chunks, chunk = index % s->chunks;
  const dq_conv_plan *plan = call->plan;
  const dq_conv_parameters *p = &plan->shape;
  int64_t outputs = p->out_height * p->out_width, first = task % s->bands * s->rows;
  int64_t group = task / s->bands % p->groups, image = task / s->bands / p->groups;
  int64_t rows = dq_min_i64(s->rows, p->out_height - first), count = rows * p->out_width;
  uint32_t *band = call->scratch + (size_t)thread * dq_conv_planes_area(plan);
  const uint8_t *input = dq_conv_input_channel(call, image, group, 0);
  dq_conv_expand_floats(plan, input, first, lines_read(plan, rows), band);
  memset(band + plan->group_words * dq_conv_plane_words(plan), 0, DQ_CONV_SLACK_WORDS * 4);
  const uint32_t *packed = call->packed;
  dq_bounds bounds = dq_conv_bounds(plan);
  dq_tile tile = {.a_stride = plan->panel_rows,
                  .b = band,
                  .offsets = (const int64_t *)(const void *)(packed + offsets_at(plan)),
                  .c_stride = outputs,
                  .depth = plan->depth,
                  .finish = true,
                  .leaky = bounds.leaky,
                  .bias = packed[0] ? (const float *)packed : NULL,
                  .low = bounds.low,
                  .high = bounds.high,
                  .alpha = bounds.alpha};
  int64_t start = (image * p->out_channels + group * dq_conv_group_out(plan)) * outputs + first * p->out_width;
  int64_t end = dq_conv_panels(plan) * (chunk + 1) / s->chunks;
  for (int64_t panel = dq_conv_panels(plan) * chunk / s->chunks; panel < end; panel++)
    multiply_panel(call, &tile, group, panel, start, count);
}

// Divides the work among threads: bands of fewer rows, unless chunks of the panels give the thread that has most fewer
// tiles. Each chunk of a band expands the whole band.
static void divide(stage *s, int64_t threads) {
  const dq_conv_plan *plan = s->call->plan;
  const dq_conv_parameters *p = &plan->shape;
  enum { ENOUGH = 4 }; // bands per thread from which a last uneven round does not matter
  int64_t others = p->batch * p->groups, half = dq_max_i64(plan->multiply->columns / 2, 1); // tiles may be half as wide
  s->rows = plan->bands.rows;
  s->bands = dq_ceil_div(p->out_height, s->rows);
  s->chunks = 1;
  if (others * s->bands % threads == 0 || others * s->bands >= ENOUGH * threads) return;
  int64_t bands = dq_min_i64(dq_ceil_div(s->bands, threads) * threads, p->out_height);
  int64_t rows = dq_ceil_div(p->out_height, bands), chunks = dq_ceil_div(threads, others * s->bands);
  chunks = dq_min_i64(chunks, dq_conv_panels(plan));
  int64_t by_rows = dq_ceil_div(bands, threads) * dq_ceil_div(rows * p->out_width, half) * dq_conv_panels(plan);
  int64_t by_panels = dq_ceil_div(s->bands * chunks, threads) * dq_ceil_div(s->rows * p->out_width, half) *
                      dq_ceil_div(dq_conv_panels(plan), chunks);
  if (by_rows <= by_panels) {
    s->rows = rows;
    s->bands = dq_ceil_div(p->out_height, rows);
  } else {
    s->chunks = chunks;
  }
}

static void run(const dq_conv_call *call) {
  stage s = {.call = call};
  divide(&s, dq_pool_threads(call->pool));
  dq_pool_run(call->pool, call->plan->shape.batch * call->plan->shape.groups * s.bands * s.chunks, band_task, &s);
}

static dq_block_sizes blocks(const dq_conv_plan *plan, int threads) {
  (void)threads;
  return (dq_block_sizes){plan->bands.rows, 0};
}

const dq_conv_algorithm dq_conv_bands = {.name = "bands",
                                         .applicable = applicable,
                                         .same_bits = true,
                                         .ends = true,
                                         .cost = cost,
                                         .count = dq_conv_count_bands,
                                         .knobs = DQ_KNOB_COLUMNS,
                                         .prepare = prepare,
                                         .blocks = blocks,
                                         .packed_words = packed_words,
                                         .scratch_words = scratch_words,
                                         .pack = pack,
                                         .run = run};
