// The one way in which pictures go through a network: a session, its inputs, the data.
#ifndef DQ_SESSION_RUNNER_H
#define DQ_SESSION_RUNNER_H

#include "lib/session/inputs.h"
#include "lib/session/session.h"

typedef struct dq_runner {
  dq_session session;
  dq_graph *part; // of the network, where it is not run to its outputs; NULL: all of it
  dq_data *data;
  dq_arena *arena;
  const dq_context *context;
  dq_fed_inputs inputs;
  float **values;       // by input: its pictures of a run before they become its type; NULL: it is float32, and they
                        // are in the plan
  int64_t batch;        // pictures per run
  int64_t first, count; // the pictures that were read last
} dq_runner;

typedef struct dq_runner_options {
  dq_session_options session; // sizes that the model leaves open and that its shapes lack come from the data
  int64_t batch;              // wished for; 0: 1. A model that fixes its batch keeps that, which a note says.
  const char *const *ends;    // names of the values that the network is run to
  int end_count;              // 0: to its outputs
} dq_runner_options;

// Opens a session for a model with inputs of numbers, and tells the data their shapes. `data` and `graph` outlive the
// runner. Fails as dq_inputs_match, dq_inputs_set_shapes, dq_session_open and dq_data_set_shape, and with DQ_BAD_INPUT
// for a value that the graph does not have. Safe to close when it fails.
dq_status dq_runner_open(dq_runner *runner, const dq_graph *graph, dq_data *data, const dq_runner_options *options,
                         const dq_context *context, dq_error *error);
void dq_runner_close(dq_runner *runner); // safe on a zeroed struct

// Reads `count` pictures (1 to batch) from `first` on into the inputs of the next run; the rest of the batch sees them
// again. `infos` holds `count` entries, or is NULL. A run may overwrite its inputs: read before each.
dq_status dq_runner_read(dq_runner *runner, int64_t first, int64_t count, dq_sample_info *infos, dq_error *error);
// The pictures that `from` has just read, and not run yet, become the inputs of `to`, of whatever type. Inputs are
// matched by name, where there are several. DQ_BAD_INPUT: the inputs differ in names or size.
dq_status dq_runner_share(dq_runner *to, const dq_runner *from, dq_error *error);
dq_status dq_runner_check_share(const dq_runner *to, const dq_runner *from, dq_error *error); // whether they do
// Runs the pictures that were read. Outputs are then in session.plan.
dq_status dq_runner_run(dq_runner *runner, dq_error *error);

// Called behind each run with the pictures [first, first + count) of it, of the range.
typedef dq_status (*dq_runner_function)(void *user, int64_t first, int64_t count, const dq_sample_info *infos,
                                        dq_error *error);

typedef struct dq_picture_range {
  int64_t first, step, count; // pictures first, first + step, ...; step is 1 or more
  bool one_by_one;            // each picture has a run of its own, also where step is 1
  const char *doing;          // for the progress bar; NULL: none
} dq_picture_range;

// Reads and runs pictures, batch by batch, until a signal asks for an end. `after` may be NULL (taps see enough).
dq_status dq_runner_each(dq_runner *runner, const dq_picture_range *range, dq_runner_function after, void *user,
                         dq_error *error);

// The input that the data's main part is for (dq_data_main_part): that of the pictures which labels belong to.
const dq_tensor *dq_runner_main_input(const dq_runner *runner);
// Adds to a request the sizes of the pictures, where an input leaves its size open, the request does not give it, and
// the model remembers none. `data` may be NULL. The array is in the arena.
dq_status dq_complete_shapes(dq_shape_request *request, const dq_graph *graph, dq_data *data, dq_arena *arena,
                             dq_error *error);

#endif
