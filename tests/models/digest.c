#include "tests/models/digest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "datasets/npy.h"
#include "lib/onnx/onnx.h"

static void print_tensor(const dq_tensor *tensor) {
  char shape[DQ_SHAPE_TEXT];
  printf("%s %s", dq_dtype_name(tensor->type), tensor->rank ? dq_tensor_shape_text(tensor, shape, sizeof shape) : "");
  int64_t count = dq_tensor_count(tensor);
  if (!tensor->data || !count || !dq_dtype_computable(tensor->type)) {
    printf(" not read\n");
    return;
  }
  double least = dq_tensor_get(tensor, 0), largest = least, sum = 0, squares = 0;
  for (int64_t i = 0; i < count; i++) {
    double x = dq_tensor_get(tensor, i);
    least = fmin(least, x), largest = fmax(largest, x);
    sum += x, squares += x * x;
  }
  unsigned hash = (unsigned)XXH64(tensor->data, dq_tensor_bytes(tensor), 0);
  if (count == 1) printf(" %.9g\n", least);
  else
    printf(" %.6g..%.6g mean %.6g rms %.6g hash %08x\n", least, largest, sum / (double)count,
           sqrt(squares / (double)count), hash);
}

static void print_declaration(const char *kind, const dq_value *value) {
  printf("%s %s %s", kind, value->name, dq_dtype_name(value->type));
  for (int i = 0; i < value->rank; i++) {
    if (value->dims[i].symbol) printf(" %s", value->dims[i].symbol);
    else printf(" %lld", (long long)value->dims[i].size);
  }
  printf("\n");
}

static void print_attribute(const dq_attribute *a) {
  printf("; %s", a->name);
  if (a->type == DQ_ATTRIBUTE_FLOAT) printf(" %.9g", (double)a->f);
  else if (a->type == DQ_ATTRIBUTE_INT) printf(" %lld", (long long)a->i);
  else if (a->type == DQ_ATTRIBUTE_STRING) printf(" %s", a->s);
  else if (a->type == DQ_ATTRIBUTE_INTS)
    for (size_t i = 0; i < a->count; i++) printf(" %lld", (long long)a->ints[i]);
  else if (a->type == DQ_ATTRIBUTE_FLOATS)
    for (size_t i = 0; i < a->count; i++) printf(" %.9g", (double)a->floats[i]);
  else if (a->type == DQ_ATTRIBUTE_TENSOR) printf(" of %lld elements", (long long)dq_tensor_count(a->tensor));
  else printf(" of kind %d", a->type);
}

static void print_node(const dq_node *node) {
  printf("%s '%s':", node->op_type, node->name);
  for (int i = 0; i < node->input_count; i++) printf(" %s", node->inputs[i] ? node->inputs[i]->name : "-");
  printf(" ->");
  for (int i = 0; i < node->output_count; i++) printf(" %s", node->outputs[i] ? node->outputs[i]->name : "-");
  for (int i = 0; i < node->attribute_count; i++) print_attribute(&node->attributes[i]);
  printf("\n");
}

static void print_graph(const dq_graph *graph) {
  printf("graph %s, ir %lld", graph->name, (long long)graph->ir_version);
  for (int i = 0; i < graph->opset_count; i++)
    printf(", opset %s%lld", graph->opsets[i].domain, (long long)graph->opsets[i].version);
  printf("\n");
  for (int i = 0; i < graph->property_count; i++)
    printf("property %s = %s\n", graph->properties[i].key, graph->properties[i].value);
  for (int i = 0; i < graph->input_count; i++) print_declaration("input", graph->inputs[i]);
  for (int i = 0; i < graph->initializer_count; i++) {
    printf("constant %s ", graph->initializers[i]->name);
    print_tensor(graph->initializers[i]->constant);
  }
  for (int i = 0; i < graph->node_count; i++) print_node(graph->nodes[i]);
  for (int i = 0; i < graph->output_count; i++) print_declaration("output", graph->outputs[i]);
}

int print_digest(const char *path) {
  dq_error error = {0};
  dq_graph *graph = NULL;
  dq_tensor *array = NULL;
  dq_arena *arena = dq_arena_new(0);
  const char *ending = strrchr(path, '.');
  dq_status status = !arena                              ? DQ_SYSTEM
                     : ending && !strcmp(ending, ".npy") ? dq_npy_read(&array, path, arena, &error)
                                                         : dq_onnx_load(&graph, path, NULL, &error);
  if (status != DQ_OK) fprintf(stderr, "%s\n", error.message);
  else if (graph) print_graph(graph);
  else print_tensor(array);
  dq_graph_free(graph);
  dq_arena_free(arena);
  return (int)status;
}
