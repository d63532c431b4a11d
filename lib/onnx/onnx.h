// Reads and writes ONNX models and tensors. Only this module knows protobuf.
#ifndef DQ_ONNX_ONNX_H
#define DQ_ONNX_ONNX_H

#include "lib/base/context.h"
#include "lib/graph/graph.h"

enum { DQ_OPSET_OLDEST = 7, DQ_OPSET_NEWEST = 28, DQ_IR_OLDEST = 3, DQ_IR_NEWEST = 14 };

// Loads a model and indexes its graph, which the caller frees with dq_graph_free. `path` "-" is standard input. Weights
// stay in the mapped file where they are aligned for their type, and are copied where they are not; the file must not
// change while the graph lives. Fields that dq does not know are written back by dq_onnx_save. Memory counts against
// the budget of the context, which may be NULL. Messages begin with the path. DQ_SYSTEM: the file cannot be read, or
// there is no memory; DQ_BAD_INPUT: it is broken; DQ_UNSUPPORTED: its opset or IR version is outside of the limits
// above.
dq_status dq_onnx_load(dq_graph **graph, const char *path, const dq_context *context, dq_error *error);

// Loads a model as dq_onnx_load does, from `size` bytes at `data`, which must outlive the graph. Files of external data
// stand in `folder`.
dq_status dq_onnx_load_bytes(dq_graph **graph, const void *data, size_t size, const char *folder,
                             const dq_context *context, dq_error *error);

// Writes a model; `path` "-" is standard output. The file appears under its name when it is complete. Weights go to
// PATH.data when the model would pass the 2 GB of protobuf. The same graph always gives the same bytes. DQ_SYSTEM: the
// file cannot be written, or there is no memory.
dq_status dq_onnx_save(const dq_graph *graph, const char *path, dq_error *error);

// The bytes that the elements of all initializers of a graph take.
int64_t dq_constant_bytes(const dq_graph *graph);

// Reads and writes a file with one TensorProto, as in the ONNX test suite. The arena owns the tensor that is read and
// its name, which may be ""; `name` may be NULL when it is not wanted. Statuses as for models.
dq_status dq_onnx_read_tensor(const char *path, dq_arena *arena, dq_tensor **tensor, const char **name,
                              dq_error *error);
dq_status dq_onnx_write_tensor(const char *path, const char *name, const dq_tensor *tensor, dq_error *error);

#endif
