// What is done to a copy of a graph before it is run. The document itself is never touched here.
#ifndef DQ_PASSES_PASSES_H
#define DQ_PASSES_PASSES_H

#include "lib/exec/plan.h"

// One pass. The graph is indexed before it and after it. Values that are outputs or that
// is_captured marks (taps) keep existing with the same elements.
typedef struct dq_pass {
  const char *name, *help;
  // `shapes` are those the plan will be made for.
  dq_status (*run)(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context, dq_error *error);
} dq_pass;

const dq_pass *dq_pass_at(int index); // NULL after the last

// A graph made ready to run: a copy of it, the passes applied, a plan.
typedef struct dq_session {
  dq_graph *copy;
  dq_plan *plan;
} dq_session;

typedef struct dq_session_options {
  dq_shape_request shapes;
  const char *const *taps; // names of values that must be delivered (dq_plan_set_tap)
  int tap_count;
  bool plain;              // no passes: every node runs as it stands
  const dq_conv_setting *convolutions; // as in dq_plan_options
  int convolution_count;
  dq_graph *spent; // as in dq_plan_options: NULL, or the graph, when nothing else will run it
} dq_session_options;

// The graph must outlive the session. `options` may be NULL.
dq_status dq_session_open(dq_session *session, const dq_graph *graph,
                          const dq_session_options *options, const dq_context *context,
                          dq_error *error);
void dq_session_close(dq_session *session); // safe on a zeroed struct

#endif
