// The model property `dq`: read with suspicion, written deterministically.
#include "lib/document/origin.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/onnx/onnx.h"

static const char PROPERTY[] = "dq", SCHEMA[] = "dq-model";
enum { VERSION = 1, HASH_DIGITS = 16, MOST_STEPS = 1000 };

// ---- Hash ----

static void hash_i64(XXH64_state_t *state, int64_t value) { XXH64_update(state, &value, sizeof value); }

static void hash_text(XXH64_state_t *state, const char *text) {
  size_t length = text ? strlen(text) : 0;
  hash_i64(state, (int64_t)length);
  if (length) XXH64_update(state, text, length);
}

static void hash_tensor(XXH64_state_t *state, const dq_tensor *tensor) {
  hash_i64(state, tensor->type);
  hash_i64(state, tensor->rank);
  for (int i = 0; i < tensor->rank; i++) hash_i64(state, tensor->dims[i]);
  if (tensor->data) XXH64_update(state, tensor->data, dq_tensor_bytes(tensor));
}

static void hash_attribute(XXH64_state_t *state, const dq_attribute *attribute) {
  hash_text(state, attribute->name);
  hash_i64(state, attribute->type);
  hash_i64(state, (int64_t)attribute->count);
  switch (attribute->type) {
  case DQ_ATTRIBUTE_FLOAT: XXH64_update(state, &attribute->f, sizeof attribute->f); break;
  case DQ_ATTRIBUTE_INT: hash_i64(state, attribute->i); break;
  case DQ_ATTRIBUTE_STRING: XXH64_update(state, attribute->s, attribute->count); break;
  case DQ_ATTRIBUTE_TENSOR:
    if (attribute->tensor) hash_tensor(state, attribute->tensor);
    break;
  case DQ_ATTRIBUTE_FLOATS: XXH64_update(state, attribute->floats, attribute->count * sizeof *attribute->floats); break;
  case DQ_ATTRIBUTE_INTS: XXH64_update(state, attribute->ints, attribute->count * sizeof *attribute->ints); break;
  case DQ_ATTRIBUTE_STRINGS:
    for (size_t i = 0; i < attribute->count; i++) hash_text(state, attribute->strings[i]);
    break;
  default: break;
  }
}

static void hash_names(XXH64_state_t *state, dq_value *const *values, int count) {
  hash_i64(state, count);
  for (int i = 0; i < count; i++) hash_text(state, values[i] ? values[i]->name : NULL);
}

uint64_t dq_origin_hash(const dq_graph *graph) {
  XXH64_state_t *state = XXH64_createState();
  if (!state) return 0;
  XXH64_reset(state, 0);
  hash_names(state, graph->inputs, graph->input_count);
  hash_names(state, graph->outputs, graph->output_count);
  hash_i64(state, graph->node_count);
  for (int n = 0; n < graph->node_count; n++) {
    const dq_node *node = graph->nodes[n];
    hash_text(state, node->name);
    hash_text(state, node->op_type);
    hash_text(state, node->domain);
    hash_names(state, node->inputs, node->input_count);
    hash_names(state, node->outputs, node->output_count);
    hash_i64(state, node->attribute_count);
    for (int i = 0; i < node->attribute_count; i++) hash_attribute(state, &node->attributes[i]);
  }
  hash_i64(state, graph->initializer_count);
  for (int i = 0; i < graph->initializer_count; i++) {
    hash_text(state, graph->initializers[i]->name);
    hash_tensor(state, graph->initializers[i]->constant);
  }
  uint64_t hash = XXH64_digest(state);
  XXH64_freeState(state);
  return hash;
}

// ---- Reading ----

static bool valid_order(const json_t *order) {
  size_t count = json_array_size(order), i;
  const json_t *channel;
  unsigned char *seen = count ? calloc(count, 1) : NULL;
  bool valid = seen != NULL;
  json_array_foreach(order, i, channel) {
    json_int_t c = json_is_integer(channel) ? json_integer_value(channel) : -1;
    valid = valid && c >= 0 && (size_t)c < count && !seen[c];
    if (valid) seen[c] = 1;
  }
  free(seen);
  return valid;
}

static bool valid_channels(const json_t *step) {
  const json_t *orders = json_object_get(step, "orders");
  json_t *channels = json_object_get(step, "channels"), *index;
  if (!orders && !channels) return true;
  if (!json_is_array(orders) || !json_is_object(channels)) return false;
  for (size_t i = 0; i < json_array_size(orders); i++)
    if (!valid_order(json_array_get(orders, i))) return false;
  const char *key;
  json_object_foreach(channels, key, index) {
    if (!json_is_integer(index) || json_integer_value(index) < 0 ||
        (size_t)json_integer_value(index) >= json_array_size(orders))
      return false;
  }
  return true;
}

static bool valid_step(const json_t *step) {
  const json_t *values = json_object_get(step, "values"), *from = json_object_get(step, "from");
  if (!json_is_object(values) || !json_is_string(json_object_get(step, "tool"))) return false;
  if (!json_is_string(from) || json_string_length(from) != HASH_DIGITS ||
      strspn(json_string_value(from), "0123456789abcdef") != HASH_DIGITS)
    return false;
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)values, key, value) {
    if (!json_is_null(value) && (!json_is_string(value) || !json_string_length(value))) return false;
  }
  return valid_channels(step);
}

static const char *find_fault(const json_t *root) {
  const json_t *schema = json_object_get(root, "schema"), *steps = json_object_get(root, "steps");
  const json_t *preset = json_object_get(root, "preset"), *shapes = json_object_get(root, "shapes");
  if (!json_is_object(root)) return "not an object";
  if (!json_is_string(schema) || strcmp(json_string_value(schema), SCHEMA)) return "another schema";
  if (json_integer_value(json_object_get(root, "version")) != VERSION) return "another version";
  if (preset && !json_is_string(preset)) return "'preset' is not a text";
  if (shapes && !json_is_object(shapes)) return "'shapes' is not an object";
  if (!steps) return NULL;
  if (!json_is_array(steps)) return "'steps' is not a list";
  if (json_array_size(steps) > MOST_STEPS) return "too many steps";
  for (size_t i = 0; i < json_array_size(steps); i++)
    if (!valid_step(json_array_get(steps, i))) return "a step is malformed";
  return NULL;
}

// The property when it is there and what it should be, else NULL.
static json_t *read_property(const dq_graph *graph, const dq_context *context) {
  const char *text = dq_graph_property(graph, PROPERTY);
  if (!text) return NULL;
  json_error_t problem;
  json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &problem);
  const char *fault = root ? find_fault(root) : "not JSON";
  if (!fault) return root;
  dq_message(context, DQ_WARNING, "%s: the model property 'dq' is ignored: %s", graph->path, fault);
  json_decref(root);
  return NULL;
}

// ---- Writing ----

static json_t *read_or_make(const dq_graph *graph, const dq_context *context) {
  json_t *root = read_property(graph, context);
  if (!root) root = json_pack("{s:s, s:i}", "schema", SCHEMA, "version", VERSION);
  return root;
}

static dq_status write_property(dq_graph *graph, const json_t *root, dq_error *error) {
  char *text = json_dumps(root, JSON_COMPACT);
  if (!text) return dq_fail_memory(error, 0);
  dq_status status = dq_graph_set_property(graph, PROPERTY, text, error);
  free(text);
  return status;
}

struct dq_origin {
  json_t *step, *values; // values is part of step
};

dq_origin *dq_origin_begin(const dq_graph *graph, const char *tool) {
  dq_origin *origin = calloc(1, sizeof *origin);
  if (!origin) return NULL;
  char hash[HASH_DIGITS + 1];
  snprintf(hash, sizeof hash, "%016" PRIx64, dq_origin_hash(graph));
  origin->step = json_pack("{s:s, s:s, s:{}}", "tool", tool, "from", hash, "values");
  origin->values = json_object_get(origin->step, "values");
  if (origin->values) return origin;
  dq_origin_discard(origin);
  return NULL;
}

void dq_origin_discard(dq_origin *origin) {
  if (!origin) return;
  json_decref(origin->step);
  free(origin);
}

dq_status dq_origin_add(dq_origin *origin, const char *value, const char *original, dq_error *error) {
  json_t *text = original ? json_string(original) : json_null();
  if (text && !json_object_set_new(origin->values, value, text)) return DQ_OK;
  json_t *unchecked = json_string_nocheck(value);
  if (!unchecked) return dq_fail_memory(error, strlen(value));
  json_decref(unchecked);
  return dq_fail(error, DQ_BAD_INPUT, "value '%s': its name, or that of the value it comes from, is not UTF-8", value);
}

void dq_origin_forget(dq_origin *origin, const char *value) {
  json_object_del(origin->values, value);
  json_object_del(json_object_get(origin->step, "channels"), value);
}

// Index of an order among those of the step; takes the reference. -1: no memory.
static json_int_t find_order(json_t *orders, json_t *order) {
  for (size_t i = 0; i < json_array_size(orders); i++)
    if (json_equal(json_array_get(orders, i), order)) {
      json_decref(order);
      return (json_int_t)i;
    }
  return json_array_append_new(orders, order) ? -1 : (json_int_t)json_array_size(orders) - 1;
}

dq_status dq_origin_add_channels(dq_origin *origin, const char *value, const int64_t *order, int64_t count,
                                 dq_error *error) {
  json_t *list = json_array();
  for (int64_t c = 0; c < count; c++) json_array_append_new(list, json_integer(order[c]));
  if (!json_object_get(origin->step, "orders")) {
    json_object_set_new(origin->step, "orders", json_array());
    json_object_set_new(origin->step, "channels", json_object());
  }
  if (json_array_size(list) != (size_t)count) {
    json_decref(list);
    return dq_fail_memory(error, (size_t)count);
  }
  json_int_t index = find_order(json_object_get(origin->step, "orders"), list);
  if (index < 0 || json_object_set_new(json_object_get(origin->step, "channels"), value, json_integer(index)))
    return dq_fail_memory(error, (size_t)count);
  return DQ_OK;
}

static dq_status append_step(json_t *root, json_t *step, dq_error *error) {
  json_t *steps = json_object_get(root, "steps");
  if (!steps) {
    steps = json_array();
    if (!steps || json_object_set_new(root, "steps", steps)) return dq_fail_memory(error, 0);
  }
  return json_array_append(steps, step) ? dq_fail_memory(error, 0) : DQ_OK;
}

dq_status dq_origin_finish(dq_origin *origin, dq_graph *graph, const dq_context *context, dq_error *error) {
  json_t *root = read_or_make(graph, context);
  dq_status status = root ? append_step(root, origin->step, error) : dq_fail_memory(error, 0);
  if (status == DQ_OK) status = write_property(graph, root, error);
  json_decref(root);
  dq_origin_discard(origin);
  return status;
}

const char *dq_origin_preset(const dq_graph *graph, const dq_context *context) {
  json_t *root = read_property(graph, context);
  const char *preset = json_string_value(json_object_get(root, "preset"));
  if (preset) preset = preset[0] ? dq_arena_strdup(graph->arena, preset) : NULL;
  json_decref(root);
  return preset;
}

dq_status dq_origin_set_preset(dq_graph *graph, const char *preset, const dq_context *context, dq_error *error) {
  json_t *root = read_or_make(graph, context);
  json_t *text = json_string(preset);
  dq_status status = DQ_OK;
  if (!root || !text || json_object_set(root, "preset", text)) status = dq_fail_memory(error, 0);
  if (status == DQ_OK) status = write_property(graph, root, error);
  json_decref(text);
  json_decref(root);
  return status;
}

// ---- Sizes ----

// The sizes that `list` says of the open dimensions of an input; NULL with a fault: it does not fit.
static const int64_t *usual_sizes(dq_arena *arena, const dq_value *input, const json_t *list, const char **fault) {
  int64_t *sizes = DQ_NEW_ARRAY(arena, input->rank + 1, int64_t);
  *fault = sizes ? NULL : "no memory";
  if (!json_is_array(list) || json_array_size(list) != (size_t)input->rank)
    *fault = "the number of dimensions is another";
  for (int d = 0; !*fault && d < input->rank; d++) {
    const json_t *size = json_array_get(list, (size_t)d);
    if (json_is_null(size)) continue;
    if (!json_is_integer(size) || json_integer_value(size) < 1) *fault = "a size is no number from 1";
    else if (d && input->dims[d].size < 0) sizes[d] = json_integer_value(size);
  }
  return *fault ? NULL : sizes;
}

void dq_origin_recall_sizes(dq_graph *graph, const dq_context *context) {
  json_t *root = read_property(graph, context);
  const char *name, *fault = NULL;
  json_t *list;
  json_object_foreach(json_object_get(root, "shapes"), name, list) {
    dq_value *input = dq_graph_find(graph, name);
    bool open = input && input->is_input && !input->constant && input->rank >= 0;
    if (open) input->usual = usual_sizes(graph->arena, input, list, &fault);
    if (!open) fault = "the model has no such input";
    if (fault)
      dq_message(context, DQ_WARNING, "%s: the sizes that the model remembers of input '%s' are ignored: %s",
                 graph->path, name, fault);
    fault = NULL;
  }
  json_decref(root);
}

// One input's entry: its sizes by dimension, null for those that are not open or not known. NULL: nothing to say.
static json_t *sizes_of(const dq_graph *graph, const dq_value *input, const dq_shape_request *given) {
  json_t *list = json_array();
  bool any = false;
  for (int d = 0; d < input->rank; d++) {
    int64_t size = d && input->dims[d].size < 0 ? dq_input_given(graph, input, given, d) : 0;
    if (size < 0 && input->usual) size = input->usual[d];
    any |= size > 0;
    json_array_append_new(list, size > 0 ? json_integer(size) : json_null());
  }
  if (any) return list;
  json_decref(list);
  return NULL;
}

dq_status dq_origin_set_sizes(dq_graph *graph, const dq_shape_request *given, const dq_context *context,
                              dq_error *error) {
  json_t *shapes = json_object();
  dq_status status = shapes ? DQ_OK : dq_fail_memory(error, 0);
  for (int i = 0; status == DQ_OK && i < graph->input_count; i++) {
    const dq_value *input = graph->inputs[i];
    json_t *list = input->constant ? NULL : sizes_of(graph, input, given);
    if (list && json_object_set_new(shapes, input->name, list))
      status = dq_fail(error, DQ_BAD_INPUT, "input '%s': its name is not UTF-8", input->name);
  }
  if (status == DQ_OK && json_object_size(shapes)) {
    json_t *root = read_or_make(graph, context);
    bool set = root && !json_object_set(root, "shapes", shapes);
    status = set ? write_property(graph, root, error) : dq_fail_memory(error, 0);
    json_decref(root);
  }
  json_decref(shapes);
  return status;
}

dq_status dq_model_open(dq_graph **graph, const char *path, const dq_context *context, dq_error *error) {
  DQ_TRY(dq_onnx_load(graph, path, context, error));
  dq_origin_recall_sizes(*graph, context);
  return DQ_OK;
}

// ---- Lineage ----

struct dq_lineage {
  json_t *root;        // NULL: no steps
  const json_t *steps; // part of root
};

dq_status dq_lineage_open(dq_lineage **lineage, const dq_graph *graph, const dq_context *context, dq_error *error) {
  *lineage = calloc(1, sizeof **lineage);
  if (!*lineage) return dq_fail_memory(error, sizeof **lineage);
  (*lineage)->root = read_property(graph, context);
  (*lineage)->steps = json_object_get((*lineage)->root, "steps");
  return DQ_OK;
}

void dq_lineage_free(dq_lineage *lineage) {
  if (!lineage) return;
  json_decref(lineage->root);
  free(lineage);
}

int dq_lineage_steps(const dq_lineage *lineage) { return (int)json_array_size(lineage->steps); }

static const json_t *step_of(const dq_lineage *lineage, int step) {
  return json_array_get(lineage->steps, (size_t)step);
}

const char *dq_lineage_tool(const dq_lineage *lineage, int step) {
  return json_string_value(json_object_get(step_of(lineage, step), "tool"));
}

uint64_t dq_lineage_source(const dq_lineage *lineage, int step) {
  return strtoull(json_string_value(json_object_get(step_of(lineage, step), "from")), NULL, 16);
}

int dq_lineage_find(const dq_lineage *lineage, uint64_t hash) {
  char text[HASH_DIGITS + 1];
  snprintf(text, sizeof text, "%016" PRIx64, hash);
  for (int i = dq_lineage_steps(lineage) - 1; i >= 0; i--)
    if (!strcmp(json_string_value(json_object_get(step_of(lineage, i), "from")), text)) return i;
  return -1;
}

const char *dq_lineage_resolve(const dq_lineage *lineage, int first, const char *value, bool *mapped) {
  if (mapped) *mapped = false;
  for (int i = dq_lineage_steps(lineage) - 1; value && i >= first; i--) {
    const json_t *entry = json_object_get(json_object_get(step_of(lineage, i), "values"), value);
    if (!entry) continue;
    if (mapped) *mapped = true;
    value = json_string_value(entry); // NULL for null
  }
  return value;
}

static const json_t *order_of(const json_t *step, const char *value) {
  const json_t *index = json_object_get(json_object_get(step, "channels"), value);
  return index ? json_array_get(json_object_get(step, "orders"), (size_t)json_integer_value(index)) : NULL;
}

dq_status dq_lineage_channels(const dq_lineage *lineage, int first, const char *value, int64_t **order, int64_t *count,
                              dq_arena *arena, dq_error *error) {
  *order = NULL, *count = 0;
  for (int i = dq_lineage_steps(lineage) - 1; value && i >= first; i--) {
    const json_t *moved = order_of(step_of(lineage, i), value);
    const json_t *entry = json_object_get(json_object_get(step_of(lineage, i), "values"), value);
    if (entry) value = json_string_value(entry);
    if (!moved) continue;
    int64_t channels = (int64_t)json_array_size(moved);
    if (!*count) {
      *count = channels;
      if (!(*order = DQ_NEW_ARRAY(arena, channels, int64_t))) return dq_fail_memory(error, (size_t)channels);
      for (int64_t c = 0; c < channels; c++) (*order)[c] = c;
    }
    if (*count != channels) {
      *count = -1;
      return DQ_OK;
    }
    for (int64_t c = 0; c < channels; c++) (*order)[c] = json_integer_value(json_array_get(moved, (size_t)(*order)[c]));
  }
  return DQ_OK;
}
