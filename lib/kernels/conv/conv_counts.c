// Counts of what the algorithms do. Sizes of blocks are those that `prepare` of the algorithm has chosen; a plane that
// is read again and again counts by the level of cache that holds it.
#include <unistd.h>

#include "lib/kernels/conv/conv_algorithm.h"

enum { DEPTHWISE_CALLS = 3 }; // of a band: expansion, sums, copy

static double inputs(const dq_conv_plan *plan) { return (double)(plan->shape.batch * plan->shape.groups); }
static double planes(const dq_conv_plan *plan) { return (double)(plan->shape.batch * plan->shape.out_channels); }
// Words of a vector; the columns of a tile are two.
static int64_t lanes(const dq_conv_plan *plan) { return dq_max_i64(1, plan->multiply->columns / 2); }

// The part of a block that a cache of so many bytes does not hold.
static double beyond(double bytes, long cache) {
  return cache > 0 && bytes > (double)cache ? 1 - (double)cache / bytes : 0;
}

// Vectors that are read again, from a block of so many words.
static void add_reads(dq_counts *counts, double vectors, int64_t words) {
  double bytes = 4 * (double)words;
  counts->values[DQ_COUNT_FAR] += vectors * beyond(bytes, sysconf(_SC_LEVEL1_DCACHE_SIZE));
  counts->values[DQ_COUNT_FARTHER] += vectors * beyond(bytes, sysconf(_SC_LEVEL2_CACHE_SIZE));
}

// The sums of `columns` outputs side by side under all output channels of a group, so many times, with the depth in
// `parts` pieces; returns the vectors of columns.
static double add_tiles(dq_counts *counts, const dq_conv_plan *plan, double times, int64_t columns, int64_t parts) {
  double tiles = times * (double)(dq_conv_panels(plan) * dq_ceil_div(columns, plan->multiply->columns));
  double vectors = times * (double)dq_ceil_div(columns, lanes(plan)), rows = (double)dq_conv_group_out(plan);
  counts->values[DQ_COUNT_PRODUCTS] += vectors * rows * (double)plan->depth;
  counts->values[DQ_COUNT_STEPS] += tiles * (double)plan->depth;
  counts->values[DQ_COUNT_CALLS] += tiles * (double)parts;
  counts->values[DQ_COUNT_SUMS] += vectors * rows * (double)(2 * parts - 1);
  return vectors;
}

// Planes of words that are expanded, so many times.
static void add_expansion(dq_counts *counts, const dq_conv_plan *plan, double times) {
  int64_t lines = plan->planes.slots_height * plan->planes.slots_width * plan->planes.height;
  counts->values[DQ_COUNT_LINES] += times * (double)lines;
  counts->values[DQ_COUNT_MOVES] += times * (double)(lines * dq_ceil_div(plan->planes.width, lanes(plan)));
}

void dq_conv_count_tiles(const dq_conv_plan *plan, int threads, dq_counts *counts) {
  const dq_conv_tiles_plan *t = &plan->tiles;
  enum { IN_PLACE = 8 }; // panels of a flat convolution that reads its input where it is (conv_tiles.c)
  (void)threads;
  int64_t parts = dq_ceil_div(plan->depth, t->block_words);
  double vectors = add_tiles(counts, plan, inputs(plan), dq_conv_outputs(plan), parts);
  double values = vectors * (double)plan->depth;
  bool in_place = t->reads_input && dq_conv_panels(plan) <= IN_PLACE;
  int64_t run = dq_min_i64(plan->shape.out_width, plan->multiply->columns);
  if (!t->reads_input) add_expansion(counts, plan, inputs(plan) * (double)plan->group_words);
  if (!in_place) {
    counts->values[DQ_COUNT_MOVES] += values;
    counts->values[DQ_COUNT_LINES] += inputs(plan) * (double)(plan->depth * dq_ceil_div(dq_conv_outputs(plan), run));
  }
  // Each panel of weights reads the block anew, and each block all weights of its depth.
  add_reads(counts, values * (double)dq_conv_panels(plan), t->block_words * (t->block_columns + plan->panel_rows));
  int64_t blocks = dq_ceil_div(dq_conv_outputs(plan), t->block_columns);
  int64_t weights = dq_conv_group_out(plan) * plan->depth;
  counts->values[DQ_COUNT_CALLS] += inputs(plan) * (double)(blocks * parts * dq_conv_panels(plan)); // of multiply_panel
  add_reads(counts, inputs(plan) * (double)(blocks * dq_ceil_div(weights, lanes(plan))),
            dq_conv_group_out(plan) * t->block_words + t->block_words * t->block_columns);
}

void dq_conv_count_bands(const dq_conv_plan *plan, int threads, dq_counts *counts) {
  const dq_conv_parameters *p = &plan->shape;
  (void)threads;
  int64_t rows = plan->bands.rows, whole = p->out_height / rows, rest = p->out_height % rows;
  double bands = inputs(plan) * (double)(whole + (rest > 0)), vectors = 0;
  vectors += add_tiles(counts, plan, inputs(plan) * (double)whole, rows * p->out_width, 1);
  if (rest) vectors += add_tiles(counts, plan, inputs(plan), rest * p->out_width, 1);
  counts->values[DQ_COUNT_CALLS] += bands * (double)dq_conv_panels(plan);
  add_expansion(counts, plan, bands * (double)plan->group_words);
  int64_t band = plan->group_words * dq_conv_plane_words(plan), weights = dq_conv_group_out(plan) * plan->depth;
  add_reads(counts, vectors * (double)(plan->depth * dq_conv_panels(plan)), band);
  add_reads(counts, bands * (double)dq_ceil_div(weights, lanes(plan)), band + weights);
}

void dq_conv_count_channels(const dq_conv_plan *plan, int threads, dq_counts *counts) {
  const dq_conv_parameters *p = &plan->shape;
  (void)threads;
  int64_t width = plan->multiply->columns, block = plan->channels.block_words, depth = plan->depth;
  double wide = inputs(plan) * (double)dq_ceil_div(dq_conv_group_out(plan), width), n = (double)dq_conv_outputs(plan);
  double tiles = wide * (double)dq_ceil_div(dq_conv_outputs(plan), plan->panel_rows);
  double parts = (double)dq_ceil_div(depth, block), vectors = (double)(width / lanes(plan));
  counts->values[DQ_COUNT_PRODUCTS] += wide * n * vectors * (double)depth;
  counts->values[DQ_COUNT_STEPS] += tiles * (double)depth;
  counts->values[DQ_COUNT_CALLS] += tiles * parts + wide;
  counts->values[DQ_COUNT_SUMS] += wide * n * vectors * (2 * parts - 1);
  counts->values[DQ_COUNT_MOVES] += wide * n * vectors;
  counts->values[DQ_COUNT_LINES] += wide * (double)width; // that end a row of sums each
  add_reads(counts, tiles * (double)depth, depth * dq_conv_outputs(plan));
  add_reads(counts, wide * vectors * (double)depth, dq_conv_group_out(plan) * depth);
  add_reads(counts, (tiles - wide) * vectors * (double)depth, block * (width + plan->panel_rows));
  if (plan->flat) return;
  counts->values[DQ_COUNT_FILLS] += inputs(plan) * (double)(depth * p->out_height);
  int64_t run = dq_ceil_div(p->out_width, p->stride_width == 1 ? lanes(plan) : 2); // one by one, two in a cycle
  counts->values[DQ_COUNT_MOVES] += inputs(plan) * (double)(depth * p->out_height * run);
}

void dq_conv_count_window(const dq_conv_plan *plan, int threads, dq_counts *counts) {
  const dq_conv_parameters *p = &plan->shape;
  const dq_block_sizes sizes = plan->algorithm->blocks(plan, threads);
  int64_t width = dq_max_i64(1, plan->multiply->columns), strips = dq_ceil_div(p->out_width, width);
  int64_t bands = dq_ceil_div(p->out_height, sizes.depth), together = dq_max_i64(1, plan->multiply->rows);
  int64_t heights = bands * dq_ceil_div(sizes.depth, together);
  int64_t read = (together - 1) * p->stride_height + p->kernel_height; // rows for as many outputs as are summed at once
  counts->values[DQ_COUNT_PRODUCTS] += planes(plan) * (double)(dq_conv_taps(plan) * p->out_height * strips);
  counts->values[DQ_COUNT_STEPS] += planes(plan) * (double)(heights * strips * read * p->kernel_width);
  counts->values[DQ_COUNT_SUMS] += planes(plan) * (double)(p->out_height * strips);
  counts->values[DQ_COUNT_LINES] += planes(plan) * (double)(bands * strips); // weights are loaded for each
  counts->values[DQ_COUNT_CALLS] += (double)(p->batch * dq_ceil_div(p->out_channels, sizes.columns) * bands);
  int64_t rows = dq_min_i64(sizes.depth * p->stride_height + p->kernel_height, p->in_height);
  add_reads(counts, planes(plan) * (double)(p->in_height * strips * p->stride_width),
            sizes.columns * rows * p->in_width + sizes.columns * sizes.depth * p->out_width);
}

void dq_conv_count_depthwise(const dq_conv_plan *plan, int threads, dq_counts *counts) {
  const dq_conv_parameters *p = &plan->shape;
  (void)threads;
  int64_t lane = dq_max_i64(1, plan->multiply->columns / 4), rows = plan->depthwise.rows; // four vectors at a time
  double bands = planes(plan) * (double)dq_ceil_div(p->out_height, rows);
  int64_t turns = dq_ceil_div(rows * plan->planes.width, 4 * lane);
  int64_t lines = plan->planes.slots_height * plan->planes.slots_width * plan->planes.height;
  if (!plan->float32) lines = plan->depthwise.kernel_words * plan->planes.slots_width * rows;
  counts->values[DQ_COUNT_PRODUCTS] += bands * (double)(turns * 4 * plan->depth);
  counts->values[DQ_COUNT_STEPS] += bands * (double)(turns * plan->depth);
  counts->values[DQ_COUNT_SUMS] += bands * (double)(turns * 4);
  counts->values[DQ_COUNT_CALLS] += bands * DEPTHWISE_CALLS;
  counts->values[DQ_COUNT_LINES] += bands * (double)(lines + rows);
  counts->values[DQ_COUNT_MOVES] +=
      bands * (double)(lines * dq_ceil_div(plan->planes.width, lane) + rows * dq_ceil_div(p->out_width, lane));
  add_reads(counts, bands * (double)(turns * 4 * plan->depth), lines * plan->planes.width + rows * plan->planes.width);
}

void dq_conv_count_slide(const dq_conv_plan *plan, int threads, dq_counts *counts) {
  const dq_conv_parameters *p = &plan->shape;
  (void)threads;
  int64_t rows = plan->slide.rows, channels = plan->slide.channels;
  int64_t width = plan->slide.one_run ? plan->slide.row_bytes : p->out_width;
  double bands = planes(plan) * (double)dq_ceil_div(p->out_height, rows);
  double vectors = (double)dq_ceil_div(rows * width, DQ_SLIDE_LANES);
  int64_t padded = (rows - 1) * p->stride_height + (p->kernel_height - 1) * p->dilation_height + 1;
  counts->values[DQ_COUNT_PRODUCTS] += bands * vectors * (double)plan->depth;
  counts->values[DQ_COUNT_STEPS] += bands * vectors;
  counts->values[DQ_COUNT_SUMS] += bands * vectors;
  counts->values[DQ_COUNT_CALLS] += bands * DEPTHWISE_CALLS / (double)channels;
  counts->values[DQ_COUNT_LINES] += bands * (double)(padded + rows);
  add_reads(counts, bands * vectors * (double)plan->depth, channels * rows * width * 5 / 4);
}

dq_counts dq_conv_counts(const dq_conv_plan *plan, int threads) {
  dq_counts counts = {{0}};
  if (!plan->algorithm->cost) return counts;
  if (plan->algorithm->count) plan->algorithm->count(plan, threads, &counts);
  else counts.values[DQ_COUNT_PRODUCTS] = plan->algorithm->cost(plan);
  for (int i = 0; i < DQ_COUNTS; i++) counts.values[i] /= threads;
  if (threads > 1) counts.values[DQ_COUNT_WAKES] = 1;
  return counts;
}
