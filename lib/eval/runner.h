// Runs a model on data: finds the shape of its input, reads pictures, fills and runs the plan.
#ifndef DQ_EVAL_RUNNER_H
#define DQ_EVAL_RUNNER_H

#include "datasets/datasets.h"
#include "lib/passes/passes.h"

typedef struct dq_runner {
  dq_session session;
  const dq_context *context;
  int64_t batch; // pictures per run
} dq_runner;

typedef struct dq_runner_options {
  dq_shape_request shapes; // of inputs the model leaves open; what is missing comes from the data
  int64_t batch;           // wished for; 0: 1. A model that fixes its batch keeps that.
  const char *const *taps;
  int tap_count;
} dq_runner_options;

// Opens a session for a model with one input of numbers, Nx..., and tells the data its shape.
// `data` and `graph` outlive the runner. DQ_UNSUPPORTED: several inputs or none; else as
// dq_session_open and dq_data_set_shape.
dq_status dq_runner_open(dq_runner *runner, const dq_graph *graph, dq_data *data,
                         const dq_runner_options *options, const dq_context *context,
                         dq_error *error);
void dq_runner_close(dq_runner *runner); // safe on a zeroed struct

// Adds to a request the sizes of the pictures, where the only input leaves its size open, the request does not give
// it, and the model remembers none. `data` may be NULL. The array is in the arena.
dq_status dq_complete_shapes(dq_shape_request *request, const dq_graph *graph, const dq_data *data,
                             dq_arena *arena, dq_error *error);

int64_t dq_runner_elements(const dq_runner *runner); // of one picture as the model wants it

// Makes `count` pictures (at most the batch), one after the other in `values`, the input of the next run;
// the rest of the batch is zero.
void dq_runner_fill(dq_runner *runner, const float *values, int64_t count);

// Runs `count` pictures. Outputs are then in session.plan.
dq_status dq_runner_run(dq_runner *runner, const float *values, int64_t count, dq_error *error);

#endif
