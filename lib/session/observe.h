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
  int64_t batch;           // pictures run at once; 0: 1. A model that fixes its batch keeps that.
} dq_observation;

// Called for every picture and every name (slot: its place in the list) that was computed, with the value as one
// picture gives it: for each name in the order of the pictures, in any order of names.
typedef dq_status (*dq_observe_function)(void *user, int slot, const dq_tensor *tensor, dq_error *error);

// Runs the graph on the pictures. DQ_BAD_INPUT when a named value is not float32 or the data does not
// fit; DQ_UNSUPPORTED when a batch above 1 was wished for and a value does not consist of one part for each picture;
// else as dq_runner_open.
dq_status dq_observe(const dq_observation *what, dq_observe_function on_value, void *user, const dq_context *context,
                     dq_error *error);

#endif
