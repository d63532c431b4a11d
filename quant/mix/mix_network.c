#include "quant/mix/mix_network.h"

#include <stdlib.h>
#include <string.h>

#include "lib/ops/product.h"
#include "lib/session/session.h"
#include "quant/rewrite/function_numbers.h"

typedef struct divider {
  dq_mix_network *network;
  const dq_graph *graph;
  const dq_int8_report *whole;
  dq_tensor *tensors; // of the graph
  dq_node **order;
  int *step_of; // by value: the step whose result it is; -1: none
  int *group;   // by node: its step; -1: none
  int *root;    // by step: the step whose unit it belongs to
  int step_count;
  dq_arena *arena;
  dq_error *error;
} divider;

// ---- Groups of nodes ----

static void find_results(divider *d, const dq_schedule *schedule) {
  for (int v = 0; v < d->graph->value_count; v++) d->step_of[v] = -1;
  for (int s = 0; s < d->step_count; s++) {
    const dq_node *node = dq_schedule_step_at(schedule, s)->node;
    for (int o = 0; o < node->output_count; o++) {
      const dq_value *value = node->outputs[o] ? dq_graph_find(d->graph, node->outputs[o]->name) : NULL;
      if (value) d->step_of[value->index] = s;
    }
  }
}

// A node whose result no step has was fused into the step of the first node that reads it.
static int group_of(const divider *d, const dq_node *node) {
  for (int o = 0; o < node->output_count; o++)
    if (node->outputs[o] && d->step_of[node->outputs[o]->index] >= 0) return d->step_of[node->outputs[o]->index];
  const dq_value *first = dq_node_output(node, 0);
  return first && first->user_count ? d->group[first->users[0]->index] : -1;
}

static bool is_layer(const divider *d, const dq_node *node) {
  const char *label = dq_layer_label(node);
  for (int i = 0; i < d->whole->count; i++)
    if (d->whole->layers[i].precision == DQ_PRECISION_INT8 && !strcmp(d->whole->layers[i].label, label)) return true;
  return false;
}

static bool moves(const dq_node *node) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  return row && row->quantization == DQ_QUANTIZE_SHARE;
}

// Steps whose layers only move elements have the precision of what they move.
static void join_movers(divider *d) {
  bool others[d->step_count + 1];
  const dq_node *mover[d->step_count + 1];
  for (int s = 0; s < d->step_count; s++) others[s] = false, mover[s] = NULL;
  for (int n = 0; n < d->graph->node_count; n++) {
    const dq_node *node = d->order[n];
    int s = d->group[node->index];
    if (s < 0 || !is_layer(d, node)) continue;
    if (!moves(node)) others[s] = true;
    else if (!mover[s]) mover[s] = node;
  }
  for (int s = 0; s < d->step_count; s++) {
    const dq_node *producer = mover[s] && !others[s] ? mover[s]->inputs[0]->producer : NULL;
    int from = producer ? d->group[producer->index] : -1;
    if (from >= 0 && from < s) d->root[s] = d->root[from];
  }
}

// A function and what belongs to it is one table in 8 bits, whichever steps compute it in float32: rounded in between
// it would lose, and bring nothing.
static void join_functions(divider *d) {
  const dq_node *parts[DQ_FUNCTION_PARTS];
  for (int n = 0; n < d->graph->node_count; n++) {
    const dq_node *node = d->order[n];
    int s = d->group[node->index], count = s >= 0 && dq_is_in_function(node) ? dq_function_parts(node, parts) : 0;
    bool layers = count && is_layer(d, node) && is_layer(d, parts[0]);
    int from = layers ? d->group[parts[0]->index] : -1;
    if (from >= 0 && from < s && d->root[s] == s) d->root[s] = d->root[from];
  }
}

static void group_nodes(divider *d) {
  for (int n = d->graph->node_count - 1; n >= 0; n--) d->group[d->order[n]->index] = group_of(d, d->order[n]);
  for (int s = 0; s < d->step_count; s++) d->root[s] = s;
  join_functions(d);
  join_movers(d);
}

// ---- Units ----

static int64_t constants_of(const dq_node *node) {
  int64_t elements = 0;
  for (int i = 0; i < node->input_count; i++)
    if (dq_is_float_constant(node->inputs[i])) elements += dq_tensor_count(node->inputs[i]->constant);
  return elements;
}

static dq_status add_layer(divider *d, dq_mix_unit *unit, const dq_node *node) {
  const char *label = dq_layer_label(node);
  dq_product product;
  bool first = !unit->name || (!unit->layer_count && is_layer(d, node));
  if (first || (dq_product_of(node, &product) && !unit->weights)) unit->name = label, unit->op_type = node->op_type;
  unit->weights += constants_of(node);
  if (!is_layer(d, node)) return DQ_OK;
  if (!unit->layers && !(unit->layers = DQ_NEW_ARRAY(d->arena, d->graph->node_count, const char *)))
    return dq_fail_memory(d->error, 0);
  unit->layers[unit->layer_count++] = label;
  return DQ_OK;
}

static dq_status make_units(divider *d) {
  dq_mix_network *network = d->network;
  int number[d->step_count + 1];
  network->units = DQ_NEW_ARRAY(d->arena, d->step_count + 2, dq_mix_unit);
  if (!network->units) return dq_fail_memory(d->error, 0);
  network->units[0] = (dq_mix_unit){.name = "", .op_type = "Input"};
  network->unit_count = 1;
  for (int s = 0; s < d->step_count; s++) number[s] = d->root[s] == s ? network->unit_count++ : number[d->root[s]];
  network->units[network->unit_count++] = (dq_mix_unit){.name = "", .op_type = "Output"};
  for (int n = 0; n < d->graph->node_count; n++) {
    const dq_node *node = d->order[n];
    int s = d->group[node->index];
    network->unit_of[node->index] = s < 0 ? -1 : number[s];
    if (s >= 0) DQ_TRY(add_layer(d, &network->units[number[s]], node));
  }
  return DQ_OK;
}

// ---- Values ----

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

// The units behind the one that has the value, each once, ascending.
static int list_readers(const divider *d, const dq_value *value, int producer, int *readers) {
  int count = 0, kept = 0;
  for (int u = 0; u < value->user_count; u++) {
    int unit = d->network->unit_of[value->users[u]->index];
    if (unit >= 0 && unit != producer) readers[count++] = unit;
  }
  if (value->is_output) readers[count++] = d->network->unit_count - 1;
  qsort(readers, (size_t)count, sizeof *readers, by_number);
  for (int i = 0; i < count; i++)
    if (!kept || readers[kept - 1] != readers[i]) readers[kept++] = readers[i];
  return kept;
}

static dq_status add_value(divider *d, const dq_value *value, int producer) {
  dq_mix_network *network = d->network;
  int *readers = DQ_NEW_ARRAY(d->arena, value->user_count + 1, int);
  if (!readers) return dq_fail_memory(d->error, 0);
  int count = list_readers(d, value, producer, readers), v = network->value_count;
  if (!count || d->tensors[value->index].type != DQ_F32) return DQ_OK;
  network->values[v] = (dq_mix_value){.producer = producer, .readers = readers, .reader_count = count};
  network->at[v] = value;
  network->elements[v] = d->tensors[value->index].rank < 0 ? 0 : dq_tensor_count(&d->tensors[value->index]);
  network->value_count++;
  return DQ_OK;
}

static dq_status make_values(divider *d) {
  dq_mix_network *network = d->network;
  int count = d->graph->value_count;
  network->values = DQ_NEW_ARRAY(d->arena, count, dq_mix_value);
  network->at = DQ_NEW_ARRAY(d->arena, count, const dq_value *);
  network->elements = DQ_NEW_ARRAY(d->arena, count, int64_t);
  if (!network->values || !network->at || !network->elements) return dq_fail_memory(d->error, 0);
  for (int v = 0; v < count; v++) {
    const dq_value *value = d->graph->values[v];
    if (value->is_input && !value->constant) DQ_TRY(add_value(d, value, 0));
    else if (d->step_of[v] >= 0) DQ_TRY(add_value(d, value, network->unit_of[value->producer->index]));
  }
  return DQ_OK;
}

// ---- The network ----

static dq_status divide(divider *d, const dq_schedule *schedule) {
  const dq_graph *graph = d->graph;
  d->step_count = dq_schedule_step_count(schedule);
  if (d->step_count > DQ_MIX_MOST_STEPS)
    return dq_fail(d->error, DQ_UNSUPPORTED, "a run of the network has %d steps, at most %d are supported",
                   d->step_count, DQ_MIX_MOST_STEPS);
  d->order = DQ_NEW_ARRAY(d->arena, graph->node_count, dq_node *);
  d->step_of = DQ_NEW_ARRAY(d->arena, graph->value_count, int);
  d->group = DQ_NEW_ARRAY(d->arena, graph->node_count, int);
  d->root = DQ_NEW_ARRAY(d->arena, d->step_count, int);
  d->network->unit_of = DQ_NEW_ARRAY(d->arena, graph->node_count, int);
  if (dq_arena_exhausted(d->arena)) return dq_fail_memory(d->error, 0);
  DQ_TRY(dq_graph_order(graph, d->order, d->error));
  find_results(d, schedule);
  group_nodes(d);
  DQ_TRY(make_units(d));
  return make_values(d);
}

dq_status dq_mix_network_open(dq_mix_network *network, const dq_graph *graph, const dq_int8_report *whole,
                              const dq_shape_request *shapes, const dq_context *context, dq_arena *arena,
                              dq_error *error) {
  const dq_session_options options = {.shapes = *shapes};
  dq_session session;
  divider d = {.network = network, .graph = graph, .whole = whole, .arena = arena, .error = error};
  *network = (dq_mix_network){.graph = graph};
  DQ_TRY(dq_infer(graph, shapes, DQ_INFER_TOLERANT, context, arena, &d.tensors, error));
  DQ_TRY(dq_session_schedule(&session, graph, &options, context, error));
  dq_status status = divide(&d, session.schedule);
  dq_session_close(&session);
  return status;
}

// ---- Choices ----

bool dq_mix_allows(const dq_mix_network *network, int unit, dq_precision precision) {
  return precision == DQ_PRECISION_FP32 || network->units[unit].layer_count;
}

void dq_mix_alternate(const dq_mix_network *network, dq_precision even, dq_precision odd, uint8_t *choice) {
  int depth[network->unit_count + 1];
  memset(depth, 0, sizeof depth);
  for (int u = 0; u < network->unit_count; u++) { // producers stand in front of their readers
    dq_precision wanted = depth[u] % 2 ? odd : even;
    choice[u] = (uint8_t)(dq_mix_allows(network, u, wanted) ? wanted : DQ_PRECISION_FP32);
    for (int v = 0; v < network->value_count; v++)
      for (int r = 0; network->values[v].producer == u && r < network->values[v].reader_count; r++) {
        int *reader = &depth[network->values[v].readers[r]];
        if (*reader < depth[u] + 1) *reader = depth[u] + 1;
      }
  }
}

dq_status dq_mix_map(const dq_mix_network *network, const uint8_t *choice, dq_arena *arena, dq_precision_map *map,
                     dq_error *error) {
  *map = (dq_precision_map){.layers = DQ_NEW_ARRAY(arena, network->graph->node_count, dq_layer_precision)};
  if (!map->layers) return dq_fail_memory(error, 0);
  for (int u = 0; u < network->unit_count; u++)
    for (int i = 0; i < network->units[u].layer_count; i++)
      map->layers[map->count++] = (dq_layer_precision){network->units[u].layers[i], (dq_precision)choice[u]};
  return DQ_OK;
}

int dq_mix_find_unit(const dq_mix_network *network, const char *label) {
  for (int n = 0; n < network->graph->node_count; n++) {
    const dq_node *node = network->graph->nodes[n];
    if (!strcmp(dq_layer_label(node), label) || (node->name[0] && !strcmp(node->name, label)))
      return network->unit_of[n];
  }
  return -1;
}
