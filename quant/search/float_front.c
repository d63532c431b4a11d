#include "quant/search/float_front.h"

#include <math.h>

#include "quant/search/mix_front.h"

enum { INT8, FLOAT, PRECISIONS };                // of the table
enum { TIME_PARTS = 1 << 20, LABELS = 1 << 14 }; // TIME_PARTS: of all multiply-accumulates
static const double NOISE_PARTS = 1 << 30;       // of all nodes in 8 bits
static const double NODE = 1.0 / 16, RANGE = 25; // NODE: of a mean node, beside its MACs; RANGE: dB

dq_float_rung dq_float_rung_of(const dq_sensitivity *found, const int *nodes, int count) {
  double macs = 0, bytes = 0, all_macs = 0, all_bytes = 0;
  for (int i = 0; i < count; i++)
    macs += (double)found->nodes[nodes[i]].macs, bytes += (double)found->nodes[nodes[i]].weight_bytes;
  for (int n = 0; n < found->node_count; n++)
    all_macs += (double)found->nodes[n].macs, all_bytes += (double)found->nodes[n].weight_bytes;
  return (dq_float_rung){nodes, count, all_macs > 0 ? macs / all_macs : 0, all_bytes > 0 ? bytes / all_bytes : 0};
}

// ---- The table ----

static int64_t noise_parts(const dq_sensitivity_effect *effect, double all) {
  return all > 0 ? (int64_t)fmin(round(effect->relative_noise / all * NOISE_PARTS), NOISE_PARTS) : 0;
}

static double sum_noise(const dq_sensitivity *found) {
  double all = 0;
  for (int l = 0; l < found->count; l++)
    all += found->layers[l].weights.relative_noise + found->layers[l].activations.relative_noise;
  return all;
}

static void set_times(const dq_sensitivity *found, dq_mix_cost *costs) {
  double macs = 0;
  for (int n = 0; n < found->node_count; n++) macs += (double)found->nodes[n].macs;
  for (int n = 0; n < found->node_count; n++) {
    double share = macs > 0 ? (double)found->nodes[n].macs / macs : 0;
    costs[n * PRECISIONS + FLOAT].time = (int64_t)ceil((share + NODE / found->node_count) * TIME_PARTS);
  }
}

// A result is rounded once where any node around it is in 8 bits: by the first one, or by a conversion for the others.
static void add_result(const dq_sensitivity_layer *layer, int64_t noise, dq_mix_cost *costs, dq_mix_value *value) {
  *value = (dq_mix_value){
      .producer = layer->around[0], .readers = layer->around + 1, .reader_count = layer->around_count - 1};
  value->conversions[FLOAT][INT8].loss = noise;
  costs[layer->around[0] * PRECISIONS + INT8].loss += noise;
}

static dq_status make_table(const dq_sensitivity *found, dq_mix_table *table, dq_arena *arena, dq_error *error) {
  dq_mix_cost *costs = DQ_NEW_ARRAY(arena, found->node_count * PRECISIONS, dq_mix_cost);
  dq_mix_value *values = DQ_NEW_ARRAY(arena, found->count, dq_mix_value);
  double all = sum_noise(found);
  int count = 0;
  if (!costs || !values) return dq_fail_memory(error, 0);
  set_times(found, costs);
  for (int l = 0; l < found->count; l++) {
    const dq_sensitivity_layer *layer = &found->layers[l];
    if (layer->product >= 0) costs[layer->product * PRECISIONS + INT8].loss += noise_parts(&layer->weights, all);
    if (layer->around_count) add_result(layer, noise_parts(&layer->activations, all), costs, &values[count++]);
  }
  *table = (dq_mix_table){PRECISIONS, found->node_count, count, costs, values};
  return DQ_OK;
}

// ---- Rungs ----

static dq_status add_rung(dq_float_ladder *ladder, const uint8_t *choice, const dq_sensitivity *found, dq_arena *arena,
                          dq_error *error) {
  int *nodes = DQ_NEW_ARRAY(arena, found->node_count, int);
  int count = 0;
  if (!nodes) return dq_fail_memory(error, 0);
  for (int n = 0; n < found->node_count; n++)
    if (choice[n] == FLOAT) nodes[count++] = n;
  if (count) ladder->rungs[ladder->count++] = dq_float_rung_of(found, nodes, count);
  return DQ_OK;
}

static double place_of(const dq_mix_front *front, int point) {
  const dq_mix_cost *first = &front->costs[0], *last = &front->costs[front->count - 1], *at = &front->costs[point];
  double decibels = 10 * log10(fmax(1, (double)first->loss) / fmax(1, (double)at->loss));
  double share = last->time > 0 ? (double)at->time / (double)last->time : 0;
  return (fmin(decibels, RANGE) / RANGE + share) / 2;
}

static dq_status add_rungs(dq_float_ladder *ladder, const dq_mix_front *front, const dq_sensitivity *found,
                           dq_arena *arena, dq_error *error) {
  int node_count = found->node_count;
  uint8_t choice[node_count + 1];
  int taken = 0; // the first point leaves nothing in float
  for (int p = 1; p < front->count; p++) {
    int place = (int)(place_of(front, p) * DQ_FLOAT_FRONT_PLACES);
    if (place <= taken && p < front->count - 1) continue;
    taken = place;
    dq_mix_front_choice(front, p, choice);
    DQ_TRY(add_rung(ladder, choice, found, arena, error));
  }
  if (ladder->count && ladder->rungs[ladder->count - 1].count == node_count) return DQ_OK;
  for (int n = 0; n < node_count; n++) choice[n] = FLOAT;
  return add_rung(ladder, choice, found, arena, error);
}

dq_status dq_float_front_find(dq_float_ladder *ladder, const dq_sensitivity *found, dq_arena *arena, dq_error *error) {
  dq_mix_table table;
  dq_mix_front front;
  *ladder = (dq_float_ladder){.rungs = DQ_NEW_ARRAY(arena, DQ_FLOAT_FRONT_PLACES + 2, dq_float_rung)};
  if (!ladder->rungs) return dq_fail_memory(error, 0);
  DQ_TRY(make_table(found, &table, arena, error));
  DQ_TRY(dq_mix_front_find(&front, &table, LABELS, arena, error));
  return add_rungs(ladder, &front, found, arena, error);
}
