// Following the order of channels through a graph.
#include "quant/rewrite/channels.h"

#include "lib/ops/table/operator.h"
#include "quant/rewrite/private_constant.h"

typedef struct finder {
  dq_channel_map *map;
  const dq_tensor *tensors;
  dq_arena *arena;
} finder;

// ---- Operators ----

static bool has_plain_bias(const dq_node *node, const dq_product *product) {
  const dq_value *bias = dq_node_input(node, product->at.bias);
  return !bias || (dq_is_float_constant(bias) && bias->constant->rank == 1 &&
                   bias->constant->dims[0] == dq_product_outputs(product));
}

bool dq_node_mixes_channels(const dq_node *node, dq_product *product) {
  if (!dq_float_product(node, product) || product->kind == DQ_TRANSPOSED_CONVOLUTION || product->stacked) return false;
  bool upright = product->kind == DQ_CONVOLUTION || product->data_axis == -1;
  return upright && product->groups == 1 && has_plain_bias(node, product);
}

bool dq_node_is_depthwise(const dq_node *node, dq_product *product) {
  return dq_float_product(node, product) && product->kind == DQ_CONVOLUTION && product->inputs == 1 &&
         product->outputs == 1 && has_plain_bias(node, product);
}

// Operators that do the same to every channel, reading the first input; others must be single numbers.
static bool is_uniform(const dq_node *node) {
  if (!(dq_node_flags(node) & DQ_OP_UNIFORM) || node->output_count != 1) return false;
  for (int i = 1; i < node->input_count; i++) {
    const dq_value *value = node->inputs[i];
    if (value && !(value->constant && dq_tensor_count(value->constant) == 1)) return false;
  }
  return true;
}

// ---- Sets ----

int dq_channel_set_root(const dq_channel_map *map, int set) {
  while (map->sets[set].joined != set) set = map->sets[set].joined;
  return set;
}

static dq_status new_channels(finder *f, const dq_value *value, bool fixed, dq_error *error) {
  dq_channel_map *map = f->map;
  const dq_tensor *tensor = &f->tensors[value->index];
  dq_value_channels *channels = &map->values[value->index];
  if (tensor->rank < 2 || tensor->dims[1] < 1) return DQ_OK;
  channels->parts = DQ_NEW(f->arena, dq_channel_part);
  if (!channels->parts || map->set_count == map->set_capacity) return dq_fail_memory(error, sizeof *channels->parts);
  channels->count = 1;
  channels->parts[0] = (dq_channel_part){map->set_count, 0};
  map->sets[map->set_count] = (dq_channel_set){tensor->dims[1], fixed, map->set_count};
  map->set_count++;
  return DQ_OK;
}

static void fix(finder *f, const dq_value *value) {
  if (!value) return;
  const dq_value_channels *channels = &f->map->values[value->index];
  for (int p = 0; p < channels->count; p++)
    f->map->sets[dq_channel_set_root(f->map, channels->parts[p].set)].fixed = true;
}

static bool same_parts(const finder *f, const dq_value_channels *a, const dq_value_channels *b) {
  if (a->count != b->count) return false;
  for (int p = 0; p < a->count; p++)
    if (a->parts[p].first != b->parts[p].first ||
        f->map->sets[a->parts[p].set].count != f->map->sets[b->parts[p].set].count)
      return false;
  return a->count > 0;
}

static void join(finder *f, const dq_value_channels *a, const dq_value_channels *b) {
  for (int p = 0; p < a->count; p++) {
    int x = dq_channel_set_root(f->map, a->parts[p].set), y = dq_channel_set_root(f->map, b->parts[p].set);
    f->map->sets[x].fixed |= f->map->sets[y].fixed;
    f->map->sets[y].joined = x;
  }
}

// ---- Nodes ----

static bool same_channels(const finder *f, const dq_value *a, const dq_value *b) {
  const dq_tensor *x = &f->tensors[a->index], *y = &f->tensors[b->index];
  return x->rank >= 2 && y->rank >= 2 && x->dims[0] == y->dims[0] && x->dims[1] == y->dims[1];
}

// A reshape between N x C and N x C x 1 x 1.
static bool only_drops_ones(const finder *f, const dq_node *node) {
  static const char *const names[] = {"Flatten", "Reshape", "Squeeze", "Unsqueeze", NULL};
  if (!dq_node_is_any(node, names)) return false;
  const dq_tensor *x = &f->tensors[node->inputs[0]->index], *y = &f->tensors[node->outputs[0]->index];
  return same_channels(f, node->inputs[0], node->outputs[0]) && dq_tensor_product(x, 2, x->rank) == 1 &&
         dq_tensor_product(y, 2, y->rank) == 1;
}

// Elementwise on values of the same channels, and single numbers.
static bool join_operands(finder *f, const dq_node *node) {
  static const char *const names[] = {"Add", "Sub", "Mul", "Div", "Max", "Min", NULL};
  if (!dq_node_is_any(node, names)) return false;
  const dq_value_channels *first = NULL;
  for (int i = 0; i < node->input_count; i++) {
    const dq_value *value = node->inputs[i];
    if (value->constant && dq_tensor_count(value->constant) == 1) continue;
    const dq_value_channels *channels = &f->map->values[value->index];
    if (value->constant || !same_channels(f, value, node->outputs[0]) ||
        f->tensors[value->index].rank != f->tensors[node->outputs[0]->index].rank ||
        (first && !same_parts(f, first, channels)))
      return false;
    if (first) join(f, first, channels);
    else first = channels;
  }
  if (!first) return false;
  f->map->values[node->outputs[0]->index] = *first;
  return true;
}

static bool concatenate(finder *f, const dq_node *node) {
  if (!(dq_node_flags(node) & DQ_OP_JOIN) || dq_node_int(node, "axis", 0) != 1) return false;
  int count = 0;
  for (int i = 0; i < node->input_count; i++) {
    const dq_value_channels *channels = &f->map->values[node->inputs[i]->index];
    if (!channels->count) return false;
    count += channels->count;
  }
  dq_value_channels *to = &f->map->values[node->outputs[0]->index];
  to->parts = DQ_NEW_ARRAY(f->arena, count, dq_channel_part);
  int64_t first = 0;
  for (int i = 0; to->parts && i < node->input_count; i++) {
    const dq_value_channels *channels = &f->map->values[node->inputs[i]->index];
    for (int p = 0; p < channels->count; p++)
      to->parts[to->count++] = (dq_channel_part){channels->parts[p].set, first + channels->parts[p].first};
    first += f->tensors[node->inputs[i]->index].dims[1];
  }
  return to->parts != NULL;
}

static dq_status visit(finder *f, const dq_node *node, dq_error *error) {
  const dq_value *input = dq_node_input(node, 0), *output = dq_node_output(node, 0);
  if (input && output) {
    // A matrix product mixes the last axis, which is that of the channels only in a matrix.
    dq_product product;
    const bool shared = dq_float_product(node, &product) && dq_is_widely_shared(node->inputs[1]);
    const bool mixes = dq_node_mixes_channels(node, &product);
    if (!shared && mixes && (product.kind == DQ_CONVOLUTION || f->tensors[input->index].rank == 2))
      return new_channels(f, output, false, error);
    if ((((!shared && dq_node_is_depthwise(node, &product)) || is_uniform(node)) && same_channels(f, input, output)) ||
        only_drops_ones(f, node)) {
      f->map->values[output->index] = f->map->values[input->index];
      return DQ_OK;
    }
    if (join_operands(f, node) || concatenate(f, node)) return DQ_OK;
  }
  for (int i = 0; i < node->input_count; i++) fix(f, node->inputs[i]);
  for (int i = 0; i < node->output_count; i++)
    if (node->outputs[i]) DQ_TRY(new_channels(f, node->outputs[i], true, error));
  return DQ_OK;
}

dq_status dq_channel_map_find(dq_channel_map *map, const dq_graph *graph, const dq_tensor *tensors, dq_arena *arena,
                              dq_error *error) {
  finder f = {map, tensors, arena};
  dq_node **order = DQ_NEW_ARRAY(arena, graph->node_count + 1, dq_node *);
  *map = (dq_channel_map){.sets = DQ_NEW_ARRAY(arena, graph->value_count + 1, dq_channel_set),
                          .set_capacity = graph->value_count,
                          .values = DQ_NEW_ARRAY(arena, graph->value_count + 1, dq_value_channels)};
  if (!order || !map->sets || !map->values) return dq_fail_memory(error, (size_t)graph->value_count);
  for (int v = 0; v < graph->value_count; v++)
    if (!graph->values[v]->producer && !graph->values[v]->constant)
      DQ_TRY(new_channels(&f, graph->values[v], true, error));
  DQ_TRY(dq_graph_order(graph, order, error));
  for (int n = 0; n < graph->node_count; n++) DQ_TRY(visit(&f, order[n], error));
  for (int v = 0; v < graph->value_count; v++)
    if (dq_value_must_stay(graph->values[v])) fix(&f, graph->values[v]);
  return DQ_OK;
}
