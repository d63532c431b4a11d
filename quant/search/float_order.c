#include "quant/search/float_order.h"

typedef struct layer_chooser {
  const dq_sensitivity *found;
  dq_float_order *order;
  bool *left;         // by node: in float
  bool *wanted;       // by node: of the step that is looked at
  bool *spared;       // by layer: its result is no longer rounded
  int count;          // nodes in float
  double macs, bytes; // of all nodes
  double least;       // relative noise of a layer below which it is taken as none
  const dq_float_budget *budget;
} layer_chooser;

static double macs_of(const layer_chooser *chooser, int node) {
  return chooser->macs > 0 ? (double)chooser->found->nodes[node].macs / chooser->macs : 0;
}

static double bytes_of(const layer_chooser *chooser, int node) {
  return chooser->bytes > 0 ? (double)chooser->found->nodes[node].weight_bytes / chooser->bytes : 0;
}

static double cost_of(const layer_chooser *chooser, int node) {
  return 1.0 / chooser->found->node_count + macs_of(chooser, node) + bytes_of(chooser, node);
}

// Whether what is in float with the step that `wanted` holds is within the budget.
static bool is_affordable(const layer_chooser *chooser) {
  double macs = 0, bytes = 0;
  int count = 0;
  for (int n = 0; n < chooser->found->node_count; n++) {
    if (!chooser->left[n] && !chooser->wanted[n]) continue;
    macs += macs_of(chooser, n), bytes += bytes_of(chooser, n);
    count++;
  }
  const dq_float_budget *most = chooser->budget;
  return !most || (count <= most->nodes && macs <= most->macs && bytes <= most->bytes);
}

static bool is_open(const layer_chooser *chooser, int node) { return !chooser->left[node] && !chooser->wanted[node]; }

static bool is_surrounded(const layer_chooser *chooser, const dq_sensitivity_layer *layer) {
  for (int i = 0; i < layer->around_count; i++)
    if (is_open(chooser, layer->around[i])) return false;
  return layer->around_count > 0;
}

static bool is_loud(const layer_chooser *chooser, const dq_sensitivity_layer *layer) {
  return !(layer->weights.relative_noise + layer->activations.relative_noise < chooser->least); // a NaN is loud
}

// What the step that `wanted` holds spares.
static double gain_of(const layer_chooser *chooser) {
  double gain = 0;
  for (int l = 0; l < chooser->found->count; l++) {
    const dq_sensitivity_layer *layer = &chooser->found->layers[l];
    if (!is_loud(chooser, layer)) continue;
    if (!chooser->spared[l] && is_surrounded(chooser, layer)) gain += layer->activations.relative_noise;
    if (layer->product >= 0 && chooser->wanted[layer->product]) gain += layer->weights.relative_noise;
  }
  return gain;
}

// Puts into `wanted` what is not left yet; *cost: of these.
static void want(layer_chooser *chooser, const int *nodes, int count, double *cost) {
  for (int i = 0; i < count; i++) {
    if (!is_open(chooser, nodes[i])) continue;
    chooser->wanted[nodes[i]] = true;
    *cost += cost_of(chooser, nodes[i]);
  }
}

static void clear(layer_chooser *chooser) {
  for (int n = 0; n < chooser->found->node_count; n++) chooser->wanted[n] = false;
}

typedef struct step {
  const int *nodes; // NULL: none is worth it
  int count;
  double worth;
} step;

static void offer(layer_chooser *chooser, const int *nodes, int count, step *best) {
  double cost = 0;
  want(chooser, nodes, count, &cost);
  double worth = cost > 0 && is_affordable(chooser) ? gain_of(chooser) / cost : 0;
  clear(chooser);
  if (worth > best->worth) *best = (step){nodes, count, worth};
}

static step best_step(layer_chooser *chooser) {
  step best = {0};
  for (int l = 0; l < chooser->found->count; l++) {
    const dq_sensitivity_layer *layer = &chooser->found->layers[l];
    if (layer->product >= 0) offer(chooser, &layer->product, 1, &best);
    if (!chooser->spared[l] && layer->around_count) offer(chooser, layer->around, layer->around_count, &best);
  }
  return best;
}

static void leave(layer_chooser *chooser, int node) {
  if (chooser->left[node]) return;
  chooser->left[node] = true;
  chooser->order->nodes[chooser->count++] = node;
}

static void end_step(layer_chooser *chooser) {
  chooser->order->ends[chooser->order->steps++] = chooser->count;
  for (int l = 0; l < chooser->found->count; l++)
    chooser->spared[l] = chooser->spared[l] || is_surrounded(chooser, &chooser->found->layers[l]);
}

dq_status dq_float_order_find(dq_float_order *order, const dq_sensitivity *found, const dq_float_budget *budget,
                              dq_arena *arena, dq_error *error) {
  int nodes = found->node_count;
  *order = (dq_float_order){DQ_NEW_ARRAY(arena, nodes, int), DQ_NEW_ARRAY(arena, nodes, int), 0};
  layer_chooser chooser = {.found = found,
                           .order = order,
                           .budget = budget,
                           .least = budget ? budget->share * found->all.relative_noise : 0,
                           .left = DQ_NEW_ARRAY(arena, nodes, bool),
                           .wanted = DQ_NEW_ARRAY(arena, nodes, bool),
                           .spared = DQ_NEW_ARRAY(arena, found->count, bool)};
  if (!order->nodes || !order->ends || !chooser.left || !chooser.wanted || !chooser.spared)
    return dq_fail_memory(error, 0);
  for (int n = 0; n < nodes; n++)
    chooser.macs += (double)found->nodes[n].macs, chooser.bytes += (double)found->nodes[n].weight_bytes;
  for (step best = best_step(&chooser); best.nodes; best = best_step(&chooser)) {
    for (int i = 0; i < best.count; i++) leave(&chooser, best.nodes[i]);
    end_step(&chooser);
  }
  if (budget || chooser.count == nodes) return DQ_OK;
  for (int n = 0; n < nodes; n++) leave(&chooser, n);
  end_step(&chooser);
  return DQ_OK;
}
