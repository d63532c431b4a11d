// A graph made ready to run.
#ifndef DQ_SESSION_SESSION_H
#define DQ_SESSION_SESSION_H

#include "lib/exec/plan.h"

// A copy of the graph, the passes applied, its schedule, and the plan that binds it to this machine.
typedef struct dq_session {
  dq_graph *copy;
  dq_schedule *schedule;
  dq_plan *plan;
} dq_session;

typedef struct dq_session_options {
  dq_shape_request shapes;
  const char *const *taps; // names of values that must be delivered (dq_plan_set_tap)
  int tap_count;
  bool plain;                          // no passes: every node runs as it stands
  const dq_conv_setting *convolutions; // as in dq_binding
  int convolution_count;
  dq_graph *spent; // as in dq_binding: NULL, or the graph, when nothing else will run it
} dq_session_options;

// The graph must outlive the session. `options` may be NULL.
dq_status dq_session_open(dq_session *session, const dq_graph *graph, const dq_session_options *options,
                          const dq_context *context, dq_error *error);
// The same without the plan, which is left NULL: nothing depends on the processor, and no weight is packed.
dq_status dq_session_schedule(dq_session *session, const dq_graph *graph, const dq_session_options *options,
                              const dq_context *context, dq_error *error);
void dq_session_close(dq_session *session); // safe on a zeroed struct

#endif
