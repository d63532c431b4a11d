// Byte products for AMX: 32 rows of 32 sums in four tiles, a tile of depth at a time.
//
//   tile registers   4  B left   5  B right
//   6  A upper       0           1            sums of 16 rows x 16 columns each
//   7  A lower       2           3
#include <immintrin.h>

#include "lib/kernels/simd/tiles_amx.h"
#include "lib/kernels/table/kernel_table.h"

enum { ROWS = 16, COLUMNS = 16, LINE = 64 }; // of one tile; bytes of a row of a tile

static void configure(const dq_block *b) {
  int upper = b->panel_rows < ROWS ? b->panel_rows : ROWS, lower = b->panel_rows - upper;
  const int rows[8] = {upper, upper, lower, lower, b->tile_words, b->tile_words, upper, lower};
  const int words = 4 * b->tile_words;
  configure_tiles(rows, (const int[]){LINE, LINE, LINE, LINE, LINE, LINE, words, words});
}

// The lines of a tile of the next panel: while this one is multiplied and requantized, they come near.
static inline __attribute__((always_inline)) void prefetch(const uint32_t *a, const int lines) {
  __asm__("" : "+r"(a)); // one address, not one for each line
#pragma GCC unroll 32
  for (int i = 0; i < lines; i++) _mm_prefetch((const char *)(a + i * DQ_BLOCK_WORDS), _MM_HINT_T1);
}

// row_tiles and column_tiles are 1 or 2: what lies outside of the last rows and columns is not computed.
// ahead: words to the weights of the next panel, 0 for none.
static inline __attribute__((always_inline)) void multiply(const dq_block *p, const uint32_t *a, const uint32_t *b,
                                                           int32_t *sums, int64_t ahead, const int row_tiles,
                                                           const int column_tiles) {
  const size_t b_step = (size_t)p->b_stride * 4, c_step = (size_t)p->sums_stride * 4;
  const int64_t a_tile = (int64_t)p->panel_rows * DQ_BLOCK_WORDS;
  _tile_zero(0);
  if (column_tiles > 1) _tile_zero(1);
  if (row_tiles > 1) _tile_zero(2);
  if (row_tiles > 1 && column_tiles > 1) _tile_zero(3);
  for (int64_t t = 0; t < p->tiles; t++, a += a_tile) {
    const uint32_t *from = b + (p->offsets ? p->offsets[t] : t * p->b_tile);
    if (ahead) prefetch(a + ahead, row_tiles * ROWS);
    _tile_loadd(4, from, b_step);
    _tile_loadd(6, a, LINE);
    _tile_dpbsud(0, 6, 4);
    if (column_tiles > 1) {
      _tile_loadd(5, from + COLUMNS, b_step);
      _tile_dpbsud(1, 6, 5);
    }
    if (row_tiles > 1) {
      _tile_loadd(7, a + ROWS * DQ_BLOCK_WORDS, LINE);
      _tile_dpbsud(2, 7, 4);
      if (column_tiles > 1) _tile_dpbsud(3, 7, 5);
    }
  }
  _tile_stored(0, sums, c_step);
  if (column_tiles > 1) _tile_stored(1, sums + COLUMNS, c_step);
  if (row_tiles > 1) _tile_stored(2, sums + ROWS * p->sums_stride, c_step);
  if (row_tiles > 1 && column_tiles > 1) _tile_stored(3, sums + ROWS * p->sums_stride + COLUMNS, c_step);
}

static inline __attribute__((always_inline)) void multiply_panel(const dq_block *p, const uint32_t *a, int64_t ahead,
                                                                 const int row_tiles) {
  const uint32_t *b = p->b;
  int64_t at = 0;
  for (; at + COLUMNS < p->columns; at += 2 * COLUMNS, b += p->b_panel)
    multiply(p, a, b, p->sums + at, at ? 0 : ahead, row_tiles, 2);
  if (at < p->columns) multiply(p, a, b, p->sums + at, at ? 0 : ahead, row_tiles, 1);
}

void dq_u8s8_block_amx(const dq_block *p) {
  const int64_t panel = p->tiles * p->panel_rows * DQ_BLOCK_WORDS;
  const uint32_t *a = p->a;
  configure(p);
  for (int64_t row = 0; row < p->rows; row += p->panel_rows, a += panel) {
    int64_t rows = p->rows - row < p->panel_rows ? p->rows - row : p->panel_rows;
    int64_t ahead = row + rows < p->rows ? panel : 0;
    if (rows > ROWS) multiply_panel(p, a, ahead, 2);
    else multiply_panel(p, a, ahead, 1);
    p->finish(p->argument, row, rows);
  }
  _tile_release();
}
