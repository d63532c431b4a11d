// Models of many like parts. All are valid, small for what they hold, and run.
#include "tests/models/hostile.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/file.h"
#include "lib/onnx/onnx.h"
#include "onnx.pb-c.h"

typedef struct maker {
  dq_graph *graph;
  dq_value *x; // 1x3x4x4
  int count;
} maker;

static const int64_t picture[] = {1, 3, 4, 4};

static dq_value *declared(maker *m, const char *name, int64_t channels) {
  dq_value *value = dq_graph_add_value(m->graph, name);
  dq_dimension *dims = DQ_NEW_ARRAY(m->graph->arena, 4, dq_dimension);
  for (int i = 0; i < 4; i++) dims[i].size = i == 1 ? channels : picture[i];
  value->type = DQ_F32, value->rank = 4, value->dims = dims;
  return value;
}

static void set_outputs(maker *m, dq_value **outputs, int count) {
  for (int i = 0; i < count; i++) outputs[i]->is_output = true;
  m->graph->outputs = dq_arena_copy(m->graph->arena, outputs, (size_t)count * sizeof *outputs);
  m->graph->output_count = count;
}

static void set_inputs(maker *m, dq_value **inputs, int count) {
  for (int i = 0; i < count; i++) inputs[i]->is_input = true;
  m->graph->inputs = dq_arena_copy(m->graph->arena, inputs, (size_t)count * sizeof *inputs);
  m->graph->input_count = count;
}

static dq_value *numbered(maker *m, const char *format, int i) {
  char name[64];
  snprintf(name, sizeof name, format, i);
  return dq_graph_add_value(m->graph, name);
}

static dq_node *add(maker *m, const char *op_type, dq_value **inputs, int count, dq_value *output) {
  return dq_graph_add_node(m->graph, m->graph->node_count, op_type, output->name, count, inputs, 1, &output);
}

static dq_value *elements(maker *m, const char *name, int rank, const int64_t *dims, double value) {
  dq_tensor *tensor = dq_tensor_new(m->graph->arena, DQ_F32, rank, dims);
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) dq_tensor_set(tensor, i, value / (double)(i % 7 + 1));
  dq_value *constant = dq_graph_add_value(m->graph, name);
  dq_graph_set_constant(m->graph, constant, tensor);
  return constant;
}

static void finish(maker *m, dq_value *last) {
  dq_value *y = declared(m, "y", 3);
  add(m, "Relu", &last, 1, y);
  set_outputs(m, &y, 1);
}

// All values joined along the channels.
static void join(maker *m, dq_value **values, int count) {
  dq_value *y = declared(m, "y", 3 * (int64_t)count);
  dq_node_set_int(m->graph, add(m, "Concat", values, count, y), "axis", 1);
  set_outputs(m, &y, 1);
}

static void chain_of(maker *m, const char *op_type) {
  dq_value *last = m->x;
  for (int i = 0; i < m->count; i++) {
    dq_value *next = numbered(m, "v%d", i);
    add(m, op_type, &last, 1, next);
    last = next;
  }
  finish(m, last);
}

static void make_relus(maker *m) { chain_of(m, "Relu"); }
static void make_identities(maker *m) { chain_of(m, "Identity"); }
static void make_sigmoids(maker *m) { chain_of(m, "Sigmoid"); }

static void make_additions(maker *m) {
  dq_value *last = m->x;
  for (int i = 0; i < m->count; i++) {
    dq_value *next = numbered(m, "v%d", i);
    add(m, "Add", (dq_value *[]){last, m->x}, 2, next);
    last = next;
  }
  finish(m, last);
}

// The value is read by all nodes, each of which makes one of its own.
static void make_readers(maker *m) {
  dq_value **values = DQ_NEW_ARRAY(m->graph->arena, m->count, dq_value *);
  for (int i = 0; i < m->count; i++) {
    values[i] = numbered(m, "v%d", i);
    add(m, "Add", (dq_value *[]){m->x, m->x}, 2, values[i]);
  }
  join(m, values, m->count);
}

static void make_concatenation(maker *m) {
  dq_value **values = DQ_NEW_ARRAY(m->graph->arena, m->count, dq_value *);
  for (int i = 0; i < m->count; i++) values[i] = m->x;
  join(m, values, m->count);
}

static void make_inputs(maker *m) {
  dq_value **inputs = DQ_NEW_ARRAY(m->graph->arena, m->count, dq_value *);
  char name[64];
  for (int i = 0; i < m->count; i++) {
    snprintf(name, sizeof name, "x%d", i);
    inputs[i] = declared(m, name, 3);
  }
  set_inputs(m, inputs, m->count);
  join(m, inputs, m->count);
}

static void make_outputs(maker *m) {
  dq_value **outputs = DQ_NEW_ARRAY(m->graph->arena, m->count, dq_value *);
  char name[64];
  for (int i = 0; i < m->count; i++) {
    snprintf(name, sizeof name, "y%d", i);
    outputs[i] = declared(m, name, 3);
    add(m, "Relu", &m->x, 1, outputs[i]);
  }
  set_outputs(m, outputs, m->count);
}

// Each node has an operand of its own; half of the initializers are read by nobody.
static void make_initializers(maker *m) {
  dq_value *last = m->x;
  char name[64];
  for (int i = 0; i < m->count; i++) {
    dq_value *next = numbered(m, "v%d", i);
    snprintf(name, sizeof name, "unread%d", i);
    elements(m, name, 1, (const int64_t[]){1}, 1);
    snprintf(name, sizeof name, "c%d", i);
    add(m, "Mul", (dq_value *[]){last, elements(m, name, 1, (const int64_t[]){1}, 1)}, 2, next);
    last = next;
  }
  finish(m, last);
}

// Initializers that nobody reads: put_outside moves their elements to another file.
static void make_spans(maker *m) {
  for (int i = 0; i < m->count; i++) {
    char name[64];
    snprintf(name, sizeof name, "unread%d", i);
    elements(m, name, 1, (const int64_t[]){1}, 1);
  }
  finish(m, m->x);
}

static void make_constants(maker *m) {
  dq_value *last = m->x;
  for (int i = 0; i < m->count; i++) {
    dq_value *next = numbered(m, "v%d", i), *held = numbered(m, "c%d", i);
    dq_tensor *tensor = dq_tensor_scalar_f32(m->graph->arena, 1);
    dq_attribute attribute = {.name = "value", .type = DQ_ATTRIBUTE_TENSOR, .tensor = tensor};
    dq_node_copy_attribute(m->graph, add(m, "Constant", NULL, 0, held), &attribute);
    add(m, "Add", (dq_value *[]){last, held}, 2, next);
    last = next;
  }
  finish(m, last);
}

static void make_convolutions(maker *m) {
  dq_value *last = m->x;
  char name[64];
  for (int i = 0; i < m->count; i++) {
    dq_value *next = numbered(m, "v%d", i);
    snprintf(name, sizeof name, "w%d", i);
    add(m, "Conv", (dq_value *[]){last, elements(m, name, 4, (const int64_t[]){3, 3, 1, 1}, 0.5)}, 2, next);
    last = next;
  }
  finish(m, last);
}

static const float turn[3][3] = {{-0.5f, -0.8660254f, 0}, {0.8660254f, -0.5f, 0}, {0, 0, 0}};

// Residual blocks v + W v that turn channels 0 and 1 by 60 degrees, so that values keep their size.
static void make_residuals(maker *m) {
  dq_value *last = m->x;
  char name[64];
  for (int i = 0; i < m->count; i++) {
    dq_value *turned = numbered(m, "c%d", i), *next = numbered(m, "v%d", i);
    snprintf(name, sizeof name, "w%d", i);
    dq_value *weight = elements(m, name, 4, (const int64_t[]){3, 3, 1, 1}, 0);
    memcpy(weight->constant->data, turn, sizeof turn);
    add(m, "Conv", (dq_value *[]){last, weight}, 2, turned);
    add(m, "Add", (dq_value *[]){last, turned}, 2, next);
    last = next;
  }
  finish(m, last);
}

// Behind a convolution, which may have 8 bits, nodes that stay in float.
static void make_magnitudes(maker *m) {
  dq_value *last = numbered(m, "c%d", 0);
  add(m, "Conv", (dq_value *[]){m->x, elements(m, "w", 4, (const int64_t[]){3, 3, 1, 1}, 0.5)}, 2, last);
  for (int i = 0; i < m->count; i++) {
    dq_value *next = numbered(m, "v%d", i);
    add(m, "Abs", &last, 1, next);
    last = next;
  }
  finish(m, last);
}

static void make_attributes(maker *m) {
  dq_value *y = declared(m, "y", 3);
  dq_node *node = add(m, "Relu", &m->x, 1, y);
  dq_attribute *attributes = DQ_NEW_ARRAY(m->graph->arena, m->count, dq_attribute);
  for (int i = 0; i < m->count; i++)
    attributes[i] =
        (dq_attribute){.name = dq_arena_printf(m->graph->arena, "a%d", i), .type = DQ_ATTRIBUTE_INT, .i = i};
  node->attributes = attributes;
  node->attribute_count = m->count;
  set_outputs(m, &y, 1);
}

static void make_opsets(maker *m) {
  dq_opset *opsets = DQ_NEW_ARRAY(m->graph->arena, m->count + 1, dq_opset);
  opsets[0] = m->graph->opsets[0];
  for (int i = 1; i <= m->count; i++) opsets[i] = (dq_opset){dq_arena_printf(m->graph->arena, "domain%d", i), 1};
  m->graph->opsets = opsets;
  m->graph->opset_count = m->count + 1;
  finish(m, m->x);
}

static void make_properties(maker *m) {
  m->graph->properties = DQ_NEW_ARRAY(m->graph->arena, m->count, dq_property);
  for (int i = 0; i < m->count; i++)
    m->graph->properties[i] = (dq_property){dq_arena_printf(m->graph->arena, "key%d", i), "value"};
  m->graph->property_count = m->count;
  finish(m, m->x);
}

// A hundred nodes whose names share almost all of their letters.
static void make_long_names(maker *m) {
  enum { NODES = 100 };
  dq_value *last = m->x;
  char *letters = dq_arena_alloc(m->graph->arena, (size_t)m->count + 1);
  memset(letters, 'n', (size_t)m->count);
  for (int i = 0; i < NODES; i++) {
    dq_value *next = dq_graph_add_value(m->graph, dq_arena_printf(m->graph->arena, "%s%d", letters, i));
    add(m, "Relu", &last, 1, next);
    last = next;
  }
  finish(m, last);
}

static const struct {
  const char *kind;
  void (*make)(maker *m);
} kinds[] = {{"additions", make_additions},
             {"attributes", make_attributes},
             {"concatenation", make_concatenation},
             {"constants", make_constants},
             {"convolutions", make_convolutions},
             {"identities", make_identities},
             {"initializers", make_initializers},
             {"inputs", make_inputs},
             {"long_names", make_long_names},
             {"magnitudes", make_magnitudes},
             {"opsets", make_opsets},
             {"outputs", make_outputs},
             {"properties", make_properties},
             {"readers", make_readers},
             {"relus", make_relus},
             {"residuals", make_residuals},
             {"sigmoids", make_sigmoids},
             {"spans", make_spans}};

enum { KINDS = sizeof kinds / sizeof *kinds };

static Onnx__StringStringEntryProto *entry(dq_arena *arena, const char *key, const char *value) {
  Onnx__StringStringEntryProto *made = DQ_NEW(arena, Onnx__StringStringEntryProto);
  onnx__string_string_entry_proto__init(made);
  made->key = dq_arena_strdup(arena, key), made->value = dq_arena_strdup(arena, value);
  return made;
}

// Writes the elements of an initializer to `data`, and says so in the initializer.
static void move_elements(Onnx__TensorProto *tensor, FILE *data, const char *location, dq_arena *arena) {
  tensor->n_external_data = 3;
  tensor->external_data = DQ_NEW_ARRAY(arena, 3, Onnx__StringStringEntryProto *);
  tensor->external_data[0] = entry(arena, "location", location);
  tensor->external_data[1] = entry(arena, "offset", dq_arena_printf(arena, "%ld", ftell(data)));
  tensor->external_data[2] = entry(arena, "length", dq_arena_printf(arena, "%zu", tensor->raw_data.len));
  tensor->has_data_location = 1, tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  fwrite(tensor->raw_data.data, 1, tensor->raw_data.len, data);
  tensor->has_raw_data = 0;
}

// The file again, with the elements of its initializers in path.data.
static dq_status put_outside(const char *path, dq_arena *arena, dq_error *error) {
  const char *data_path = dq_arena_printf(arena, "%s.data", path), *slash = strrchr(data_path, '/');
  dq_file file;
  dq_output output, data;
  DQ_TRY(dq_file_open(&file, path, error));
  Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, file.size, file.data);
  dq_file_close(&file);
  DQ_TRY(dq_output_open(&data, data_path, error));
  for (size_t i = 0; i < model->graph->n_initializer; i++)
    move_elements(model->graph->initializer[i], data.stream, slash ? slash + 1 : data_path, arena);
  DQ_TRY(dq_output_commit(&data, error));
  size_t size = onnx__model_proto__get_packed_size(model);
  uint8_t *bytes = dq_arena_alloc(arena, size);
  onnx__model_proto__pack(model, bytes);
  for (size_t i = 0; i < model->graph->n_initializer; i++) model->graph->initializer[i]->n_external_data = 0;
  for (size_t i = 0; i < model->graph->n_initializer; i++) model->graph->initializer[i]->external_data = NULL;
  onnx__model_proto__free_unpacked(model, NULL);
  DQ_TRY(dq_output_open(&output, path, error));
  fwrite(bytes, 1, size, output.stream);
  return dq_output_commit(&output, error);
}

int write_hostile_model(const char *kind, int count, const char *path) {
  dq_error error = {0};
  int found = 0;
  while (found < KINDS && strcmp(kinds[found].kind, kind)) found++;
  maker m = {.graph = found < KINDS ? dq_graph_new(0) : NULL, .count = count};
  if (!m.graph) return 2;
  m.graph->ir_version = 7;
  m.x = declared(&m, "x", 3);
  set_inputs(&m, &m.x, 1);
  dq_status status = dq_graph_set_opset(m.graph, "", 13, &error);
  if (status == DQ_OK) kinds[found].make(&m);
  if (status == DQ_OK) status = dq_onnx_save(m.graph, path, &error);
  if (status == DQ_OK && kinds[found].make == make_spans) status = put_outside(path, m.graph->arena, &error);
  if (status != DQ_OK) fprintf(stderr, "%s\n", error.message);
  dq_graph_free(m.graph);
  return (int)status;
}
