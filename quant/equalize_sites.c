// Which values of a graph may be scaled per channel: everything that writes or reads them can make
// up for it exactly.
#include <string.h>

#include "quant/equalize_internal.h"

typedef struct finder {
  const dq_graph *graph;
  const dq_tensor *tensors;
  dq_site *site;
  bool *seen; // by value index
} finder;

static bool is_float_constant(const dq_value *value) {
  return value && value->constant && value->constant->data && value->constant->type == DQ_F32;
}

static bool is_scalable_conv(const dq_node *node) {
  const dq_value *weight = dq_node_input(node, 1), *bias = dq_node_input(node, 2);
  return dq_node_is(node, "Conv") && is_float_constant(weight) && weight->constant->rank >= 3 &&
         (!bias || is_float_constant(bias));
}

// Operators f with f(c x) = c f(x) for c > 0, one c per channel, reading x as their first input.
static bool keeps_scale(const dq_node *node) {
  static const char *const names[] = {"Relu",        "LeakyRelu",         "MaxPool",
                                      "AveragePool", "GlobalAveragePool", "GlobalMaxPool",
                                      "Identity"};
  if (dq_node_is(node, "PRelu")) return is_float_constant(dq_node_input(node, 1));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (dq_node_is(node, names[i])) return node->output_count == 1 || !node->outputs[1];
  return dq_node_is(node, "Resize") &&
         strcmp(dq_node_string(node, "coordinate_transformation_mode", ""), "tf_crop_and_resize");
}

static bool same_shape(const finder *find, const dq_value *a, const dq_value *b) {
  return a && b && dq_tensor_same_shape(&find->tensors[a->index], &find->tensors[b->index]);
}

static bool is_plain_add(const finder *find, const dq_node *node) {
  return dq_node_is(node, "Add") && same_shape(find, node->inputs[0], node->inputs[1]) &&
         same_shape(find, node->inputs[0], node->outputs[0]);
}

// The Sigmoid when `node` is Mul(x, Sigmoid(x)) with x from a convolution and nothing else reading
// either; NULL otherwise.
static dq_node *silu_sigmoid(const dq_node *node) {
  if (!dq_node_is(node, "Mul")) return NULL;
  for (int i = 0; i < 2; i++) {
    const dq_value *x = node->inputs[i], *gate = node->inputs[1 - i];
    dq_node *sigmoid = gate->producer;
    if (sigmoid && dq_node_is(sigmoid, "Sigmoid") && sigmoid->inputs[0] == x &&
        x->user_count == 2 && gate->user_count == 1 && !x->is_output && !x->is_captured &&
        !gate->is_output && !gate->is_captured && x->producer && is_scalable_conv(x->producer))
      return sigmoid;
  }
  return NULL;
}

static void join(finder *find, dq_value *value) {
  if (find->seen[value->index]) return;
  find->seen[value->index] = true;
  find->site->values[find->site->value_count++] = value;
}

static void join_reader(dq_site *site, dq_node *node) {
  for (int r = 0; r < site->reader_count; r++)
    if (site->readers[r] == node) return;
  site->readers[site->reader_count++] = node;
}

static bool join_producer(finder *find, const dq_value *value) {
  dq_site *site = find->site;
  dq_node *node = value->producer;
  if (!node) return false;
  if (is_scalable_conv(node)) {
    site->writers[site->writer_count++] = node;
    return true;
  }
  dq_node *sigmoid = silu_sigmoid(node);
  if (sigmoid) {
    site->writers[site->writer_count++] = sigmoid->inputs[0]->producer;
    site->sigmoids[site->sigmoid_count++] = sigmoid;
    return true;
  }
  if (is_plain_add(find, node)) {
    join(find, node->inputs[0]), join(find, node->inputs[1]);
    return true;
  }
  if (!keeps_scale(node)) return false;
  join(find, node->inputs[0]);
  return true;
}

static bool join_user(finder *find, dq_value *value, dq_node *node) {
  if (node->inputs[0] == value && is_scalable_conv(node)) {
    join_reader(find->site, node);
    return true;
  }
  if (is_plain_add(find, node)) {
    join(find, node->inputs[0]), join(find, node->inputs[1]);
  } else if (node->inputs[0] != value || !keeps_scale(node)) {
    return false;
  }
  join(find, node->outputs[0]);
  return true;
}

static bool fits(const finder *find, const dq_value *value) {
  const dq_tensor *tensor = &find->tensors[value->index];
  return tensor->type == DQ_F32 && tensor->rank >= 3 && tensor->dims[1] == find->site->channels &&
         !value->is_input && !value->is_output && !value->is_captured && !value->constant;
}

static bool is_depthwise(const dq_node *node, int64_t channels) {
  return channels > 1 && dq_node_int(node, "group", 1) == channels;
}

bool dq_site_find(dq_site *site, const dq_graph *graph, const dq_tensor *tensors, dq_value *value,
                  dq_arena *arena) {
  finder find = {graph, tensors, site, DQ_NEW_ARRAY(arena, graph->value_count, bool)};
  *site = (dq_site){.values = DQ_NEW_ARRAY(arena, graph->value_count, dq_value *),
                    .writers = DQ_NEW_ARRAY(arena, graph->value_count, dq_node *),
                    .sigmoids = DQ_NEW_ARRAY(arena, graph->value_count, dq_node *),
                    .readers = DQ_NEW_ARRAY(arena, graph->node_count, dq_node *),
                    .depthwise = true};
  const dq_tensor *tensor = &tensors[value->index];
  if (!find.seen || !site->values || !site->writers || !site->sigmoids || !site->readers)
    return false;
  if (tensor->rank < 3) return false;
  site->channels = tensor->dims[1];
  join(&find, value);
  for (int i = 0; i < site->value_count; i++) {
    dq_value *here = site->values[i];
    if (!fits(&find, here) || !join_producer(&find, here)) return false;
    for (int u = 0; u < here->user_count; u++)
      if (!join_user(&find, here, here->users[u])) return false;
  }
  for (int r = 0; r < site->reader_count; r++)
    site->depthwise = site->depthwise && is_depthwise(site->readers[r], site->channels);
  return site->reader_count > 0;
}
