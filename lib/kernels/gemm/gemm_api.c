// Matrix products: validation shared by fp32 and int8.
#include "lib/kernels/gemm/gemm_api.h"
#include "lib/kernels/gemm/gemm_internal.h"

typedef struct matrix {
  const char *name;
  int64_t rows, columns, stride; // as stored
} matrix;

static dq_status check_matrices(const matrix *matrices, int count, dq_error *error) {
  for (int i = 0; i < count; i++) {
    const matrix *m = &matrices[i];
    if (m->rows < 0 || m->columns < 0)
      return dq_fail(error, DQ_BAD_INPUT, "matrix product of negative size (%s is %lldx%lld)", m->name,
                     (long long)m->rows, (long long)m->columns);
    if (m->stride < m->columns)
      return dq_fail(error, DQ_BAD_INPUT, "matrix %s has rows of %lld elements but a stride of %lld", m->name,
                     (long long)m->columns, (long long)m->stride);
    int64_t words;
    if (!dq_mul_i64(m->rows, m->stride, &words) || words > INT64_MAX / 1024)
      return dq_fail(error, DQ_BAD_INPUT, "matrix product sizes overflow (%s is %lldx%lld)", m->name,
                     (long long)m->rows, (long long)m->columns);
  }
  return DQ_OK;
}

static matrix stored(const char *name, int64_t rows, int64_t columns, bool transposed, int64_t stride) {
  return transposed ? (matrix){name, columns, rows, stride} : (matrix){name, rows, columns, stride};
}

dq_status dq_gemm_check(const dq_gemm_parameters *p, dq_error *error) {
  matrix matrices[] = {stored("A", p->rows, p->depth, p->transpose_a, p->a_stride),
                       stored("B", p->depth, p->columns, p->transpose_b, p->b_stride),
                       stored("the result", p->rows, p->columns, false, p->out_stride)};
  return check_matrices(matrices, 3, error);
}

dq_status dq_gemm_int8_check(const dq_gemm_int8_parameters *p, dq_error *error) {
  const dq_gemm_parameters same_sizes = {.rows = p->rows,
                                         .columns = p->columns,
                                         .depth = p->depth,
                                         .transpose_a = p->transpose_a,
                                         .transpose_b = p->transpose_b,
                                         .a_stride = p->a_stride,
                                         .b_stride = p->b_stride,
                                         .out_stride = p->out_stride};
  return dq_gemm_check(&same_sizes, error);
}

// ---- From parameters to the shared product ----
enum {
  BLOCK_WORDS = 48 * 1024, // of B packed at a time
  FLOAT_DEPTH = 384,       // words of depth at a time in fp32
};

static void set_blocks(dq_product *p) {
  int64_t width = p->multiply->columns, columns = p->columns ? p->columns : 1;
  int64_t rows = p->rows ? p->rows : 1, most_rows = p->multiply->rows;
  p->words = (p->depth + p->word_values - 1) / p->word_values;
  if (p->multiply->operation == DQ_OPERATION_u8s8_block) {
    p->tiles = (p->words + DQ_BLOCK_WORDS - 1) / DQ_BLOCK_WORDS;
    p->tile_words = (p->words + p->tiles - 1) / p->tiles;
    p->words = p->tiles * p->tile_words;
  }
  p->block_words = p->float32 ? dq_min_i64(p->words, FLOAT_DEPTH) : p->words;
  int64_t row_panels = (rows + most_rows - 1) / most_rows, panels = (columns + width - 1) / width;
  p->panel_rows = (rows + row_panels - 1) / row_panels;
  int64_t most = dq_product_is_row(p) ? 1 : dq_max_i64(1, BLOCK_WORDS / (dq_max_i64(1, p->block_words) * width));
  int64_t blocks = (panels + most - 1) / most;
  p->block_columns = (panels + blocks - 1) / blocks * width;
}

static dq_product product_f32(const dq_gemm_parameters *g, unsigned cpu) {
  dq_product p = {.float32 = g,
                  .word_values = 1,
                  .rows = g->rows,
                  .columns = g->columns,
                  .depth = g->depth,
                  .out_stride = g->out_stride};
  p.a_row = g->transpose_a ? 1 : g->a_stride;
  p.a_depth = g->transpose_a ? g->a_stride : 1;
  p.b_column = g->transpose_b ? g->b_stride : 1;
  p.b_depth = g->transpose_b ? 1 : g->b_stride;
  p.multiply = dq_kernel_find(DQ_OPERATION_f32_tile, cpu);
  p.transpose = dq_kernel_find(DQ_OPERATION_f32_columns, cpu);
  set_blocks(&p);
  return p;
}

static dq_product product_int8(const dq_gemm_int8_parameters *g, unsigned cpu) {
  dq_product p = {.int8 = g, .rows = g->rows, .columns = g->columns, .depth = g->depth, .out_stride = g->out_stride};
  p.a_row = g->transpose_a ? 1 : g->a_stride;
  p.a_depth = g->transpose_a ? g->a_stride : 1;
  p.b_column = g->transpose_b ? g->b_stride : 1;
  p.b_depth = g->transpose_b ? 1 : g->b_stride;
  const dq_kernel *bytes = dq_kernel_find(DQ_OPERATION_u8s8_tile, cpu);
  const dq_kernel *block = g->depth ? dq_kernel_find(DQ_OPERATION_u8s8_block, cpu) : NULL;
  p.word_values = bytes ? 4 : 2;
  p.multiply = bytes && block ? block : bytes ? bytes : dq_kernel_find(DQ_OPERATION_i16_tile, cpu);
  p.column_sums = bytes;
  p.expand = dq_kernel_find(bytes ? DQ_OPERATION_u8s8_expand : DQ_OPERATION_i16_expand, cpu);
  p.requantize = dq_kernel_find(DQ_OPERATION_requantize, cpu);
  set_blocks(&p);
  return p;
}

static size_t in_bytes(size_t words) { return dq_round_up(words ? words * 4 : 1, DQ_KERNEL_ALIGNMENT); }

size_t dq_gemm_f32_scratch_bytes(const dq_gemm_parameters *parameters, unsigned cpu, int threads) {
  dq_product p = product_f32(parameters, cpu);
  return in_bytes(dq_product_scratch_words(&p, threads));
}

size_t dq_gemm_f32_packed_bytes(const dq_gemm_parameters *parameters, unsigned cpu) {
  dq_product p = product_f32(parameters, cpu);
  return in_bytes(dq_product_packed_words(&p));
}

void dq_gemm_f32_pack(const dq_gemm_parameters *parameters, unsigned cpu, const float *b, void *packed) {
  dq_product p = product_f32(parameters, cpu);
  p.b = (const uint8_t *)b;
  dq_product_pack(&p, packed);
}

void dq_gemm_f32(const dq_gemm_parameters *parameters, unsigned cpu, const float *a, const float *b, const void *packed,
                 float *out, void *scratch, dq_pool *pool) {
  dq_product p = product_f32(parameters, cpu);
  p.a = (const uint8_t *)a;
  p.b = (const uint8_t *)b;
  p.packed = packed;
  p.out = out;
  p.scratch = scratch;
  dq_product_run(&p, pool);
}

size_t dq_gemm_int8_scratch_bytes(const dq_gemm_int8_parameters *parameters, unsigned cpu, int threads) {
  dq_product p = product_int8(parameters, cpu);
  return in_bytes(dq_product_scratch_words(&p, threads));
}

size_t dq_gemm_int8_packed_bytes(const dq_gemm_int8_parameters *parameters, unsigned cpu) {
  dq_product p = product_int8(parameters, cpu);
  return in_bytes(dq_product_packed_words(&p));
}

void dq_gemm_int8_pack(const dq_gemm_int8_parameters *parameters, unsigned cpu, const void *b, void *packed) {
  dq_product p = product_int8(parameters, cpu);
  p.b = b;
  dq_product_pack(&p, packed);
}

void dq_gemm_int8(const dq_gemm_int8_parameters *parameters, unsigned cpu, const void *a, const void *b,
                  const void *packed, void *out, const dq_requantization *requantization, void *scratch,
                  dq_pool *pool) {
  dq_product p = product_int8(parameters, cpu);
  p.a = a;
  p.b = b;
  p.packed = packed;
  p.out = out;
  p.requantization = requantization;
  p.scratch = scratch;
  dq_product_run(&p, pool);
}
