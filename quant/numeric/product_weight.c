// Weights by how wide their sums may become: any rule of blocks.h, and int32 with the bias always.
#include "quant/numeric/product_weight.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/sizes.h"

// ---- Blocks ----

enum { SCALE_STEPS = 8 }; // scales tried between that of the largest weight and that of the largest block

// A slice of a weight that has one scale: its output channels, each in the order of its sum.
typedef struct slice {
  const dq_block_rule *rule;
  const dq_weight_type *type;
  int64_t outputs, depth;
  float *weights;   // [outputs][depth]
  int8_t *elements; // likewise
} slice;

// Rounds every weight, then mends the blocks that are not allowed.
static void quantize_sum(const slice *s, const float *from, float scale, int8_t *to) {
  const dq_block_rule *rule = s->rule;
  const dq_weight_type type = *s->type;
  const int64_t depth = s->depth;
  for (int64_t t = 0; t < depth; t++) to[t] = dq_nearest_weight(from[t] / scale, type);
  const dq_block_rule pair = DQ_PAIR_RULE;
  const int most = INT16_MAX / pair.high; // of the sum of a pair of weights of one sign
  bool pairs = rule->length == pair.length && rule->low == pair.low && rule->high == pair.high;
  for (int64_t t = 0, count; t < depth; t += count) {
    double wanted[DQ_LONGEST_BLOCK];
    count = dq_min_i64(rule->length, depth - t);
    bool allowed = pairs && count == 2 ? abs(to[t] + to[t + 1]) <= most : dq_block_allowed(rule, to + t, count);
    if (allowed) continue;
    for (int64_t i = 0; i < count; i++) wanted[i] = (double)(from[t + i] / scale);
    dq_block_project(rule, &type, wanted, to + t, count);
  }
}

static double squared_error(const float *from, float scale, int64_t depth, const int8_t *elements) {
  enum { CHAINS = 4 };
  double sums[CHAINS] = {0};
  for (int64_t t = 0; t < depth; t++) {
    double off = (double)(from[t] / scale) - elements[t];
    sums[t % CHAINS] += off * off;
  }
  return (sums[0] + sums[1] + sums[2] + sums[3]) * (double)scale * (double)scale;
}

// Quantizes with this scale; the squared error, or one that is at least `enough`, where it ends.
static double quantize_slice(const slice *s, float scale, double enough) {
  double error = 0;
  for (int64_t o = 0; o < s->outputs && error < enough; o++) {
    const float *from = s->weights + o * s->depth;
    quantize_sum(s, from, scale, s->elements + o * s->depth);
    error += squared_error(from, scale, s->depth, s->elements + o * s->depth);
  }
  return error;
}

// The scale with which no block of the real weights leaves int16, with room for rounding.
static double scale_of_largest_block(const slice *s) {
  double largest = 0;
  for (int64_t o = 0; o < s->outputs; o++)
    for (int64_t t = 0; t < s->depth; t += s->rule->length) {
      double low = 0, high = 0;
      for (int64_t i = t; i < t + s->rule->length && i < s->depth; i++) {
        double w = (double)s->weights[o * s->depth + i];
        low += w < 0 ? w * s->rule->high : w * s->rule->low;
        high += w < 0 ? w * s->rule->low : w * s->rule->high;
      }
      largest = fmax(largest, fmax(high / INT16_MAX, low / INT16_MIN));
    }
  return largest * (s->type->high + 2) / (s->type->high + 1);
}

// `scale` is that of the largest weight.
static float choose_scale(const slice *s, float scale) {
  double most = scale_of_largest_block(s), least = INFINITY;
  double ratio = most > (double)scale ? most / (double)scale : 1;
  float best = scale;
  for (int i = 0; ratio > 1 && i <= SCALE_STEPS; i++) {
    float tried = (float)((double)scale * pow(ratio, (double)i / SCALE_STEPS));
    double error = quantize_slice(s, tried, least);
    if (error < least) least = error, best = tried;
  }
  quantize_slice(s, best, INFINITY);
  return best;
}

// The weights of an output channel, in the order of its sum from that of memory (dq_tap_of), and back.
static void read_in_order(const dq_taps *taps, const float *memory, float *sum) {
  for (int64_t c = 0; c < taps->channels; c++)
    for (int64_t k = 0; k < taps->window; k++, memory += taps->step) sum[k * taps->channels + c] = *memory;
}
static void write_in_order(const dq_taps *taps, const int8_t *sum, int8_t *memory) {
  for (int64_t c = 0; c < taps->channels; c++)
    for (int64_t k = 0; k < taps->window; k++, memory += taps->step) *memory = sum[k * taps->channels + c];
}

dq_status dq_quantize_weight_blocks(const dq_tensor *weight, const dq_taps *taps, const dq_quantized_weight *nearest,
                                    const dq_block_rule *rule, dq_arena *arena, dq_quantized_weight *result,
                                    dq_error *error) {
  const dq_tensor *first = nearest->scales;
  *result = (dq_quantized_weight){.elements = dq_tensor_new(arena, nearest->type->type, weight->rank, weight->dims),
                                  .scales = dq_tensor_new(arena, DQ_F32, first->rank, first->dims),
                                  .axis = nearest->axis,
                                  .type = nearest->type};
  if (!result->elements || !result->scales) return dq_fail_memory(error, dq_tensor_bytes(weight));
  float *scales = result->scales->data;
  const float *from = weight->data;
  int8_t *to = result->elements->data;
  int64_t count = dq_tensor_count(result->scales), width = taps->outputs / count, size = width * taps->depth;
  slice s = {.rule = rule,
             .type = nearest->type,
             .outputs = width,
             .depth = taps->depth,
             .weights = DQ_NEW_ARRAY(arena, size, float),
             .elements = DQ_NEW_ARRAY(arena, size, int8_t)};
  if (!s.weights || !s.elements) return dq_fail_memory(error, (size_t)size * sizeof(float));
  for (int64_t i = 0; i < count; i++) {
    for (int64_t o = 0; o < width; o++)
      read_in_order(taps, from + (i * width + o) * taps->output_step, s.weights + o * taps->depth);
    scales[i] = choose_scale(&s, ((const float *)first->data)[i]);
    for (int64_t o = 0; o < width; o++)
      write_in_order(taps, s.elements + o * taps->depth, to + (i * width + o) * taps->output_step);
  }
  return DQ_OK;
}

double dq_weight_noise(const dq_tensor *weight, const dq_quantized_weight *quantized) {
  int axis = quantized->axis;
  int64_t inner = axis < 0 ? dq_tensor_count(weight) : dq_tensor_product(weight, axis + 1, weight->rank);
  int64_t count = axis < 0 ? 1 : weight->dims[axis], at = 0;
  const float *from = weight->data, *scales = quantized->scales->data;
  const int8_t *elements = quantized->elements->data;
  double signal = 0, noise = 0;
  for (int64_t all = dq_tensor_count(weight), which = 0; at < all; which = (which + 1) % count)
    for (int64_t i = 0; i < inner; i++, at++) {
      double off = (double)from[at] - (double)scales[which] * elements[at];
      signal += (double)from[at] * (double)from[at];
      noise += off * off;
    }
  return signal > 0 ? noise / signal : 0;
}

// ---- int32 ----

// So many weights are added in int32, which vectorizes: 2^16 times 2^7 is far below 2^31.
enum { WEIGHTS_IN_INT32 = 1 << 16 };
// A scale is raised by so much more than the sum asks for, because weights may round up at the new scale.
static const double SCALE_MARGIN = 1.01;

// The largest magnitude that a sum and its bias can reach.
static double reach_of(const dq_taps *taps, const int8_t *weights, int64_t output, const dq_block_rule *input,
                       double bias) {
  const int8_t *weight = weights + output * taps->output_step;
  int64_t above = 0, below = 0;
  for (int64_t t = 0; t < taps->depth;) {
    int32_t some_above = 0, some_below = 0;
    for (int64_t end = dq_min_i64(t + WEIGHTS_IN_INT32, taps->depth); t < end; t++, weight += taps->step) {
      some_above += *weight > 0 ? *weight : 0;
      some_below += *weight < 0 ? *weight : 0;
    }
    above += some_above, below += some_below;
  }
  int64_t low = below * input->high + above * input->low, high = below * input->low + above * input->high;
  return fmax((double)high + fabs(bias), fabs(bias) - (double)low);
}

// ---- Rules ----

typedef struct weight_task {
  const dq_product_weight *wanted;
  const dq_tensor *weight;
  bool has_taps;       // false: no rule holds
  dq_taps taps;        // of the weight
  dq_block_rule int16; // for the inputs of the product, in the shortest blocks
  dq_arena *arena;     // of results
  dq_error *error;
} weight_task;

// What is added to the sums; NULL: nothing that is known.
static const float *bias_of(const weight_task *task) {
  const dq_value *bias = dq_node_input(task->wanted->node, 2);
  const bool known = bias && bias->constant && bias->constant->type == DQ_F32;
  return known && dq_tensor_count(bias->constant) == task->taps.outputs ? bias->constant->data : NULL;
}

// Raises the lowest scales of the slices that could leave int32; whether there were any.
static bool raise_to_int32(const weight_task *task, const dq_quantized_weight *weight) {
  const float *scales = weight->scales->data, *bias = bias_of(task);
  float *least = task->wanted->least;
  bool any = false, one = dq_tensor_count(weight->scales) == 1;
  for (int64_t o = 0; o < task->taps.outputs; o++) {
    int64_t s = one ? 0 : o;
    double step = (double)task->wanted->input.scale * (double)scales[s];
    double reach = reach_of(&task->taps, weight->elements->data, o, &task->int16, bias ? bias[o] / step : 0);
    if (reach < INT32_MAX) continue;
    least[s] = fmaxf(least[s], (float)((double)scales[s] * reach / INT32_MAX * SCALE_MARGIN));
    any = true;
  }
  return any;
}

// Makes the pairs of a weight that is rounded to the nearest safe, where that costs at most what the choice allows.
static dq_status apply_pairs(const weight_task *task, dq_quantized_weight *weight, dq_weight_sums *sums) {
  const dq_block_rule pairs = DQ_PAIR_RULE;
  dq_quantized_weight safe;
  DQ_TRY(dq_quantize_weight_blocks(task->weight, &task->taps, weight, &pairs, task->arena, &safe, task->error));
  sums->block_noise = fmax(0, dq_weight_noise(task->weight, &safe) - dq_weight_noise(task->weight, weight));
  if (sums->block_noise <= task->wanted->accumulator.pairs_noise) *weight = safe;
  return DQ_OK;
}

// Makes the blocks of such a weight fit int16, unless longer ones do.
static dq_status apply_int16(const weight_task *task, dq_quantized_weight *weight, dq_weight_sums *sums) {
  const dq_quantized_weight nearest = *weight;
  sums->int16_block = dq_longest_block(&task->taps, nearest.elements->data, &task->int16);
  if (sums->int16_block >= task->int16.length) return DQ_OK;
  DQ_TRY(
      dq_quantize_weight_blocks(task->weight, &task->taps, &nearest, &task->int16, task->arena, weight, task->error));
  sums->int16_block = dq_longest_block(&task->taps, weight->elements->data, &task->int16);
  return DQ_OK;
}

// Rounds to the nearest with the lowest scales as they are now; then the rule changes what it must.
static dq_status quantize(const weight_task *task, dq_quantized_weight *result, dq_weight_sums *sums) {
  const dq_product_weight *wanted = task->wanted;
  DQ_TRY(dq_quantize_weight(task->weight, wanted->type, wanted->axis, wanted->least, task->arena, result, task->error));
  switch (task->has_taps ? wanted->accumulator.rule : DQ_ACCUMULATE_INT32) {
  case DQ_ACCUMULATE_PAIRS: return apply_pairs(task, result, sums);
  case DQ_ACCUMULATE_INT16: return apply_int16(task, result, sums);
  default: return DQ_OK;
  }
}

dq_status dq_quantize_product_weight(const dq_product_weight *wanted, dq_quantized_weight *result, dq_weight_sums *sums,
                                     dq_arena *arena, dq_error *error) {
  const dq_block_rule pairs = DQ_PAIR_RULE;
  weight_task task = {.wanted = wanted, .weight = wanted->node->inputs[1]->constant, .arena = arena, .error = error};
  task.has_taps = dq_taps_of(&task.taps, wanted->node);
  if (task.has_taps) task.int16 = dq_int16_rule(&wanted->input, dq_min_i64(task.taps.depth, DQ_SHORTEST_BLOCK));
  *sums = (dq_weight_sums){0};
  DQ_TRY(quantize(&task, result, sums));
  if (!task.has_taps) return DQ_OK;
  if (raise_to_int32(&task, result)) DQ_TRY(quantize(&task, result, sums));
  sums->pairs_safe = dq_blocks_allowed(&task.taps, result->elements->data, &pairs);
  return DQ_OK;
}
