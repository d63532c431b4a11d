// The gradient of a convolution by its weights where each group has one input channel: every tap of the kernel is a
// shift of the expanded plane of the input, with which the plane of the gradient is multiplied.
#include "lib/kernels/conv_gradient/conv_gradient_internal.h"

#include <string.h>

#include "lib/kernels/conv/conv_algorithm.h"
#include "lib/kernels/reference/shards.h"

// Channels whose planes are small are taken together, a picture at a time, as they lie side by side in memory.
enum { BLOCK_ELEMENTS = 2048, MOST_CHANNELS = 8 };

typedef struct job {
  const dq_conv_gradient *task;
  dq_conv_plan plan; // of the expansion
  dq_f32_taps_function *add;
  int64_t taps, shards, channels; // channels of a block
  char *scratch;
} job;

static job job_of(const dq_conv_parameters *s, unsigned cpu) {
  job j = {.plan = {.shape = *s, .cpu = cpu, .float32 = true, .word_values = 1},
           .add = DQ_KERNEL_FUNCTION(f32_taps, cpu),
           .taps = s->kernel_height * s->kernel_width,
           .shards = dq_ceil_div(s->batch, DQ_SHARD)};
  j.plan.multiply = dq_kernel_find(DQ_OPERATION_f32_tile, cpu);
  j.plan.expand = dq_conv_find_expand(&j.plan);
  dq_conv_prepare_planes(&j.plan, s->out_height);
  j.channels = dq_min_i64(MOST_CHANNELS, 1 + BLOCK_ELEMENTS / (s->out_height * s->out_width));
  return j;
}

// ---- Scratch: offsets of taps; for each thread totals of shards, sums, the expanded plane ----

static size_t offsets_bytes(const job *j) { return dq_round_up((size_t)j->taps * sizeof(int64_t), 64); }
static size_t totals_bytes(const job *j) {
  return dq_round_up((size_t)(j->channels * j->taps * j->shards) * sizeof(double), 64);
}
static size_t sums_bytes(const job *j) { return (size_t)(j->channels * j->taps * DQ_TAP_LANES) * sizeof(float); }
static size_t thread_bytes(const job *j) { // with a line of the cache that no other thread writes to
  const size_t words = dq_words(dq_conv_plane_words(&j->plan) + DQ_CONV_SLACK_WORDS);
  return dq_round_up(totals_bytes(j) + sums_bytes(j) + words * sizeof(float) + 64, 64);
}

size_t dq_conv_gradient_depthwise_bytes(const dq_conv_parameters *shape, unsigned cpu, int threads) {
  const job j = job_of(shape, cpu);
  return offsets_bytes(&j) + (size_t)threads * thread_bytes(&j);
}

// ---- Sums ----

static double add_lanes(const float *lanes) {
  double sums[DQ_TAP_LANES];
  for (int i = 0; i < DQ_TAP_LANES; i++) sums[i] = (double)lanes[i];
  for (int half = DQ_TAP_LANES / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) sums[i] += sums[i + half];
  return sums[0];
}

// The products of a picture, for the output channels from `first` to end - 1.
static void add_picture(const job *j, int64_t picture, int64_t first, int64_t end, float *sums, uint32_t *plane) {
  const dq_conv_parameters *s = &j->plan.shape;
  const int64_t out_plane = s->out_height * s->out_width, in_plane = s->in_height * s->in_width;
  int64_t expanded = -1;
  for (int64_t channel = first; channel < end; channel++, sums += j->taps * DQ_TAP_LANES) {
    const int64_t from = picture * s->in_channels + channel / (s->out_channels / s->groups);
    const uint8_t *rows[4] = {(const uint8_t *)(j->task->input + from * in_plane)};
    if (from != expanded) dq_conv_expand_plane(&j->plan, rows, 0, plane);
    expanded = from;
    const dq_tap_sums form = {.values = j->task->gradient + (picture * s->out_channels + channel) * out_plane,
                              .plane = (const float *)(const void *)plane,
                              .offsets = (const int64_t *)(const void *)j->scratch,
                              .sums = sums,
                              .taps = j->taps,
                              .rows = s->out_height,
                              .columns = s->out_width,
                              .values_step = s->out_width,
                              .plane_step = j->plan.planes.width};
    j->add(&form);
  }
}

// One weight, of the totals of its shards.
static void store(const job *j, int64_t at, const double *totals) {
  const dq_conv_gradient *task = j->task;
  dq_shard_sums sums = {.first = task->weights ? 0 : task->first_shard};
  double *blocks = task->blocks;
  for (int64_t shard = 0; shard < j->shards; shard++) dq_shard_add(&sums, totals[shard]);
  if (task->weights) task->weights[at] = (float)dq_shard_total(&sums);
  else
    for (int b = 0; b < sums.depth; b++) blocks[b * j->plan.shape.out_channels * j->taps + at] = sums.waiting[b];
}

static void run_block(void *argument, int64_t index, int thread) {
  const job *j = argument;
  const dq_conv_parameters *s = &j->plan.shape;
  const int64_t first = index * j->channels, end = dq_min_i64(s->out_channels, first + j->channels);
  const int64_t count = (end - first) * j->taps;
  char *workspace = j->scratch + offsets_bytes(j) + (size_t)thread * thread_bytes(j);
  double *totals = (double *)(void *)workspace; // [channel and tap][shard]
  float *sums = (float *)(void *)(workspace + totals_bytes(j));
  uint32_t *plane = (uint32_t *)(void *)(workspace + totals_bytes(j) + sums_bytes(j));
  for (int64_t shard = 0; shard < j->shards; shard++) {
    memset(sums, 0, sums_bytes(j));
    for (int64_t n = shard * DQ_SHARD; n < dq_min_i64(s->batch, (shard + 1) * DQ_SHARD); n++)
      add_picture(j, n, first, end, sums, plane);
    for (int64_t i = 0; i < count; i++) totals[i * j->shards + shard] = add_lanes(sums + i * DQ_TAP_LANES);
  }
  for (int64_t i = 0; i < count; i++) store(j, first * j->taps + i, totals + i * j->shards);
}

void dq_conv_gradient_depthwise(const dq_conv_gradient *task, unsigned cpu, void *scratch, dq_pool *pool) {
  const dq_conv_parameters *s = task->shape;
  job j = job_of(s, cpu);
  j.task = task;
  j.scratch = scratch;
  int64_t *offsets = scratch;
  for (int64_t y = 0; y < s->kernel_height; y++)
    for (int64_t x = 0; x < s->kernel_width; x++) *offsets++ = dq_conv_tap_offset(&j.plan, y, x);
  dq_pool_run(pool, dq_ceil_div(s->out_channels, j.channels), run_block, &j);
}
