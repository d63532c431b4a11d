// Sums and running sums of the audit by blocks of 32 taps, products of tiles. After every block the exact prefix
// is known, and what it has been in between lies between the prefix before and all products above 0, or below 0,
// of the block. Outputs whose prefix is outside have left; those whose bounds are inside have not; the few
// others are looked at tap by tap. Where they are not few, all is done by panels. 16 outputs are the rows of a tile, 16 channels its columns: values lie by
// output, in the order of the reduction.
#include "lib/kernels/audit_internal.h"

#include <string.h>

#include "lib/base/sizes.h"

enum {
  CHANNELS = DQ_AUDIT_CHANNELS,
  ROWS = DQ_AUDIT_ROWS,
  SAMPLE = 32, // every so manieth 16 outputs are tried
  MOST_DOUBTS = 7, // of 256: more take longer tap by tap than all by panels
  COPY = 64, // bytes are copied so many at a time; what is too much is overwritten by the next
};

static int64_t blocks_of(const dq_audit *a) { // of taps
  return (a->geometry.depth + DQ_AUDIT_BLOCK - 1) / DQ_AUDIT_BLOCK;
}
static int64_t parts_of(const dq_audit *a) { // of 16 output channels, in a group
  return (a->geometry.out_group + CHANNELS - 1) / CHANNELS;
}
static int64_t row_bytes(const dq_audit *a) {
  return blocks_of(a) * DQ_AUDIT_BLOCK;
}

// ---- Preparation ----

// The weights are signed bytes, tiles are full enough, and no sum with its bias leaves int32.
bool dq_audit_blocks_fit(const dq_audit *a) {
  int64_t channels = a->parameters.shape.out_channels, all = channels * a->geometry.depth;
  if (!dq_kernel_find(DQ_OPERATION_audit_blocks, a->cpu)) return false;
  if (a->geometry.out_group < CHANNELS / 2 || a->geometry.depth < DQ_AUDIT_BLOCK / 2) return false;
  for (int64_t i = 0; i < all; i++)
    if (a->values[i] > INT8_MAX) return false;
  for (int64_t o = 0; o < channels; o++) {
    const dq_audit_proof *p = &a->proofs[o];
    if (p->lowest + p->bias < INT32_MIN || p->highest + p->bias > INT32_MAX) return false;
  }
  return true;
}

static void pack(const dq_audit *a, int64_t first, int64_t channels, dq_audit_block_weights *to) {
  int64_t depth = a->geometry.depth;
  for (int64_t c = 0; c < channels; c++) {
    const int16_t *values = a->values + (first + c) * depth;
    int32_t sum = 0;
    for (int64_t t = 0; t < depth; t++) {
      int64_t block = t / DQ_AUDIT_BLOCK, within = t % DQ_AUDIT_BLOCK;
      int8_t *tile = to->tiles + 3 * block * DQ_AUDIT_TILE + (within / 4 * CHANNELS + c) * 4 + within % 4;
      tile[0] = (int8_t)values[t];
      tile[values[t] > 0 ? DQ_AUDIT_TILE : 2 * DQ_AUDIT_TILE] = (int8_t)values[t];
      to->lines[c * row_bytes(a) + t] = (int8_t)values[t];
      sum += values[t];
      to->starts[(block + 1) * CHANNELS + c] = -a->planes.zero * sum;
    }
    dq_audit_bias_bounds(a->proofs[first + c].bias, INT16_MIN, INT16_MAX, &to->low16[c], &to->high16[c]);
  }
}

dq_status dq_audit_blocks_new(dq_audit *a, dq_arena *arena, dq_error *error) {
  int64_t groups = a->parameters.shape.groups, parts = parts_of(a), blocks = blocks_of(a);
  int64_t tile_bytes = 3 * blocks * DQ_AUDIT_TILE;
  a->blocks = DQ_NEW_ARRAY(arena, groups * parts, dq_audit_block_weights);
  if (!a->blocks) return dq_fail_memory(error, (size_t)parts * sizeof *a->blocks);
  for (int64_t i = 0; i < groups * parts; i++) {
    dq_audit_block_weights *to = &a->blocks[i];
    int64_t first = i % parts * CHANNELS;
    to->tiles = DQ_NEW_ARRAY(arena, tile_bytes, int8_t);
    to->lines = DQ_NEW_ARRAY(arena, CHANNELS * row_bytes(a), int8_t);
    to->starts = DQ_NEW_ARRAY(arena, (blocks + 1) * CHANNELS, int32_t);
    if (!to->tiles || !to->lines || !to->starts) return dq_fail_memory(error, (size_t)tile_bytes);
    pack(a, i / parts * a->geometry.out_group + first,
         dq_min_i64(CHANNELS, a->geometry.out_group - first), to);
  }
  return DQ_OK;
}

// ---- One run ----

typedef struct run {
  const dq_audit_run_state *of;
  const dq_audit *a;
  uint8_t *places; // [y][x][channel] of the padded input
  int64_t width;   // places of a line
  bool *running;   // by part
  dq_audit_turn_function *turn;
  dq_audit_blocks_function *add;
} run;

static int64_t lines_of(const dq_audit *a) {
  const dq_conv_parameters *p = &a->parameters.shape;
  return (p->out_height - 1) * p->stride_height + (p->kernel_height - 1) * p->dilation_height + 1;
}
static int64_t width_of(const dq_audit *a) {
  const dq_conv_parameters *p = &a->parameters.shape;
  return (p->out_width - 1) * p->stride_width + (p->kernel_width - 1) * p->dilation_width + 1;
}
static size_t places_bytes(const dq_audit *a) {
  return dq_audit_aligned((size_t)(lines_of(a) * width_of(a) * a->parameters.shape.in_channels + COPY));
}
static size_t rows_bytes(const dq_audit *a) {
  return dq_audit_aligned((size_t)(ROWS * row_bytes(a) + COPY));
}
static size_t part_counts_bytes(const dq_audit *a) {
  return dq_audit_aligned((size_t)(a->parameters.shape.groups * parts_of(a)) * sizeof(dq_audit_block_counts));
}
size_t dq_audit_blocks_bench_bytes(const dq_audit *a) {
  return part_counts_bytes(a) + 3 * rows_bytes(a);
}
size_t dq_audit_blocks_scratch_bytes(const dq_audit *a) {
  return places_bytes(a) + dq_audit_aligned((size_t)(a->parameters.shape.groups * parts_of(a)));
}

static void turn_line(void *argument, int64_t line, int thread) {
  const run *r = argument;
  const dq_conv_parameters *p = &r->a->parameters.shape;
  int64_t channels = p->in_channels, y = line - p->pad_top;
  uint8_t *to = r->places + line * r->width * channels;
  bool inside = y >= 0 && y < p->in_height;
  int64_t before = inside ? dq_min_i64(p->pad_left, r->width) : r->width;
  int64_t count = inside ? dq_min_i64(p->in_width, r->width - before) : 0, behind = r->width - before - count;
  (void)thread;
  memset(to, r->a->planes.zero, (size_t)(before * channels));
  if (count)
    r->turn(r->of->input + y * p->in_width, p->in_height * p->in_width, channels, count, r->a->planes.flip,
            to + before * channels, channels);
  memset(to + (before + count) * channels, r->a->planes.zero, (size_t)(behind * channels));
}

static void copy(const uint8_t *from, int64_t count, uint8_t *to) {
  for (int64_t i = 0; i < count; i += COPY) memcpy(to + i, from + i, COPY);
}

// The values under one output, in the order of the reduction.
static void fill_row(const run *r, int64_t group, int64_t output, uint8_t *to) {
  const dq_conv_parameters *p = &r->a->parameters.shape;
  int64_t channels = r->a->geometry.channels, x = output % p->out_width * p->stride_width;
  int64_t y = output / p->out_width * p->stride_height;
  bool together = p->groups == 1 && p->dilation_width == 1;
  int64_t count = together ? channels * p->kernel_width : channels, steps = together ? 1 : p->kernel_width;
  for (int64_t ky = 0; ky < p->kernel_height; ky++) {
    int64_t line = (y + ky * p->dilation_height) * r->width + x;
    for (int64_t kx = 0; kx < steps; kx++, to += count)
      copy(r->places + (line + kx * p->dilation_width) * p->in_channels + group * channels, count, to);
  }
}

// The rows that hold the larger and the smaller of each value and zero.
static void part_values(const dq_audit_block_rows *rows, uint8_t *above, uint8_t *below) {
  uint8_t zero = (uint8_t)rows->zero;
  for (int64_t i = 0; i < ROWS * rows->row_bytes; i++) {
    uint8_t value = rows->values[i];
    above[i] = value > zero ? value : zero;
    below[i] = value < zero ? value : zero;
  }
}

static void add_rows(void *argument, int64_t index, int thread) {
  const run *r = argument;
  const dq_audit *a = r->a;
  char *room = dq_audit_bench_of(r->of, thread).sums;
  int64_t tiles = (a->outputs + ROWS - 1) / ROWS, group = index / tiles, first = index % tiles * ROWS;
  int64_t part = group * parts_of(a);
  uint8_t *values = (uint8_t *)room + part_counts_bytes(a), *above = values + rows_bytes(a);
  dq_audit_block_rows rows = {values, above, above + rows_bytes(a), row_bytes(a), blocks_of(a),
                              (int)dq_min_i64(ROWS, a->outputs - first), a->planes.zero};
  for (int i = 0; i < rows.outputs; i++) fill_row(r, group, first + i, values + i * rows.row_bytes);
  if (rows.zero) part_values(&rows, above, above + rows_bytes(a));
  r->add(&rows, a->blocks + part, r->running + part, parts_of(a), (dq_audit_block_counts *)(void *)room + part);
}

// Of a thread's parts to its channels.
static void to_channels(const dq_audit *a, const dq_audit_bench *b) {
  const dq_audit_block_counts *parts = (const dq_audit_block_counts *)(const void *)b->sums;
  for (int64_t o = 0; o < a->parameters.shape.out_channels; o++) {
    int64_t within = o % a->geometry.out_group, c = within % CHANNELS;
    const dq_audit_block_counts *from = &parts[o / a->geometry.out_group * parts_of(a) + within / CHANNELS];
    if (from->lowest[c] > from->highest[c]) continue; // nothing was added
    b->counts[o].running16 = from->left[c];
    b->counts[o].sum16 = from->outside[c];
    b->counts[o].bias16 = from->outside_low[c];
    b->counts[o].lowest = from->lowest[c];
    b->counts[o].highest = from->highest[c];
  }
}

static void forget(const dq_audit *a, char *room) {
  dq_audit_block_counts *parts = (dq_audit_block_counts *)(void *)room;
  memset(parts, 0, part_counts_bytes(a) + rows_bytes(a));
  for (int64_t i = 0; i < a->parameters.shape.groups * parts_of(a); i++)
    for (int c = 0; c < CHANNELS; c++) parts[i].lowest[c] = INT32_MAX, parts[i].highest[c] = INT32_MIN;
}

// Tries some outputs; false when too many are in doubt. A few outputs are not worth a trial.
static bool pays(run *r, int64_t tasks) {
  const dq_audit *a = r->a;
  char *room = dq_audit_bench_of(r->of, 0).sums;
  const dq_audit_block_counts *parts = (const dq_audit_block_counts *)(const void *)room;
  int64_t doubts = 0, tried = 0;
  forget(a, room);
  for (int64_t i = SAMPLE / 2; i < tasks; i += SAMPLE, tried++) add_rows(r, i, 0);
  for (int64_t i = 0; i < a->parameters.shape.groups * parts_of(a); i++) doubts += parts[i].doubts;
  return doubts <= tried * parts_of(a) * blocks_of(a) * MOST_DOUBTS;
}

bool dq_audit_blocks_run(const dq_audit_run_state *of, dq_pool *pool) {
  const dq_audit *a = of->a;
  run r = {of, a, (uint8_t *)of->sums, width_of(a), (bool *)(of->sums + places_bytes(a)),
           DQ_KERNEL_FUNCTION(audit_turn, a->cpu), DQ_KERNEL_FUNCTION(audit_blocks, a->cpu)};
  memset(r.running, 0, (size_t)(a->parameters.shape.groups * parts_of(a)));
  for (int64_t o = 0; o < a->parameters.shape.out_channels; o++) {
    int64_t part = o / a->geometry.out_group * parts_of(a) + o % a->geometry.out_group / CHANNELS;
    r.running[part] |= dq_audit_can_leave_int16(of, o);
  }
  int64_t tasks = a->parameters.shape.groups * ((a->outputs + ROWS - 1) / ROWS);
  dq_pool_run(pool, lines_of(a), turn_line, &r);
  if (!pays(&r, tasks)) return false;
  for (int i = 0; i < dq_pool_threads(pool); i++) forget(a, dq_audit_bench_of(of, i).sums);
  dq_pool_run(pool, tasks, add_rows, &r);
  for (int i = 0; i < dq_pool_threads(pool); i++) {
    dq_audit_bench b = dq_audit_bench_of(of, i);
    to_channels(a, &b);
  }
  return true;
}
