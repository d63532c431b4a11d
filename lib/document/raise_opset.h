// Raises the opset of a document graph without changing what its nodes compute.
#ifndef DQ_DOCUMENT_RAISE_OPSET_H
#define DQ_DOCUMENT_RAISE_OPSET_H

#include "lib/base/context.h"
#include "lib/graph/graph.h"

// Raises the opset of the domain ai.onnx of an indexed graph to version `to`, and the IR version to the least one that
// this opset needs; initializers that IR versions below 4 list as inputs are then no longer inputs. When the opset is
// that high already, nothing happens and the result is DQ_OK, whatever the model has. Nodes whose operator has another
// form in the new version are rewritten. A node of an operator that the old opset does not have is taken to be written
// for version `to` and stays. The graph is indexed afterwards; after a failure it may only be freed. What is needed
// during the call counts against the budget of `context` (NULL: against none).
// DQ_UNSUPPORTED: the new version has no form with the meaning of a node (the message has node and operator), a node
// has a body (If, Loop, Scan), one of the two versions is outside of DQ_OPSET_OLDEST to DQ_OPSET_NEWEST of
// lib/onnx/onnx.h, or the model has functions of its own; DQ_SYSTEM: there is no memory.
dq_status dq_raise_opset(dq_graph *graph, int64_t to, const dq_context *context, dq_error *error);

// Whether raise_opset.def has a row for what version `version` of an operator changed. For tests of the table.
bool dq_raise_is_known(const char *op_type, int version);

#endif
