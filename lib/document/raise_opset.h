// Raising the opset of a document: nodes keep their meaning.
#ifndef DQ_PASSES_RAISE_OPSET_H
#define DQ_PASSES_RAISE_OPSET_H

#include "lib/base/context.h"
#include "lib/graph/graph.h"

// Raises the default domain's opset of an indexed graph to `to` and the IR version to the least
// that this opset needs (initializers that IR versions before 4 forced to be inputs are inputs no
// more); nothing when it is that high already. Nodes whose operator changed its form are rewritten;
// those whose meaning would change are not guessed at: DQ_UNSUPPORTED names node and operator.
// Operators that the old opset does not have are taken to be written for `to` already. The graph is
// indexed afterwards; after a failure it may only be freed.
dq_status dq_raise_opset(dq_graph *graph, int64_t to, const dq_context *context, dq_error *error);

// Whether it is known what version `version` of an operator changed (for tests of the table).
bool dq_raise_is_known(const char *op_type, int version);

#endif
