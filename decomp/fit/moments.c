#include "decomp/fit/moments.h"

#include <math.h>

#include "lib/base/sizes.h"
#include "lib/kernels/gemm/gemm_api.h"

enum {
  PANEL = 192, // columns that one piece of work computes: the pieces are the same for any number of threads
  ROWS = 64,   // vectors of one product, which is then added to the sums: long chains in float32 lose digits
};

static bool count_sums(const int64_t dims[4], int64_t group, int64_t *size, int64_t *count) {
  int64_t square;
  return dq_mul_i64(dims[1], dims[2] * dims[3], size) && dq_add_i64(*size, dims[0] / group + 1, size) &&
         dq_mul_i64(*size, *size, &square) && dq_mul_i64(square, group, count) &&
         *count < INT64_MAX / (int64_t)sizeof(float);
}

size_t dq_moments_bytes(const int64_t dims[4], int64_t group) {
  int64_t size, count;
  return count_sums(dims, group, &size, &count) ? (size_t)count * sizeof(float) : SIZE_MAX;
}

dq_status dq_moments_init(dq_moments *moments, const int64_t dims[4], int64_t group, dq_arena *arena, dq_error *error) {
  int64_t size, count;
  *moments = (dq_moments){.group = group,
                          .in = dims[1],
                          .out = dims[0] / group,
                          .kernel = {dims[2], dims[3]},
                          .taps = dims[2] * dims[3],
                          .budget = dq_arena_budget(arena)};
  if (!count_sums(dims, group, &size, &count)) return dq_fail_memory(error, SIZE_MAX);
  moments->size = size;
  moments->sums = DQ_NEW_ARRAY(arena, count, float);
  moments->shift = DQ_NEW_ARRAY(arena, group * size, float);
  moments->ridge = DQ_NEW_ARRAY(arena, group, double);
  return moments->sums && moments->shift && moments->ridge ? DQ_OK
                                                           : dq_fail_memory(error, (size_t)count * sizeof(float));
}

// The product of `rows` elements of `depth` vectors with `width` others; vectors are `stride` elements apart.
static dq_gemm_parameters panel_product(int64_t rows, int64_t width, int64_t depth, int64_t stride) {
  return (dq_gemm_parameters){.rows = rows,
                              .columns = width,
                              .depth = depth,
                              .transpose_a = true,
                              .a_stride = stride,
                              .b_stride = stride,
                              .out_stride = PANEL,
                              .alpha = 1};
}

dq_status dq_moments_open_work(dq_moments_work *work, const dq_context *context, dq_arena *arena, dq_error *error) {
  const dq_gemm_parameters largest = panel_product(PANEL, PANEL, ROWS, PANEL);
  *work = (dq_moments_work){.pool = context ? context->pool : NULL, .cpu = context ? context->cpu : dq_cpu_detect()};
  const size_t scratch = dq_gemm_f32_scratch_bytes(&largest, work->cpu, 1) / sizeof(float);
  work->thread_floats = (int64_t)dq_round_up(PANEL * PANEL + scratch, DQ_KERNEL_ALIGNMENT / sizeof(float));
  const int64_t count = dq_pool_threads(work->pool) * work->thread_floats;
  work->products = DQ_NEW_ARRAY(arena, count, float);
  return work->products ? DQ_OK : dq_fail_memory(error, (size_t)count * sizeof(float));
}

// The mean of the first vectors: sums of what is left of all others lose little of their differences.
static void choose_shift(const dq_moments *m, int64_t rows, const float *vectors) {
  for (int64_t i = 0; i < m->group * m->size; i++) {
    double sum = 0;
    if (i % m->size == m->size - 1) continue;
    for (int64_t r = 0; r < rows; r++) sum += (double)vectors[r * m->group * m->size + i];
    m->shift[i] = (float)(sum / (double)rows);
  }
}

static void subtract_shift(const dq_moments *m, int64_t rows, float *vectors) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < m->group * m->size; i++) *vectors++ -= m->shift[i];
}

typedef struct addition {
  dq_moments *moments;
  const dq_moments_work *work;
  int64_t rows, panels;
  const float *vectors;
} addition;

// Adds the products of some vectors to the elements of one group from row `top` and column `first` on.
static void add_block(const addition *a, int64_t group, int64_t top, int64_t first, int64_t from, float *products) {
  const dq_moments *m = a->moments;
  const int64_t width = dq_min_i64(PANEL, m->size - first), rows = top < first ? PANEL : width;
  const int64_t depth = dq_min_i64(ROWS, a->rows - from), stride = m->group * m->size;
  const dq_gemm_parameters parameters = panel_product(rows, width, depth, stride);
  const float *vectors = a->vectors + from * stride + group * m->size;
  dq_gemm_f32(&parameters, a->work->cpu, vectors + top, vectors + first, NULL, products, products + PANEL * PANEL,
              NULL);
  for (int64_t r = 0; r < rows; r++) {
    float *sums = dq_moments_view(m, group, top + r, 1, first, width).data;
    for (int64_t c = 0; c < width; c++) sums[c] += products[r * PANEL + c];
  }
}

// One panel of columns of one group's matrix, down to its diagonal block.
static void add_panel(void *argument, int64_t index, int thread) {
  const addition *a = argument;
  const int64_t group = index / a->panels, first = index % a->panels * PANEL;
  float *products = a->work->products + thread * a->work->thread_floats;
  for (int64_t top = 0; top <= first; top += PANEL)
    for (int64_t from = 0; from < a->rows; from += ROWS) add_block(a, group, top, first, from, products);
}

void dq_moments_add(dq_moments *moments, int64_t rows, float *vectors, const dq_moments_work *work) {
  if (!rows) return;
  if (!moments->rows) choose_shift(moments, rows, vectors);
  subtract_shift(moments, rows, vectors);
  addition a = {moments, work, rows, (moments->size + PANEL - 1) / PANEL, vectors};
  dq_pool_run(work->pool, moments->group * a.panels, add_panel, &a);
  moments->rows += rows;
}

dq_status dq_moments_centre(dq_moments *moments, dq_error *error) {
  const int64_t last = moments->size - 1;
  const double rows = (double)moments->rows;
  if (!moments->rows)
    return dq_fail(error, DQ_BAD_INPUT, "the layer did not run on any picture, so that nothing can be fitted");
  for (int64_t g = 0; g < moments->group; g++) {
    float *all = moments->sums + g * moments->size * moments->size, *means = all + last * moments->size;
    const float *shift = moments->shift + g * moments->size;
    for (int64_t c = 0; c <= last; c++) means[c] = (float)((double)all[c * moments->size + last] / rows);
    for (int64_t r = 0; r < last; r++)
      for (int64_t c = r; c < last; c++) {
        float *value = &all[r * moments->size + c];
        *value = (float)((double)*value / rows - (double)means[r] * (double)means[c]);
        if (!isfinite(*value))
          return dq_fail(error, DQ_BAD_INPUT, "the input or the response of the layer has NaN or infinity on the data");
        all[c * moments->size + r] = *value;
      }
    for (int64_t r = 0; r < last; r++) means[r] += shift[r], all[r * moments->size + last] = means[r];
  }
  return DQ_OK;
}

// Covariances of two sets of vectors together: those of each by its share, and those of the two means.
static void pool_group(float *all, const float *other, int64_t size, double share) {
  const int64_t last = size - 1;
  float *means = all + last * size;
  const float *other_means = other + last * size;
  for (int64_t r = 0; r < last; r++)
    for (int64_t c = 0; c < last; c++) {
      const double between = ((double)means[r] - (double)other_means[r]) * ((double)means[c] - (double)other_means[c]);
      all[r * size + c] = (float)((1 - share) * (double)all[r * size + c] + share * (double)other[r * size + c] +
                                  share * (1 - share) * between);
    }
  for (int64_t r = 0; r < last; r++)
    means[r] = all[r * size + last] = (float)((1 - share) * (double)means[r] + share * (double)other_means[r]);
}

void dq_moments_pool(dq_moments *moments, const dq_moments *other) {
  const int64_t square = moments->size * moments->size;
  if (!other->rows) return;
  moments->rows += other->rows;
  const double share = (double)other->rows / (double)moments->rows;
  for (int64_t g = 0; g < moments->group; g++)
    pool_group(moments->sums + g * square, other->sums + g * square, moments->size, share);
}
