// Nodes: labels for messages, attributes.
#include <stdio.h>
#include <string.h>

#include "lib/graph/graph.h"

const char *dq_node_label(const dq_node *node, char *text, size_t size) {
  const dq_value *output = dq_node_output(node, 0);
  if (node->name[0]) snprintf(text, size, "node '%.200s'", node->name);
  else snprintf(text, size, "node %.80s producing '%.120s'", node->op_type, output ? output->name : "");
  return text;
}

dq_value *dq_node_input(const dq_node *node, int i) { return i >= 0 && i < node->input_count ? node->inputs[i] : NULL; }

dq_value *dq_node_output(const dq_node *node, int i) { return i < node->output_count ? node->outputs[i] : NULL; }

bool dq_node_is(const dq_node *node, const char *op_type) {
  return (!node->domain[0] || !strcmp(node->domain, "ai.onnx")) && !strcmp(node->op_type, op_type);
}

bool dq_node_is_any(const dq_node *node, const char *const *op_types) {
  for (; *op_types; op_types++)
    if (dq_node_is(node, *op_types)) return true;
  return false;
}

bool dq_node_has_body(const dq_node *node) {
  for (int i = 0; i < node->attribute_count; i++)
    if (node->attributes[i].type == DQ_ATTRIBUTE_GRAPH) return true;
  return false;
}

const dq_attribute *dq_node_attribute(const dq_node *node, const char *name) {
  for (int i = 0; i < node->attribute_count; i++)
    if (!strcmp(node->attributes[i].name, name)) return &node->attributes[i];
  return NULL;
}

static const dq_attribute *typed(const dq_node *node, const char *name, int type) {
  const dq_attribute *attribute = dq_node_attribute(node, name);
  return attribute && attribute->type == type ? attribute : NULL;
}

int64_t dq_node_int(const dq_node *node, const char *name, int64_t fallback) {
  const dq_attribute *attribute = typed(node, name, DQ_ATTRIBUTE_INT);
  return attribute ? attribute->i : fallback;
}

float dq_node_float(const dq_node *node, const char *name, float fallback) {
  const dq_attribute *attribute = typed(node, name, DQ_ATTRIBUTE_FLOAT);
  return attribute ? attribute->f : fallback;
}

const char *dq_node_string(const dq_node *node, const char *name, const char *fallback) {
  const dq_attribute *attribute = typed(node, name, DQ_ATTRIBUTE_STRING);
  return attribute ? attribute->s : fallback;
}

const int64_t *dq_node_ints(const dq_node *node, const char *name, int *count) {
  const dq_attribute *attribute = typed(node, name, DQ_ATTRIBUTE_INTS);
  *count = attribute ? (int)attribute->count : 0;
  return attribute ? attribute->ints : NULL;
}

const float *dq_node_floats(const dq_node *node, const char *name, int *count) {
  const dq_attribute *attribute = typed(node, name, DQ_ATTRIBUTE_FLOATS);
  *count = attribute ? (int)attribute->count : 0;
  return attribute ? attribute->floats : NULL;
}

const dq_tensor *dq_node_tensor(const dq_node *node, const char *name) {
  const dq_attribute *attribute = typed(node, name, DQ_ATTRIBUTE_TENSOR);
  return attribute ? attribute->tensor : NULL;
}

// The attribute of that name, emptied, or a new one at the end.
static dq_attribute *open_attribute(dq_graph *graph, dq_node *node, const char *name, int type) {
  dq_attribute *attribute = (dq_attribute *)dq_node_attribute(node, name);
  const char *kept = attribute ? attribute->name : dq_arena_strdup(graph->arena, name);
  if (!kept) return NULL;
  if (!attribute) {
    dq_attribute *larger = DQ_NEW_ARRAY(graph->arena, node->attribute_count + 1, dq_attribute);
    if (!larger) return NULL;
    if (node->attribute_count) memcpy(larger, node->attributes, (size_t)node->attribute_count * sizeof *larger);
    node->attributes = larger;
    attribute = &larger[node->attribute_count++];
  }
  *attribute = (dq_attribute){.name = kept, .type = type};
  return attribute;
}

bool dq_node_set_int(dq_graph *graph, dq_node *node, const char *name, int64_t value) {
  dq_attribute *attribute = open_attribute(graph, node, name, DQ_ATTRIBUTE_INT);
  if (attribute) attribute->i = value;
  return attribute != NULL;
}

bool dq_node_set_float(dq_graph *graph, dq_node *node, const char *name, float value) {
  dq_attribute *attribute = open_attribute(graph, node, name, DQ_ATTRIBUTE_FLOAT);
  if (attribute) attribute->f = value;
  return attribute != NULL;
}

bool dq_node_set_string(dq_graph *graph, dq_node *node, const char *name, const char *value) {
  char *copy = dq_arena_strdup(graph->arena, value);
  dq_attribute *attribute = copy ? open_attribute(graph, node, name, DQ_ATTRIBUTE_STRING) : NULL;
  if (!attribute) return false;
  attribute->s = copy;
  attribute->count = strlen(copy);
  return true;
}

bool dq_node_set_ints(dq_graph *graph, dq_node *node, const char *name, const int64_t *values, int count) {
  int64_t *copy = dq_arena_copy(graph->arena, values, (size_t)count * sizeof *values);
  dq_attribute *attribute = copy ? open_attribute(graph, node, name, DQ_ATTRIBUTE_INTS) : NULL;
  if (!attribute) return false;
  attribute->ints = copy;
  attribute->count = (size_t)count;
  return true;
}

bool dq_node_copy_attribute(dq_graph *graph, dq_node *node, const dq_attribute *attribute) {
  dq_attribute copied = *attribute;
  dq_attribute *own = open_attribute(graph, node, attribute->name, attribute->type);
  if (!own) return false;
  copied.name = own->name;
  *own = copied;
  return true;
}

void dq_node_remove_attribute(dq_node *node, const char *name) {
  int kept = 0;
  for (int i = 0; i < node->attribute_count; i++)
    if (strcmp(node->attributes[i].name, name)) node->attributes[kept++] = node->attributes[i];
  node->attribute_count = kept;
}

const dq_tensor *dq_known_tensor(const dq_value *value) {
  const dq_node *node = value ? value->producer : NULL;
  if (node && dq_node_is(node, "Constant")) return dq_node_tensor(node, "value");
  return value ? value->constant : NULL;
}

const dq_tensor *dq_known_elements(const dq_value *value) {
  const dq_tensor *tensor = dq_known_tensor(value);
  return tensor && tensor->data ? tensor : NULL;
}
