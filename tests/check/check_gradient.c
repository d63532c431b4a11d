// Random gradients of convolutions by their weights against their definition.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/kernels/conv_gradient/conv_gradient.h"
#include "lib/kernels/reference/shards.h"
#include "tests/check/check.h"

enum { MOST_MACS = 600000 };

static void random_axis(checker *c, int64_t *in, int64_t *kernel, int64_t *stride, int64_t *dilation, int64_t *before,
                        int64_t *out) {
  int64_t after;
  do {
    *kernel = pick(c, (int64_t[]){1, 2, 3, 3, 3, 4, 5, 7}, 8);
    *stride = between(c, 1, 3);
    *dilation = pick(c, (int64_t[]){1, 1, 1, 2, 3}, 5);
    *before = between(c, 0, 3);
    after = between(c, 0, 3);
    *in = between(c, 1, chance(c, 20) ? 60 : 20);
    *out = output_size(*in, *kernel, *stride, *dilation, *before, after);
  } while (*out < 1);
}

static dq_conv_parameters random_shape(checker *c, bool wide) {
  dq_conv_parameters p;
  do {
    memset(&p, 0, sizeof p);
    p.batch = between(c, 1, 21);
    p.groups = wide ? tile_size(c, 8, 20) : between(c, 1, 3);
    p.in_channels = p.groups * (wide ? 1 : pick(c, (int64_t[]){2, 3, 5, 8, 16, 17, 33, 64}, 8));
    p.out_channels = p.groups * (wide ? between(c, 1, 3) : tile_size(c, c->row->rows, 40));
    random_axis(c, &p.in_height, &p.kernel_height, &p.stride_height, &p.dilation_height, &p.pad_top, &p.out_height);
    random_axis(c, &p.in_width, &p.kernel_width, &p.stride_width, &p.dilation_width, &p.pad_left, &p.out_width);
  } while (dq_conv_macs(&p) > MOST_MACS);
  return p;
}

static int64_t weight_count(const dq_conv_parameters *p) {
  return p->out_channels * (p->in_channels / p->groups) * p->kernel_height * p->kernel_width;
}

// The sums of the pictures from `first` to end - 1 of one weight: one, or with one input channel in a group of lanes.
static double shard_sum(const dq_conv_parameters *p, const float *gradient, const float *input, int64_t weight,
                        int64_t first, int64_t end) {
  const int64_t in_group = p->in_channels / p->groups, kx = weight % p->kernel_width;
  const int64_t ky = weight / p->kernel_width % p->kernel_height;
  const int64_t channel = weight / p->kernel_width / p->kernel_height, out = channel / in_group;
  const int64_t in = out / (p->out_channels / p->groups) * in_group + channel % in_group;
  float sums[16] = {0};
  for (int64_t n = first; n < end; n++)
    for (int64_t oy = 0; oy < p->out_height; oy++)
      for (int64_t ox = 0; ox < p->out_width; ox++) {
        const int64_t y = oy * p->stride_height + ky * p->dilation_height - p->pad_top;
        const int64_t x = ox * p->stride_width + kx * p->dilation_width - p->pad_left;
        const bool inside = y >= 0 && y < p->in_height && x >= 0 && x < p->in_width;
        const float value = inside ? input[((n * p->in_channels + in) * p->in_height + y) * p->in_width + x] : 0;
        float *sum = &sums[in_group == 1 ? ox % 16 : 0];
        *sum = fmaf(value, gradient[((n * p->out_channels + out) * p->out_height + oy) * p->out_width + ox], *sum);
      }
  if (in_group > 1) return (double)sums[0];
  double lanes[16];
  for (int i = 0; i < 16; i++) lanes[i] = (double)sums[i];
  for (int half = 8; half; half /= 2)
    for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
  return lanes[0];
}

// The sum of n shards is that of the first ones, the largest power of two below n, and that of the others.
static double tree(const double *shards, int64_t count, bool wide) {
  int64_t first = 1;
  if (count == 1) return shards[0];
  while (2 * first < count) first *= 2;
  const double sum = tree(shards, first, wide) + tree(shards + first, count - first, wide);
  return wide ? sum : (double)(float)sum;
}

// The sums of `blocks` blocks of so many shards.
static bool same_sums(const dq_conv_parameters *p, const float *gradient, const float *input, const int64_t *sizes,
                      int blocks, const dq_conv_gradient *found) {
  const bool wide = dq_conv_gradient_is_wide(p);
  bool good = true;
  double shards[6];
  for (int64_t i = 0; i < weight_count(p); i++) {
    for (int64_t n = 0; n < p->batch; n += DQ_SHARD)
      shards[n / DQ_SHARD] = shard_sum(p, gradient, input, i, n, n + DQ_SHARD < p->batch ? n + DQ_SHARD : p->batch);
    const double *from = shards;
    for (int b = 0; b < blocks; from += sizes[b++]) {
      const int64_t at = b * weight_count(p) + i;
      const double expected = tree(from, sizes[b], wide);
      const double sum = found->weights                ? (double)found->weights[at]
                         : dq_conv_gradient_is_wide(p) ? ((const double *)found->blocks)[at]
                                                       : (double)((const float *)found->blocks)[at];
      const double rounded = found->weights ? (double)(float)expected : expected;
      good = good && (sum == rounded || (isnan(sum) && isnan(rounded)));
    }
  }
  return good;
}

void check_conv_gradient(checker *c) {
  const bool wide = c->row == dq_kernel_find(DQ_OPERATION_f32_taps, c->cpu), whole = chance(c, 50);
  const dq_conv_parameters p = random_shape(c, wide);
  dq_pool *pool = c->pools[between(c, 0, CHECK_POOLS - 1)];
  const int64_t count = weight_count(&p), shards = (p.batch + DQ_SHARD - 1) / DQ_SHARD;
  const int64_t inputs = p.batch * p.in_channels * p.in_height * p.in_width;
  const int64_t outputs = p.batch * p.out_channels * p.out_height * p.out_width;
  dq_conv_gradient task = {.shape = &p, .first_shard = whole ? 0 : between(c, 0, 9)};
  int64_t sizes[DQ_SHARD_LEVELS] = {shards};
  const int blocks = whole ? 1 : dq_shard_blocks(task.first_shard, task.first_shard + shards, sizes);
  const int mode = (int)between(c, 0, FLOAT_MODES - 1);
  input_buffer gradient = input_new((size_t)outputs * 4), input = input_new((size_t)inputs * 4);
  output_buffer scratch =
      output_new(dq_conv_gradient_scratch_bytes(&p, task.first_shard, c->cpu, dq_pool_threads(pool)), 0);
  output_buffer sums = output_new((size_t)(blocks * count) * (wide && !whole ? 8 : 4), 0);
  fill_floats(c, gradient.data, outputs, mode);
  fill_floats(c, input.data, inputs, mode);
  task.gradient = gradient.data, task.input = input.data;
  task.weights = whole ? sums.data : NULL, task.blocks = whole ? NULL : sums.data;
  dq_conv_gradient_run(&task, c->cpu, scratch.data, pool);
  c->reached++;
  report(c,
         same_sums(&p, gradient.data, input.data, sizes, blocks, &task) && output_guards_hold(&sums) &&
             output_guards_hold(&scratch),
         "gradient by the weights: batch %lld groups %lld channels %lld->%lld out %lldx%lld kernel %lldx%lld",
         (long long)p.batch, (long long)p.groups, (long long)p.in_channels, (long long)p.out_channels,
         (long long)p.out_height, (long long)p.out_width, (long long)p.kernel_height, (long long)p.kernel_width);
  input_free(&gradient);
  input_free(&input);
  output_free(&scratch);
  output_free(&sums);
}
