// Functions that exporters write out in several nodes become one node, so that dq-int8 rounds their argument and their
// result, and nothing in between.
#ifndef DQ_QUANT_WRITTEN_FUNCTIONS_H
#define DQ_QUANT_WRITTEN_FUNCTIONS_H

#include "lib/base/context.h"
#include "lib/graph/graph.h"

// Replaces what equals x min(max(x + 3, 0), 6) / 6 by HardSwish, and what equals min(max(x + 3, 0), 6) / 6 by
// HardSigmoid, in an indexed graph. The forms are products and quotients, in any order, of x, of numbers, and of
// Clip(x + 3, 0, 6) or HardSigmoid(x) with alpha 1/6 and beta 1/2, whose intermediate results nothing else reads.
// Constants are compared within 1e-6 of their value. The new node has the name and the output of the last node that it
// replaces. The opset becomes 14 or higher when there is a HardSwish. The graph is indexed afterwards. DQ_SYSTEM: there
// is no memory; DQ_UNSUPPORTED: see dq_raise_opset.
dq_status dq_written_functions_fuse(dq_graph *graph, const dq_context *context, dq_error *error);

#endif
