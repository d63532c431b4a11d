// Matrix products. Every element is one chain of fused multiply-adds over ascending k, whatever the sizes of the blocks
// and the instruction set: that is what makes factors the same bytes on every machine.
#include <pthread.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/cpu.h"
#include "lib/base/sizes.h"
#include "lib/kernels/gemm/gemm_api.h"
#include "lib/linalg/linalg_internal.h"

enum { DEPTH = 256, COLUMNS = 128, MOST_TILE = 256 }; // of B packed at a time; elements of a tile

static unsigned features;
static void detect(void) { features = dq_cpu_detect(); }
unsigned dq_linalg_features(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, detect);
  return features;
}

// Element (i, j) of op(M) is at i * row + j * column.
typedef struct operand {
  const double *data;
  int64_t row, column;
  double sign; // 1 or -1: what elements are multiplied by, which is exact
} operand;

static operand operand_of(const dq_matrix *m, bool transposed, double sign) {
  return (operand){m->data, transposed ? 1 : m->stride, transposed ? m->stride : 1, sign};
}

// Packs `count` rows (at most `width`) of op(M), elements `first`...`first + depth - 1` of each, to to[depth][width];
// rows past the last are 0.
static void pack(const operand *m, int64_t row, int64_t count, int64_t width, int64_t first, int64_t depth,
                 double *to) {
  const double *from = m->data + row * m->row + first * m->column;
  if (count < width) memset(to, 0, (size_t)(depth * width) * sizeof(double));
  if (m->row == 1)
    for (int64_t k = 0; k < depth; k++)
      for (int64_t i = 0; i < count; i++) to[k * width + i] = m->sign * from[k * m->column + i];
  else
    for (int64_t i = 0; i < count; i++)
      for (int64_t k = 0; k < depth; k++) to[k * width + i] = m->sign * from[i * m->row + k * m->column];
}

typedef struct product {
  operand a, b; // b: the transpose of op(B)
  const dq_matrix *c;
  const dq_kernel *tile;
  double *packed_a, *packed_b;
} product;

// A tile at the border of C, by way of a whole one.
static void edge_tile(const product *p, dq_f64_tile tile, int64_t rows, int64_t columns) {
  double sums[MOST_TILE] = {0}, *c = tile.c;
  const dq_matrix part = {rows, columns, tile.c_stride, c}, whole = {rows, columns, p->tile->columns, sums};
  if (tile.accumulate) dq_matrix_copy(&part, &whole);
  tile.c = sums, tile.c_stride = whole.stride;
  ((dq_f64_tile_function *)p->tile->function)(&tile);
  dq_matrix_copy(&whole, &part);
}

// The columns `first`...`first + count - 1` of C, with the packed elements of B.
static void multiply_block(const product *p, int64_t first, int64_t count, int64_t from, int64_t depth,
                           bool accumulate) {
  const int64_t height = p->tile->rows, width = p->tile->columns;
  for (int64_t row = 0; row < p->c->rows; row += height) {
    const int64_t rows = dq_min_i64(height, p->c->rows - row);
    pack(&p->a, row, rows, height, from, depth, p->packed_a);
    for (int64_t at = 0; at < count; at += width) {
      const int64_t columns = dq_min_i64(width, count - at);
      double *c = p->c->data + row * p->c->stride + first + at;
      const dq_f64_tile tile = {p->packed_a, p->packed_b + at * depth, c, p->c->stride, depth, accumulate};
      if (rows < height || columns < width) edge_tile(p, tile, rows, columns);
      else ((dq_f64_tile_function *)p->tile->function)(&tile);
    }
  }
}

static void multiply(const product *p, int64_t inner, bool accumulate) {
  const int64_t width = p->tile->columns;
  for (int64_t first = 0; first < p->c->columns; first += COLUMNS) {
    const int64_t count = dq_min_i64(COLUMNS, p->c->columns - first);
    for (int64_t from = 0; from < inner; from += DEPTH) {
      const int64_t depth = dq_min_i64(DEPTH, inner - from);
      for (int64_t at = 0; at < count; at += width)
        pack(&p->b, first + at, dq_min_i64(width, count - at), width, from, depth, p->packed_b + at * depth);
      multiply_block(p, first, count, from, depth, accumulate || from > 0);
    }
  }
}

static bool fits(int64_t rows, int64_t columns, int64_t stride) {
  return rows >= 1 && columns >= 1 && stride >= columns;
}

dq_status dq_matrix_multiply(bool transpose_a, const dq_matrix *a, bool transpose_b, const dq_matrix *b,
                             dq_product_use use, const dq_matrix *c, dq_error *error) {
  const int64_t inner = transpose_a ? a->rows : a->columns;
  if (!fits(a->rows, a->columns, a->stride) || !fits(b->rows, b->columns, b->stride) ||
      !fits(c->rows, c->columns, c->stride))
    return dq_fail(error, DQ_UNSUPPORTED, "product of %lldx%lld and %lldx%lld matrices, expected at least 1x1",
                   (long long)a->rows, (long long)a->columns, (long long)b->rows, (long long)b->columns);
  const dq_kernel *tile = dq_kernel_find(DQ_OPERATION_f64_tile, dq_linalg_features());
  const int64_t width = tile->columns, depth = dq_min_i64(inner, DEPTH);
  const int64_t columns = (int64_t)dq_round_up((size_t)dq_min_i64(COLUMNS, c->columns), (size_t)width);
  dq_arena *arena = dq_arena_new(NULL);
  product p = {.a = operand_of(a, transpose_a, use == DQ_PRODUCT_SUBTRACT ? -1 : 1),
               .b = operand_of(b, !transpose_b, 1),
               .c = c,
               .tile = tile,
               .packed_a = arena ? DQ_NEW_ARRAY(arena, depth * tile->rows, double) : NULL,
               .packed_b = arena ? DQ_NEW_ARRAY(arena, depth * columns, double) : NULL};
  const bool good = p.packed_a && p.packed_b;
  if (good) multiply(&p, inner, use != DQ_PRODUCT_STORE);
  dq_arena_free(arena);
  return good ? DQ_OK : dq_fail_memory(error, (size_t)(depth * columns) * sizeof(double));
}

dq_status dq_multiply(dq_matrix a, dq_matrix b, double *c, dq_error *error) {
  dq_matrix result = dq_matrix_tight(a.rows, b.columns, c);
  return dq_matrix_multiply(false, &a, false, &b, DQ_PRODUCT_STORE, &result, error);
}

dq_status dq_matrix_gram(const dq_matrix *a, bool transposed, const dq_matrix *gram, dq_error *error) {
  enum { ROWS = 128 };
  const int64_t size = gram->rows;
  for (int64_t row = 0; row < size; row += ROWS) {
    const int64_t count = dq_min_i64(ROWS, size - row), columns = size - row;
    const dq_matrix left =
        transposed ? dq_matrix_part(a, 0, a->rows, row, count) : dq_matrix_part(a, row, count, 0, a->columns);
    const dq_matrix right =
        transposed ? dq_matrix_part(a, 0, a->rows, row, columns) : dq_matrix_part(a, row, columns, 0, a->columns);
    const dq_matrix part = dq_matrix_part(gram, row, count, row, columns);
    DQ_TRY(dq_matrix_multiply(transposed, &left, !transposed, &right, DQ_PRODUCT_STORE, &part, error));
  }
  for (int64_t r = 0; r < size; r++)
    for (int64_t c = 0; c < r; c++) gram->data[r * gram->stride + c] = gram->data[c * gram->stride + r];
  return DQ_OK;
}

dq_status dq_matrix_multiply_f32(bool transpose_a, const dq_matrix_f32 *a, bool transpose_b, const dq_matrix_f32 *b,
                                 const dq_matrix_f32 *c, dq_error *error) {
  const dq_gemm_parameters parameters = {.rows = c->rows,
                                         .columns = c->columns,
                                         .depth = transpose_a ? a->rows : a->columns,
                                         .transpose_a = transpose_a,
                                         .transpose_b = transpose_b,
                                         .a_stride = a->stride,
                                         .b_stride = b->stride,
                                         .out_stride = c->stride,
                                         .alpha = 1};
  DQ_TRY(dq_gemm_check(&parameters, error));
  const unsigned cpu = dq_linalg_features();
  const size_t bytes = dq_gemm_f32_scratch_bytes(&parameters, cpu, 1);
  dq_arena *arena = dq_arena_new(NULL);
  void *scratch = arena ? dq_arena_alloc(arena, dq_round_up(bytes, 4096)) : NULL;
  if (scratch) dq_gemm_f32(&parameters, cpu, a->data, b->data, NULL, c->data, scratch, NULL);
  dq_arena_free(arena);
  return scratch ? DQ_OK : dq_fail_memory(error, bytes);
}
