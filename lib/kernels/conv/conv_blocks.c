// Convolution of bytes on hardware that multiplies whole tiles (u8s8_block). The input is expanded
// into planes of words, four channels in a word, as everywhere; then a block of outputs at a time is
// multiplied with all weights of the group and requantized panel by panel.
//
// The depth is cut into tiles in one of three ways. Without taps, strides and pads:
//
// - flat: a block of outputs is expanded by itself, and stays in the first level of cache.
//
// Else, whichever is estimated to take less time:
//
// - direct: a tile is up to 16 words of channels under one tap and is read where it is in the planes;
//   its words lie a plane apart, its columns side by side. Outputs are then the words of a plane,
//   with a few between the rows thrown away. Nothing is copied, but a tap with few channels leaves
//   most of a tile empty.
// - packed: words of channels and taps together are copied (im2col) into panels of columns.
//
// Packed weights: header; [out_channels] starts; [groups][panels][tiles][panel_rows][16] words;
// [tiles] offsets of a tile's first word (direct); [taps] offsets of the taps, both of 64 bits. Scratch: the
// planes of one group (not flat); per thread a block of words (not direct), sums of a panel as
// int32 and as bytes.
#include "lib/kernels/conv/conv_algorithm.h"

#include <string.h>

enum {
  BLOCK_COLUMNS = 128,     // outputs at a time: sums of a panel stay in the first level of cache
  BLOCK_WORDS = 48 * 1024, // packed or expanded at a time
  MOST_ROWS = 32,          // of a panel
  LEVEL1 = 10 * 1024,      // words of the first level of cache that values, weights and sums may take
};

static bool applicable(const dq_conv_plan *plan) {
  const dq_conv_int8_parameters *q = &plan->int8;
  return !plan->float32 && dq_kernel_find(DQ_OPERATION_u8s8_block, plan->cpu) &&
         dq_natural_zero_points(q->weight_zero_points, q->weight_zero_point_count, q->weight_signed);
}

static int64_t tiles(const dq_conv_plan *plan) { return plan->depth / plan->blocks.tile_words; }
// Tiles of depth under one tap (direct).
static int64_t tap_tiles(const dq_conv_plan *plan) { return tiles(plan) / dq_conv_taps(plan); }
static int64_t panel_words(const dq_conv_plan *plan) { return tiles(plan) * plan->panel_rows * DQ_BLOCK_WORDS; }
static int64_t whole_columns(const dq_conv_plan *plan) {
  return (int64_t)dq_round_up((size_t)plan->blocks.block_columns, (size_t)plan->multiply->columns);
}
// Columns from one output row to the next, and in all.
static int64_t row_columns(const dq_conv_plan *plan) {
  return plan->blocks.reads_planes ? plan->planes.width : plan->shape.out_width;
}
static int64_t all_columns(const dq_conv_plan *plan) { return plan->shape.out_height * row_columns(plan); }

// An odd number of lines, so that words a plane apart do not meet in one set of the cache.
static int64_t plane_stride(const dq_conv_plan *plan) { return (int64_t)(dq_words(dq_conv_plane_words(plan)) | 16); }
// Words of memory from one word of depth to the next: in blocks, in planes, in panels.
static int64_t word_step(const dq_conv_plan *plan) {
  return plan->flat ? whole_columns(plan) : plan->blocks.reads_planes ? plane_stride(plan) : plan->multiply->columns;
}

// Whether direct tiles take less time. In cycles for 16 columns: 16 for each tile of 16 rows and each
// tile of depth; 2 for each word of depth that is copied.
static bool choose_direct(const dq_conv_plan *plan) {
  int64_t taps = dq_conv_taps(plan), words = plan->group_words;
  int64_t row_tiles = dq_ceil_div(dq_conv_group_out(plan), 16);
  int64_t direct = taps * dq_ceil_div(words, DQ_BLOCK_WORDS) * 16 * row_tiles;
  int64_t packed = dq_ceil_div(words * taps, DQ_BLOCK_WORDS) * 16 * row_tiles + 2 * words * taps;
  return direct * plan->planes.width <= packed * plan->shape.out_width;
}

// Blocks of columns: whole output rows when some columns are thrown away.
static void choose_block(dq_conv_plan *plan) {
  int64_t width = plan->multiply->columns;
  int64_t most = BLOCK_COLUMNS;
  if (!plan->blocks.reads_planes) most = dq_min_i64(most, BLOCK_WORDS / plan->depth);
  // Values of a block that stay beside a panel of weights and its sums are read from there for every panel.
  int64_t fit = (LEVEL1 - plan->depth * plan->panel_rows) / (plan->depth + plan->panel_rows) / width * width;
  if (plan->flat && fit >= 2 * width) most = dq_min_i64(most, fit);
  int64_t unit = row_columns(plan) == plan->shape.out_width ? width : plan->planes.width;
  int64_t units = dq_ceil_div(all_columns(plan), unit);
  int64_t blocks = dq_ceil_div(units, dq_max_i64(1, most / unit));
  plan->blocks.block_columns = dq_ceil_div(units, blocks) * unit;
}

static double cost(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  enum { BLOCK = 128 }; // four tile products of 16 cycles, two vectors each
  const dq_kernel *multiply = dq_kernel_find(DQ_OPERATION_u8s8_block, plan->cpu);
  int64_t depth = p->in_channels / p->groups * p->kernel_height * p->kernel_width;
  int64_t blocks = dq_ceil_div(dq_conv_group_out(plan), multiply->rows) * dq_ceil_div(depth, 4 * DQ_BLOCK_WORDS) *
                   dq_ceil_div(p->out_height * p->out_width, multiply->columns);
  return BLOCK * (double)(p->batch * p->groups * blocks);
}

static void prepare(dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  plan->multiply = dq_kernel_find(DQ_OPERATION_u8s8_block, plan->cpu);
  plan->word_values = 4;
  plan->expand = dq_conv_find_expand(plan);
  plan->requantize = dq_kernel_find(DQ_OPERATION_requantize, plan->cpu);
  dq_conv_prepare_planes(plan, p->out_height);
  plan->group_words = dq_ceil_div(p->in_channels / p->groups, plan->word_values);
  plan->panel_rows = dq_min_i64(dq_conv_group_out(plan), dq_min_i64(plan->multiply->rows, MOST_ROWS));
  plan->blocks.reads_planes = !plan->flat && choose_direct(plan);
  int64_t repeats = plan->blocks.reads_planes ? dq_conv_taps(plan) : 1;
  int64_t words = plan->group_words * dq_conv_taps(plan) / repeats;
  int64_t count = dq_ceil_div(words, DQ_BLOCK_WORDS);
  plan->blocks.tile_words = dq_ceil_div(words, count);
  plan->depth = repeats * count * plan->blocks.tile_words;
  choose_block(plan);
}

static size_t offsets_at(const dq_conv_plan *plan) {
  return dq_conv_weights_at(plan) + dq_words(plan->shape.groups * dq_conv_panels(plan) * panel_words(plan));
}
static size_t packed_words(const dq_conv_plan *plan) {
  return offsets_at(plan) + dq_words(2 * (tiles(plan) + dq_conv_taps(plan)));
}

// Direct tiles read as many planes as there are words in them, and columns past the last.
static size_t plane_area(const dq_conv_plan *plan) {
  if (plan->flat) return 0;
  int64_t planes = plan->blocks.reads_planes ? tap_tiles(plan) * plan->blocks.tile_words : plan->group_words;
  return dq_words(planes * plane_stride(plan) + plan->planes.width + DQ_CONV_SLACK_WORDS);
}
static size_t block_area(const dq_conv_plan *plan) {
  return plan->blocks.reads_planes ? 0 : (size_t)(plan->depth * whole_columns(plan)) + DQ_CONV_SLACK_WORDS;
}
static size_t sums_area(const dq_conv_plan *plan) { return (size_t)(plan->panel_rows * whole_columns(plan)); }
static size_t thread_area(const dq_conv_plan *plan) {
  return dq_words((int64_t)(block_area(plan) + sums_area(plan) + sums_area(plan) / 4 + DQ_CONV_SLACK_WORDS));
}
static size_t scratch_words(const dq_conv_plan *plan, int threads) {
  return plane_area(plan) + (size_t)threads * thread_area(plan);
}

// Weights of one output channel as words of a row of tiles; returns their sum.
static uint32_t pack_channel(const dq_conv_plan *plan, const uint8_t *weights, int32_t zero, uint32_t *to) {
  const bool is_signed = plan->int8.weight_signed;
  int64_t channels = plan->shape.in_channels / plan->shape.groups, taps = dq_conv_taps(plan);
  int64_t word = 0, tap = 0, count = tiles(plan), tile_step = plan->panel_rows * DQ_BLOCK_WORDS;
  // Direct: words of a tap one after another, tiles end with the tap; else taps of a word.
  int64_t inner = plan->blocks.reads_planes ? tap_tiles(plan) * plan->blocks.tile_words : taps;
  int64_t *fast = plan->blocks.reads_planes ? &word : &tap, *slow = plan->blocks.reads_planes ? &tap : &word;
  uint32_t sum = 0;
  for (int64_t t = 0; t < count; t++, to += tile_step)
    for (int64_t k = 0; k < plan->blocks.tile_words; k++) {
      const uint8_t *from = weights + word * 4 * taps + tap;
      for (int64_t i = 0; i < 4 && word * 4 + i < channels; i++) { // none past the last
        uint32_t value = (uint32_t)(dq_int8_value(from[i * taps], is_signed) - zero);
        sum += value;
        to[k] |= (value & 0xffu) << (8 * i);
      }
      if (++*fast == inner) *fast = 0, ++*slow;
    }
  return sum;
}

static void pack_offsets(const dq_conv_plan *plan, int64_t *offsets) {
  const dq_conv_parameters *p = &plan->shape;
  int64_t *taps = offsets + tiles(plan);
  for (int64_t i = 0; i < dq_conv_taps(plan); i++)
    taps[i] = dq_conv_tap_offset(plan, i / p->kernel_width, i % p->kernel_width);
  for (int64_t t = 0; plan->blocks.reads_planes && t < tiles(plan); t++)
    offsets[t] = taps[t / tap_tiles(plan)] + t % tap_tiles(plan) * plan->blocks.tile_words * plane_stride(plan);
}

static void pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed) {
  (void)bias;
  const dq_conv_int8_parameters *q = &plan->int8;
  int64_t row_bytes = plan->shape.in_channels / plan->shape.groups * dq_conv_taps(plan);
  memset(packed, 0, packed_words(plan) * 4);
  uint32_t *starts = packed + DQ_CONV_HEADER_WORDS, *first = packed + dq_conv_weights_at(plan);
  for (int64_t o = 0; o < plan->shape.out_channels; o++) {
    int64_t group = o / dq_conv_group_out(plan), row = o % dq_conv_group_out(plan);
    int64_t panel = group * dq_conv_panels(plan) + row / plan->panel_rows;
    int32_t zero = dq_zero_point(q->weight_zero_points, q->weight_zero_point_count, o);
    uint32_t *to = first + panel * panel_words(plan) + row % plan->panel_rows * DQ_BLOCK_WORDS;
    uint32_t sum = pack_channel(plan, (const uint8_t *)weights + o * row_bytes, zero, to);
    starts[o] = (uint32_t)dq_conv_start(plan, sum);
  }
  pack_offsets(plan, (int64_t *)(void *)(packed + offsets_at(plan)));
}

// ---- Running: one image and group at a time ----
typedef struct stage {
  const dq_conv_call *call;
  int64_t image, group;
  uint32_t *threads;      // scratch of thread 0
  int64_t blocks, chunks; // tasks: blocks of columns times chunks of panels
} stage;

typedef struct task {
  const stage *s;
  int64_t first, count; // columns
  int64_t channel;      // of the first row, in the output
  int32_t *sums;
  uint8_t *bytes;
} task;

static void requantize(const task *b, int64_t channel, int64_t rows, uint8_t *to, int64_t stride) {
  const dq_conv_plan *plan = b->s->call->plan;
  const dq_requantization *r = b->s->call->requantization;
  const uint32_t *starts = (const uint32_t *)b->s->call->packed + DQ_CONV_HEADER_WORDS + channel;
  int32_t bias[MOST_ROWS];
  bool per_channel = r->multiplier_count != 1;
  for (int64_t i = 0; i < rows; i++) bias[i] = (int32_t)(starts[i] + (r->bias ? (uint32_t)r->bias[channel + i] : 0));
  dq_requantize_rows form = {.sums = b->sums,
                             .bias = bias,
                             .bias_row = 1,
                             .multipliers = r->multipliers + (per_channel ? channel : 0),
                             .multiplier_row = per_channel,
                             .output = to,
                             .rows = rows,
                             .columns = b->count,
                             .sums_stride = whole_columns(plan),
                             .output_stride = stride,
                             .zero_point = r->zero_point,
                             .low = r->low,
                             .high = r->high};
  ((dq_requantize_function *)plan->requantize->function)(&form);
}

static void add_starts(const task *b, int64_t channel, int64_t rows) {
  const uint32_t *starts = (const uint32_t *)b->s->call->packed + DQ_CONV_HEADER_WORDS + channel;
  uint32_t *sums = (uint32_t *)b->sums;
  for (int64_t i = 0; i < rows; i++, sums += whole_columns(b->s->call->plan))
    for (int64_t j = 0; j < b->count; j++) sums[j] += starts[i];
}

// Rows of a panel to the output, as 8 bits or as int32 with what they start from; by way of the
// thread's memory where columns are thrown away.
static void finish_panel(void *argument, int64_t row, int64_t rows) {
  const task *b = argument;
  const dq_conv_call *call = b->s->call;
  const dq_conv_plan *plan = call->plan;
  int64_t width = plan->shape.out_width, step = row_columns(plan), channel = b->channel + row;
  int64_t outputs = plan->shape.out_height * width;
  int64_t first = b->first / step * width + b->first % step;
  int64_t element = call->requantization ? 1 : 4, stride = whole_columns(plan);
  bool direct = step == width && call->requantization;
  uint8_t *to =
      (uint8_t *)call->output + ((b->s->image * plan->shape.out_channels + channel) * outputs + first) * element;
  const uint8_t *from = call->requantization ? b->bytes : (const uint8_t *)b->sums;
  if (!call->requantization) add_starts(b, channel, rows);
  else requantize(b, channel, rows, direct ? to : b->bytes, direct ? outputs : stride);
  for (int64_t i = 0; !direct && i < rows; i++)
    dq_conv_copy_rows(from + i * stride * element, (size_t)(step * element), to + i * outputs * element,
                      (size_t)((step == width ? b->count : width) * element), step == width ? 1 : b->count / step);
}

// Words of channels of a block of outputs; lines of the expansion are words of channels.
static void expand_block(const task *b, uint32_t *to) {
  const dq_conv_call *call = b->s->call;
  const dq_conv_plan *plan = call->plan;
  int64_t plane = plan->shape.in_height * plan->shape.in_width, step = whole_columns(plan);
  int64_t channels = plan->shape.in_channels / plan->shape.groups, whole = channels / 4;
  const uint8_t *from = dq_conv_input_channel(call, b->s->image, b->s->group, 0) + b->first;
  dq_expansion form = {.words = to,
                       .lines = whole,
                       .line_step = 4 * plane,
                       .width = step,
                       .end = b->count,
                       .stride = 1,
                       .pad = 0,
                       .flips = dq_byte_shift(plan->multiply, plan->int8.input_signed) != 0};
  for (int64_t i = 0; i < 4; i++) form.rows[i] = from + i * plane;
  if (whole) ((dq_expand_function *)plan->expand->function)(&form);
  if (whole == plan->group_words) return;
  form.words = to + whole * step;
  form.lines = 1;
  for (int64_t i = 0; i < 4; i++) // past the last channel the weight is 0
    form.rows[i] = from + dq_min_i64(whole * 4 + i, channels - 1) * plane;
  ((dq_expand_function *)plan->expand->function)(&form);
}

static void pack_block(const task *b, const int64_t *tap_offsets, uint32_t *to) {
  const dq_conv_plan *plan = b->s->call->plan;
  int64_t width = plan->multiply->columns, words = plan->group_words * dq_conv_taps(plan);
  for (int64_t at = 0; at < b->count; at += width)
    dq_conv_pack_panel(plan, b->s->call->scratch, plane_stride(plan), tap_offsets,
                       (dq_panel){0, words, b->first + at, dq_min_i64(width, b->count - at)}, to + at * plan->depth);
}

static void multiply_task(void *argument, int64_t index, int thread) {
  const stage *s = argument;
  const dq_conv_plan *plan = s->call->plan;
  int64_t chunk = index % s->chunks, width = plan->multiply->columns;
  int64_t from = dq_conv_panels(plan) * chunk / s->chunks, end = dq_conv_panels(plan) * (chunk + 1) / s->chunks;
  uint32_t *packed = s->threads + (size_t)thread * thread_area(plan);
  const uint32_t *words = s->call->packed;
  const int64_t *offsets = (const int64_t *)(const void *)(words + offsets_at(plan));
  task b = {.s = s, .first = index / s->chunks * plan->blocks.block_columns};
  b.count = dq_min_i64(plan->blocks.block_columns, all_columns(plan) - b.first);
  b.channel = s->group * dq_conv_group_out(plan) + from * plan->panel_rows;
  b.sums = (int32_t *)packed + block_area(plan);
  b.bytes = (uint8_t *)(b.sums + sums_area(plan));
  const int64_t first_panel = s->group * dq_conv_panels(plan) + from;
  dq_block block = {.a = words + dq_conv_weights_at(plan) + first_panel * panel_words(plan),
                    .b = plan->blocks.reads_planes ? s->call->scratch + b.first : packed,
                    .offsets = plan->blocks.reads_planes ? offsets : NULL,
                    .b_tile = plan->blocks.tile_words * word_step(plan),
                    .b_stride = word_step(plan),
                    .b_panel = plan->blocks.reads_planes || plan->flat ? width : plan->depth * width,
                    .tiles = tiles(plan),
                    .rows = dq_min_i64(end * plan->panel_rows, dq_conv_group_out(plan)) - from * plan->panel_rows,
                    .columns = b.count,
                    .tile_words = (int)plan->blocks.tile_words,
                    .panel_rows = (int)plan->panel_rows,
                    .sums = b.sums,
                    .sums_stride = whole_columns(plan),
                    .finish = finish_panel,
                    .argument = &b};
  if (plan->flat) expand_block(&b, packed);
  else if (!plan->blocks.reads_planes) pack_block(&b, offsets + tiles(plan), packed);
  ((dq_block_function *)plan->multiply->function)(&block);
}

static void run(const dq_conv_call *call) {
  const dq_conv_plan *plan = call->plan;
  stage s = {.call = call, .threads = call->scratch + plane_area(plan)};
  int threads = dq_pool_threads(call->pool);
  s.blocks = dq_ceil_div(all_columns(plan), plan->blocks.block_columns);
  s.chunks = threads == 1 ? 1 : dq_min_i64(dq_conv_panels(plan), dq_ceil_div(4 * threads, s.blocks));
  for (s.image = 0; s.image < plan->shape.batch; s.image++)
    for (s.group = 0; s.group < plan->shape.groups; s.group++) {
      if (!plan->flat) dq_conv_expand_group(call, s.image, s.group, plane_stride(plan));
      dq_pool_run(call->pool, s.blocks * s.chunks, multiply_task, &s);
    }
}

const dq_conv_algorithm dq_conv_blocks = {.name = "blocks",
                                          .applicable = applicable,
                                          .same_bits = true,
                                          .cost = cost,
                                          .prepare = prepare,
                                          .packed_words = packed_words,
                                          .scratch_words = scratch_words,
                                          .pack = pack,
                                          .run = run};
