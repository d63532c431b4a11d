// What is done to a copy of a graph before it is run. The document itself is never touched here.
#ifndef DQ_PASSES_PASSES_H
#define DQ_PASSES_PASSES_H

#include "lib/schedule/open_sizes.h"

// One pass. The graph is indexed before it and after it. Values that are outputs or that
// is_captured marks (taps) keep existing with the same elements.
typedef struct dq_pass {
  const char *name, *help;
  // `shapes` are those the plan will be made for.
  dq_status (*run)(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context, dq_error *error);
} dq_pass;

const dq_pass *dq_pass_at(int index); // NULL after the last

// Runs all passes in the order of passes.def over a copy that is indexed.
dq_status dq_passes_run(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context, dq_error *error);

// Nodes with constant inputs become constants, DequantizeLinear apart. The graph is indexed before; not after.
dq_status dq_fold_constants(dq_graph *graph, const dq_context *context, dq_error *error);

#endif
