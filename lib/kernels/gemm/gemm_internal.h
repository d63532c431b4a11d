// The inside of the matrix products: float32 and 8 bits share one blocked product of words (kernel_table.h: a word is
// one float, two int16 or four bytes).
#ifndef DQ_KERNELS_GEMM_INTERNAL_H
#define DQ_KERNELS_GEMM_INTERNAL_H

#include "lib/base/pool.h"
#include "lib/kernels/reference/scalar.h"
#include "lib/kernels/table/kernel_table.h"

#include "lib/base/sizes.h"

typedef struct dq_product {
  const dq_gemm_parameters *float32; // one of the two
  const dq_gemm_int8_parameters *int8;
  const dq_kernel *multiply, *expand, *requantize;
  const dq_kernel *column_sums;                          // words of bytes: what adds them up
  const dq_kernel *transpose;                            // float32: what exchanges rows and columns
  int64_t word_values;                                   // 1, 2 (int16) or 4 (bytes)
  int64_t rows, columns, depth;                          // depth in values
  int64_t words;                                         // depth in words, up to whole tiles
  int64_t tiles, tile_words;                             // of depth (dq_block); tiles 0: dq_tile
  int64_t a_row, a_depth, b_column, b_depth, out_stride; // steps in elements
  int64_t panel_rows, block_columns, block_words;        // packed at a time
  // The following fields are those of a run.
  const uint8_t *a, *b;
  const uint32_t *packed; // NULL: b is packed block by block
  void *out;
  const dq_requantization *requantization;
  uint32_t *scratch;
  int64_t blocks, chunks; // tasks: blocks of columns times chunks of rows
} dq_product;

// One row of float32 in memory side by side: it is read where it is, and B, which is read once, panel by panel from
// start to end.
static inline bool dq_product_is_row(const dq_product *p) { return p->float32 && p->rows == 1 && p->a_depth == 1; }

// Packs the words from `from` to end - 1 of the depth of the columns first to first + count - 1 of B, at most a panel,
// to to[k][columns of a panel]; columns past count are 0.
void dq_product_pack_b(const dq_product *p, int64_t from, int64_t end, int64_t first, int64_t count, uint32_t *to);
// Adds up the bytes of each column of a packed panel over the whole depth, into sums[columns of a panel]; only for
// words of bytes.
void dq_product_column_sums(const dq_product *p, const uint32_t *panel, int32_t *sums);
// Packs the same words of the rows first to first + count - 1 of A to to[k][panel_rows], or to
// to[tiles][panel_rows][DQ_BLOCK_WORDS]. row_sums[panel_rows] receives the sums of the signed bytes of the rows, for
// words of bytes only.
void dq_product_pack_a(const dq_product *p, int64_t from, int64_t end, int64_t first, int64_t count, uint32_t *to,
                       int32_t *row_sums);

// 32-bit words of all packed panels of B, with the sums of their columns for words of bytes.
size_t dq_product_packed_words(const dq_product *p);
// Packs all of B, at p->b, panel by panel into packed[dq_product_packed_words], for words of bytes with the sums of the
// columns behind the panels; columns past the last are 0. One pass over B in the caller's thread.
void dq_product_pack(const dq_product *p, uint32_t *packed);
// 32-bit words of p->scratch for a run in `threads` (1 or more) threads, also where B was packed before.
size_t dq_product_scratch_words(const dq_product *p, int threads);
void dq_product_run(dq_product *p, dq_pool *pool); // computes the product; the fields of a run are set

#endif
