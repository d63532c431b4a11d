// A file to a graph: recognise, scan, cut the weights out, unpack, convert.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/order.h"
#include "lib/base/sizes.h"
#include "lib/onnx/document.h"

static void *arena_alloc(void *arena, size_t size) { return dq_arena_alloc(arena, size); }
static void arena_release(void *arena, void *memory) { (void)arena, (void)memory; }

ProtobufCAllocator dq_arena_allocator(dq_arena *arena) {
  return (ProtobufCAllocator){arena_alloc, arena_release, arena};
}

static void document_free(struct dq_document *document) {
  for (dq_external *external = document->externals; external; external = external->next) dq_file_close(&external->file);
  dq_file_close(&document->file);
  dq_arena_free(document->arena); // the document itself lives in it
}

// ---- Recognising other formats ----

static const struct {
  size_t offset;
  const char *bytes;
  size_t length;
  const char *name;
} formats[] = {
    {0, "\xff\xd8\xff", 3, "a JPEG picture"},
    {0, "\x89PNG", 4, "a PNG picture"},
    {0, "PK\x03\x04", 4, "a zip archive (PyTorch or Keras)"},
    {0, "\x89HDF", 4, "an HDF5 file (Keras)"},
    {4, "TFL3", 4, "a TFLite model"},
    {0, "\x1f\x8b", 2, "a gzip archive"},
    {0, "GGUF", 4, "a GGUF model"},
    {0, "\x80\x02", 2, "a Python pickle (PyTorch)"},
};

static dq_status not_onnx(const uint8_t *data, size_t size, dq_error *error) {
  for (int i = 0; i < DQ_COUNT(formats); i++)
    if (size >= formats[i].offset + formats[i].length &&
        !memcmp(data + formats[i].offset, formats[i].bytes, formats[i].length))
      return dq_fail(error, DQ_BAD_INPUT, "not an ONNX model but %s", formats[i].name);
  size_t look = size < 256 ? size : 256, printable = 0;
  for (size_t i = 0; i < look; i++)
    printable += (data[i] >= 0x20 && data[i] < 0x7f) || (data[i] >= '\t' && data[i] <= '\r');
  if (look && printable == look) return dq_fail(error, DQ_BAD_INPUT, "not an ONNX model but text");
  return DQ_OK;
}

// ---- Unpacking ----

// Puts the places of the weights in the file where the cut left a dq_raw_place.
static dq_status restore_raw(const dq_document *document, Onnx__TensorProto *tensor, dq_error *error) {
  dq_raw_place place;
  if (!tensor || !tensor->has_raw_data) return DQ_OK;
  if (tensor->raw_data.len != sizeof place)
    return dq_fail(error, DQ_BAD_INPUT, "tensor '%s': raw_data is malformed", tensor->name ? tensor->name : "");
  memcpy(&place, tensor->raw_data.data, sizeof place);
  tensor->raw_data.data = (uint8_t *)(uintptr_t)document->file.data + place.offset;
  tensor->raw_data.len = (size_t)place.length;
  return DQ_OK;
}

static dq_status restore_all_raw(const dq_document *document, dq_error *error) {
  Onnx__GraphProto *graph = document->model->graph;
  if (!graph) return DQ_OK;
  for (size_t i = 0; i < graph->n_initializer; i++) DQ_TRY(restore_raw(document, graph->initializer[i], error));
  for (size_t n = 0; n < graph->n_node; n++)
    for (size_t a = 0; a < graph->node[n]->n_attribute; a++)
      DQ_TRY(restore_raw(document, graph->node[n]->attribute[a]->t, error));
  return DQ_OK;
}

static dq_status unpack(dq_document *document, const dq_context *context, dq_error *error) {
  const dq_file *file = &document->file;
  if (!file->size) return dq_fail(error, DQ_BAD_INPUT, "empty file");
  DQ_TRY(not_onnx(file->data, file->size, error));
  size_t memory;
  dq_status status = dq_scan_message(&onnx__model_proto__descriptor, file->data, file->size, &memory, error);
  if (status != DQ_OK && file->heap && dq_is_cut_off(file->data, file->size))
    return dq_fail(error, DQ_SYSTEM, "the pipe was closed after %zu bytes, in the middle of the model", file->size);
  if (status != DQ_OK) return dq_error_prefix(error, status, "not a valid ONNX model");
  DQ_TRY(dq_check_memory(context, memory, "loading the model", error));
  uint8_t *cut;
  size_t cut_size;
  DQ_TRY(dq_cut_raw_data(file->data, file->size, &cut, &cut_size, context, error));
  ProtobufCAllocator allocator = dq_arena_allocator(document->arena);
  document->model = onnx__model_proto__unpack(&allocator, cut_size, cut);
  dq_budget_free(cut);
  if (!document->model && dq_arena_exhausted(document->arena)) return dq_fail_memory(error, memory);
  if (!document->model) return dq_fail(error, DQ_BAD_INPUT, "not a valid ONNX model");
  return restore_all_raw(document, error);
}

// ---- The model's header ----

enum { MOST_OPSETS = 1000 };

// A name that is there twice, after sorting; NULL: all differ.
static const char *find_twice(const char **names, size_t count) {
  qsort(names, count, sizeof *names, dq_compare_texts);
  for (size_t i = 1; i < count; i++)
    if (!strcmp(names[i - 1], names[i])) return names[i];
  return NULL;
}

static dq_status read_opsets(dq_graph *graph, const Onnx__ModelProto *model, dq_error *error) {
  size_t count = model->n_opset_import;
  if (count > MOST_OPSETS) // every look at a node's operator asks for one of them
    return dq_fail(error, DQ_UNSUPPORTED, "%zu opsets are imported, at most %d are supported", count, MOST_OPSETS);
  graph->opsets = DQ_NEW_ARRAY(graph->arena, count, dq_opset);
  if (!graph->opsets) return dq_fail_memory(error, count * sizeof *graph->opsets);
  const char *names[MOST_OPSETS];
  for (size_t i = 0; i < count; i++) {
    const char *domain = model->opset_import[i]->domain;
    int64_t version = model->opset_import[i]->version;
    names[i] = domain && strcmp(domain, "ai.onnx") ? domain : "";
    if (version <= 0)
      return dq_fail(error, DQ_BAD_INPUT, "opset of domain '%s' is %" PRId64 ", expected 1 or more", names[i], version);
    graph->opsets[graph->opset_count++] = (dq_opset){names[i], version};
  }
  const char *twice = find_twice(names, count);
  if (twice) return dq_fail(error, DQ_BAD_INPUT, "two opsets are imported for domain '%s'", twice);
  if (!graph->opset_count) return dq_fail(error, DQ_BAD_INPUT, "no opset is imported");
  int64_t opset = dq_graph_opset(graph, "");
  if (opset && (opset < DQ_OPSET_OLDEST || opset > DQ_OPSET_NEWEST))
    return dq_fail(error, DQ_UNSUPPORTED, "opset %" PRId64 ", supported are %d to %d", opset, DQ_OPSET_OLDEST,
                   DQ_OPSET_NEWEST);
  return DQ_OK;
}

// Bodies stay in the document. A function may stand for an operator of ONNX, as calls find functions first.
static dq_status read_functions(dq_graph *graph, const Onnx__ModelProto *model, dq_error *error) {
  graph->functions = DQ_NEW_ARRAY(graph->arena, model->n_functions, dq_function);
  if (!graph->functions) return dq_fail_memory(error, model->n_functions * sizeof *graph->functions);
  for (size_t i = 0; i < model->n_functions; i++) {
    const char *domain = model->functions[i]->domain, *name = model->functions[i]->name;
    if (!domain || !domain[0] || !strcmp(domain, "ai.onnx"))
      return dq_fail(error, DQ_UNSUPPORTED, "function '%s' of the model has the domain of the operators of ONNX",
                     name ? name : "");
    graph->functions[graph->function_count++] = (dq_function){domain, name ? name : ""};
  }
  return DQ_OK;
}

static dq_status read_header(dq_graph *graph, const Onnx__ModelProto *model, dq_error *error) {
  if (!model->graph) return dq_fail(error, DQ_BAD_INPUT, "not an ONNX model: it has no graph");
  graph->ir_version = model->has_ir_version ? model->ir_version : 0;
  if (graph->ir_version < DQ_IR_OLDEST || graph->ir_version > DQ_IR_NEWEST)
    return dq_fail(error, graph->ir_version <= 0 ? DQ_BAD_INPUT : DQ_UNSUPPORTED,
                   "IR version %" PRId64 ", supported are %d to %d", graph->ir_version, DQ_IR_OLDEST, DQ_IR_NEWEST);
  DQ_TRY(read_opsets(graph, model, error));
  DQ_TRY(read_functions(graph, model, error));
  graph->name = model->graph->name ? model->graph->name : "";
  graph->property_count = (int)model->n_metadata_props;
  graph->properties = DQ_NEW_ARRAY(graph->arena, model->n_metadata_props, dq_property);
  if (!graph->properties) return dq_fail_memory(error, 0);
  for (size_t i = 0; i < model->n_metadata_props; i++) {
    const Onnx__StringStringEntryProto *entry = model->metadata_props[i];
    graph->properties[i] = (dq_property){entry->key ? entry->key : "", entry->value ? entry->value : ""};
  }
  return DQ_OK;
}

// ---- Values ----

static dq_status read_declaration(dq_graph *graph, dq_value *value, const Onnx__ValueInfoProto *info, dq_error *error) {
  const Onnx__TypeProto *type = info->type;
  value->origin = info;
  if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !type->tensor_type) return DQ_OK;
  value->type = type->tensor_type->has_elem_type ? type->tensor_type->elem_type : 0;
  const Onnx__TensorShapeProto *shape = type->tensor_type->shape;
  if (!shape) return DQ_OK;
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, shape->n_dim, dq_dimension);
  if (!dims) return dq_fail_memory(error, shape->n_dim * sizeof *dims);
  for (size_t i = 0; i < shape->n_dim; i++) {
    const Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
    dims[i].size = -1;
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
      dims[i].size = dim->dim_value < 0 ? -1 : dim->dim_value; // some exporters write -1 for "any"
    else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && dim->dim_param &&
             dim->dim_param[0])
      dims[i].symbol = dim->dim_param;
  }
  value->dims = dims;
  value->rank = (int)shape->n_dim;
  return DQ_OK;
}

// A size in a field that this schema does not have is there: it is not one that the model leaves open.
static dq_status check_sizes(const dq_value *input, const Onnx__ValueInfoProto *info, dq_error *error) {
  if (!input->type) return DQ_OK;
  const Onnx__TypeProto__Tensor *type = info->type->tensor_type;
  if (!type->shape && type->base.n_unknown_fields)
    return dq_fail(error, DQ_UNSUPPORTED, "input '%s': the shape is in an unknown form", input->name);
  for (int i = 0; i < input->rank; i++) {
    const Onnx__TensorShapeProto__Dimension *dim = type->shape->dim[i];
    if (input->dims[i].size < 0 && !input->dims[i].symbol && dim->base.n_unknown_fields)
      return dq_fail(error, DQ_UNSUPPORTED, "input '%s': dimension %d is in an unknown form", input->name, i);
  }
  return DQ_OK;
}

static dq_status add_named(dq_graph *graph, const char *name, const char *what, dq_value **value, dq_error *error) {
  if (!name || !name[0]) return dq_fail(error, DQ_BAD_INPUT, "%s has no name", what);
  *value = dq_graph_add_value(graph, name);
  return *value ? DQ_OK : dq_fail_memory(error, strlen(name) + 1);
}

static dq_status read_interface(dq_graph *graph, size_t count, Onnx__ValueInfoProto *const *infos, bool outputs,
                                dq_error *error) {
  const char *what = outputs ? "an output of the graph" : "an input of the graph";
  dq_value **values = DQ_NEW_ARRAY(graph->arena, count, dq_value *);
  if (!values) return dq_fail_memory(error, count * sizeof *values);
  for (size_t i = 0; i < count; i++) {
    DQ_TRY(add_named(graph, infos[i]->name, what, &values[i], error));
    bool *flag = outputs ? &values[i]->is_output : &values[i]->is_input;
    if (*flag) return dq_fail(error, DQ_BAD_INPUT, "%s '%s' is listed twice", what, values[i]->name);
    *flag = true;
    DQ_TRY(read_declaration(graph, values[i], infos[i], error));
    if (!outputs) DQ_TRY(check_sizes(values[i], infos[i], error));
  }
  if (outputs) graph->outputs = values, graph->output_count = (int)count;
  else graph->inputs = values, graph->input_count = (int)count;
  return DQ_OK;
}

// Their dense values, which a file that is written has in their place.
static dq_status read_sparse_initializers(dq_graph *graph, dq_document *document, dq_error *error) {
  const Onnx__GraphProto *from = document->model->graph;
  for (size_t i = 0; i < from->n_sparse_initializer; i++) {
    const Onnx__TensorProto *values = from->sparse_initializer[i]->values;
    dq_value *value;
    dq_tensor *tensor;
    DQ_TRY(add_named(graph, values ? values->name : NULL, "a sparse initializer", &value, error));
    if (value->constant) return dq_fail(error, DQ_BAD_INPUT, "initializer '%s' is there twice", value->name);
    DQ_TRY(dq_tensor_from_sparse(from->sparse_initializer[i], document, graph->arena, &tensor, error));
    if (!dq_graph_set_constant(graph, value, tensor)) return dq_fail_memory(error, 0);
  }
  return DQ_OK;
}

static dq_status read_initializers(dq_graph *graph, dq_document *document, dq_error *error) {
  const Onnx__GraphProto *from = document->model->graph;
  for (size_t i = 0; i < from->n_initializer; i++) {
    const Onnx__TensorProto *proto = from->initializer[i];
    dq_value *value;
    dq_tensor *tensor;
    DQ_TRY(add_named(graph, proto->name, "an initializer", &value, error));
    if (value->constant) return dq_fail(error, DQ_BAD_INPUT, "initializer '%s' is there twice", value->name);
    DQ_TRY(dq_tensor_from_proto(proto, document, graph->arena, &tensor, error));
    if (!dq_graph_set_constant(graph, value, tensor)) return dq_fail_memory(error, 0);
    value->initializer_origin = proto;
  }
  return read_sparse_initializers(graph, document, error);
}

// ---- Nodes ----

static int attribute_type(const Onnx__AttributeProto *proto) {
  if (proto->has_type && proto->type) return (int)proto->type;
  // Files of IR version 1 have no type: the field that is set tells it.
  if (proto->n_floats) return DQ_ATTRIBUTE_FLOATS;
  if (proto->n_ints) return DQ_ATTRIBUTE_INTS;
  if (proto->n_strings) return DQ_ATTRIBUTE_STRINGS;
  if (proto->has_f) return DQ_ATTRIBUTE_FLOAT;
  if (proto->has_i) return DQ_ATTRIBUTE_INT;
  if (proto->has_s) return DQ_ATTRIBUTE_STRING;
  if (proto->t) return DQ_ATTRIBUTE_TENSOR;
  return proto->g ? DQ_ATTRIBUTE_GRAPH : 0;
}

static dq_status read_strings(dq_graph *graph, const Onnx__AttributeProto *proto, dq_attribute *attribute,
                              dq_error *error) {
  const char **strings = DQ_NEW_ARRAY(graph->arena, proto->n_strings, const char *);
  if (!strings) return dq_fail_memory(error, 0);
  for (size_t i = 0; i < proto->n_strings; i++)
    if (!(strings[i] = dq_arena_strndup(graph->arena, (const char *)proto->strings[i].data, proto->strings[i].len)))
      return dq_fail_memory(error, proto->strings[i].len);
  attribute->strings = strings;
  attribute->count = proto->n_strings;
  return DQ_OK;
}

// sparse_value of Constant becomes its dense `value`, also in a file that is written; others are carried through.
static dq_status read_sparse_value(dq_graph *graph, dq_document *document, dq_attribute *attribute, dq_error *error) {
  const Onnx__AttributeProto *proto = attribute->origin;
  if (strcmp(proto->name, "sparse_value")) return DQ_OK;
  *attribute = (dq_attribute){.name = "value", .type = DQ_ATTRIBUTE_TENSOR};
  return dq_tensor_from_sparse(proto->sparse_tensor, document, graph->arena, &attribute->tensor, error);
}

static dq_status read_attribute(dq_graph *graph, dq_document *document, const Onnx__AttributeProto *proto,
                                dq_attribute *attribute, dq_error *error) {
  if (!proto->name || !proto->name[0]) return dq_fail(error, DQ_BAD_INPUT, "an attribute has no name");
  *attribute =
      (dq_attribute){.name = proto->name, .type = attribute_type(proto), .origin = proto, .f = proto->f, .i = proto->i};
  switch (attribute->type) {
  case DQ_ATTRIBUTE_STRING:
    attribute->count = proto->s.len;
    attribute->s = dq_arena_strndup(graph->arena, (const char *)proto->s.data, proto->s.len);
    return attribute->s ? DQ_OK : dq_fail_memory(error, proto->s.len);
  case DQ_ATTRIBUTE_TENSOR:
    if (!proto->t) return dq_fail(error, DQ_BAD_INPUT, "attribute '%s' has no tensor", proto->name);
    return dq_tensor_from_proto(proto->t, document, graph->arena, &attribute->tensor, error);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSOR:
    return read_sparse_value(graph, document, attribute, error);
  case DQ_ATTRIBUTE_FLOATS:
    attribute->floats = proto->floats;
    attribute->count = proto->n_floats;
    return DQ_OK;
  case DQ_ATTRIBUTE_INTS:
    attribute->ints = proto->ints;
    attribute->count = proto->n_ints;
    return DQ_OK;
  case DQ_ATTRIBUTE_STRINGS: return read_strings(graph, proto, attribute, error);
  default: return DQ_OK;
  }
}

static dq_status check_attribute_names(const dq_node *node, dq_error *error) {
  size_t count = (size_t)node->attribute_count;
  const char **names = calloc(count + 1, sizeof *names);
  if (!names) return dq_fail_memory(error, count * sizeof *names);
  for (size_t i = 0; i < count; i++) names[i] = node->attributes[i].name;
  const char *twice = find_twice(names, count);
  free(names);
  return twice ? dq_fail(error, DQ_BAD_INPUT, "attribute '%s' is there twice", twice) : DQ_OK;
}

static dq_status read_attributes(dq_graph *graph, dq_document *document, const Onnx__NodeProto *proto, dq_node *node,
                                 dq_error *error) {
  node->attributes = DQ_NEW_ARRAY(graph->arena, proto->n_attribute, dq_attribute);
  if (!node->attributes) return dq_fail_memory(error, 0);
  for (size_t i = 0; i < proto->n_attribute; i++) {
    dq_attribute attribute;
    DQ_TRY(read_attribute(graph, document, proto->attribute[i], &attribute, error));
    node->attributes[node->attribute_count++] = attribute;
  }
  return check_attribute_names(node, error);
}

static dq_status read_names(dq_graph *graph, size_t count, char *const *names, dq_value ***values, dq_error *error) {
  *values = DQ_NEW_ARRAY(graph->arena, count, dq_value *);
  if (!*values) return dq_fail_memory(error, count * sizeof **values);
  for (size_t i = 0; i < count; i++)
    if (names[i][0] && !((*values)[i] = dq_graph_add_value(graph, names[i])))
      return dq_fail_memory(error, strlen(names[i]) + 1);
  return DQ_OK;
}

// Execution copies name operators of their own by domain "dq"; a file that does so would be taken for one.
static dq_status check_domain(const Onnx__NodeProto *proto, dq_error *error) {
  if (!proto->domain || strcmp(proto->domain, "dq")) return DQ_OK;
  return dq_fail(error, DQ_UNSUPPORTED, "operator %s of domain 'dq' is not supported", proto->op_type);
}

static dq_status read_node(dq_graph *graph, dq_document *document, const Onnx__NodeProto *proto, dq_error *error) {
  char label[DQ_LABEL_TEXT];
  dq_value **inputs, **outputs;
  DQ_TRY(read_names(graph, proto->n_input, proto->input, &inputs, error));
  DQ_TRY(read_names(graph, proto->n_output, proto->output, &outputs, error));
  dq_node *node = dq_graph_add_node(graph, graph->node_count, proto->op_type, proto->name ? proto->name : "",
                                    (int)proto->n_input, inputs, (int)proto->n_output, outputs);
  if (!node) return dq_fail_memory(error, sizeof *node);
  node->domain = proto->domain && strcmp(proto->domain, "ai.onnx") ? proto->domain : "";
  node->origin = proto;
  dq_status status = check_domain(proto, error);
  if (status == DQ_OK) status = read_attributes(graph, document, proto, node, error);
  if (status == DQ_OK) return status;
  return dq_error_prefix(error, status, "%s", dq_node_label(node, label, sizeof label));
}

// Values of the outer graph that bodies of If, Loop and Scan read by name.
static void mark_captured(dq_graph *graph, const Onnx__GraphProto *body) {
  for (size_t n = 0; n < body->n_node; n++) {
    const Onnx__NodeProto *node = body->node[n];
    for (size_t i = 0; i < node->n_input; i++) {
      dq_value *value = dq_graph_find(graph, node->input[i]);
      if (value) value->is_captured = true;
    }
    for (size_t a = 0; a < node->n_attribute; a++) {
      if (node->attribute[a]->g) mark_captured(graph, node->attribute[a]->g);
      for (size_t g = 0; g < node->attribute[a]->n_graphs; g++) mark_captured(graph, node->attribute[a]->graphs[g]);
    }
  }
  for (size_t i = 0; i < body->n_output; i++) {
    dq_value *value = body->output[i]->name ? dq_graph_find(graph, body->output[i]->name) : NULL;
    if (value) value->is_captured = true;
  }
}

static void mark_all_captured(dq_graph *graph, const Onnx__GraphProto *from) {
  for (size_t n = 0; n < from->n_node; n++)
    for (size_t a = 0; a < from->node[n]->n_attribute; a++) {
      const Onnx__AttributeProto *attribute = from->node[n]->attribute[a];
      if (attribute->g) mark_captured(graph, attribute->g);
      for (size_t g = 0; g < attribute->n_graphs; g++) mark_captured(graph, attribute->graphs[g]);
    }
}

static dq_status read_graph(dq_graph *graph, dq_document *document, dq_error *error) {
  const Onnx__GraphProto *from = document->model->graph;
  DQ_TRY(read_header(graph, document->model, error));
  DQ_TRY(read_interface(graph, from->n_input, from->input, false, error));
  DQ_TRY(read_initializers(graph, document, error));
  for (size_t i = 0; i < from->n_node; i++) DQ_TRY(read_node(graph, document, from->node[i], error));
  DQ_TRY(read_interface(graph, from->n_output, from->output, true, error));
  if (!graph->output_count) return dq_fail(error, DQ_BAD_INPUT, "the graph has no outputs");
  for (size_t i = 0; i < from->n_value_info; i++) {
    const Onnx__ValueInfoProto *info = from->value_info[i];
    dq_value *value = info->name ? dq_graph_find(graph, info->name) : NULL;
    if (value && !value->origin) DQ_TRY(read_declaration(graph, value, info, error));
  }
  mark_all_captured(graph, from);
  DQ_TRY(dq_external_check(document, error));
  return dq_graph_index(graph, false, error);
}

// Takes over `file`; frees everything on failure.
static dq_status load(dq_graph **result, dq_file file, const char *path, const char *folder, const dq_context *context,
                      dq_error *error) {
  *result = NULL;
  dq_budget *budget = dq_budget_of(context);
  dq_graph *graph = dq_graph_new(budget);
  dq_arena *arena = dq_arena_new(budget);
  dq_document *document = arena ? DQ_NEW(arena, dq_document) : NULL;
  if (!graph || !document) {
    dq_file_close(&file);
    dq_arena_free(arena);
    dq_graph_free(graph);
    return dq_fail_memory(error, 0);
  }
  *document = (dq_document){.arena = arena, .file = file};
  graph->document = document;
  graph->document_free = document_free;
  graph->path = dq_arena_strdup(arena, path);
  document->folder = dq_arena_strdup(arena, folder);
  dq_status status = graph->path && document->folder ? unpack(document, context, error) : dq_fail_memory(error, 0);
  if (status == DQ_OK) status = read_graph(graph, document, error);
  if (status == DQ_OK) *result = graph;
  else dq_graph_free(graph);
  return status;
}

dq_status dq_onnx_load(dq_graph **graph, const char *path, const dq_context *context, dq_error *error) {
  char folder[4096];
  dq_file file;
  *graph = NULL;
  DQ_TRY(dq_file_open_stream(&file, path, dq_budget_of(context), error));
  dq_path_folder(path, folder, sizeof folder);
  dq_status status = load(graph, file, path, folder, context, error);
  return status == DQ_OK ? status : dq_error_prefix(error, status, "%s", path);
}

dq_status dq_onnx_load_bytes(dq_graph **graph, const void *data, size_t size, const char *folder,
                             const dq_context *context, dq_error *error) {
  dq_file file = {.data = data, .size = size};
  return load(graph, file, "memory", folder, context, error);
}

static dq_status read_tensor(const dq_file *file, dq_arena *arena, dq_tensor **tensor, const char **name,
                             dq_error *error) {
  size_t memory;
  DQ_TRY(dq_scan_message(&onnx__tensor_proto__descriptor, file->data, file->size, &memory, error));
  ProtobufCAllocator allocator = dq_arena_allocator(arena);
  Onnx__TensorProto *proto = onnx__tensor_proto__unpack(&allocator, file->size, file->data);
  if (!proto) return dq_fail(error, DQ_BAD_INPUT, "not a tensor file");
  if (name) *name = proto->name ? proto->name : "";
  return dq_tensor_from_proto(proto, NULL, arena, tensor, error);
}

dq_status dq_onnx_read_tensor(const char *path, dq_arena *arena, dq_tensor **tensor, const char **name,
                              dq_error *error) {
  dq_file file;
  DQ_TRY(dq_file_open_stream(&file, path, dq_arena_budget(arena), error));
  dq_status status = read_tensor(&file, arena, tensor, name, error);
  dq_file_close(&file);
  return status == DQ_OK ? status : dq_error_prefix(error, status, "%s", path);
}
