// Passes: rewrites of the execution copy of a graph before it is run. The document graph does not change.
#ifndef DQ_PASSES_PASSES_H
#define DQ_PASSES_PASSES_H

#include "lib/schedule/open_sizes.h"

// One pass. The graph is indexed before the pass and after it. Values that must stay (dq_value_must_stay) still
// exist after the pass, with the same elements.
typedef struct dq_pass {
  const char *name, *help; // static; `help` is one sentence
  // `shapes` is the request that the graph will be scheduled with. DQ_BAD_INPUT: a node is invalid; DQ_SYSTEM: there is
  // no memory. After a failure the copy can only be freed.
  dq_status (*run)(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context, dq_error *error);
} dq_pass;

const dq_pass *dq_pass_at(int index); // row `index` of passes.def, from 0; NULL after the last

// Runs all passes, in the order of passes.def, over an indexed copy. Statuses as dq_pass.run.
dq_status dq_passes_run(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context, dq_error *error);

// Computes nodes whose inputs are all constant, except DequantizeLinear, and replaces them by constants. The graph must
// be indexed; the caller indexes it again. Statuses as dq_pass.run.
dq_status dq_fold_constants(dq_graph *graph, const dq_context *context, dq_error *error);

#endif
