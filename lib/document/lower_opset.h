// Lowers the opset of a document graph to one that other programs load.
#ifndef DQ_DOCUMENT_LOWER_OPSET_H
#define DQ_DOCUMENT_LOWER_OPSET_H

#include "lib/base/context.h"
#include "lib/graph/graph.h"

// The newest opset whose operators ONNX Runtime 1.32 and the other runtimes of the time have.
enum { DQ_OPSET_LOADED = 27 };

// Sets the opset of ai.onnx of an indexed graph to DQ_OPSET_LOADED when it is newer and no node needs what is newer,
// with a note; the nodes stay as they are. Where a node needs the newer opset, or the graph has functions or bodies,
// the graph stays as it is, and a warning says what needs it. DQ_SYSTEM: there is no memory.
dq_status dq_lower_opset(dq_graph *graph, const dq_context *context, dq_error *error);

#endif
