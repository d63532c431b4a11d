// Random matrix products against the references.
#include "tests/check/check.h"

#include <math.h>
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

static void fill_doubles(checker *c, double *data, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    data[i] = chance(c, 3) ? 0 : ldexp(dq_random_normal(&c->random), (int)between(c, -30, 30));
}

// A tile of the row against chains of fma.
void check_f64_tile(checker *c) {
  const int64_t rows = c->row->rows, columns = c->row->columns, depth = chance(c, 5) ? 0 : between(c, 1, 300);
  const int64_t stride = columns + (chance(c, 50) ? 0 : between(c, 1, 9));
  const size_t out_bytes = stored(rows, columns, false, stride) * sizeof(double);
  input_buffer a = input_new((size_t)(rows * depth) * sizeof(double));
  input_buffer b = input_new((size_t)(columns * depth) * sizeof(double));
  output_buffer expected = output_new(out_bytes, 0);
  output_buffer out = output_new(out_bytes, (size_t)between(c, 0, 7) * sizeof(double));
  double *sums = expected.data;
  fill_doubles(c, a.data, rows * depth);
  fill_doubles(c, b.data, columns * depth);
  fill_doubles(c, sums, (int64_t)(out_bytes / sizeof(double)));
  memcpy(out.data, sums, out_bytes);
  dq_f64_tile tile = {a.data, b.data, out.data, stride, depth, chance(c, 50)};
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      double sum = tile.accumulate ? sums[i * stride + j] : 0;
      for (int64_t k = 0; k < depth; k++) sum = fma(tile.b[k * columns + j], tile.a[k * rows + i], sum);
      sums[i * stride + j] = sum;
    }
  ((dq_f64_tile_function *)c->row->function)(&tile);
  c->reached++;
  report(c, !memcmp(expected.data, out.data, out_bytes) && output_guards_hold(&out),
         "tile of depth %lld, stride %lld, accumulate %d", (long long)depth, (long long)stride, tile.accumulate);
  input_free(&a);
  input_free(&b);
  output_free(&expected);
  output_free(&out);
}

void check_f64_rotations(checker *c) {
  enum { COLUMNS = DQ_ROTATED_COLUMNS };
  const int64_t rows = between(c, 2, 20), count = between(c, 0, 50);
  const size_t bytes = (size_t)rows * COLUMNS * sizeof(double);
  input_buffer rotations = input_new((size_t)count * sizeof(dq_rotation));
  output_buffer expected = output_new(bytes, 0), out = output_new(bytes, (size_t)between(c, 0, 7) * sizeof(double));
  dq_rotation *all = rotations.data;
  double *sums = expected.data;
  fill_doubles(c, sums, rows * COLUMNS);
  memcpy(out.data, sums, bytes);
  for (int64_t i = 0; i < count; i++) {
    const double cosine = dq_random_normal(&c->random), sine = dq_random_normal(&c->random);
    all[i] = (dq_rotation){between(c, 0, rows - 2), cosine, sine};
    for (double *a = sums + all[i].row * COLUMNS, *end = a + COLUMNS; a < end; a++) {
      const double low = cosine * a[0] - sine * a[COLUMNS], high = sine * a[0] + cosine * a[COLUMNS];
      a[0] = low, a[COLUMNS] = high;
    }
  }
  ((dq_f64_rotations_function *)c->row->function)(all, count, out.data);
  c->reached++;
  report(c, !memcmp(expected.data, out.data, bytes) && output_guards_hold(&out), "%lld rotations of %lld rows",
         (long long)count, (long long)rows);
  input_free(&rotations);
  output_free(&expected);
  output_free(&out);
}

void check_f64_dots(checker *c) {
  const int64_t rows = between(c, 0, 13), columns = array_size(c), stride = columns + between(c, 0, 3);
  const size_t count = stored(rows, columns, false, stride), bytes = (size_t)rows * sizeof(double);
  input_buffer data = input_new(count * sizeof(double)), vector = input_new((size_t)columns * sizeof(double));
  output_buffer out = output_new(bytes, (size_t)between(c, 0, 7) * sizeof(double));
  fill_doubles(c, data.data, (int64_t)count);
  fill_doubles(c, vector.data, columns);
  const dq_f64_dots dots = {data.data, vector.data, out.data, rows, columns, stride};
  bool good = true;
  ((dq_f64_dots_function *)c->row->function)(&dots);
  for (int64_t r = 0; r < rows; r++) {
    double lanes[DQ_DOT_LANES] = {0};
    for (int64_t i = 0; i < columns; i++) lanes[i % DQ_DOT_LANES] += dots.data[r * stride + i] * dots.vector[i];
    good &= dots.out[r] ==
            ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  }
  c->reached++;
  report(c, good && output_guards_hold(&out), "%lld rows of %lld", (long long)rows, (long long)columns);
  input_free(&data);
  input_free(&vector);
  output_free(&out);
}
