// Repairs shapes that a document graph declares and its nodes contradict, as other runtimes warn of them or refuse
// them.
#ifndef DQ_DOCUMENT_REPAIR_SHAPES_H
#define DQ_DOCUMENT_REPAIR_SHAPES_H

#include "lib/base/context.h"
#include "lib/graph/graph.h"

// Compares what the indexed graph declares of values that nodes compute with shapes that are inferred: at the sizes of
// dq_sizes_assume, and again with each of the first six open sizes of inputs doubled. A value whose rank, or a fixed
// size of whose declaration, differs from one of these gets what was inferred: sizes that are the same each time are
// fixed, one that is an open size of an input has its symbol, others are open. Other values, types, and values whose
// shape dq cannot infer, stay as they are. A note counts the repaired values and names one. DQ_SYSTEM: there is no
// memory; DQ_CANCELLED.
dq_status dq_repair_shapes(dq_graph *graph, const dq_context *context, dq_error *error);

#endif
