// Sums and running sums of the audit by blocks of 32 taps, products of tiles. After every block the exact prefix
// is known, and what it has been in between lies between the prefix before and all products above 0, or below 0,
// of the block. Outputs whose sum is outside have left; those whose bounds are inside have not; the few others are
// looked at tap by tap. Where they are not few, all is done by panels. 16 outputs are the rows of a tile, 16
// channels its columns: values lie by output, in the order of the reduction.
#include "lib/kernels/audit/audit_state.h"

#include <string.h>

#include "lib/base/sizes.h"

enum {
  CHANNELS = DQ_AUDIT_CHANNELS,
  ROWS = DQ_AUDIT_ROWS,
  SAMPLE = 8,       // every so manieth task is tried
  MOST_DOUBTS = 16, // of 16 outputs and channels: more take longer tap by tap than all by panels
  COPY = 64, // bytes are copied so many at a time; what is too much is overwritten by the next, or behind the row
};

static int64_t blocks_of(const dq_audit *a) { // of taps
  return (a->geometry.depth + DQ_AUDIT_BLOCK - 1) / DQ_AUDIT_BLOCK;
}
static int64_t parts_of(const dq_audit *a) { // of 16 output channels, in a group
  return (a->geometry.out_group + CHANNELS - 1) / CHANNELS;
}
static int64_t block_bytes(const dq_audit *a) { return a->planes.zero ? 2 * DQ_AUDIT_BLOCK : DQ_AUDIT_BLOCK; }
static int64_t line_bytes(const dq_audit *a) { // of one value for each tap
  return blocks_of(a) * DQ_AUDIT_BLOCK;
}
static int64_t row_bytes(const dq_audit *a) { return blocks_of(a) * block_bytes(a) + COPY; }

// ---- Preparation ----

// The weights are signed bytes, with the opposite sign too, tiles are full enough, and no sum with its bias leaves
// int32.
bool dq_audit_blocks_fit(const dq_audit *a) {
  int64_t channels = a->parameters.shape.out_channels, all = channels * a->geometry.depth;
  if (!dq_kernel_find(DQ_OPERATION_audit_blocks, a->cpu)) return false;
  if (a->geometry.out_group < CHANNELS / 2 || a->geometry.depth < DQ_AUDIT_BLOCK / 2) return false;
  for (int64_t i = 0; i < all; i++)
    if (a->values[i] > INT8_MAX || (a->planes.zero && a->values[i] < -INT8_MAX)) return false;
  for (int64_t o = 0; o < channels; o++) {
    const dq_audit_proof *p = &a->proofs[o];
    if (p->lowest + p->bias < INT32_MIN || p->highest + p->bias > INT32_MAX) return false;
  }
  return true;
}

// A weight of a column of two tiles: of all, and of those above 0.
static void put(int8_t *tiles, int64_t tile_bytes, int64_t row, int64_t column, int value) {
  int8_t *to = tiles + (row / 4 * CHANNELS + column) * 4 + row % 4;
  to[0] = (int8_t)value;
  to[tile_bytes] = (int8_t)(value > 0 ? value : 0);
}

static void pack(const dq_audit *a, int64_t first, int64_t channels, dq_audit_block_weights *to) {
  int64_t depth = a->geometry.depth, tile_bytes = block_bytes(a) * CHANNELS;
  for (int64_t c = 0; c < channels; c++) {
    const int16_t *values = a->values + (first + c) * depth;
    for (int64_t t = 0; t < depth; t++) {
      int64_t within = t % DQ_AUDIT_BLOCK;
      int8_t *tiles = to->tiles + t / DQ_AUDIT_BLOCK * 2 * tile_bytes;
      put(tiles, tile_bytes, within, c, values[t]);
      if (a->planes.zero) put(tiles, tile_bytes, DQ_AUDIT_BLOCK + within, c, -values[t]);
      to->lines[c * line_bytes(a) + t] = (int8_t)values[t];
    }
    dq_audit_bias_bounds(a->proofs[first + c].bias, INT16_MIN, INT16_MAX, &to->low16[c], &to->high16[c]);
  }
}

dq_status dq_audit_blocks_new(dq_audit *a, dq_arena *arena, dq_error *error) {
  int64_t groups = a->parameters.shape.groups, parts = parts_of(a);
  int64_t tile_bytes = blocks_of(a) * 2 * block_bytes(a) * CHANNELS;
  a->blocks = DQ_NEW_ARRAY(arena, groups * parts, dq_audit_block_weights);
  if (!a->blocks) return dq_fail_memory(error, (size_t)parts * sizeof *a->blocks);
  for (int64_t i = 0; i < groups * parts; i++) {
    dq_audit_block_weights *to = &a->blocks[i];
    int64_t first = i % parts * CHANNELS;
    to->tiles = DQ_NEW_ARRAY(arena, tile_bytes, int8_t);
    to->lines = DQ_NEW_ARRAY(arena, CHANNELS * line_bytes(a), int8_t);
    if (!to->tiles || !to->lines) return dq_fail_memory(error, (size_t)tile_bytes);
    pack(a, i / parts * a->geometry.out_group + first, dq_min_i64(CHANNELS, a->geometry.out_group - first), to);
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
  dq_audit_turn_function *transpose;
  dq_audit_rows_function *copy;
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
static size_t rows_bytes(const dq_audit *a) { return dq_audit_aligned((size_t)(ROWS * row_bytes(a))); }
static size_t lines_bytes(const dq_audit *a) {
  return a->planes.zero ? dq_audit_aligned((size_t)(ROWS * (line_bytes(a) + COPY))) : 0;
}
static size_t part_counts_bytes(const dq_audit *a) {
  return dq_audit_aligned((size_t)(a->parameters.shape.groups * parts_of(a)) * sizeof(dq_audit_block_counts));
}
size_t dq_audit_blocks_workspace_bytes(const dq_audit *a) {
  return part_counts_bytes(a) + rows_bytes(a) + lines_bytes(a);
}
size_t dq_audit_blocks_scratch_bytes(const dq_audit *a) {
  return places_bytes(a) + dq_audit_aligned((size_t)(a->parameters.shape.groups * parts_of(a)));
}

static void transpose_line(void *argument, int64_t line, int thread) {
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
    r->transpose(r->of->input + y * p->in_width, p->in_height * p->in_width, channels, count, r->a->planes.flip,
                 to + before * channels, channels);
  memset(to + (before + count) * channels, r->a->planes.zero, (size_t)(behind * channels));
}

// The values under `rows` outputs from (y, x) on, all of one line, in the order of the reduction.
static void fill_line(const run *r, int64_t group, int64_t y, int64_t x, int64_t rows, uint8_t *to, int64_t to_bytes) {
  const dq_conv_parameters *p = &r->a->parameters.shape;
  int64_t channels = r->a->geometry.channels;
  bool together = p->groups == 1 && p->dilation_width == 1;
  int64_t count = together ? channels * p->kernel_width : channels, steps = together ? 1 : p->kernel_width;
  for (int64_t ky = 0; ky < p->kernel_height; ky++) {
    int64_t line = (y * p->stride_height + ky * p->dilation_height) * r->width + x * p->stride_width;
    for (int64_t kx = 0; kx < steps; kx++, to += count)
      r->copy(r->places + (line + kx * p->dilation_width) * p->in_channels + group * channels,
              p->stride_width * p->in_channels, rows, count, to, to_bytes);
  }
}

// Those under `rows` outputs from the first on.
static void fill_rows(const run *r, int64_t group, int64_t first, int64_t rows, uint8_t *to, int64_t to_bytes) {
  int64_t width = r->a->parameters.shape.out_width;
  for (int64_t i = 0, count; i < rows; i += count) {
    int64_t x = (first + i) % width;
    count = dq_min_i64(rows - i, width - x);
    fill_line(r, group, (first + i) / width, x, count, to + i * to_bytes, to_bytes);
  }
}

// How far a line's values are above zero, and how far below, block by block.
static void part_line(const dq_audit *a, const uint8_t *line, uint8_t *to) {
  uint8_t zero = (uint8_t)a->planes.zero;
  for (int64_t block = 0; block < blocks_of(a); block++, line += DQ_AUDIT_BLOCK, to += 2 * DQ_AUDIT_BLOCK)
    for (int i = 0; i < DQ_AUDIT_BLOCK; i++) {
      to[i] = (uint8_t)((line[i] > zero ? line[i] : zero) - zero);
      to[DQ_AUDIT_BLOCK + i] = (uint8_t)(zero - (line[i] < zero ? line[i] : zero));
    }
}

static void add_rows(void *argument, int64_t index, int thread) {
  const run *r = argument;
  const dq_audit *a = r->a;
  char *scratch = dq_audit_workspace_of(r->of, thread).sums;
  int64_t tiles = (a->outputs + ROWS - 1) / ROWS, group = index / tiles, first = index % tiles * ROWS;
  int64_t part = group * parts_of(a), to_bytes = line_bytes(a) + COPY;
  uint8_t *values = (uint8_t *)scratch + part_counts_bytes(a), *lines = values + rows_bytes(a);
  dq_audit_block_rows rows = {values, row_bytes(a), blocks_of(a), block_bytes(a),
                              (int)dq_min_i64(ROWS, a->outputs - first)};
  if (!a->planes.zero) fill_rows(r, group, first, rows.outputs, values, rows.row_bytes);
  else fill_rows(r, group, first, rows.outputs, lines, to_bytes);
  for (int i = 0; a->planes.zero && i < rows.outputs; i++)
    part_line(a, lines + i * to_bytes, values + i * rows.row_bytes);
  r->add(&rows, a->blocks + part, r->running + part, parts_of(a), (dq_audit_block_counts *)(void *)scratch + part);
}

// Stores the counts of a thread's parts by output channel.
static void to_channels(const dq_audit *a, const dq_audit_workspace *b) {
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

static void forget(const dq_audit *a, char *scratch) {
  dq_audit_block_counts *parts = (dq_audit_block_counts *)(void *)scratch;
  memset(parts, 0, part_counts_bytes(a));
  for (int64_t i = 0; i < a->parameters.shape.groups * parts_of(a); i++)
    for (int c = 0; c < CHANNELS; c++) parts[i].lowest[c] = INT32_MAX, parts[i].highest[c] = INT32_MIN;
}

static bool is_tried(int64_t index) { return index % SAMPLE == SAMPLE / 2; }

static void add_untried_rows(void *argument, int64_t index, int thread) {
  if (!is_tried(index)) add_rows(argument, index, thread);
}

// Counts some outputs; false when too many are in doubt. A few outputs are not worth a trial.
static bool pays(run *r, int64_t tasks) {
  const dq_audit *a = r->a;
  char *scratch = dq_audit_workspace_of(r->of, 0).sums;
  const dq_audit_block_counts *parts = (const dq_audit_block_counts *)(const void *)scratch;
  int64_t doubts = 0, tried = 0;
  for (int64_t i = 0; i < tasks; i++)
    if (is_tried(i)) add_rows(r, i, 0), tried++;
  for (int64_t i = 0; i < a->parameters.shape.groups * parts_of(a); i++) doubts += parts[i].doubts;
  return doubts <= tried * parts_of(a) * blocks_of(a) * (MOST_DOUBTS * ROWS / CHANNELS);
}

bool dq_audit_blocks_run(const dq_audit_run_state *of, dq_pool *pool) {
  const dq_audit *a = of->a;
  run r = {of,
           a,
           (uint8_t *)of->sums,
           width_of(a),
           (bool *)(of->sums + places_bytes(a)),
           DQ_KERNEL_FUNCTION(audit_turn, a->cpu),
           DQ_KERNEL_FUNCTION(audit_rows, a->cpu),
           DQ_KERNEL_FUNCTION(audit_blocks, a->cpu)};
  memset(r.running, 0, (size_t)(a->parameters.shape.groups * parts_of(a)));
  for (int64_t o = 0; o < a->parameters.shape.out_channels; o++) {
    int64_t part = o / a->geometry.out_group * parts_of(a) + o % a->geometry.out_group / CHANNELS;
    r.running[part] |= dq_audit_can_leave_int16(of, o);
  }
  int64_t tasks = a->parameters.shape.groups * ((a->outputs + ROWS - 1) / ROWS);
  dq_pool_run(pool, lines_of(a), transpose_line, &r);
  for (int i = 0; i < dq_pool_threads(pool); i++) forget(a, dq_audit_workspace_of(of, i).sums);
  if (!pays(&r, tasks)) return false;
  dq_pool_run(pool, tasks, add_untried_rows, &r);
  for (int i = 0; i < dq_pool_threads(pool); i++) {
    dq_audit_workspace b = dq_audit_workspace_of(of, i);
    to_channels(a, &b);
  }
  return true;
}
