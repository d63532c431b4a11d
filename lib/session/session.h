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
  const char *const *taps; // [tap_count]: names of values that the tap gets (dq_plan_set_tap); passes keep them
  int tap_count;
  bool plain;                          // no passes: every node runs as the graph has it
  const dq_conv_setting *convolutions; // as in dq_binding
  int convolution_count;
  dq_graph *spent; // as in dq_binding: NULL, or the graph itself, when nothing else will run it
  bool lent;       // as in dq_binding: the caller lends the memory of each run
} dq_session_options;

// Copies the graph, runs the passes on the copy, schedules it and binds the schedule. The graph, whose weights the
// session reads, and the context must outlive the session. `options` may be NULL. After a failure *session is zeroed.
// DQ_BAD_INPUT: the graph is invalid, a shape does not fit, or there is no value of the name of a tap; DQ_USAGE: a size
// is not known; DQ_UNSUPPORTED: dq cannot run a node; DQ_SYSTEM: there is no memory, or the budget is too small.
dq_status dq_session_open(dq_session *session, const dq_graph *graph, const dq_session_options *options,
                          const dq_context *context, dq_error *error);
// Does what dq_session_open does, without binding: session->plan is NULL, nothing depends on the processor, and no
// weight is packed.
dq_status dq_session_schedule(dq_session *session, const dq_graph *graph, const dq_session_options *options,
                              const dq_context *context, dq_error *error);
// Frees the plan and binds the schedule again, at another place in memory, which `places` draws. `options` are those of
// the session, without `spent`. No message of the first binding is repeated. After a failure session->plan is NULL.
// Statuses as dq_plan_bind.
dq_status dq_session_bind_again(dq_session *session, const dq_session_options *options, dq_random *places,
                                const dq_context *context, dq_error *error);
void dq_session_close(dq_session *session); // allowed on a zeroed struct

#endif
