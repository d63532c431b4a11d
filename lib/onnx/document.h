// What the loader keeps so that the saver can write back everything it did not understand.
#ifndef DQ_ONNX_DOCUMENT_H
#define DQ_ONNX_DOCUMENT_H

#include "lib/base/file.h"
#include "lib/onnx/onnx.h"
#include "onnx.pb-c.h"

typedef struct dq_external {
  const char *path;
  dq_file file;
  struct dq_external *next;
} dq_external;

// A span of an external file, to find overlaps.
typedef struct dq_span {
  const char *path, *tensor;
  uint64_t from, to;
} dq_span;

typedef struct dq_document {
  dq_arena *arena;    // the unpacked messages
  dq_file file;       // what raw_data points into
  const char *folder; // where external data may lie
  Onnx__ModelProto *model;
  dq_external *externals;
  dq_span *spans;
  size_t span_count, span_capacity;
} dq_document;

// An allocator for protobuf-c that takes everything from an arena and frees nothing.
ProtobufCAllocator dq_arena_allocator(dq_arena *arena);

// scan.c: checks the wire format of a message against its descriptor before anything is unpacked
// (lengths, depth, strings), so that unpacking cannot be made to explode; `*memory` receives the bytes it takes.
dq_status dq_scan_message(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t size,
                          size_t *memory, dq_error *error);
// Whether a message goes on behind these bytes: its last field says that it is longer.
bool dq_is_cut_off(const uint8_t *data, size_t size);
// Copies a model's bytes with the raw_data of its initializers and constants replaced by a
// dq_raw_place, so that unpacking does not copy weights. Only for data that passed the scan.
typedef struct dq_raw_place {
  uint64_t offset, length;
} dq_raw_place;
// The copy is for dq_budget_free.
dq_status dq_cut_raw_data(const uint8_t *data, size_t size, uint8_t **cut, size_t *cut_size, const dq_context *context,
                          dq_error *error);

// tensor_proto.c
dq_status dq_tensor_from_proto(const Onnx__TensorProto *proto, dq_document *document, dq_arena *arena,
                               dq_tensor **tensor, dq_error *error);
// A message whose raw_data points at the tensor's elements.
Onnx__TensorProto *dq_tensor_to_proto(const char *name, const dq_tensor *tensor, dq_arena *arena);

// external.c: the bytes of a tensor stored beside the model.
dq_status dq_external_bytes(dq_document *document, const Onnx__TensorProto *proto, const uint8_t **data, size_t *size,
                            dq_error *error);
// Two tensors may share one span, but spans that overlap in part can only be a mistake: DQ_BAD_INPUT. For the end of
// loading; the spans are sorted.
dq_status dq_external_check(dq_document *document, dq_error *error);

#endif
