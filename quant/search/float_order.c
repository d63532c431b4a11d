#include "quant/search/float_order.h"

typedef struct chooser {
  const dq_sensitivity *found;
  dq_float_order *order;
  bool *left;   // by node: in float
  bool *wanted; // by node: of the step that is looked at
  bool *spared; // by layer: its result is no longer rounded
  int count;    // nodes in float
  double macs;  // of all nodes
} chooser;

static double noise_of(const dq_sensitivity_effect *effect) {
  const dq_comparison *outputs = &effect->outputs;
  return outputs->signal > 0 ? outputs->noise / outputs->signal : outputs->noise;
}

static double cost_of(const chooser *it, int node) {
  double share = it->macs > 0 ? (double)it->found->nodes[node].macs / it->macs : 0;
  return 1.0 / it->found->node_count + share;
}

static bool is_open(const chooser *it, int node) { return !it->left[node] && !it->wanted[node]; }

static bool is_surrounded(const chooser *it, const dq_sensitivity_layer *layer) {
  for (int i = 0; i < layer->around_count; i++)
    if (is_open(it, layer->around[i])) return false;
  return layer->around_count > 0;
}

// What the step that `wanted` holds spares.
static double gain_of(const chooser *it) {
  double gain = 0;
  for (int l = 0; l < it->found->count; l++) {
    const dq_sensitivity_layer *layer = &it->found->layers[l];
    if (!it->spared[l] && is_surrounded(it, layer)) gain += noise_of(&layer->activations);
    if (layer->product >= 0 && it->wanted[layer->product]) gain += noise_of(&layer->weights);
  }
  return gain;
}

// Puts into `wanted` what is not left yet; *cost: of these.
static void want(chooser *it, const int *nodes, int count, double *cost) {
  for (int i = 0; i < count; i++) {
    if (!is_open(it, nodes[i])) continue;
    it->wanted[nodes[i]] = true;
    *cost += cost_of(it, nodes[i]);
  }
}

static void clear(chooser *it) {
  for (int n = 0; n < it->found->node_count; n++) it->wanted[n] = false;
}

typedef struct step {
  const int *nodes; // NULL: none is worth it
  int count;
  double worth;
} step;

static void offer(chooser *it, const int *nodes, int count, step *best) {
  double cost = 0;
  want(it, nodes, count, &cost);
  double worth = cost > 0 ? gain_of(it) / cost : 0;
  clear(it);
  if (worth > best->worth) *best = (step){nodes, count, worth};
}

static step best_step(chooser *it) {
  step best = {0};
  for (int l = 0; l < it->found->count; l++) {
    const dq_sensitivity_layer *layer = &it->found->layers[l];
    if (layer->product >= 0) offer(it, &layer->product, 1, &best);
    if (!it->spared[l] && layer->around_count) offer(it, layer->around, layer->around_count, &best);
  }
  return best;
}

static void leave(chooser *it, int node) {
  if (it->left[node]) return;
  it->left[node] = true;
  it->order->nodes[it->count++] = node;
}

static void end_step(chooser *it) {
  it->order->ends[it->order->steps++] = it->count;
  for (int l = 0; l < it->found->count; l++) it->spared[l] = it->spared[l] || is_surrounded(it, &it->found->layers[l]);
}

dq_status dq_float_order_find(dq_float_order *order, const dq_sensitivity *found, dq_arena *arena, dq_error *error) {
  int nodes = found->node_count;
  *order = (dq_float_order){DQ_NEW_ARRAY(arena, nodes, int), DQ_NEW_ARRAY(arena, nodes, int), 0};
  chooser it = {.found = found,
                .order = order,
                .left = DQ_NEW_ARRAY(arena, nodes, bool),
                .wanted = DQ_NEW_ARRAY(arena, nodes, bool),
                .spared = DQ_NEW_ARRAY(arena, found->count, bool)};
  if (!order->nodes || !order->ends || !it.left || !it.wanted || !it.spared) return dq_fail_memory(error, 0);
  for (int n = 0; n < nodes; n++) it.macs += (double)found->nodes[n].macs;
  for (step best = best_step(&it); best.nodes; best = best_step(&it)) {
    for (int i = 0; i < best.count; i++) leave(&it, best.nodes[i]);
    end_step(&it);
  }
  if (it.count == nodes) return DQ_OK;
  for (int n = 0; n < nodes; n++) leave(&it, n);
  end_step(&it);
  return DQ_OK;
}
