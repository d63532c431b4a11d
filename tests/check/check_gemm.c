// Random matrix products against the references.
#include "tests/check/check.h"

#include <stdlib.h>
#include <string.h>

typedef struct sizes {
  int64_t rows, columns, depth, a_stride, b_stride, out_stride;
  bool transpose_a, transpose_b;
} sizes;

static sizes random_sizes(checker *c) {
  sizes s = {.transpose_a = chance(c, 40), .transpose_b = chance(c, 50)};
  s.rows = tile_size(c, c->row->rows, 40);
  s.columns = tile_size(c, c->row->columns, 150);
  s.depth = chance(c, 3) ? 0 : chance(c, 10) ? between(c, 300, 900) : between(c, 1, 70);
  s.a_stride = (s.transpose_a ? s.rows : s.depth) + (chance(c, 50) ? 0 : between(c, 1, 9));
  s.b_stride = (s.transpose_b ? s.depth : s.columns) + (chance(c, 50) ? 0 : between(c, 1, 9));
  s.out_stride = s.columns + (chance(c, 50) ? 0 : between(c, 1, 9));
  return s;
}

// Elements a matrix takes up: the last row without what lies between rows.
static size_t stored(int64_t rows, int64_t columns, bool transposed, int64_t stride) {
  int64_t count = transposed ? columns : rows, length = transposed ? rows : columns;
  return count && length ? (size_t)((count - 1) * stride + length) : 0;
}

static void finish(checker *c, bool good, const sizes *s, bool packed, int pool) {
  report(c, good, "product %lldx%lldx%lld strides %lld %lld %lld, transposed %d %d, %s B, %d threads",
         (long long)s->rows, (long long)s->columns, (long long)s->depth, (long long)s->a_stride, (long long)s->b_stride,
         (long long)s->out_stride, s->transpose_a, s->transpose_b, packed ? "packed" : "plain", pool + 1);
}

void check_gemm_f32(checker *c) {
  sizes s = random_sizes(c);
  dq_gemm_parameters p = {.rows = s.rows,
                          .columns = s.columns,
                          .depth = s.depth,
                          .transpose_a = s.transpose_a,
                          .transpose_b = s.transpose_b,
                          .a_stride = s.a_stride,
                          .b_stride = s.b_stride,
                          .out_stride = s.out_stride,
                          .alpha = chance(c, 60) ? 1.0f : 0.3f,
                          .beta = chance(c, 60) ? 1.0f : -0.7f,
                          .activation = random_activation(c)};
  int mode = (int)between(c, 0, FLOAT_MODES - 1), pool = (int)between(c, 0, CHECK_POOLS - 1);
  size_t a_count = stored(s.rows, s.depth, s.transpose_a, s.a_stride);
  size_t b_count = stored(s.depth, s.columns, s.transpose_b, s.b_stride);
  size_t out_bytes = stored(s.rows, s.columns, false, s.out_stride) * 4;
  input_buffer a = input_new(a_count * 4), b = input_new(b_count * 4);
  input_buffer addend = input_new((size_t)(s.rows * s.columns) * 4);
  fill_floats(c, a.data, (int64_t)a_count, mode);
  fill_floats(c, b.data, (int64_t)b_count, mode);
  fill_floats(c, addend.data, s.rows * s.columns, mode);
  if (chance(c, 60)) p.addend = addend.data;
  p.addend_row_stride = chance(c, 50) ? s.columns : 0;
  p.addend_column_stride = chance(c, 60) ? 1 : 0;
  output_buffer expected = output_new(out_bytes, 0);
  output_buffer out = output_new(out_bytes, (size_t)between(c, 0, 15) * 4);
  output_buffer packed = output_new(dq_gemm_f32_packed_bytes(&p, c->cpu), 0);
  output_buffer scratch = output_new(dq_gemm_f32_scratch_bytes(&p, c->cpu, pool + 1), 0);
  bool use_packed = chance(c, 50), good = dq_gemm_check(&p, NULL) == DQ_OK;
  if (use_packed) dq_gemm_f32_pack(&p, c->cpu, b.data, packed.data);
  dq_gemm_f32_reference(&p, a.data, b.data, expected.data);
  dq_gemm_f32(&p, c->cpu, a.data, use_packed ? NULL : b.data, use_packed ? packed.data : NULL, out.data, scratch.data,
              c->pools[pool]);
  c->reached++;
  good = good && same_floats(expected.data, out.data, (int64_t)out_bytes / 4) && output_guards_hold(&out) &&
         output_guards_hold(&packed) && output_guards_hold(&scratch);
  finish(c, good, &s, use_packed, pool);
  input_free(&a);
  input_free(&b);
  input_free(&addend);
  output_free(&expected);
  output_free(&out);
  output_free(&packed);
  output_free(&scratch);
}

static int32_t *random_zeros(checker *c, int64_t count, bool is_signed, int64_t *used) {
  int32_t *zeros = malloc((size_t)(count + 1) * sizeof *zeros), low = is_signed ? -128 : 0;
  if (!zeros) abort();
  bool natural = chance(c, 40);
  for (int64_t i = 0; i < count + 1; i++) zeros[i] = natural ? low + 128 : (int32_t)between(c, low, low + 255);
  *used = pick(c, (int64_t[]){0, 1, count}, 3);
  return zeros;
}

void check_gemm_int8(checker *c) {
  sizes s = random_sizes(c);
  dq_gemm_int8_parameters p = {.rows = s.rows,
                               .columns = s.columns,
                               .depth = s.depth,
                               .transpose_a = s.transpose_a,
                               .transpose_b = s.transpose_b,
                               .a_stride = s.a_stride,
                               .b_stride = s.b_stride,
                               .out_stride = s.out_stride,
                               .a_signed = chance(c, 50),
                               .b_signed = chance(c, 50)};
  int32_t *a_zeros = random_zeros(c, s.rows, p.a_signed, &p.a_zero_point_count);
  int32_t *b_zeros = random_zeros(c, s.columns, p.b_signed, &p.b_zero_point_count);
  p.a_zero_points = a_zeros;
  p.b_zero_points = b_zeros;
  int pool = (int)between(c, 0, CHECK_POOLS - 1);
  bool extremes = chance(c, 30), raw = chance(c, 40);
  size_t a_count = stored(s.rows, s.depth, s.transpose_a, s.a_stride);
  size_t b_count = stored(s.depth, s.columns, s.transpose_b, s.b_stride);
  size_t element = raw ? 4 : 1, out_bytes = stored(s.rows, s.columns, false, s.out_stride) * element;
  input_buffer a = input_new(a_count), b = input_new(b_count);
  fill_bytes(c, a.data, (int64_t)a_count, extremes);
  fill_bytes(c, b.data, (int64_t)b_count, extremes);
  requantization_material m = requantization_new(c, s.columns, s.depth + 1);
  output_buffer expected = output_new(out_bytes, 0);
  output_buffer out = output_new(out_bytes, (size_t)between(c, 0, 15) * element);
  output_buffer packed = output_new(dq_gemm_int8_packed_bytes(&p, c->cpu), 0);
  output_buffer scratch = output_new(dq_gemm_int8_scratch_bytes(&p, c->cpu, pool + 1), 0);
  bool use_packed = chance(c, 50), good = dq_gemm_int8_check(&p, NULL) == DQ_OK;
  if (use_packed) dq_gemm_int8_pack(&p, c->cpu, b.data, packed.data);
  dq_gemm_int8_reference(&p, a.data, b.data, expected.data, raw ? NULL : &m.form);
  dq_gemm_int8(&p, c->cpu, a.data, use_packed ? NULL : b.data, use_packed ? packed.data : NULL, out.data,
               raw ? NULL : &m.form, scratch.data, c->pools[pool]);
  c->reached++;
  good = good && !memcmp(expected.data, out.data, out_bytes) && output_guards_hold(&out) &&
         output_guards_hold(&packed) && output_guards_hold(&scratch);
  finish(c, good, &s, use_packed, pool);
  requantization_free(&m);
  free(a_zeros);
  free(b_zeros);
  input_free(&a);
  input_free(&b);
  output_free(&expected);
  output_free(&out);
  output_free(&packed);
  output_free(&scratch);
}
