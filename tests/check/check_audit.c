// The overflow audit of random convolutions against its definitions.
#include "tests/check/check.h"

#include <stdlib.h>
#include <string.h>

#include "lib/kernels/audit/conv_audit.h"

static void random_axis(checker *c, int64_t *in, int64_t *kernel, int64_t *stride, int64_t *dilation, int64_t *before,
                        int64_t *after, int64_t *out) {
  do {
    *kernel = pick(c, (int64_t[]){1, 1, 2, 3, 3, 3, 5}, 7);
    *stride = pick(c, (int64_t[]){1, 1, 1, 2, 3}, 5);
    *dilation = pick(c, (int64_t[]){1, 1, 1, 2}, 4);
    *before = pick(c, (int64_t[]){0, 0, 1, 2}, 4);
    *after = pick(c, (int64_t[]){0, 0, 1, 3}, 4);
    *in = between(c, 1, 14);
    *out = output_size(*in, *kernel, *stride, *dilation, *before, *after);
  } while (*out < 1);
}

static dq_conv_parameters random_shape(checker *c) {
  dq_conv_parameters p = {.batch = 1};
  p.groups = chance(c, 70) ? 1 : between(c, 2, 5);
  p.in_channels = p.groups * pick(c, (int64_t[]){1, 1, 2, 3, 5, 8, 17}, 7);
  p.out_channels = p.groups * pick(c, (int64_t[]){1, 1, 3, 5, 12, 13, 25}, 7);
  random_axis(c, &p.in_height, &p.kernel_height, &p.stride_height, &p.dilation_height, &p.pad_top, &p.pad_bottom,
              &p.out_height);
  random_axis(c, &p.in_width, &p.kernel_width, &p.stride_width, &p.dilation_width, &p.pad_left, &p.pad_right,
              &p.out_width);
  return p;
}

// Bytes with the given spread around `middle`, so that all of few, some and many overflows occur.
static void fill_spread(checker *c, uint8_t *data, int64_t count, int32_t middle, int64_t spread, bool is_signed) {
  int32_t low = is_signed ? -128 : 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t value = middle + between(c, -spread, spread);
    value = value < low ? low : value > low + 255 ? low + 255 : value;
    data[i] = (uint8_t)value;
  }
}

static bool same_counts(const dq_audit_counts *a, const dq_audit_counts *b, int64_t channels) {
  return !memcmp(a, b, (size_t)channels * sizeof *a);
}

static bool audit_equals(checker *c, const dq_conv_int8_parameters *q, const void *weights, const int32_t *bias,
                         const void *input, bool raw, dq_pool *pool) {
  int64_t channels = q->shape.out_channels;
  dq_audit_counts *expected = malloc((size_t)channels * sizeof *expected);
  dq_audit_counts *found = malloc((size_t)channels * sizeof *found);
  dq_arena *arena = dq_arena_new(0);
  if (!expected || !found || !arena) abort();
  for (int64_t o = 0; o < channels; o++) expected[o] = found[o] = DQ_AUDIT_NOTHING;
  dq_audit *audit;
  bool good = dq_audit_new(&audit, q, weights, bias, raw, c->cpu, arena, NULL) == DQ_OK;
  if (good) {
    output_buffer scratch = output_new(dq_audit_scratch_bytes(audit, dq_pool_threads(pool)), 0);
    dq_audit_reference(q, weights, bias, raw, input, expected);
    dq_audit_run(audit, input, found, scratch.data, pool);
    good = same_counts(expected, found, channels) && output_guards_hold(&scratch);
    const dq_audit_proof *proofs = dq_audit_proofs(audit);
    for (int64_t o = 0; o < channels; o++)
      good &= proofs[o].lowest <= found[o].lowest && proofs[o].highest >= found[o].highest &&
              (proofs[o].pair || !found[o].pair);
    output_free(&scratch);
  }
  c->reached += good;
  dq_arena_free(arena);
  free(expected);
  free(found);
  return good;
}

void check_audit(checker *c) {
  dq_conv_int8_parameters q = {.shape = random_shape(c)};
  const dq_conv_parameters *p = &q.shape;
  int64_t weights = p->out_channels * (p->in_channels / p->groups) * p->kernel_height * p->kernel_width;
  int64_t inputs = p->in_channels * p->in_height * p->in_width;
  int pool = (int)between(c, 0, CHECK_POOLS - 1);
  q.input_signed = chance(c, 50);
  q.weight_signed = chance(c, 70);
  q.input_zero_point = (int32_t)between(c, 0, 255) - (q.input_signed ? 128 : 0);
  int32_t *zeros = malloc((size_t)p->out_channels * sizeof *zeros);
  int32_t *bias = malloc((size_t)p->out_channels * sizeof *bias);
  if (!zeros || !bias) abort();
  int32_t usual = q.weight_signed ? 0 : 128;
  bool odd = chance(c, 20);
  for (int64_t o = 0; o < p->out_channels; o++) {
    zeros[o] = odd ? (int32_t)between(c, 0, 255) - (q.weight_signed ? 128 : 0) : usual;
    bias[o] = (int32_t)between(c, INT32_MIN, INT32_MAX) >> between(c, 0, 24);
  }
  q.weight_zero_points = zeros;
  q.weight_zero_point_count = odd || chance(c, 50) ? p->out_channels : 1;
  input_buffer w = input_new((size_t)weights), x = input_new((size_t)inputs);
  fill_spread(c, w.data, weights, usual, pick(c, (int64_t[]){3, 20, 60, 300}, 4), q.weight_signed);
  fill_spread(c, x.data, inputs, q.input_zero_point, pick(c, (int64_t[]){5, 40, 300}, 3), q.input_signed);
  bool raw = chance(c, 50);
  bool good = audit_equals(c, &q, w.data, chance(c, 70) ? bias : NULL, x.data, raw, c->pools[pool]);
  report(c, good, "audit: groups %lld channels %lld->%lld kernel %lldx%lld out %lldx%lld, %s %s", (long long)p->groups,
         (long long)p->in_channels, (long long)p->out_channels, (long long)p->kernel_height, (long long)p->kernel_width,
         (long long)p->out_height, (long long)p->out_width, q.input_signed ? "s8" : "u8",
         q.weight_signed ? "s8" : "u8");
  input_free(&w);
  input_free(&x);
  free(zeros);
  free(bias);
}
