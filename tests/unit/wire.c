#include "tests/unit/wire.h"

void wire_free(wire *w) {
  free(w->data);
  *w = (wire){0};
}

void wire_append(wire *w, const void *data, size_t size) {
  if (size > w->room - w->size) {
    w->room = 2 * w->room + size + 64;
    w->data = realloc(w->data, w->room);
    if (!w->data) abort();
  }
  if (size) memcpy(w->data + w->size, data, size);
  w->size += size;
}

void wire_varint(wire *w, uint64_t value) {
  do {
    uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    wire_append(w, &byte, 1);
    value >>= 7;
  } while (value);
}

void wire_tag(wire *w, unsigned field, unsigned type) { wire_varint(w, field << 3 | type); }

void wire_int(wire *w, unsigned field, int64_t value) {
  wire_tag(w, field, 0);
  wire_varint(w, (uint64_t)value);
}

void wire_float(wire *w, unsigned field, float value) {
  wire_tag(w, field, 5);
  wire_append(w, &value, 4);
}

void wire_bytes(wire *w, unsigned field, const void *data, size_t size) {
  wire_tag(w, field, 2);
  wire_varint(w, size);
  wire_append(w, data, size);
}

void wire_text(wire *w, unsigned field, const char *text) { wire_bytes(w, field, text, strlen(text)); }

void wire_message(wire *w, unsigned field, wire *inner) {
  wire_bytes(w, field, inner->data, inner->size);
  wire_free(inner);
}

wire wire_declaration(const char *name, int rank, const int64_t *dims) {
  wire info = {0}, type = {0}, tensor = {0}, shape = {0};
  for (int i = 0; dims && i < rank; i++) {
    wire dimension = {0};
    wire_int(&dimension, 1, dims[i]);
    wire_message(&shape, 1, &dimension);
  }
  wire_int(&tensor, 1, 1);
  if (dims) wire_message(&tensor, 2, &shape);
  wire_message(&type, 1, &tensor);
  wire_text(&info, 1, name);
  wire_message(&info, 2, &type);
  return info;
}

wire wire_tensor(const char *name, int type, int rank, const int64_t *dims) {
  wire tensor = {0};
  for (int i = 0; i < rank; i++) wire_int(&tensor, 1, dims[i]);
  wire_int(&tensor, 2, type);
  wire_text(&tensor, 8, name);
  return tensor;
}

static void entry(wire *tensor, const char *key, const char *value) {
  wire pair = {0};
  if (!value) return;
  wire_text(&pair, 1, key);
  wire_text(&pair, 2, value);
  wire_message(tensor, 13, &pair);
}

wire wire_external(const char *name, int rank, const int64_t *dims, const char *location, const char *offset,
                   const char *length) {
  wire tensor = wire_tensor(name, 1, rank, dims);
  entry(&tensor, "location", location);
  entry(&tensor, "offset", offset);
  entry(&tensor, "length", length);
  wire_int(&tensor, 14, 1);
  return tensor;
}

wire wire_node(const char *op_type, const char *name, const char *input, const char *output) {
  wire node = {0};
  wire_text(&node, 1, input);
  wire_text(&node, 2, output);
  wire_text(&node, 3, name);
  wire_text(&node, 4, op_type);
  return node;
}

wire wire_model(wire *graph) {
  wire model = {0}, opset = {0};
  wire_int(&opset, 2, 13);
  wire_int(&model, 1, 7);
  wire_message(&model, 7, graph);
  wire_message(&model, 8, &opset);
  return model;
}

wire wire_relu_graph(void) {
  wire graph = {0};
  wire node = wire_node("Relu", "relu", "x", "y");
  wire input = wire_declaration("x", 2, (int64_t[]){1, 4}), output = wire_declaration("y", 2, (int64_t[]){1, 4});
  wire_message(&graph, 1, &node);
  wire_text(&graph, 2, "g");
  wire_message(&graph, 11, &input);
  wire_message(&graph, 12, &output);
  return graph;
}
