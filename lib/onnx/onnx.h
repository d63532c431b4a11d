// ONNX files to graphs and tensors and back. The only room that sees protobuf.
#ifndef DQ_ONNX_ONNX_H
#define DQ_ONNX_ONNX_H

#include "lib/base/context.h"
#include "lib/graph/graph.h"

enum { DQ_OPSET_OLDEST = 7, DQ_OPSET_NEWEST = 28, DQ_IR_OLDEST = 3, DQ_IR_NEWEST = 14 };

// Loads a model. `path` "-" is standard input. Weights stay in the mapped file where their place is
// aligned for their type, and are copied once where it is not. Everything not understood is kept and
// written back by dq_onnx_save. The file must not change while the graph lives.
// Errors name the path: DQ_SYSTEM (cannot be read), DQ_BAD_INPUT (broken), DQ_UNSUPPORTED (opset).
dq_status dq_onnx_load(dq_graph **graph, const char *path, const dq_context *context, dq_error *error);

// The same from memory, which must outlive the graph. External data is looked up in `folder`.
dq_status dq_onnx_load_bytes(dq_graph **graph, const void *data, size_t size, const char *folder,
                             const dq_context *context, dq_error *error);

// Writes a model atomically; weights go to PATH.data when the file would pass 2 GB. "-" is standard
// output. The same graph gives the same bytes.
dq_status dq_onnx_save(const dq_graph *graph, const char *path, dq_error *error);

// A tensor file (TensorProto), as the ONNX test suites have them. The name may be "".
dq_status dq_onnx_read_tensor(const char *path, dq_arena *arena, dq_tensor **tensor, const char **name,
                              dq_error *error);
dq_status dq_onnx_write_tensor(const char *path, const char *name, const dq_tensor *tensor, dq_error *error);

#endif
