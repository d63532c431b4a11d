// Blocked matrix product: tasks are blocks of columns times chunks of rows; inside, blocks of depth
// (fp32 only), panels of rows, panels of columns.
#include "lib/kernels/gemm/gemm_internal.h"

#include <string.h>

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static size_t whole_lines(int64_t words) { return dq_round_up((size_t)words, 16); }
static int64_t column_panels(const dq_product *p) { return ceil_div(p->columns, p->multiply->columns); }
static int64_t row_panels(const dq_product *p) { return ceil_div(p->rows, p->panel_rows); }

// Packed: [column panels][words][panel width], then for bytes the sums of the columns.
static size_t panels_area(const dq_product *p) { return (size_t)(column_panels(p) * p->words * p->multiply->columns); }
size_t dq_product_packed_words(const dq_product *p) {
  size_t sums = p->word_values == 4 ? (size_t)(column_panels(p) * p->multiply->columns) : 0;
  return panels_area(p) + sums;
}

void dq_product_pack(const dq_product *p, uint32_t *packed) {
  int64_t width = p->multiply->columns;
  int32_t *sums = (int32_t *)packed + panels_area(p);
  for (int64_t panel = 0; panel < column_panels(p); panel++) {
    uint32_t *to = packed + panel * p->words * width;
    dq_product_pack_b(p, 0, p->words, panel * width, dq_min_i64(width, p->columns - panel * width), to);
    if (p->word_values == 4) dq_product_column_sums(p, to, sums + panel * width);
  }
}

// Each thread has a block of B, its column sums, a panel of A, sums of its rows, and products before requantization.
static size_t b_area(const dq_product *p) { return whole_lines(p->block_words * p->block_columns); }
static size_t a_area(const dq_product *p) {
  int64_t words = p->tiles ? p->tiles * DQ_BLOCK_WORDS : p->block_words;
  return whole_lines(words * p->panel_rows);
}
static size_t thread_area(const dq_product *p) {
  size_t columns = whole_lines(p->block_columns);
  return b_area(p) + columns + a_area(p) + whole_lines(p->panel_rows) + columns * (size_t)p->panel_rows;
}
size_t dq_product_scratch_words(const dq_product *p, int threads) { return (size_t)threads * thread_area(p); }

typedef struct block {
  const dq_product *p;
  int64_t first, count; // columns
  int64_t from, end;    // words of depth
  const uint32_t *b;    // its panels
  int64_t b_panel;      // words from one panel to the next
  const int32_t *column_sums;
  uint32_t *a, *products;
  int32_t *row_sums;
} block;

// (a - za)(b - zb) = a b - za b - zb a + za zb with a in signed bytes and b in the row's, summed over
// depth.
static void correct_row(const block *b, int64_t row, int32_t row_sum, uint32_t *out) {
  const dq_gemm_int8_parameters *q = b->p->int8;
  uint32_t a_zero = (uint32_t)dq_zero_point(q->a_zero_points, q->a_zero_point_count, row) - (q->a_signed ? 0u : 128u);
  uint32_t per_zero = (uint32_t)row_sum - (uint32_t)b->p->depth * a_zero;
  for (int64_t j = 0; j < b->count; j++) {
    uint32_t b_zero = (uint32_t)dq_zero_point(q->b_zero_points, q->b_zero_point_count, b->first + j) +
                      (uint32_t)dq_byte_shift(b->p->multiply, q->b_signed);
    out[j] -= a_zero * (uint32_t)b->column_sums[j] + b_zero * per_zero;
  }
}

static void finish_integers(const block *b, int64_t first_row, int64_t rows, uint32_t *out, int64_t stride) {
  const dq_product *p = b->p;
  const dq_requantization *r = p->requantization;
  for (int64_t i = 0; p->word_values == 4 && i < rows; i++)
    correct_row(b, first_row + i, b->row_sums[i], out + i * stride);
  if (!r) return;
  bool per_column = r->multiplier_count != 1;
  dq_requantize_rows form = {.sums = (const int32_t *)out,
                             .bias = r->bias ? r->bias + b->first : NULL,
                             .bias_step = 1,
                             .multipliers = r->multipliers + (per_column ? b->first : 0),
                             .multiplier_step = per_column,
                             .output = (uint8_t *)p->out + first_row * p->out_stride + b->first,
                             .rows = rows,
                             .columns = b->count,
                             .sums_stride = stride,
                             .output_stride = p->out_stride,
                             .zero_point = r->zero_point,
                             .low = r->low,
                             .high = r->high};
  ((dq_requantize_function *)p->requantize->function)(&form);
}

static void finish_floats(const block *b, int64_t first_row, int64_t rows, float *out) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < b->count; j++) {
      float *at = out + i * b->p->out_stride + j;
      *at = dq_gemm_finish(b->p->float32, *at, first_row + i, b->first + j);
    }
}

typedef struct tiled_panel {
  const block *b;
  int64_t row;
} tiled_panel;

static void finish_tiles(void *argument, int64_t first, int64_t rows) {
  const tiled_panel *t = argument;
  const block *b = t->b;
  const dq_product *p = b->p;
  finish_integers(b, t->row + first, rows, b->products, p->block_columns);
  for (int64_t i = 0; !p->requantization && i < rows; i++)
    memcpy((uint32_t *)p->out + (t->row + first + i) * p->out_stride + b->first, b->products + i * p->block_columns,
           (size_t)b->count * 4);
}

static void multiply_tiles(const block *b, int64_t row, int64_t rows) {
  const dq_product *p = b->p;
  int64_t width = p->multiply->columns;
  tiled_panel panel = {b, row};
  dq_block form = {.a = b->a,
                   .b = b->b,
                   .b_stride = width,
                   .b_panel = b->b_panel,
                   .b_tile = p->tile_words * width,
                   .tiles = p->tiles,
                   .rows = rows,
                   .columns = b->count,
                   .tile_words = (int)p->tile_words,
                   .panel_rows = (int)p->panel_rows,
                   .sums = (int32_t *)b->products,
                   .sums_stride = p->block_columns,
                   .finish = finish_tiles,
                   .argument = &panel};
  dq_product_pack_a(p, 0, p->words, row, rows, b->a, b->row_sums);
  ((dq_block_function *)p->multiply->function)(&form);
}

// What is added is the same along a row, so that tiles can add it.
static bool is_row_bias(const dq_gemm_parameters *p) {
  return p->addend && p->beta == 1.0f && p->addend_row_stride == 1 && p->addend_column_stride == 0;
}

static void multiply_panel(const block *b, int64_t row, int64_t rows) {
  const dq_product *p = b->p;
  int64_t width = p->multiply->columns;
  bool in_place = !p->requantization, last = b->end == p->words;
  bool bias = p->float32 && is_row_bias(p->float32);
  bool plain = p->float32 && p->float32->alpha == 1.0f && (!p->float32->addend || bias);
  dq_bounds bounds = {0};
  if (plain) bounds = dq_activation_bounds(&p->float32->activation);
  const uint32_t *a = b->a;
  if (dq_product_is_row(p)) a = (const uint32_t *)(const void *)p->a + b->from;
  else dq_product_pack_a(p, b->from, b->end, row, rows, b->a, b->row_sums);
  int64_t stride = in_place ? p->out_stride : p->block_columns;
  uint32_t *out = in_place ? (uint32_t *)p->out + row * stride + b->first : b->products;
  dq_tile tile = {.a = a,
                  .a_stride = p->panel_rows,
                  .b_stride = width,
                  .c_stride = stride,
                  .depth = b->end - b->from,
                  .rows = (int)rows,
                  .accumulate = b->from > 0,
                  .finish = plain && last,
                  .bias = plain && bias ? p->float32->addend + row : NULL,
                  .leaky = bounds.leaky,
                  .low = bounds.low,
                  .high = bounds.high,
                  .alpha = bounds.alpha};
  for (int64_t at = 0; at < b->count; at += width) {
    tile.b = b->b + at / width * b->b_panel;
    tile.c = out + at;
    tile.columns = (int)dq_min_i64(width, b->count - at);
    ((dq_tile_function *)p->multiply->function)(&tile);
  }
  if (!last) return;
  if (!p->float32) finish_integers(b, row, rows, out, stride);
  else if (!plain) finish_floats(b, row, rows, (float *)p->out + row * stride + b->first);
}

// Packs the block's part of B unless that was done before.
static void provide_b(block *b, uint32_t *scratch, int32_t *sums) {
  const dq_product *p = b->p;
  int64_t width = p->multiply->columns;
  if (p->packed) {
    b->b_panel = p->words * width;
    b->b = p->packed + b->first / width * b->b_panel + b->from * width;
    b->column_sums = (const int32_t *)p->packed + panels_area(p) + b->first;
    return;
  }
  b->b_panel = (b->end - b->from) * width;
  b->b = scratch;
  b->column_sums = sums;
  for (int64_t at = 0; at < b->count; at += width) {
    uint32_t *panel = scratch + at / width * b->b_panel;
    dq_product_pack_b(p, b->from, b->end, b->first + at, dq_min_i64(width, b->count - at), panel);
    if (p->word_values == 4) dq_product_column_sums(p, panel, sums + at);
  }
}

static void task(void *argument, int64_t index, int thread) {
  const dq_product *p = argument;
  int64_t chunk = index % p->chunks;
  int64_t from = row_panels(p) * chunk / p->chunks, end = row_panels(p) * (chunk + 1) / p->chunks;
  uint32_t *b_scratch = p->scratch + (size_t)thread * thread_area(p);
  int32_t *column_sums = (int32_t *)b_scratch + b_area(p);
  block b = {.p = p, .first = index / p->chunks * p->block_columns};
  b.a = (uint32_t *)column_sums + whole_lines(p->block_columns);
  b.row_sums = (int32_t *)b.a + a_area(p);
  b.products = (uint32_t *)b.row_sums + whole_lines(p->panel_rows);
  b.count = dq_min_i64(p->block_columns, p->columns - b.first);
  do {
    b.end = dq_min_i64(p->words, b.from + p->block_words);
    provide_b(&b, b_scratch, column_sums);
    for (int64_t panel = from; panel < end; panel++) {
      int64_t row = panel * p->panel_rows, rows = dq_min_i64(p->panel_rows, p->rows - row);
      if (p->tiles) multiply_tiles(&b, row, rows);
      else multiply_panel(&b, row, rows);
    }
    b.from = b.end;
  } while (b.from < p->words);
}

void dq_product_run(dq_product *p, dq_pool *pool) {
  if (p->rows == 0 || p->columns == 0) return;
  int threads = dq_pool_threads(pool);
  p->blocks = ceil_div(p->columns, p->block_columns);
  p->chunks = threads == 1 ? 1 : dq_min_i64(row_panels(p), ceil_div(4 * threads, p->blocks));
  dq_pool_run(pool, p->blocks * p->chunks, task, p);
}
