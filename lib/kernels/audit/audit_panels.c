// Sums and running sums of the audit by panels of 32 outputs. Sums are those of the convolution itself. Running
// ones are sums in int16 that saturate at every addition: an end that differs from the exact one has been
// clipped. One that agrees may have been clipped on both sides only if it touched the largest number; such
// outputs are computed again.
#include "lib/kernels/audit/audit_state.h"

#include <string.h>

#include "lib/base/sizes.h"

enum {
  LANES = DQ_AUDIT_LANES,
  SLACK = 2 * LANES, // elements a copy of a whole panel row may overrun
  MOST_ROWS = 16,    // of any kernel
};

typedef struct run {
  const dq_audit_run_state *of;
  const dq_audit *a;
  int32_t *sums;
  dq_audit_running_function *running;
  dq_audit_fill_function *fill;
  dq_audit_compare_function *compare;
  dq_audit_whole_function *whole;
} run;

static int16_t *panel_of(const dq_audit_workspace *b) { return (int16_t *)(void *)b->sums; }

static int64_t blocks_of(const dq_audit *a) { return (a->geometry.out_group + a->rows - 1) / a->rows; }

static void pack_running(dq_audit *a) {
  int64_t depth = a->geometry.depth, group = a->geometry.out_group, blocks = blocks_of(a);
  for (int64_t o = 0; o < a->parameters.shape.out_channels; o++) {
    int64_t block = o / group * blocks + o % group / a->rows, row = o % group % a->rows;
    for (int64_t t = 0; t < depth; t++)
      a->running[(block * depth + t) * a->rows + row] = (uint32_t)(uint16_t)a->values[o * depth + t] * 0x10001u;
  }
}

dq_status dq_audit_panels_new(dq_audit *a, dq_arena *arena, dq_error *error) {
  a->rows = dq_kernel_find(DQ_OPERATION_audit_running, a->cpu)->rows;
  int64_t words = a->parameters.shape.groups * blocks_of(a) * a->geometry.depth * a->rows;
  a->running = DQ_NEW_ARRAY(arena, words, uint32_t);
  a->packed = dq_arena_alloc(arena, dq_conv_packed_bytes(&a->plan));
  if (!a->running || !a->packed) return dq_fail_memory(error, (size_t)words * sizeof *a->running);
  pack_running(a);
  dq_conv_int8_pack(&a->plan, a->weights, a->packed);
  return DQ_OK;
}

static size_t sums_bytes(const dq_audit *a) {
  return dq_audit_aligned((size_t)(a->parameters.shape.out_channels * a->outputs) * sizeof(int32_t));
}
size_t dq_audit_panels_workspace_bytes(const dq_audit *a) {
  return (size_t)(a->geometry.depth * LANES + SLACK) * sizeof(int16_t);
}
size_t dq_audit_panels_scratch_bytes(const dq_audit *a, int threads) {
  return sums_bytes(a) + dq_conv_scratch_bytes(&a->plan, threads);
}

static void fill_panel(const run *r, int64_t group, int64_t first, int lanes, int16_t *panel) {
  const dq_audit *a = r->a;
  const dq_conv_parameters *p = &a->parameters.shape;
  int64_t from[LANES];
  int lane[LANES], pieces = 0;
  for (int i = 0; i < lanes;) { // pieces of the panel that lie side by side in a plane
    int64_t y = (first + i) / p->out_width, x = (first + i) % p->out_width;
    int64_t at = y * a->planes.width + x;
    if (!pieces || at != from[pieces - 1] + i - lane[pieces - 1]) {
      from[pieces] = at;
      lane[pieces++] = i;
    }
    i += (int)dq_min_i64(lanes - i, p->out_width - x);
  }
  dq_audit_panel to = {r->of->planes + group * a->geometry.channels * a->planes.bytes,
                       a->planes.bytes,
                       a->geometry.channels,
                       p->kernel_height * p->kernel_width,
                       a->planes.offsets,
                       from,
                       lane,
                       pieces,
                       a->planes.zero,
                       panel};
  r->fill(&to);
}

static bool leaves_int16(const run *r, const int16_t *panel, int64_t channel, int lane) {
  const int16_t *weights = r->a->values + channel * r->a->geometry.depth;
  int32_t sum = 0;
  for (int64_t t = 0; t < r->a->geometry.depth; t++) {
    sum += panel[t * LANES + lane] * weights[t];
    if (sum < INT16_MIN || sum > INT16_MAX) return true;
  }
  return false;
}

static void audit_whole(void *argument, int64_t channel, int thread) {
  const run *r = argument;
  dq_audit_counts *counts = &dq_audit_workspace_of(r->of, thread).counts[channel];
  int64_t bias = r->a->bias ? r->a->bias[channel] : 0;
  dq_audit_whole whole = {.sums = r->sums + channel * r->a->outputs, .count = r->a->outputs};
  dq_audit_bias_bounds(bias, INT16_MIN, INT16_MAX, &whole.low16, &whole.high16);
  dq_audit_bias_bounds(bias, INT32_MIN, INT32_MAX, &whole.low32, &whole.high32);
  r->whole(&whole);
  counts->sum16 = whole.outside16;
  counts->bias16 = whole.outside_low16;
  counts->bias32 = whole.outside_low32;
  counts->lowest = whole.lowest;
  counts->highest = whole.highest;
}

static void compare(const run *r, const dq_audit_workspace *b, int64_t channel, int64_t first, int lanes,
                    const int16_t *last, const int16_t *top) {
  dq_audit_comparison c = {.sums = r->sums + channel * r->a->outputs + first, .last = last, .top = top, .lanes = lanes};
  uint64_t *running = &b->counts[channel].running16;
  r->compare(&c);
  *running += (uint64_t)c.different;
  for (int i = 0; c.unsure && i < lanes; i++)
    if (c.sums[i] == last[i] && top[i] == INT16_MAX) *running += leaves_int16(r, panel_of(b), channel, i);
}

static void audit_block(const run *r, const dq_audit_workspace *b, int64_t group, int64_t block, int64_t first,
                        int lanes) {
  const dq_audit *a = r->a;
  int64_t depth = a->geometry.depth, start = group * a->geometry.out_group + block * a->rows;
  int rows = (int)dq_min_i64(a->rows, a->geometry.out_group - block * a->rows);
  int16_t last[MOST_ROWS * LANES], top[MOST_ROWS * LANES];
  bool needed = false;
  for (int row = 0; row < rows; row++) {
    const int32_t *sums = r->sums + (start + row) * a->outputs + first;
    needed |= dq_audit_can_leave_int16(r->of, start + row);
    // The rows lie far apart; they come while the running sums are computed.
    __builtin_prefetch(sums);
    __builtin_prefetch(sums + LANES / 2);
  }
  if (needed) {
    int64_t packed = (group * blocks_of(a) + block) * depth * a->rows;
    dq_audit_sums sums = {panel_of(b), a->running + packed, depth, rows, last, top};
    r->running(&sums);
  }
  for (int row = 0; needed && row < rows; row++)
    compare(r, b, start + row, first, lanes, last + row * LANES, top + row * LANES);
}

static void audit_tile(void *argument, int64_t index, int thread) {
  const run *r = argument;
  const dq_audit *a = r->a;
  dq_audit_workspace b = dq_audit_workspace_of(r->of, thread);
  int64_t tiles = (a->outputs + LANES - 1) / LANES, group = index / tiles;
  int64_t first = index % tiles * LANES;
  int lanes = (int)dq_min_i64(LANES, a->outputs - first);
  fill_panel(r, group, first, lanes, panel_of(&b));
  for (int64_t block = 0; block < blocks_of(a); block++) audit_block(r, &b, group, block, first, lanes);
}

void dq_audit_panels_run(const dq_audit_run_state *of, dq_pool *pool) {
  const dq_audit *a = of->a;
  run r = {of,
           a,
           (int32_t *)(void *)of->sums,
           DQ_KERNEL_FUNCTION(audit_running, a->cpu),
           DQ_KERNEL_FUNCTION(audit_fill, a->cpu),
           DQ_KERNEL_FUNCTION(audit_compare, a->cpu),
           DQ_KERNEL_FUNCTION(audit_whole, a->cpu)};
  dq_conv_int8_run(&a->plan, a->packed, of->input, r.sums, NULL, of->sums + sums_bytes(a), pool);
  dq_pool_run(pool, a->parameters.shape.out_channels, audit_whole, &r);
  dq_pool_run(pool, a->parameters.shape.groups * ((a->outputs + LANES - 1) / LANES), audit_tile, &r);
}
