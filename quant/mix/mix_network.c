#include "quant/mix/mix_network.h"

#include <stdlib.h>
#include <string.h>

#include "lib/ops/table/product.h"
#include "lib/session/session.h"
#include "quant/rewrite/function_numbers.h"

typedef struct divider {
  dq_mix_network *network;
  const dq_graph *graph;
  const dq_int8_report *whole;
  dq_tensor *tensors; // of the graph
  dq_node **order;
  int *step_of;         // by value: the step whose result it is; -1: none
  int *group;           // by node: its step; -1: none
  int *root;            // by step: the step whose unit it belongs to
  int *number;          // by step: its unit
  dq_name_list in_int8; // labels of the layers that `whole` has in 8 bits
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

static dq_status list_layers(divider *d) {
  const dq_int8_report *whole = d->whole;
  if (!dq_name_list_new(&d->in_int8, whole->count, d->arena)) return dq_fail_memory(d->error, 0);
  for (int i = 0; i < whole->count; i++)
    if (whole->layers[i].precision == DQ_PRECISION_INT8) dq_name_list_add(&d->in_int8, whole->layers[i].label, i);
  dq_name_list_sort(&d->in_int8);
  return DQ_OK;
}

static bool is_layer(const divider *d, const dq_node *node) {
  return dq_name_list_find(&d->in_int8, dq_node_name(node)) >= 0;
}

static bool moves(const dq_node *node) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  return row && row->quantization == DQ_QUANTIZE_SHARE;
}

// Steps whose layers only move elements have the precision of what they move.
static dq_status join_movers(divider *d) {
  bool *others = DQ_NEW_ARRAY(d->arena, d->step_count, bool);
  const dq_node **mover = DQ_NEW_ARRAY(d->arena, d->step_count, const dq_node *);
  if (!others || !mover) return dq_fail_memory(d->error, 0);
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
  return DQ_OK;
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

static dq_status group_nodes(divider *d) {
  for (int n = d->graph->node_count - 1; n >= 0; n--) d->group[d->order[n]->index] = group_of(d, d->order[n]);
  for (int s = 0; s < d->step_count; s++) d->root[s] = s;
  join_functions(d);
  return join_movers(d);
}

// ---- Units ----

static int64_t constants_of(const dq_node *node) {
  int64_t elements = 0;
  for (int i = 0; i < node->input_count; i++)
    if (dq_is_float_constant(node->inputs[i])) elements += dq_tensor_count(node->inputs[i]->constant);
  return elements;
}

static void add_layer(divider *d, dq_mix_unit *unit, const dq_node *node) {
  const char *label = dq_node_name(node);
  dq_product product;
  bool first = !unit->name || (!unit->layer_count && is_layer(d, node));
  if (first || (dq_product_of(node, &product) && !unit->weights)) unit->name = label, unit->op_type = node->op_type;
  unit->weights += constants_of(node);
  if (is_layer(d, node)) unit->layers[unit->layer_count++] = label;
}

static int unit_number(const divider *d, const dq_node *node) {
  int s = d->group[node->index];
  return s < 0 ? -1 : d->number[s];
}

// One array has the layers of all units.
static dq_status reserve_layers(divider *d) {
  dq_mix_network *network = d->network;
  const char **layers = DQ_NEW_ARRAY(d->arena, d->graph->node_count, const char *);
  int *counts = DQ_NEW_ARRAY(d->arena, network->unit_count, int);
  if (!layers || !counts) return dq_fail_memory(d->error, 0);
  for (int n = 0; n < d->graph->node_count; n++)
    if (network->unit_of[n] >= 0 && is_layer(d, d->graph->nodes[n])) counts[network->unit_of[n]]++;
  for (int u = 0; u < network->unit_count; layers += counts[u++]) network->units[u].layers = layers;
  return DQ_OK;
}

static dq_status make_units(divider *d) {
  dq_mix_network *network = d->network;
  network->units = DQ_NEW_ARRAY(d->arena, d->step_count + 2, dq_mix_unit);
  d->number = DQ_NEW_ARRAY(d->arena, d->step_count, int);
  if (!network->units || !d->number) return dq_fail_memory(d->error, 0);
  network->units[0] = (dq_mix_unit){.name = "", .op_type = "Input"};
  network->unit_count = 1;
  for (int s = 0; s < d->step_count; s++)
    d->number[s] = d->root[s] == s ? network->unit_count++ : d->number[d->root[s]];
  network->units[network->unit_count++] = (dq_mix_unit){.name = "", .op_type = "Output"};
  for (int n = 0; n < d->graph->node_count; n++) network->unit_of[n] = unit_number(d, d->graph->nodes[n]);
  DQ_TRY(reserve_layers(d));
  for (int n = 0; n < d->graph->node_count; n++) {
    int unit = network->unit_of[d->order[n]->index];
    if (unit >= 0) add_layer(d, &network->units[unit], d->order[n]);
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
  network->number_of[value->index] = v;
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
  network->number_of = DQ_NEW_ARRAY(d->arena, count, int);
  if (!network->values || !network->at || !network->elements || !network->number_of) return dq_fail_memory(d->error, 0);
  for (int v = 0; v < count; v++) network->number_of[v] = -1;
  for (int v = 0; v < count; v++) {
    const dq_value *value = d->graph->values[v];
    if (value->is_input && !value->constant) DQ_TRY(add_value(d, value, 0));
    else if (d->step_of[v] >= 0) DQ_TRY(add_value(d, value, network->unit_of[value->producer->index]));
  }
  return DQ_OK;
}

static void count_places(const dq_mix_network *network, int *made, int *read) {
  for (int v = 0; v < network->value_count; v++) {
    const dq_mix_value *value = &network->values[v];
    made[value->producer + 1]++;
    for (int r = 0; r < value->reader_count; r++) read[value->readers[r] + 1]++;
  }
  for (int u = 0; u < network->unit_count; u++) made[u + 1] += made[u], read[u + 1] += read[u];
}

// Producers stand in front of their readers.
static void find_depths(const dq_mix_network *network, int *depth) {
  for (int u = 0; u < network->unit_count; u++)
    for (int i = network->first_read[u]; i < network->first_read[u + 1]; i++) {
      int before = depth[network->values[network->read[i]].producer];
      if (depth[u] < before + 1) depth[u] = before + 1;
    }
}

dq_status dq_mix_network_index(dq_mix_network *network, dq_arena *arena, dq_error *error) {
  const int units = network->unit_count;
  // Each with a place in front, in which the end of the places filled so far moves.
  int *first_made = DQ_NEW_ARRAY(arena, units + 2, int), *first_read = DQ_NEW_ARRAY(arena, units + 2, int);
  int *depth = DQ_NEW_ARRAY(arena, units, int);
  if (!first_made || !first_read || !depth) return dq_fail_memory(error, 0);
  count_places(network, first_made + 1, first_read + 1);
  int *made = DQ_NEW_ARRAY(arena, first_made[units + 1], int), *read = DQ_NEW_ARRAY(arena, first_read[units + 1], int);
  if (!made || !read) return dq_fail_memory(error, 0);
  for (int v = 0; v < network->value_count; v++) {
    const dq_mix_value *value = &network->values[v];
    made[first_made[value->producer + 1]++] = v;
    for (int r = 0; r < value->reader_count; r++) read[first_read[value->readers[r] + 1]++] = v;
  }
  network->made = made, network->read = read, network->depth = depth;
  network->first_made = first_made, network->first_read = first_read;
  find_depths(network, depth);
  return DQ_OK;
}

static dq_status list_names(divider *d) {
  dq_mix_network *network = d->network;
  const dq_graph *graph = d->graph;
  if (!dq_name_list_new(&network->labels, graph->node_count, d->arena) ||
      !dq_name_list_new(&network->nodes, graph->node_count, d->arena))
    return dq_fail_memory(d->error, 0);
  for (int n = 0; n < graph->node_count; n++) {
    const dq_node *node = graph->nodes[n];
    dq_name_list_add(&network->labels, dq_node_name(node), n);
    if (node->name[0]) dq_name_list_add(&network->nodes, node->name, n);
  }
  dq_name_list_sort(&network->labels), dq_name_list_sort(&network->nodes);
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
  DQ_TRY(list_layers(d));
  DQ_TRY(group_nodes(d));
  DQ_TRY(make_units(d));
  DQ_TRY(make_values(d));
  DQ_TRY(list_names(d));
  return dq_mix_network_index(d->network, d->arena, d->error);
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

bool dq_mix_has_many_units(const dq_mix_network *network) {
  enum { MANY = 2048 };
  return network->unit_count > MANY;
}

bool dq_mix_allows(const dq_mix_network *network, int unit, dq_precision precision) {
  return precision == DQ_PRECISION_FP32 || network->units[unit].layer_count;
}

void dq_mix_alternate(const dq_mix_network *network, dq_precision even, dq_precision odd, uint8_t *choice) {
  for (int u = 0; u < network->unit_count; u++) {
    dq_precision wanted = network->depth[u] % 2 ? odd : even;
    choice[u] = (uint8_t)(dq_mix_allows(network, u, wanted) ? wanted : DQ_PRECISION_FP32);
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
  int n = dq_name_list_find(&network->labels, label);
  return n < 0 ? -1 : network->unit_of[n];
}
