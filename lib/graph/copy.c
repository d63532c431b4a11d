// A copy: nodes, values and attributes of its own; elements of tensors, and what the file says beyond the graph,
// shared.
#include <string.h>

#include "lib/graph/graph.h"

static bool copy_value(dq_graph *copy, const dq_value *value) {
  dq_value *own = dq_graph_add_value(copy, value->name);
  if (!own) return false;
  own->type = value->type;
  own->rank = value->rank;
  own->dims = value->dims;
  own->usual = value->usual;
  own->is_input = value->is_input;
  own->is_output = value->is_output;
  own->is_captured = value->is_captured;
  own->is_tapped = value->is_tapped;
  own->origin = value->origin;
  if (!value->constant) return true;
  dq_tensor *tensor = dq_arena_copy(copy->arena, value->constant, sizeof *tensor);
  if (!tensor || !dq_graph_set_constant(copy, own, tensor)) return false;
  own->initializer_origin = value->initializer_origin;
  return true;
}

static dq_value **copy_values(dq_graph *copy, dq_value *const *values, int count) {
  dq_value **own = DQ_NEW_ARRAY(copy->arena, count, dq_value *);
  for (int i = 0; own && i < count; i++) own[i] = values[i] ? copy->values[values[i]->index] : NULL;
  return own;
}

static bool copy_node(dq_graph *copy, const dq_node *node) {
  dq_value **inputs = copy_values(copy, node->inputs, node->input_count);
  dq_value **outputs = copy_values(copy, node->outputs, node->output_count);
  dq_node *own = inputs && outputs ? dq_graph_add_node(copy, copy->node_count, node->op_type, node->name,
                                                       node->input_count, inputs, node->output_count, outputs)
                                   : NULL;
  if (!own || !(own->domain = dq_arena_strdup(copy->arena, node->domain))) return false;
  own->origin = node->origin;
  own->attribute_count = node->attribute_count;
  own->attributes =
      dq_arena_copy(copy->arena, node->attributes, (size_t)node->attribute_count * sizeof *node->attributes);
  return own->attributes != NULL;
}

// Initializers in the order of the file, which dq_origin_hash tells apart: values may have another one.
static bool copy_initialized(dq_graph *copy, const dq_graph *graph) {
  for (int i = 0; i < graph->value_count; i++)
    if (!copy_value(copy, graph->values[i])) return false;
  for (int i = 0; i < graph->initializer_count; i++)
    copy->initializers[i] = copy->values[graph->initializers[i]->index];
  return true;
}

static bool fill_copy(dq_graph *copy, const dq_graph *graph) {
  if (!copy_initialized(copy, graph)) return false;
  for (int i = 0; graph->has_replacements && i < graph->value_count; i++)
    if (graph->values[i]->replacement)
      copy->values[i]->replacement = copy->values[graph->values[i]->replacement->index];
  copy->has_replacements = graph->has_replacements;
  for (int i = 0; i < graph->node_count; i++)
    if (!graph->nodes[i]->removed && !copy_node(copy, graph->nodes[i])) return false;
  copy->inputs = copy_values(copy, graph->inputs, graph->input_count);
  copy->outputs = copy_values(copy, graph->outputs, graph->output_count);
  copy->input_count = graph->input_count;
  copy->output_count = graph->output_count;
  copy->opsets = dq_arena_copy(copy->arena, graph->opsets, (size_t)graph->opset_count * sizeof *graph->opsets);
  copy->opset_count = graph->opset_count;
  copy->properties =
      dq_arena_copy(copy->arena, graph->properties, (size_t)graph->property_count * sizeof *graph->properties);
  copy->property_count = graph->property_count;
  copy->functions =
      dq_arena_copy(copy->arena, graph->functions, (size_t)graph->function_count * sizeof *graph->functions);
  copy->function_count = graph->function_count;
  return copy->inputs && copy->outputs && copy->opsets && copy->properties && copy->functions;
}

dq_graph *dq_graph_copy(const dq_graph *graph) {
  dq_graph *copy = dq_graph_new(dq_arena_budget(graph->arena));
  if (!copy) return NULL;
  copy->path = graph->path;
  copy->name = graph->name;
  copy->ir_version = graph->ir_version;
  copy->document = graph->document; // which frees it
  if (fill_copy(copy, graph) && dq_graph_index(copy, false, NULL) == DQ_OK) return copy;
  dq_graph_free(copy);
  return NULL;
}
