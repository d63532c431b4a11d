// What a loaded model needs beside its graph so that saving writes back every field, also those that dq does not know.
// Private to this module.
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

// The bytes [from, to) of an external file that a tensor stands in.
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

// An allocator for protobuf-c that allocates from an arena, which must outlive the messages, and frees nothing.
ProtobufCAllocator dq_arena_allocator(dq_arena *arena);

// scan.c: checks the wire format of a message (lengths, depth, strings) against its descriptor, so that unpacking a
// hostile file cannot take unbounded memory or stack. *memory receives the bytes that unpacking will take.
// DQ_BAD_INPUT: the message is broken.
dq_status dq_scan_message(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t size,
                          size_t *memory, dq_error *error);
// Whether the message is longer than these bytes, by the length that its last field states.
bool dq_is_cut_off(const uint8_t *data, size_t size);
// Where the raw_data of a tensor stands in the file.
typedef struct dq_raw_place {
  uint64_t offset, length;
} dq_raw_place;
// Copies the bytes of a model into *cut, with the raw_data of its initializers and constants replaced by a
// dq_raw_place, so that unpacking does not copy weights. The data must have passed dq_scan_message. The caller frees
// *cut with dq_budget_free. DQ_SYSTEM: there is no memory.
dq_status dq_cut_raw_data(const uint8_t *data, size_t size, uint8_t **cut, size_t *cut_size, const dq_context *context,
                          dq_error *error);

// tensor_proto.c: makes a tensor in the arena. Its elements point into the file of the document where they are aligned
// there, else they are copied. DQ_BAD_INPUT: the message contradicts itself; DQ_SYSTEM: no memory or no external file.
dq_status dq_tensor_from_proto(const Onnx__TensorProto *proto, dq_document *document, dq_arena *arena,
                               dq_tensor **tensor, dq_error *error);
// sparse.c: makes the dense tensor in the arena that a sparse one stands for; elements without a value are 0. The
// indices are row-major places or one index for each dimension. DQ_BAD_INPUT: an index is outside of the tensor, the
// indices do not ascend, or the message contradicts itself; DQ_UNSUPPORTED: strings, or types of fewer than 8 bits;
// DQ_SYSTEM: no memory for the dense elements, or no external file.
dq_status dq_tensor_from_sparse(const Onnx__SparseTensorProto *proto, dq_document *document, dq_arena *arena,
                                dq_tensor **tensor, dq_error *error);
// A message in the arena whose raw_data points at the elements of the tensor; NULL: there is no memory.
Onnx__TensorProto *dq_tensor_to_proto(const char *name, const dq_tensor *tensor, dq_arena *arena);

// external.c: *data points at the *size bytes of a tensor that is stored in another file. The file is mapped as long as
// the document lives. DQ_BAD_INPUT: the place lies outside of the file, or the path outside of the folder of the model;
// DQ_SYSTEM: the file cannot be read.
dq_status dq_external_bytes(dq_document *document, const Onnx__TensorProto *proto, const uint8_t **data, size_t *size,
                            dq_error *error);
// Called at the end of loading: DQ_BAD_INPUT when the bytes of two tensors overlap in part. Two tensors may stand in
// the same bytes. Sorts document->spans.
dq_status dq_external_check(dq_document *document, dq_error *error);

#endif
