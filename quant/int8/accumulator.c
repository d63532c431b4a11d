// Weights by how wide their sums may become: any rule of blocks.h, and int32 with the bias always.
#include <math.h>

#include "lib/base/sizes.h"
#include "quant/numeric/blocks.h"
#include "quant/int8/stages.h"

dq_int8_layer *dq_int8_layer_of(const dq_int8_job *job, const char *output) {
  const dq_value *value = dq_graph_find(job->graph, output);
  const int layer = value && value->index < job->value_count ? job->choices[value->index].layer : 0;
  return layer ? &job->report->layers[layer - 1] : NULL;
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

// Raises `least` for the slices that could leave int32; whether there were any.
static bool raise_to_int32(const dq_taps *taps, const dq_quantized_weight *weight, const float *bias,
                           const dq_parameters *input, float *least) {
  const dq_block_rule inputs = dq_int16_rule(input, 1);
  const float *scales = weight->scales->data;
  bool any = false, one = dq_tensor_count(weight->scales) == 1;
  for (int64_t o = 0; o < taps->outputs; o++) {
    int64_t s = one ? 0 : o;
    double step = (double)input->scale * (double)scales[s];
    double reach = reach_of(taps, weight->elements->data, o, &inputs, bias ? bias[o] / step : 0);
    if (reach < INT32_MAX) continue;
    least[s] = fmaxf(least[s], (float)((double)scales[s] * reach / INT32_MAX * SCALE_MARGIN));
    any = true;
  }
  return any;
}

// ---- Rules ----

static dq_status quantize_by(const dq_int8_job *job, const dq_tensor *weight, const dq_taps *taps, int axis,
                             const float *least, const dq_block_rule *rule, dq_quantized_weight *result) {
  const dq_weight_type *type = job->in->weight_type;
  if (!rule) return dq_quantize_weight(weight, type, axis, least, job->graph->arena, result, job->error);
  return dq_quantize_weight_blocks(weight, type, taps, axis, least, rule, job->graph->arena, result, job->error);
}

// Both forms are made, to know what the rule costs; the one that the setting wants is returned.
static dq_status quantize_pairs(const dq_int8_job *job, const dq_tensor *weight, const dq_taps *taps, int axis,
                                const float *least, dq_int8_layer *layer, dq_quantized_weight *result) {
  const dq_block_rule pairs = DQ_PAIR_RULE;
  dq_quantized_weight plain, safe;
  DQ_TRY(quantize_by(job, weight, taps, axis, least, NULL, &plain));
  DQ_TRY(quantize_by(job, weight, taps, axis, least, &pairs, &safe));
  layer->block_noise = fmax(0, dq_weight_noise(weight, &safe) - dq_weight_noise(weight, &plain));
  *result = layer->block_noise <= job->setting.accumulator.pairs_noise ? safe : plain;
  return DQ_OK;
}

static dq_status quantize_int16(const dq_int8_job *job, const dq_tensor *weight, const dq_taps *taps, int axis,
                                const float *least, const dq_parameters *input, dq_int8_layer *layer,
                                dq_quantized_weight *result) {
  const dq_block_rule rule = dq_int16_rule(input, dq_min_i64(taps->depth, DQ_SHORTEST_BLOCK));
  DQ_TRY(quantize_by(job, weight, taps, axis, least, NULL, result));
  layer->int16_block = dq_longest_block(taps, result->elements->data, &rule);
  if (layer->int16_block >= rule.length) return DQ_OK;
  DQ_TRY(quantize_by(job, weight, taps, axis, least, &rule, result));
  layer->int16_block = dq_longest_block(taps, result->elements->data, &rule);
  return DQ_OK;
}

static dq_status quantize(const dq_int8_job *job, const dq_node *node, const dq_taps *taps, int axis,
                          const float *least, const dq_parameters *input, dq_quantized_weight *result) {
  const dq_tensor *weight = node->inputs[1]->constant;
  dq_int8_layer *layer = dq_int8_layer_of(job, node->outputs[0]->name);
  if (layer && job->setting.accumulator.rule == DQ_ACCUMULATE_INT16)
    return quantize_int16(job, weight, taps, axis, least, input, layer, result);
  if (layer && job->setting.accumulator.rule == DQ_ACCUMULATE_PAIRS)
    return quantize_pairs(job, weight, taps, axis, least, layer, result);
  return quantize_by(job, weight, taps, axis, least, NULL, result);
}

dq_status dq_int8_quantize_weight(dq_int8_job *job, const dq_node *node, int axis, float *least,
                                  const dq_parameters *input, dq_quantized_weight *result) {
  const dq_tensor *weight = node->inputs[1]->constant;
  const dq_value *bias = dq_node_input(node, 2);
  dq_taps taps;
  if (!dq_taps_of(&taps, node)) return quantize_by(job, weight, NULL, axis, least, NULL, result);
  DQ_TRY(quantize(job, node, &taps, axis, least, input, result));
  const float *added =
      bias && bias->constant && bias->constant->type == DQ_F32 && dq_tensor_count(bias->constant) == taps.outputs
          ? bias->constant->data
          : NULL;
  if (raise_to_int32(&taps, result, added, input, least))
    DQ_TRY(quantize(job, node, &taps, axis, least, input, result));
  dq_int8_layer *layer = dq_int8_layer_of(job, node->outputs[0]->name);
  const dq_block_rule pairs = DQ_PAIR_RULE;
  if (layer) layer->pairs_safe = dq_blocks_allowed(&taps, result->elements->data, &pairs);
  return DQ_OK;
}
