// Values of a network on pictures, each given to a callback.
#ifndef DQ_SESSION_OBSERVE_H
#define DQ_SESSION_OBSERVE_H

#include "lib/session/runner.h"

typedef struct dq_observation {
  const dq_graph *graph;
  const dq_shape_request *shapes;
  const char *const *names; // of values of the graph
  int count;
  dq_data *data;
  int64_t first, pictures; // which of the data, in order
  const char *doing;       // for the progress bar
} dq_observation;

// Called for every picture and every name (slot: its place in the list) that was computed.
typedef dq_status (*dq_observe_function)(void *user, int slot, const dq_tensor *tensor, dq_error *error);

// Runs the graph on the pictures. DQ_BAD_INPUT when a named value is not float32 or the data does not
// fit, else as dq_runner_open.
dq_status dq_observe(const dq_observation *what, dq_observe_function on_value, void *user, const dq_context *context,
                     dq_error *error);

#endif
