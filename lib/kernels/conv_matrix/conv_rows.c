// im2row: a row for each output, its taps side by side. The input is expanded once; then every thread makes the
// rows of a strip of outputs, which stay in its second-level cache, and multiplies them by all weights. What im2col
// has of a run of outputs lies in the planes already, a line for each tap: the rows are that matrix transposed, a
// square of a vector's width at a time, in registers. A 1x1 convolution without strides and pads (flat) has nothing to
// make and is the product of im2col.
//
// Packed: what im2col packs; [depth] offsets of 64 bits in the planes. Scratch: the planes of a group; per thread a
// strip of rows and scratch of the product.
#include "lib/kernels/conv_matrix/conv_matrix.h"

enum { STRIP_WORDS = 96 * 1024 }; // a fraction of a second-level cache

// Outputs of a strip: whole tiles, as even as they can be, and something to do for every thread.
static int64_t strip_outputs(const dq_conv_plan *plan, int threads) {
  int64_t width = plan->multiply->columns, tiles = dq_ceil_div(dq_conv_outputs(plan), width);
  int64_t most = dq_max_i64(1, STRIP_WORDS / (dq_matrix_depth(plan) * width));
  int64_t strips = dq_ceil_div(dq_ceil_div(tiles, most), threads) * threads;
  return dq_ceil_div(tiles, dq_min_i64(strips, tiles)) * width;
}

void dq_rows_prepare(dq_conv_plan *plan) {
  plan->multiply = dq_kernel_find(DQ_OPERATION_f32_tile, plan->cpu);
  plan->word_values = 1;
  plan->group_words = plan->shape.in_channels / plan->shape.groups;
  plan->expand = dq_conv_find_expand(plan);
  dq_conv_prepare_planes(plan, plan->shape.out_height);
}

size_t dq_rows_packed_words(const dq_conv_plan *plan) {
  return dq_matrix_packed_words(plan) + (plan->flat ? 0 : dq_words(2 * dq_matrix_depth(plan)));
}

void dq_rows_pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed) {
  dq_matrix_pack(plan, weights, bias, packed);
  if (!plan->flat) dq_conv_pack_offsets(plan, (int64_t *)(void *)(packed + dq_matrix_packed_words(plan)));
}

static size_t strip_area(const dq_conv_plan *plan, int threads) {
  return dq_words(dq_matrix_depth(plan) * strip_outputs(plan, threads));
}
// The last strip has fewer outputs, which a product may part into larger blocks.
static size_t thread_area(const dq_conv_plan *plan, int threads, dq_matrix_product_scratch *product_scratch) {
  int64_t count = strip_outputs(plan, threads), rest = dq_conv_outputs(plan) % count;
  size_t whole = product_scratch(plan, count, true, 1), last = product_scratch(plan, rest ? rest : count, true, 1);
  return strip_area(plan, threads) + dq_words((int64_t)(whole > last ? whole : last));
}
size_t dq_rows_scratch_words(const dq_conv_plan *plan, int threads, dq_matrix_product_scratch *product_scratch) {
  if (plan->flat) return dq_matrix_scratch_words(plan, threads, product_scratch);
  return dq_conv_planes_area(plan) + (size_t)threads * thread_area(plan, threads, product_scratch);
}

typedef struct strips {
  const dq_conv_call *call;
  dq_matrix_product group;
  dq_matrix_multiply *multiply;
  int64_t count;           // outputs of one
  size_t area, product_at; // words of a thread, and where the scratch of its product is
} strips;

// The rows of outputs [first, first + count), which lie in one row of the output.
static void fill_run(const dq_conv_call *call, int64_t first, int64_t count, float *rows) {
  const dq_conv_plan *plan = call->plan;
  int64_t y = first / plan->shape.out_width, x = first % plan->shape.out_width;
  const uint32_t *offsets = (const uint32_t *)call->packed + dq_matrix_packed_words(plan);
  dq_columns columns = {.from = (const float *)call->scratch + y * plan->planes.width + x,
                        .offsets = (const int64_t *)(const void *)offsets,
                        .rows = dq_matrix_depth(plan),
                        .columns = count,
                        .to = rows,
                        .to_stride = dq_matrix_depth(plan)};
  DQ_KERNEL_FUNCTION(f32_columns, plan->cpu)(&columns);
}

static void strip_task(void *argument, int64_t strip, int thread) {
  const strips *s = argument;
  const dq_conv_plan *plan = s->call->plan;
  int64_t width = plan->shape.out_width, first = strip * s->count;
  uint32_t *scratch = s->call->scratch + dq_conv_planes_area(plan) + (size_t)thread * s->area;
  dq_matrix_product product = s->group;
  product.pool = NULL;
  product.b = (const float *)scratch;
  product.transposed = true;
  product.columns = dq_min_i64(s->count, dq_conv_outputs(plan) - first);
  product.out += first;
  product.scratch = scratch + s->product_at;
  for (int64_t done = 0, run; done < product.columns; done += run) {
    run = dq_min_i64(width - (first + done) % width, product.columns - done);
    fill_run(s->call, first + done, run, (float *)scratch + done * product.depth);
  }
  s->multiply(&product);
}

void dq_rows_run(const dq_conv_call *call, dq_matrix_multiply *multiply, dq_matrix_product_scratch *product_scratch) {
  const dq_conv_plan *plan = call->plan;
  if (plan->flat) {
    dq_matrix_run(call, multiply, product_scratch);
    return;
  }
  int threads = dq_pool_threads(call->pool);
  strips s = {.call = call,
              .multiply = multiply,
              .count = strip_outputs(plan, threads),
              .area = thread_area(plan, threads, product_scratch),
              .product_at = strip_area(plan, threads)};
  for (int64_t image = 0; image < plan->shape.batch; image++)
    for (int64_t group = 0; group < plan->shape.groups; group++) {
      s.group = dq_matrix_group(call, image, group);
      dq_conv_expand_group(call, image, group, dq_conv_plane_words(plan));
      dq_pool_run(call->pool, dq_ceil_div(dq_conv_outputs(plan), s.count), strip_task, &s);
    }
}
