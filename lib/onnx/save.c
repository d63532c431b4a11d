// A graph to a file. Messages that were loaded and not changed are written back as they were; the
// rest is made anew. Everything made here lives in an arena that is freed at the end.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/onnx/document.h"

// Protobuf messages end at 2 GB; what does not fit goes into a file beside the model.
static const size_t LARGEST_MESSAGE = (size_t)2000 << 20;
enum { EXTERNAL_LEAST = 1024, EXTERNAL_ALIGNMENT = 64 };

typedef struct model_save {
  const dq_graph *graph;
  dq_arena *arena;
  dq_output *data; // NULL: weights stay in the model
  uint64_t data_used;
  const char *data_name;
  dq_error *error;
} model_save;

static dq_status no_memory(const model_save *save) { return dq_fail_memory(save->error, 0); }

// ---- Attributes and nodes ----

static bool fill_attribute(const model_save *save, Onnx__AttributeProto *proto, const dq_attribute *attribute) {
  proto->has_type = true;
  proto->type = (Onnx__AttributeProto__AttributeType)attribute->type;
  switch (attribute->type) {
  case DQ_ATTRIBUTE_FLOAT:
    proto->has_f = true;
    proto->f = attribute->f;
    return true;
  case DQ_ATTRIBUTE_INT:
    proto->has_i = true;
    proto->i = attribute->i;
    return true;
  case DQ_ATTRIBUTE_STRING:
    proto->has_s = true;
    proto->s = (ProtobufCBinaryData){attribute->count, (uint8_t *)(uintptr_t)attribute->s};
    return true;
  case DQ_ATTRIBUTE_TENSOR: return (proto->t = dq_tensor_to_proto("", attribute->tensor, save->arena));
  case DQ_ATTRIBUTE_FLOATS:
    proto->n_floats = attribute->count;
    proto->floats = (float *)(uintptr_t)attribute->floats;
    return true;
  case DQ_ATTRIBUTE_INTS:
    proto->n_ints = attribute->count;
    proto->ints = (int64_t *)(uintptr_t)attribute->ints;
    return true;
  default: return true; // other kinds are only ever loaded, and then written from their origin
  }
}

static Onnx__AttributeProto *make_attribute(const model_save *save, const dq_attribute *attribute) {
  if (attribute->origin) return (Onnx__AttributeProto *)(uintptr_t)attribute->origin;
  Onnx__AttributeProto *proto = DQ_NEW(save->arena, Onnx__AttributeProto);
  if (!proto) return NULL;
  onnx__attribute_proto__init(proto);
  proto->name = (char *)(uintptr_t)attribute->name;
  return fill_attribute(save, proto, attribute) ? proto : NULL;
}

static char **value_names(const model_save *save, dq_value *const *values, int count) {
  char **names = DQ_NEW_ARRAY(save->arena, count, char *);
  for (int i = 0; names && i < count; i++) names[i] = (char *)(uintptr_t)(values[i] ? values[i]->name : "");
  return names;
}

static Onnx__NodeProto *make_node(const model_save *save, const dq_node *node) {
  Onnx__NodeProto *proto = DQ_NEW(save->arena, Onnx__NodeProto);
  if (!proto) return NULL;
  onnx__node_proto__init(proto);
  if (node->origin) *proto = *(const Onnx__NodeProto *)node->origin;
  if (!proto->op_type || strcmp(proto->op_type, node->op_type)) proto->op_type = (char *)(uintptr_t)node->op_type;
  if (node->name[0] && (!proto->name || strcmp(proto->name, node->name))) proto->name = (char *)(uintptr_t)node->name;
  if (node->domain[0]) proto->domain = (char *)(uintptr_t)node->domain;
  proto->n_input = (size_t)node->input_count;
  proto->input = value_names(save, node->inputs, node->input_count);
  proto->n_output = (size_t)node->output_count;
  proto->output = value_names(save, node->outputs, node->output_count);
  proto->n_attribute = (size_t)node->attribute_count;
  proto->attribute = DQ_NEW_ARRAY(save->arena, node->attribute_count, Onnx__AttributeProto *);
  if (!proto->input || !proto->output || !proto->attribute) return NULL;
  for (int i = 0; i < node->attribute_count; i++)
    if (!(proto->attribute[i] = make_attribute(save, &node->attributes[i]))) return NULL;
  return proto;
}

static dq_status put_nodes(const model_save *save, Onnx__GraphProto *to) {
  const dq_graph *graph = save->graph;
  to->node = DQ_NEW_ARRAY(save->arena, graph->node_count, Onnx__NodeProto *);
  if (!to->node) return no_memory(save);
  to->n_node = 0;
  for (int i = 0; i < graph->node_count; i++)
    if (!graph->nodes[i]->removed && !(to->node[to->n_node++] = make_node(save, graph->nodes[i])))
      return no_memory(save);
  return DQ_OK;
}

// ---- Declarations ----

static Onnx__TensorShapeProto *make_shape(const model_save *save, const dq_value *value) {
  Onnx__TensorShapeProto *shape = DQ_NEW(save->arena, Onnx__TensorShapeProto);
  if (!shape) return NULL;
  onnx__tensor_shape_proto__init(shape);
  shape->n_dim = (size_t)value->rank;
  shape->dim = DQ_NEW_ARRAY(save->arena, value->rank, Onnx__TensorShapeProto__Dimension *);
  for (int i = 0; shape->dim && i < value->rank; i++) {
    Onnx__TensorShapeProto__Dimension *dim = DQ_NEW(save->arena, Onnx__TensorShapeProto__Dimension);
    if (!(shape->dim[i] = dim)) return NULL;
    onnx__tensor_shape_proto__dimension__init(dim);
    if (value->dims[i].symbol) {
      dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
      dim->dim_param = (char *)(uintptr_t)value->dims[i].symbol;
    } else if (value->dims[i].size >= 0) {
      dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
      dim->dim_value = value->dims[i].size;
    }
  }
  return shape->dim ? shape : NULL;
}

static Onnx__ValueInfoProto *make_declaration(const model_save *save, const dq_value *value) {
  Onnx__ValueInfoProto *info = DQ_NEW(save->arena, Onnx__ValueInfoProto);
  Onnx__TypeProto *type = DQ_NEW(save->arena, Onnx__TypeProto);
  Onnx__TypeProto__Tensor *tensor = DQ_NEW(save->arena, Onnx__TypeProto__Tensor);
  if (!info || !type || !tensor) return NULL;
  onnx__value_info_proto__init(info);
  onnx__type_proto__init(type);
  onnx__type_proto__tensor__init(tensor);
  info->name = (char *)(uintptr_t)value->name;
  if (!value->type) return info;
  info->type = type;
  type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  type->tensor_type = tensor;
  tensor->has_elem_type = true;
  tensor->elem_type = value->type;
  if (value->rank >= 0 && !(tensor->shape = make_shape(save, value))) return NULL;
  return info;
}

static Onnx__ValueInfoProto *find_loaded(Onnx__ValueInfoProto *const *infos, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (infos[i]->name && !strcmp(infos[i]->name, name)) return infos[i];
  return NULL;
}

// Inputs or outputs: as loaded where the declaration has not been changed.
static dq_status put_interface(const model_save *save, dq_value *const *values, int count,
                               Onnx__ValueInfoProto ***infos, size_t *info_count) {
  Onnx__ValueInfoProto **loaded = *infos, **made = DQ_NEW_ARRAY(save->arena, count, Onnx__ValueInfoProto *);
  if (!made) return no_memory(save);
  for (int i = 0; i < count; i++) {
    if (values[i]->origin) made[i] = find_loaded(loaded, *info_count, values[i]->name);
    if (!made[i]) made[i] = make_declaration(save, values[i]);
    if (!made[i]) return no_memory(save);
  }
  *infos = made;
  *info_count = (size_t)count;
  return DQ_OK;
}

enum { IR_WITH_FREE_INITIALIZERS = 4 };

// A value that declares what an initializer holds.
static dq_value *declared_constant(const model_save *save, const dq_value *constant) {
  const dq_tensor *tensor = constant->constant;
  dq_value *value = DQ_NEW(save->arena, dq_value);
  dq_dimension *dims = DQ_NEW_ARRAY(save->arena, tensor->rank, dq_dimension);
  if (!value || !dims) return NULL;
  for (int i = 0; i < tensor->rank; i++) dims[i].size = tensor->dims[i];
  *value = (dq_value){.name = constant->name, .type = tensor->type, .rank = tensor->rank, .dims = dims};
  return value;
}

// The inputs, and before IR version 4 the initializers made here too: those had to be listed.
static dq_status put_inputs(const model_save *save, Onnx__GraphProto *to) {
  const dq_graph *graph = save->graph;
  dq_value **inputs = DQ_NEW_ARRAY(save->arena, graph->input_count + graph->initializer_count, dq_value *);
  if (!inputs) return no_memory(save);
  int count = 0;
  for (int i = 0; i < graph->input_count; i++) inputs[count++] = graph->inputs[i];
  for (int i = 0; graph->ir_version < IR_WITH_FREE_INITIALIZERS && i < graph->initializer_count; i++) {
    const dq_value *constant = graph->initializers[i];
    if (constant->is_input || constant->initializer_origin) continue;
    if (!(inputs[count++] = declared_constant(save, constant))) return no_memory(save);
  }
  return put_interface(save, inputs, count, &to->input, &to->n_input);
}

static bool is_alive(const dq_value *value) { return value->producer || value->is_input || value->constant; }

static dq_status put_declarations(const model_save *save, Onnx__GraphProto *to) {
  const dq_graph *graph = save->graph;
  size_t loaded = to->n_value_info;
  Onnx__ValueInfoProto **infos = DQ_NEW_ARRAY(save->arena, loaded + (size_t)graph->value_count, Onnx__ValueInfoProto *);
  if (!infos) return no_memory(save);
  size_t count = 0;
  for (size_t i = 0; i < loaded; i++) {
    const char *name = to->value_info[i]->name;
    const dq_value *value = name ? dq_graph_find(graph, name) : NULL;
    if (value && value->origin && is_alive(value)) infos[count++] = to->value_info[i];
  }
  for (int i = 0; i < graph->value_count; i++) {
    const dq_value *value = graph->values[i];
    if (value->origin || !value->type || value->is_input || value->is_output || !is_alive(value)) continue;
    if (!(infos[count++] = make_declaration(save, value))) return no_memory(save);
  }
  to->value_info = infos;
  to->n_value_info = count;
  return DQ_OK;
}

// ---- Initializers ----

static bool add_entry(const model_save *save, Onnx__TensorProto *proto, const char *key, char *value) {
  Onnx__StringStringEntryProto *entry = DQ_NEW(save->arena, Onnx__StringStringEntryProto);
  if (!entry || !value) return false;
  onnx__string_string_entry_proto__init(entry);
  entry->key = (char *)(uintptr_t)key;
  entry->value = value;
  proto->external_data[proto->n_external_data++] = entry;
  return true;
}

// Moves the elements of a tensor into the data file.
static dq_status put_outside(model_save *save, Onnx__TensorProto *proto) {
  static const char padding[EXTERNAL_ALIGNMENT] = {0};
  size_t length = proto->raw_data.len;
  uint64_t offset = dq_round_up(save->data_used, EXTERNAL_ALIGNMENT);
  proto->external_data = DQ_NEW_ARRAY(save->arena, 3, Onnx__StringStringEntryProto *);
  proto->n_external_data = 0;
  if (!proto->external_data || !add_entry(save, proto, "location", dq_arena_strdup(save->arena, save->data_name)) ||
      !add_entry(save, proto, "offset", dq_arena_printf(save->arena, "%llu", (unsigned long long)offset)) ||
      !add_entry(save, proto, "length", dq_arena_printf(save->arena, "%zu", length)))
    return no_memory(save);
  proto->has_data_location = true;
  proto->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  proto->has_raw_data = 0;
  fwrite(padding, 1, offset - save->data_used, save->data->stream);
  fwrite(proto->raw_data.data, 1, length, save->data->stream);
  save->data_used = offset + length;
  return DQ_OK;
}

static Onnx__TensorProto *make_initializer(const model_save *save, const dq_value *value) {
  const Onnx__TensorProto *loaded = value->initializer_origin;
  if (!loaded) return dq_tensor_to_proto(value->name, value->constant, save->arena);
  bool outside = loaded->has_data_location && loaded->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  if (!outside && !save->data) return (Onnx__TensorProto *)(uintptr_t)loaded;
  if (!value->constant->data) return (Onnx__TensorProto *)(uintptr_t)loaded;
  return dq_tensor_to_proto(value->name, value->constant, save->arena);
}

static dq_status put_initializers(model_save *save, Onnx__GraphProto *to) {
  const dq_graph *graph = save->graph;
  to->n_sparse_initializer = 0; // each is dense now
  to->n_initializer = (size_t)graph->initializer_count;
  to->initializer = DQ_NEW_ARRAY(save->arena, graph->initializer_count, Onnx__TensorProto *);
  if (!to->initializer) return no_memory(save);
  for (int i = 0; i < graph->initializer_count; i++) {
    Onnx__TensorProto *proto = make_initializer(save, graph->initializers[i]);
    if (!proto) return no_memory(save);
    to->initializer[i] = proto;
    if (save->data && proto->has_raw_data && proto->raw_data.len >= EXTERNAL_LEAST) DQ_TRY(put_outside(save, proto));
  }
  return DQ_OK;
}

// ---- The model ----

static dq_status put_opsets(const model_save *save, Onnx__ModelProto *to) {
  const dq_graph *graph = save->graph;
  Onnx__OperatorSetIdProto **made = DQ_NEW_ARRAY(save->arena, graph->opset_count, Onnx__OperatorSetIdProto *);
  if (!made) return no_memory(save);
  for (int i = 0; i < graph->opset_count; i++) {
    Onnx__OperatorSetIdProto *proto = made[i] = DQ_NEW(save->arena, Onnx__OperatorSetIdProto);
    if (!proto) return no_memory(save);
    onnx__operator_set_id_proto__init(proto);
    if ((size_t)i < to->n_opset_import) *proto = *to->opset_import[i]; // the order is kept
    else proto->domain = (char *)(uintptr_t)graph->opsets[i].domain;
    proto->has_version = true;
    proto->version = graph->opsets[i].version;
  }
  to->opset_import = made;
  to->n_opset_import = (size_t)graph->opset_count;
  return DQ_OK;
}

static dq_status put_properties(const model_save *save, Onnx__ModelProto *to) {
  const dq_graph *graph = save->graph;
  Onnx__StringStringEntryProto **made =
      DQ_NEW_ARRAY(save->arena, graph->property_count, Onnx__StringStringEntryProto *);
  if (!made) return no_memory(save);
  for (int i = 0; i < graph->property_count; i++) {
    Onnx__StringStringEntryProto *proto = made[i] = DQ_NEW(save->arena, Onnx__StringStringEntryProto);
    if (!proto) return no_memory(save);
    onnx__string_string_entry_proto__init(proto);
    if ((size_t)i < to->n_metadata_props) *proto = *to->metadata_props[i];
    proto->key = (char *)(uintptr_t)graph->properties[i].key;
    proto->value = (char *)(uintptr_t)graph->properties[i].value;
  }
  to->metadata_props = made;
  to->n_metadata_props = (size_t)graph->property_count;
  return DQ_OK;
}

static dq_status make_model(model_save *save, Onnx__ModelProto *model) {
  const dq_graph *graph = save->graph;
  Onnx__GraphProto *to = DQ_NEW(save->arena, Onnx__GraphProto);
  if (!to) return no_memory(save);
  onnx__model_proto__init(model);
  onnx__graph_proto__init(to);
  if (graph->document) {
    *model = *graph->document->model;
    *to = *graph->document->model->graph;
  } else {
    to->name = (char *)(uintptr_t)graph->name;
  }
  model->graph = to;
  model->has_ir_version = true;
  model->ir_version = graph->ir_version;
  DQ_TRY(put_opsets(save, model));
  DQ_TRY(put_properties(save, model));
  DQ_TRY(put_nodes(save, to));
  DQ_TRY(put_inputs(save, to));
  DQ_TRY(put_interface(save, graph->outputs, graph->output_count, &to->output, &to->n_output));
  DQ_TRY(put_declarations(save, to));
  return put_initializers(save, to);
}

typedef struct stream_buffer {
  ProtobufCBuffer base;
  FILE *stream;
} stream_buffer;

static void append_to_stream(ProtobufCBuffer *buffer, size_t length, const uint8_t *data) {
  if (length) fwrite(data, 1, length, ((stream_buffer *)buffer)->stream); // errors show at commit
}

static dq_status write_message(const ProtobufCMessage *message, const char *path, dq_error *error) {
  dq_output output;
  DQ_TRY(dq_output_open(&output, path, error));
  stream_buffer buffer = {{append_to_stream}, output.stream};
  protobuf_c_message_pack_to_buffer(message, &buffer.base);
  return dq_output_commit(&output, error);
}

int64_t dq_constant_bytes(const dq_graph *graph) {
  int64_t bytes = 0;
  for (int i = 0; i < graph->initializer_count; i++)
    if (graph->initializers[i]->constant) bytes += (int64_t)dq_tensor_bytes(graph->initializers[i]->constant);
  return bytes;
}

static dq_status save_model(model_save *save, const char *path) {
  dq_output data = {0};
  if ((size_t)dq_constant_bytes(save->graph) > LARGEST_MESSAGE) {
    if (!strcmp(path, "-"))
      return dq_fail(save->error, DQ_USAGE, "a model over 2 GB needs a file name, not standard output");
    char *target = dq_output_target(path); // the data are beside the file, not beside a link to it
    if (!target) return dq_fail_errno(save->error, path);
    const char *slash = strrchr(target, '/');
    char *data_path = dq_arena_printf(save->arena, "%s.data", target);
    save->data_name = dq_arena_printf(save->arena, "%s.data", slash ? slash + 1 : target);
    free(target);
    if (!data_path || !save->data_name) return no_memory(save);
    DQ_TRY(dq_output_open(&data, data_path, save->error));
    save->data = &data;
  }
  Onnx__ModelProto model;
  dq_status status = make_model(save, &model);
  if (status == DQ_OK && save->data) status = dq_output_commit(&data, save->error);
  if (status == DQ_OK) return write_message(&model.base, path, save->error);
  dq_output_discard(&data);
  return status;
}

dq_status dq_onnx_save(const dq_graph *graph, const char *path, dq_error *error) {
  dq_arena *arena = dq_arena_beside(graph->arena);
  if (!arena) return dq_fail_memory(error, 0);
  model_save save = {.graph = graph, .arena = arena, .error = error};
  dq_status status = save_model(&save, path);
  if (graph->document) // weights that were written back from the file as they are
    dq_file_forget(&graph->document->file, graph->document->file.data, graph->document->file.size);
  dq_arena_free(arena);
  return status;
}

dq_status dq_onnx_write_tensor(const char *path, const char *name, const dq_tensor *tensor, dq_error *error) {
  dq_arena *arena = dq_arena_new(0);
  Onnx__TensorProto *proto = arena ? dq_tensor_to_proto(name, tensor, arena) : NULL;
  dq_status status = proto ? write_message(&proto->base, path, error) : dq_fail_memory(error, 0);
  dq_arena_free(arena);
  return status;
}
