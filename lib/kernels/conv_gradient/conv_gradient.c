// The gradient of a convolution by its weights, shard by shard. For each place of the kernel it is the product of the
// gradient of the output (output channels x places) and of the input that is seen there (places x input channels). Both
// are packed with their channels side by side, a band of places at a time, so that they stay in the cache, and once for
// all places of the kernel: another place of the kernel is another start in the packed input, whose places are found by
// a table of offsets, as in tile kernels.
#include "lib/kernels/conv_gradient/conv_gradient_internal.h"

#include <string.h>

#include "lib/base/sizes.h"
#include "lib/kernels/reference/shards.h"

enum {
  BAND_FLOATS = 64 * 1024,   // packed at a time, a part of the second level of cache
  SUMS_FLOATS = 2 << 20,     // of all shards, where each shard is a task
  MOST_FOLDED_CHANNELS = 64, // whose packed places are near enough
};

typedef struct job {
  const dq_conv_parameters *shape;
  const dq_kernel *multiply;
  dq_f32_columns_function *transpose;
  int64_t in_group, out_group;           // channels
  int64_t out_panels, panel_rows;        // of a group
  int64_t pitch, in_panels;              // channels side by side in the packed input, and how often
  bool folded;                           // a kernel row is one run of pitch * kernel_width columns
  int64_t taps, columns;                 // products of a shard: one for each tap, of so many columns
  int64_t band_rows, band_pictures;      // output rows packed at a time; of several pictures when these are all rows
  int64_t height, width;                 // of a packed band: what the kernel sees, with padding
  bool by_shard;                         // a task is a shard; else it is a part of the output channels
  int64_t shards, slices, arrays, count; // arrays of `count` sums
  int64_t first_shard;
  float *sums, *workspaces;
  int64_t *offsets;
  const dq_conv_gradient *task;
} job;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool dq_conv_gradient_is_wide(const dq_conv_parameters *shape) { return shape->in_channels == shape->groups; }

// ---- Sizes ----

static int64_t seen_rows(const dq_conv_parameters *s, int64_t rows) {
  return (rows - 1) * s->stride_height + (s->kernel_height - 1) * s->dilation_height + 1;
}

// Floats of a picture's band of so many output rows.
static int64_t band_floats(const job *j, int64_t rows) {
  return seen_rows(j->shape, rows) * j->width * j->pitch * j->in_panels +
         rows * j->shape->out_width * j->panel_rows * j->out_panels;
}

static void choose_band(job *j) {
  const dq_conv_parameters *s = j->shape;
  const int64_t all = band_floats(j, s->out_height);
  j->band_pictures = dq_max_i64(1, dq_min_i64(DQ_SHARD, BAND_FLOATS / all));
  j->band_rows = s->out_height;
  while (band_floats(j, j->band_rows) > BAND_FLOATS && j->band_rows > 1) j->band_rows = (j->band_rows + 1) / 2;
  j->height = seen_rows(s, j->band_rows);
}

static job job_of(const dq_conv_parameters *s, int64_t first_shard, unsigned cpu, int threads) {
  job j = {.shape = s, .first_shard = first_shard, .multiply = dq_kernel_find(DQ_OPERATION_f32_tile, cpu)};
  j.transpose = DQ_KERNEL_FUNCTION(f32_columns, cpu);
  j.in_group = s->in_channels / s->groups;
  j.out_group = s->out_channels / s->groups;
  j.folded = s->dilation_width == 1 && j.in_group <= MOST_FOLDED_CHANNELS;
  j.pitch = j.folded ? j.in_group : j.multiply->columns;
  j.in_panels = ceil_div(j.in_group, j.pitch);
  j.out_panels = ceil_div(j.out_group, j.multiply->rows);
  j.panel_rows = ceil_div(j.out_group, j.out_panels);
  j.width = (s->out_width - 1) * s->stride_width + (s->kernel_width - 1) * s->dilation_width + 1;
  j.taps = s->kernel_height * (j.folded ? 1 : s->kernel_width);
  j.columns = j.in_group * (j.folded ? s->kernel_width : 1);
  j.shards = ceil_div(s->batch, DQ_SHARD);
  j.count = s->out_channels * j.taps * j.columns;
  choose_band(&j);
  j.by_shard = j.shards * j.count <= SUMS_FLOATS;
  j.slices = dq_min_i64(threads, s->groups * j.out_panels);
  j.arrays = j.by_shard ? j.shards : 0;
  for (int64_t end = 1; end <= j.shards && !j.by_shard; end++) // one more than wait behind a shard
    j.arrays = dq_max_i64(j.arrays, 1 + dq_shard_blocks(first_shard, first_shard + end - 1, NULL));
  return j;
}

// ---- Scratch: offsets, sums, and for each thread the packed input with a panel behind it and the packed gradient ----

static int64_t band_places(const job *j) { return j->band_pictures * j->band_rows * j->shape->out_width; }
static int64_t plane(const job *j) { return j->height * j->width * j->pitch; }
static size_t input_area(const job *j) {
  return dq_round_up((size_t)(j->in_panels * j->band_pictures * plane(j) + j->multiply->columns), 16);
}
static size_t thread_area(const job *j) { // with a line of the cache that no other thread writes to
  return input_area(j) + dq_round_up((size_t)(j->out_panels * band_places(j) * j->panel_rows), 16) + 16;
}
static size_t offsets_area(const job *j) { return dq_round_up((size_t)(2 * band_places(j)), 16); }
static size_t sums_area(const job *j) { return dq_round_up((size_t)(j->arrays * j->count), 16); }

size_t dq_conv_gradient_scratch_bytes(const dq_conv_parameters *shape, int64_t first_shard, unsigned cpu, int threads) {
  if (dq_conv_gradient_is_wide(shape)) return dq_conv_gradient_depthwise_bytes(shape, cpu, threads);
  const job j = job_of(shape, first_shard, cpu, threads);
  return sizeof(float) * (offsets_area(&j) + sums_area(&j) + (size_t)threads * thread_area(&j));
}

static void give_scratch(job *j, void *scratch, int threads) {
  const dq_conv_parameters *s = j->shape;
  int64_t *to = j->offsets = scratch;
  j->sums = (float *)scratch + offsets_area(j);
  j->workspaces = j->sums + sums_area(j);
  for (int thread = 0; thread < threads; thread++) // padding at the sides, which packing leaves alone
    memset(j->workspaces + (size_t)thread * thread_area(j), 0, input_area(j) * sizeof(float));
  for (int64_t n = 0; n < j->band_pictures; n++)
    for (int64_t y = 0; y < j->band_rows; y++)
      for (int64_t x = 0; x < s->out_width; x++)
        *to++ = n * plane(j) + (y * s->stride_height * j->width + x * s->stride_width) * j->pitch;
}

// ---- Packing ----

// Output rows of pictures of a group.
typedef struct band {
  int64_t group, picture, pictures, row, rows;
  float *input, *gradient; // packed: [panel][picture][rows][columns of the plane][pitch], [panel][places][panel_rows]
} band;

// Rows of a picture between padding above and below, of the channels from `within` on.
static void pack_rows(const job *j, const band *b, int64_t picture, int64_t within, float *to) {
  const dq_conv_parameters *s = j->shape;
  const int64_t size = s->in_height * s->in_width, top = b->row * s->stride_height - s->pad_top;
  const int64_t rows = seen_rows(s, b->rows), line = j->width * j->pitch;
  const int64_t first = dq_min_i64(rows, dq_max_i64(0, -top));
  const int64_t end = dq_max_i64(first, dq_min_i64(rows, s->in_height - top));
  const bool whole = !s->pad_left && j->width == s->in_width; // rows follow one another
  const float *from = j->task->input + (picture * s->in_channels + b->group * j->in_group + within) * size;
  dq_columns form = {.from_stride = size,
                     .rows = dq_min_i64(j->pitch, j->in_group - within),
                     .columns = dq_min_i64(s->in_width, j->width - s->pad_left) * (whole ? end - first : 1),
                     .to_stride = j->pitch};
  memset(to, 0, (size_t)(first * line) * sizeof(float));
  memset(to + end * line, 0, (size_t)((rows - end) * line) * sizeof(float));
  for (int64_t y = first; y < end && form.columns > 0; y += whole ? end - first : 1) {
    form.from = from + (y + top) * s->in_width;
    form.to = to + y * line + s->pad_left * j->pitch;
    j->transpose(&form);
  }
}

static void pack_input(const job *j, const band *b) {
  for (int64_t panel = 0; panel < j->in_panels; panel++)
    for (int64_t n = 0; n < b->pictures; n++)
      pack_rows(j, b, b->picture + n, panel * j->pitch, b->input + (panel * j->band_pictures + n) * plane(j));
}

static void pack_gradient(const job *j, const band *b, int64_t first, int64_t end) {
  const dq_conv_parameters *s = j->shape;
  const int64_t size = s->out_height * s->out_width, places = b->rows * s->out_width, step = j->panel_rows;
  for (int64_t panel = first; panel < end; panel++)
    for (int64_t n = 0; n < b->pictures; n++) {
      const int64_t channel = (b->picture + n) * s->out_channels + b->group * j->out_group + panel * step;
      dq_columns form = {.from = j->task->gradient + channel * size + b->row * s->out_width,
                         .from_stride = size,
                         .rows = dq_min_i64(step, j->out_group - panel * step),
                         .columns = places,
                         .to = b->gradient + (panel * band_places(j) + n * places) * step,
                         .to_stride = step};
      j->transpose(&form);
    }
}

// ---- Products: [output channel][tap][columns] of a shard ----

static void multiply(const job *j, const band *b, int64_t panel, int64_t tap, int64_t column, bool accumulate,
                     float *sums) {
  const dq_conv_parameters *s = j->shape;
  const int64_t within = panel * j->panel_rows, row = j->folded ? tap : tap / s->kernel_width;
  const int64_t step = j->folded ? 0 : tap % s->kernel_width, in_panel = j->folded ? 0 : column / j->pitch;
  const int64_t start = (row * s->dilation_height * j->width + step * s->dilation_width) * j->pitch;
  dq_tile tile = {.a = b->gradient + panel * band_places(j) * j->panel_rows,
                  .a_stride = j->panel_rows,
                  .b = b->input + in_panel * j->band_pictures * plane(j) + start + (j->folded ? column : 0),
                  .offsets = j->offsets,
                  .c = sums + ((b->group * j->out_group + within) * j->taps + tap) * j->columns + column,
                  .c_stride = j->taps * j->columns,
                  .depth = b->pictures * b->rows * s->out_width,
                  .rows = (int)dq_min_i64(j->panel_rows, j->out_group - within),
                  .columns = (int)dq_min_i64(j->multiply->columns, j->columns - column),
                  .accumulate = accumulate};
  ((dq_tile_function *)j->multiply->function)(&tile);
}

static void add_band(const job *j, const band *b, int64_t first, int64_t end, bool accumulate, float *sums) {
  pack_input(j, b);
  pack_gradient(j, b, first, end);
  for (int64_t column = 0; column < j->columns; column += j->multiply->columns)
    for (int64_t tap = 0; tap < j->taps; tap++)
      for (int64_t panel = first; panel < end; panel++) multiply(j, b, panel, tap, column, accumulate, sums);
}

// The sums of a shard, of the panels of output channels from `first` to end - 1 of all groups.
static void add_shard(const job *j, int64_t shard, int64_t first, int64_t end, int thread, float *sums) {
  const dq_conv_parameters *s = j->shape;
  const int64_t picture = shard * DQ_SHARD, pictures = dq_min_i64(DQ_SHARD, s->batch - picture);
  float *workspace = j->workspaces + (size_t)thread * thread_area(j);
  band b = {.input = workspace, .gradient = workspace + input_area(j)};
  for (int64_t from = first, to; from < end; from = to) {
    b.group = from / j->out_panels;
    to = dq_min_i64(end, (b.group + 1) * j->out_panels);
    for (int64_t n = 0; n < pictures; n += j->band_pictures)
      for (b.row = 0; b.row < s->out_height; b.row += j->band_rows) {
        b.picture = picture + n;
        b.pictures = dq_min_i64(j->band_pictures, pictures - n);
        b.rows = dq_min_i64(j->band_rows, s->out_height - b.row);
        add_band(j, &b, from - b.group * j->out_panels, to - b.group * j->out_panels, n || b.row, sums);
      }
  }
}

// ---- The tree of shards ----

// Arrays of sums that wait for others.
typedef struct waiting {
  int64_t arrays[DQ_SHARD_LEVELS];
  int depth;
} waiting;

// Adds the last array that waits to the one before it, of the output channels from `first` to end - 1.
static void join(const job *j, waiting *w, int64_t first, int64_t end) {
  const int64_t channel = j->taps * j->columns;
  float *to = j->sums + w->arrays[w->depth - 2] * j->count;
  const float *from = j->sums + w->arrays[w->depth - 1] * j->count;
  for (int64_t i = first * channel; i < end * channel; i++) to[i] += from[i];
  w->depth--;
}

static void add_array(const job *j, waiting *w, int64_t array, int64_t shard, int64_t first, int64_t end) {
  w->arrays[w->depth++] = array;
  for (int64_t n = 2; dq_shards_join(j->first_shard, j->first_shard + shard + 1, n); n *= 2) join(j, w, first, end);
}

// Stores the sums of the output channels first to end - 1: [tap][input channel] becomes
// [input channel][kernel row][kernel column].
static void store(const job *j, waiting *w, int64_t first, int64_t end) {
  const int64_t taps = j->shape->kernel_height * j->shape->kernel_width, channel = taps * j->in_group;
  const bool whole = j->task->weights != NULL;
  float *sums = whole ? j->task->weights : j->task->blocks;
  while (whole && w->depth > 1) join(j, w, first, end);
  for (int block = 0; block < w->depth; block++) {
    const float *from = j->sums + w->arrays[block] * j->count + first * channel;
    float *to = sums + block * j->count + first * channel;
    for (int64_t c = first; c < end; c++, from += channel)
      for (int64_t i = 0; i < j->in_group; i++)
        for (int64_t tap = 0; tap < taps; tap++) *to++ = from[tap * j->in_group + i];
  }
}

// ---- Running ----

static int64_t panels(const job *j) { return j->shape->groups * j->out_panels; }
static int64_t channel_of(const job *j, int64_t panel) {
  const int64_t within = panel % j->out_panels * j->panel_rows;
  return panel / j->out_panels * j->out_group + dq_min_i64(within, j->out_group);
}

static void run_shard(void *argument, int64_t shard, int thread) {
  const job *j = argument;
  add_shard(j, shard, 0, panels(j), thread, j->sums + shard * j->count);
}

static void finish_channel(void *argument, int64_t channel, int thread) {
  const job *j = argument;
  waiting w = {.depth = 0};
  (void)thread;
  for (int64_t shard = 0; shard < j->shards; shard++) add_array(j, &w, shard, shard, channel, channel + 1);
  store(j, &w, channel, channel + 1);
}

static void run_slice(void *argument, int64_t slice, int thread) {
  const job *j = argument;
  const int64_t first = slice * panels(j) / j->slices, end = (slice + 1) * panels(j) / j->slices;
  const int64_t channel = channel_of(j, first), last = channel_of(j, end);
  waiting w = {.depth = 0};
  for (int64_t shard = 0; shard < j->shards; shard++) {
    add_shard(j, shard, first, end, thread, j->sums + w.depth * j->count);
    add_array(j, &w, w.depth, shard, channel, last);
  }
  store(j, &w, channel, last);
}

void dq_conv_gradient_run(const dq_conv_gradient *task, unsigned cpu, void *scratch, dq_pool *pool) {
  const int threads = dq_pool_threads(pool);
  if (dq_conv_gradient_is_wide(task->shape)) {
    dq_conv_gradient_depthwise(task, cpu, scratch, pool);
    return;
  }
  job j = job_of(task->shape, task->weights ? 0 : task->first_shard, cpu, threads);
  j.task = task;
  give_scratch(&j, scratch, threads);
  if (!j.by_shard) {
    dq_pool_run(pool, j.slices, run_slice, &j);
    return;
  }
  dq_pool_run(pool, j.shards, run_shard, &j);
  dq_pool_run(pool, task->shape->out_channels, finish_channel, &j);
}
