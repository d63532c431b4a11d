// Building and editing a graph.
#include "lib/graph/graph.h"

#include <stdio.h>
#include <string.h>

#include "lib/graph/names.h"

dq_graph *dq_graph_new(dq_budget *budget) {
  dq_arena *arena = dq_arena_new(budget);
  dq_graph *graph = arena ? DQ_NEW(arena, dq_graph) : NULL;
  struct dq_names *names = graph ? dq_names_new() : NULL;
  if (!names) {
    dq_arena_free(arena);
    return NULL;
  }
  graph->arena = arena;
  graph->names = names;
  graph->path = graph->name = "";
  return graph;
}

void dq_graph_free(dq_graph *graph) {
  if (!graph) return;
  if (graph->document_free) graph->document_free(graph->document);
  dq_names_free(graph->names);
  dq_names_free(graph->node_names);
  dq_arena_free(graph->arena); // the graph itself lives in it
}

// Makes room for one more pointer in an array that belongs to the arena.
static bool reserve(dq_graph *graph, void ***array, int count, int *capacity) {
  if (count < *capacity) return true;
  int larger = count < 8 ? 16 : 2 * count;
  void **fresh = DQ_NEW_ARRAY(graph->arena, larger, void *);
  if (!fresh) return false;
  if (count) memcpy(fresh, *array, (size_t)count * sizeof *fresh);
  *array = fresh;
  *capacity = larger;
  return true;
}

dq_value *dq_graph_find(const dq_graph *graph, const char *name) {
  return name[0] ? dq_names_find(graph->names, name) : NULL;
}

dq_value *dq_graph_add_value(dq_graph *graph, const char *name) {
  dq_value *value = dq_graph_find(graph, name);
  if (value) return value;
  value = DQ_NEW(graph->arena, dq_value);
  if (!value || !(value->name = dq_arena_strdup(graph->arena, name))) return NULL;
  value->rank = -1;
  value->index = graph->value_count;
  if (!reserve(graph, (void ***)&graph->values, graph->value_count, &graph->value_capacity) ||
      !dq_names_add(graph->names, value))
    return NULL;
  graph->values[graph->value_count++] = value;
  return value;
}

static bool add_node_name(dq_graph *graph, dq_node *node) {
  if (!graph->node_names || !node->name[0] || dq_names_find(graph->node_names, node->name)) return true;
  return dq_names_add(graph->node_names, node);
}

static bool know_node_names(dq_graph *graph) {
  if (graph->node_names) return true;
  if (!(graph->node_names = dq_names_new())) return false;
  for (int i = 0; i < graph->node_count; i++) {
    graph->nodes[i]->suffix = 0;
    if (!add_node_name(graph, graph->nodes[i])) return false;
  }
  return true;
}

const char *dq_graph_fresh_name(dq_graph *graph, const char *base) {
  if (!know_node_names(graph)) return NULL;
  dq_node *node = dq_names_find(graph->node_names, base);
  const char *name = base;
  for (int i = node ? node->suffix + 1 : 1;
       name && (!name[0] || dq_graph_find(graph, name) || dq_names_find(graph->node_names, name)); i++) {
    name = dq_arena_printf(graph->arena, "%s_%d", base, i);
    if (node) node->suffix = i - 1; // this one may not be used
  }
  return name;
}

dq_value *dq_graph_fresh_value(dq_graph *graph, const char *base) {
  dq_value *value = dq_graph_find(graph, base);
  const char *name = base;
  for (int i = value ? value->suffix + 1 : 1; name && (!name[0] || dq_graph_find(graph, name)); i++) {
    name = dq_arena_printf(graph->arena, "%s_%d", base, i);
    if (value) value->suffix = i;
  }
  return name ? dq_graph_add_value(graph, name) : NULL;
}

bool dq_graph_set_constant(dq_graph *graph, dq_value *value, dq_tensor *tensor) {
  if (!value->constant) {
    if (!reserve(graph, (void ***)&graph->initializers, graph->initializer_count, &graph->initializer_capacity))
      return false;
    graph->initializers[graph->initializer_count++] = value;
  }
  value->constant = tensor;
  value->initializer_origin = NULL;
  return true;
}

dq_value *dq_graph_add_constant(dq_graph *graph, const char *base, dq_tensor *tensor) {
  dq_value *value = tensor ? dq_graph_fresh_value(graph, base) : NULL;
  return value && dq_graph_set_constant(graph, value, tensor) ? value : NULL;
}

void dq_graph_remove_constant(dq_graph *graph, dq_value *value) {
  int kept = 0;
  for (int i = 0; i < graph->initializer_count; i++)
    if (graph->initializers[i] != value) graph->initializers[kept++] = graph->initializers[i];
  graph->initializer_count = kept;
  value->constant = NULL;
  kept = 0; // old files list initializers as inputs too
  for (int i = 0; i < graph->input_count; i++)
    if (graph->inputs[i] != value) graph->inputs[kept++] = graph->inputs[i];
  graph->input_count = kept;
  value->is_input = false;
}

bool dq_graph_add_input(dq_graph *graph, dq_value *value, const dq_tensor *like) {
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, like->rank, dq_dimension);
  if (!dims || !reserve(graph, (void ***)&graph->inputs, graph->input_count, &graph->input_capacity)) return false;
  for (int d = 0; d < like->rank; d++) dims[d].size = like->dims[d];
  value->type = like->type, value->rank = like->rank, value->dims = dims;
  value->is_input = true;
  graph->inputs[graph->input_count++] = value;
  return true;
}

static dq_node *new_node(dq_graph *graph, const char *op_type, const char *name, const dq_ports *ports) {
  const int input_count = ports->input_count, output_count = ports->output_count;
  dq_value *const *inputs = ports->inputs, *const *outputs = ports->outputs;
  dq_node *node = DQ_NEW(graph->arena, dq_node);
  if (!node) return NULL;
  node->name = dq_arena_strdup(graph->arena, name);
  node->op_type = dq_arena_strdup(graph->arena, op_type);
  node->domain = "";
  node->inputs = dq_arena_copy(graph->arena, inputs, (size_t)input_count * sizeof *inputs);
  node->outputs = dq_arena_copy(graph->arena, outputs, (size_t)output_count * sizeof *outputs);
  node->input_count = input_count;
  node->output_count = output_count;
  return node->name && node->op_type && node->inputs && node->outputs && add_node_name(graph, node) ? node : NULL;
}

dq_node *dq_graph_add_node(dq_graph *graph, int at, const char *op_type, const char *name, int input_count,
                           dq_value *const *inputs, int output_count, dq_value *const *outputs) {
  dq_node *node = new_node(graph, op_type, name, &(dq_ports){input_count, output_count, inputs, outputs});
  if (!node || !reserve(graph, (void ***)&graph->nodes, graph->node_count, &graph->node_capacity)) return NULL;
  memmove(graph->nodes + at + 1, graph->nodes + at, (size_t)(graph->node_count - at) * sizeof *graph->nodes);
  graph->nodes[at] = node;
  graph->node_count++;
  for (int i = at; i < graph->node_count; i++) graph->nodes[i]->index = i;
  return node;
}

dq_node *dq_graph_add_node_beside(dq_graph *graph, dq_node *anchor, bool behind, const char *op_type, const char *name,
                                  const dq_ports *ports) {
  dq_node *node = new_node(graph, op_type, name, ports);
  if (!node) return NULL;
  graph->beside_count++;
  if (!anchor || behind) { // the later it comes, the nearer it stands
    dq_node **list = anchor ? &anchor->behind : &graph->at_front;
    node->next_beside = *list;
    *list = node;
  } else {
    if (anchor->before) anchor->last_before->next_beside = node;
    else anchor->before = node;
    anchor->last_before = node;
  }
  return node;
}

void dq_graph_remove_node(dq_graph *graph, dq_node *node) {
  (void)graph;
  node->removed = true;
}

void dq_graph_replace_uses(dq_graph *graph, dq_value *from, dq_value *to, bool outputs) {
  for (int u = 0; u < from->user_count; u++)
    for (int i = 0; i < from->users[u]->input_count; i++)
      if (from->users[u]->inputs[i] == from) from->users[u]->inputs[i] = to;
  from->replacement = to;
  graph->has_replacements = true;
  for (int i = 0; outputs && i < graph->output_count; i++)
    if (graph->outputs[i] == from) {
      graph->outputs[i] = to;
      from->is_output = false;
      to->is_output = true;
    }
}

int64_t dq_graph_opset(const dq_graph *graph, const char *domain) {
  if (!strcmp(domain, "ai.onnx")) domain = "";
  for (int i = 0; i < graph->opset_count; i++)
    if (!strcmp(graph->opsets[i].domain, domain)) return graph->opsets[i].version;
  return 0;
}

dq_status dq_graph_set_opset(dq_graph *graph, const char *domain, int64_t version, dq_error *error) {
  for (int i = 0; i < graph->opset_count; i++)
    if (!strcmp(graph->opsets[i].domain, domain)) {
      graph->opsets[i].version = version;
      return DQ_OK;
    }
  dq_opset *larger = DQ_NEW_ARRAY(graph->arena, graph->opset_count + 1, dq_opset);
  char *copy = dq_arena_strdup(graph->arena, domain);
  if (!larger || !copy) return dq_fail_memory(error, sizeof *larger);
  if (graph->opset_count) memcpy(larger, graph->opsets, (size_t)graph->opset_count * sizeof *larger);
  larger[graph->opset_count++] = (dq_opset){copy, version};
  graph->opsets = larger;
  return DQ_OK;
}

bool dq_graph_calls_function(const dq_graph *graph, const dq_node *node) {
  for (int i = 0; i < graph->function_count; i++)
    if (!strcmp(graph->functions[i].name, node->op_type) && !strcmp(graph->functions[i].domain, node->domain))
      return true;
  return false;
}

const char *dq_graph_property(const dq_graph *graph, const char *key) {
  for (int i = 0; i < graph->property_count; i++)
    if (!strcmp(graph->properties[i].key, key)) return graph->properties[i].value;
  return NULL;
}

dq_status dq_graph_set_property(dq_graph *graph, const char *key, const char *value, dq_error *error) {
  char *copy = dq_arena_strdup(graph->arena, value);
  if (!copy) return dq_fail_memory(error, strlen(value) + 1);
  for (int i = 0; i < graph->property_count; i++)
    if (!strcmp(graph->properties[i].key, key)) {
      graph->properties[i].value = copy;
      return DQ_OK;
    }
  dq_property *larger = DQ_NEW_ARRAY(graph->arena, graph->property_count + 1, dq_property);
  char *name = dq_arena_strdup(graph->arena, key);
  if (!larger || !name) return dq_fail_memory(error, sizeof *larger);
  if (graph->property_count) memcpy(larger, graph->properties, (size_t)graph->property_count * sizeof *larger);
  larger[graph->property_count++] = (dq_property){name, copy};
  graph->properties = larger;
  return DQ_OK;
}
