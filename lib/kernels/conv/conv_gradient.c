// The gradient of a convolution by its weights, shard by shard. For each place of the kernel it is the product of the
// gradient of the output (output channels x places) and of the input that is seen there (places x input channels). Both
// are packed with their channels side by side, once for all places of the kernel: another place of the kernel is
// another start in the packed input, whose places are found by a table of offsets, as in tile kernels.
#include "lib/kernels/conv/conv_gradient_internal.h"

#include <string.h>

#include "lib/base/sizes.h"
#include "lib/kernels/reference/shards.h"

typedef struct job {
  const dq_conv_parameters *shape;
  const dq_kernel *multiply;
  dq_f32_columns_function *transpose;
  int64_t in_group, out_group;   // channels
  int64_t in_panels, out_panels; // of a group
  int64_t height, width;         // of a packed plane: what the kernel sees, with padding
  int64_t pitch;                 // channels side by side in the packed input
  bool folded;                   // a kernel row is one run of pitch * kernel_width columns
  int64_t taps, columns;         // products of a shard: one for each tap, of so many columns
  int64_t shards, levels, count; // arrays of `count` sums
  int64_t pictures, first;       // of the shard at hand
  float *packed_input, *packed_gradient, *sums, *weights;
  int64_t *offsets;
  const float *gradient, *input;
  float *to;         // of the products, or of an addition
  const float *from; // of an addition
} job;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t places(const dq_conv_parameters *s) { return s->out_height * s->out_width; }

bool dq_conv_gradient_is_wide(const dq_conv_parameters *shape) { return shape->in_channels == shape->groups; }

static job job_of(const dq_conv_parameters *s, int64_t first_shard, unsigned cpu) {
  job j = {.shape = s, .multiply = dq_kernel_find(DQ_OPERATION_f32_tile, cpu)};
  j.transpose = DQ_KERNEL_FUNCTION(f32_columns, cpu);
  j.in_group = s->in_channels / s->groups;
  j.out_group = s->out_channels / s->groups;
  j.folded = s->dilation_width == 1 && s->kernel_width * j.in_group <= j.multiply->columns;
  j.pitch = j.folded ? j.in_group : j.multiply->columns;
  j.in_panels = ceil_div(j.in_group, j.pitch);
  j.out_panels = ceil_div(j.out_group, j.multiply->rows);
  j.height = (s->out_height - 1) * s->stride_height + (s->kernel_height - 1) * s->dilation_height + 1;
  j.width = (s->out_width - 1) * s->stride_width + (s->kernel_width - 1) * s->dilation_width + 1;
  j.taps = s->kernel_height * (j.folded ? 1 : s->kernel_width);
  j.columns = j.in_group * (j.folded ? s->kernel_width : 1);
  j.shards = ceil_div(s->batch, DQ_SHARD);
  for (int64_t end = 1; end <= j.shards; end++) // one more than wait behind a shard
    j.levels = dq_max_i64(j.levels, 1 + dq_shard_blocks(first_shard, first_shard + end - 1, NULL));
  j.count = s->out_channels * j.taps * j.columns;
  return j;
}

// ---- Scratch: the packed input with a panel behind it, the packed gradient, offsets, sums that wait ----

static int64_t plane(const job *j) { return j->height * j->width * j->pitch; }
static size_t input_area(const job *j) {
  return dq_round_up((size_t)(j->shape->groups * j->in_panels * DQ_SHARD * plane(j) + j->multiply->columns), 16);
}
static size_t gradient_area(const job *j) {
  int64_t panels = j->shape->groups * j->out_panels;
  return dq_round_up((size_t)(panels * DQ_SHARD * places(j->shape) * j->multiply->rows), 16);
}
static size_t offsets_area(const job *j) { return dq_round_up((size_t)(2 * DQ_SHARD * places(j->shape)), 16); }

size_t dq_conv_gradient_scratch_bytes(const dq_conv_parameters *shape, int64_t first_shard, unsigned cpu, int threads) {
  if (dq_conv_gradient_is_wide(shape)) return dq_conv_gradient_depthwise_bytes(shape, cpu, threads);
  job j = job_of(shape, first_shard, cpu);
  return sizeof(float) * (input_area(&j) + gradient_area(&j) + offsets_area(&j) + (size_t)(j.levels * j.count));
}

static void give_scratch(job *j, void *scratch) {
  j->packed_input = scratch;
  j->packed_gradient = j->packed_input + input_area(j);
  float *offsets = j->packed_gradient + gradient_area(j);
  j->offsets = (int64_t *)(void *)offsets;
  j->sums = offsets + offsets_area(j);
  memset(j->packed_input, 0, input_area(j) * sizeof(float)); // padding, which packing leaves alone
  const dq_conv_parameters *s = j->shape;
  int64_t *to = j->offsets;
  for (int64_t n = 0; n < DQ_SHARD; n++)
    for (int64_t y = 0; y < s->out_height; y++)
      for (int64_t x = 0; x < s->out_width; x++)
        *to++ = n * plane(j) + (y * s->stride_height * j->width + x * s->stride_width) * j->pitch;
}

// ---- Packing ----

// One panel of input channels of one picture: [rows][columns of the padded plane][pitch].
static void pack_input(void *argument, int64_t index, int thread) {
  const job *j = argument;
  const dq_conv_parameters *s = j->shape;
  const int64_t panel = index / j->pictures, picture = index % j->pictures, size = s->in_height * s->in_width;
  const int64_t within = panel % j->in_panels * j->pitch, channel = panel / j->in_panels * j->in_group + within;
  const float *from = j->input + ((j->first + picture) * s->in_channels + channel) * size;
  float *to = j->packed_input + (panel * DQ_SHARD + picture) * plane(j);
  const int64_t rows = dq_min_i64(s->in_height, j->height - s->pad_top);
  dq_columns form = {.from_stride = size,
                     .rows = dq_min_i64(j->pitch, j->in_group - within),
                     .columns = dq_min_i64(s->in_width, j->width - s->pad_left),
                     .to_stride = j->pitch};
  (void)thread;
  for (int64_t y = 0; y < rows && form.columns > 0; y++) {
    form.from = from + y * s->in_width;
    form.to = to + ((y + s->pad_top) * j->width + s->pad_left) * j->pitch;
    j->transpose(&form);
  }
}

// One panel of output channels of one picture: [places][rows of a tile].
static void pack_gradient(void *argument, int64_t index, int thread) {
  const job *j = argument;
  const dq_conv_parameters *s = j->shape;
  const int64_t panel = index / j->pictures, picture = index % j->pictures, size = places(s), step = j->multiply->rows;
  const int64_t within = panel % j->out_panels * step, channel = panel / j->out_panels * j->out_group + within;
  dq_columns form = {.from = j->gradient + ((j->first + picture) * s->out_channels + channel) * size,
                     .from_stride = size,
                     .rows = dq_min_i64(step, j->out_group - within),
                     .columns = size,
                     .to = j->packed_gradient + (panel * DQ_SHARD + picture) * size * step,
                     .to_stride = step};
  (void)thread;
  j->transpose(&form);
}

// ---- Products: [output channel][tap][columns] of a shard ----

static void multiply(void *argument, int64_t index, int thread) {
  const job *j = argument;
  const dq_conv_parameters *s = j->shape;
  const int64_t tap = index % j->taps, out_panel = index / j->taps % (s->groups * j->out_panels);
  const int64_t in_panel = index / j->taps / (s->groups * j->out_panels), group = out_panel / j->out_panels;
  const int64_t within = out_panel % j->out_panels * j->multiply->rows, column = in_panel * j->multiply->columns;
  const int64_t row = j->folded ? tap : tap / s->kernel_width, step = j->folded ? 0 : tap % s->kernel_width;
  const int64_t start = (row * s->dilation_height * j->width + step * s->dilation_width) * j->pitch;
  dq_tile tile = {.a = j->packed_gradient + out_panel * DQ_SHARD * places(s) * j->multiply->rows,
                  .a_stride = j->multiply->rows,
                  .b = j->packed_input + (group * j->in_panels + in_panel) * DQ_SHARD * plane(j) + start,
                  .offsets = j->offsets,
                  .c = j->to + ((group * j->out_group + within) * j->taps + tap) * j->columns + column,
                  .c_stride = j->taps * j->columns,
                  .depth = j->pictures * places(s),
                  .rows = (int)dq_min_i64(j->multiply->rows, j->out_group - within),
                  .columns = (int)dq_min_i64(j->multiply->columns, j->columns - column)};
  (void)thread;
  ((dq_tile_function *)j->multiply->function)(&tile);
}

enum { PIECE = 16384 }; // elements of an addition that one call adds

static void add_piece(void *argument, int64_t index, int thread) {
  const job *j = argument;
  const int64_t end = dq_min_i64(j->count, (index + 1) * PIECE);
  (void)thread;
  for (int64_t i = index * PIECE; i < end; i++) j->to[i] += j->from[i];
}

static void add_last_two(job *j, int depth, dq_pool *pool) {
  j->to = j->sums + (depth - 2) * j->count;
  j->from = j->sums + (depth - 1) * j->count;
  dq_pool_run(pool, ceil_div(j->count, PIECE), add_piece, j);
}

// The weights of an output channel, from [tap][columns] to [input channel][kernel row][kernel column].
static void store_channel(void *argument, int64_t channel, int thread) {
  const job *j = argument;
  const dq_conv_parameters *s = j->shape;
  const float *from = j->sums + channel * j->taps * j->columns;
  float *to = j->weights + channel * j->in_group * s->kernel_height * s->kernel_width;
  (void)thread;
  for (int64_t i = 0; i < j->in_group; i++)
    for (int64_t tap = 0; tap < s->kernel_height * s->kernel_width; tap++) *to++ = from[tap * j->in_group + i];
}

// ---- Running ----

static void run_shard(job *j, int64_t shard, int depth, dq_pool *pool) {
  const dq_conv_parameters *s = j->shape;
  j->first = shard * DQ_SHARD;
  j->pictures = dq_min_i64(DQ_SHARD, s->batch - j->first);
  j->to = j->sums + depth * j->count;
  dq_pool_run(pool, s->groups * j->in_panels * j->pictures, pack_input, j);
  dq_pool_run(pool, s->groups * j->out_panels * j->pictures, pack_gradient, j);
  dq_pool_run(pool, j->in_panels * s->groups * j->out_panels * j->taps, multiply, j);
}

// The arrays that wait, `depth` of them.
static void store(job *j, int depth, dq_pool *pool) {
  const int64_t count = j->count;
  for (int i = 0; i < depth; i++, j->sums += count, j->weights += count)
    dq_pool_run(pool, j->shape->out_channels, store_channel, j);
}

void dq_conv_gradient_run(const dq_conv_gradient *task, unsigned cpu, void *scratch, dq_pool *pool) {
  const bool whole = task->weights != NULL;
  const int64_t first = whole ? 0 : task->first_shard;
  if (dq_conv_gradient_is_wide(task->shape)) {
    dq_conv_gradient_depthwise(task, cpu, scratch, pool);
    return;
  }
  job j = job_of(task->shape, first, cpu);
  j.gradient = task->gradient;
  j.input = task->input;
  j.weights = whole ? task->weights : task->blocks;
  give_scratch(&j, scratch);
  int depth = 0;
  for (int64_t shard = 0; shard < j.shards; shard++) {
    run_shard(&j, shard, depth++, pool);
    for (int64_t n = 2; dq_shards_join(first, first + shard + 1, n); n *= 2) add_last_two(&j, depth--, pool);
  }
  for (; whole && depth > 1; depth--) add_last_two(&j, depth, pool);
  store(&j, depth, pool);
}
