// Protobuf's wire format, written by hand: models that no library would write.
#ifndef DQ_TESTS_UNIT_WIRE_H
#define DQ_TESTS_UNIT_WIRE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct wire {
  uint8_t *data;
  size_t size, room;
} wire;

void wire_free(wire *w);
void wire_append(wire *w, const void *data, size_t size); // no memory ends the program
void wire_varint(wire *w, uint64_t value);
void wire_tag(wire *w, unsigned field, unsigned type);
void wire_int(wire *w, unsigned field, int64_t value);
void wire_float(wire *w, unsigned field, float value);
void wire_bytes(wire *w, unsigned field, const void *data, size_t size);
void wire_text(wire *w, unsigned field, const char *text);
// Adds `inner` as a message and frees it.
void wire_message(wire *w, unsigned field, wire *inner);

// ValueInfoProto of float32; NULL dims: without a shape.
wire wire_declaration(const char *name, int rank, const int64_t *dims);
// TensorProto with name, type and dims; add the elements.
wire wire_tensor(const char *name, int type, int rank, const int64_t *dims);
wire wire_external(const char *name, int rank, const int64_t *dims, const char *location, const char *offset,
                   const char *length); // float32; NULL: left out
wire wire_node(const char *op_type, const char *name, const char *input, const char *output);
// A model of IR version 7, opset 13 around a graph, which it frees.
wire wire_model(wire *graph);
// A graph with input x and output y, both 1x4, joined by one Relu.
wire wire_relu_graph(void);

#endif
