#include "lib/train/safe_sums.h"

#include <math.h>

#include "lib/base/sizes.h"

void dq_find_safe_sums(dq_safe_sums *sums, const dq_node *node, const dq_tensor *stored, const dq_tensor *zero_point) {
  const dq_block_rule pairs = DQ_PAIR_RULE;
  *sums = (dq_safe_sums){.count = 0};
  if (!zero_point || stored->type != DQ_I8 || !(DQ_BIT(zero_point->type) & DQ_TYPES_8_BIT)) return;
  const dq_parameters data = {.type = zero_point->type, .zero_point = (int32_t)dq_tensor_get_i64(zero_point, 0)};
  if (!dq_taps_of_weight(&sums->taps, node, stored)) return;
  if (dq_blocks_allowed(&sums->taps, stored->data, &pairs)) sums->rules[sums->count++] = pairs;
  dq_block_rule blocks = dq_int16_rule(&data, DQ_LONGEST_BLOCK);
  blocks.length = dq_min_i64(DQ_LONGEST_BLOCK, dq_longest_block(&sums->taps, stored->data, &blocks));
  if (blocks.length >= DQ_SHORTEST_BLOCK) sums->rules[sums->count++] = blocks;
}

typedef struct layer {
  const dq_safe_sums *sums;
  float *weights;
  const float *scales;
  int64_t scale_count, inner; // elements of the weight that share a scale
} layer;

static float scale_at(const layer *l, int64_t element) { return l->scales[element / l->inner % l->scale_count]; }

// The levels that a step and the file have are those of dq.FakeQuantize. A block with a weight that is not finite
// stays as it is.
static void enforce_block(const layer *l, const dq_block_rule *rule, int64_t output, int64_t from, int64_t count) {
  double wanted[DQ_LONGEST_BLOCK];
  int8_t levels[DQ_LONGEST_BLOCK] = {0};
  for (int64_t i = 0; i < count; i++) {
    const int64_t at = dq_tap_at(&l->sums->taps, output, from + i);
    wanted[i] = (double)(l->weights[at] / scale_at(l, at));
    if (!isfinite(wanted[i])) return;
    levels[i] = (int8_t)fmin(fmax(rint(wanted[i]), INT8_MIN), INT8_MAX);
  }
  if (dq_block_allowed(rule, levels, count)) return;
  dq_block_project(rule, &dq_weight_type_int8, wanted, levels, count);
  for (int64_t i = 0; i < count; i++) {
    const int64_t at = dq_tap_at(&l->sums->taps, output, from + i);
    l->weights[at] = (float)levels[i] * scale_at(l, at);
  }
}

void dq_enforce_safe_sums(const dq_safe_sums *sums, dq_tensor *weight, const dq_tensor *scale, int axis) {
  const dq_taps *taps = &sums->taps;
  const layer l = {.sums = sums,
                   .weights = weight->data,
                   .scales = scale->data,
                   .scale_count = dq_tensor_count(scale),
                   .inner = dq_tensor_product(weight, axis + 1, weight->rank)};
  for (int r = 0; r < sums->count; r++)
    for (int64_t o = 0; o < taps->outputs; o++)
      for (int64_t t = 0; t < taps->depth; t += sums->rules[r].length)
        enforce_block(&l, &sums->rules[r], o, t, dq_min_i64(sums->rules[r].length, taps->depth - t));
}
