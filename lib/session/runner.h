// Running pictures through a network: a session, its inputs, and the data for them. Everything in dq that runs pictures
// uses a runner.
#ifndef DQ_SESSION_RUNNER_H
#define DQ_SESSION_RUNNER_H

#include "lib/session/complete_shapes.h"
#include "lib/session/inputs.h"
#include "lib/session/session.h"

typedef struct dq_runner {
  dq_session session;
  dq_graph *part; // owned: the part of the network that is run (dq_runner_options.ends); NULL: all of it
  dq_data *data;
  dq_arena *arena; // owned
  const dq_context *context;
  dq_fed_inputs inputs;
  float **values;       // by input: the pictures of a run as float32, before they get the type of the input; NULL: the
                        // input is float32, and they are read into the plan
  int64_t batch;        // pictures that one run takes
  int64_t first, count; // the pictures that were read last
} dq_runner;

typedef struct dq_runner_options {
  dq_session_options session; // sizes that the model leaves open and session.shapes lacks come from the data
  int64_t batch;              // pictures that one run should take; 0: 1. A model that fixes its batch keeps that, which
                              // a note reports.
  const char *const *ends;    // [end_count]: names of values; the network is run until these are computed
  int end_count;              // 0: the outputs are computed
} dq_runner_options;

// Opens a session for the graph and sets the shapes of its inputs for the data (dq_data_set_shape), so that the data
// serve one runner at a time or runners with the same shapes. `graph`, `data` and `context` must outlive the runner.
// The caller closes the runner, also after a failure. DQ_BAD_INPUT: the graph does not have a value of `ends`; else
// statuses as dq_inputs_match, dq_inputs_set_shapes, dq_session_open and dq_data_set_shape.
dq_status dq_runner_open(dq_runner *runner, const dq_graph *graph, dq_data *data, const dq_runner_options *options,
                         const dq_context *context, dq_error *error);
void dq_runner_close(dq_runner *runner); // allowed on a zeroed struct

// Reads the pictures first to first + count - 1 (1 <= count <= runner->batch) into the inputs of the next run; when
// they are fewer than the batch, the rest of the batch repeats them. infos[count] receives names and labels; NULL: not
// needed. Statuses as dq_data_read.
dq_status dq_runner_read(dq_runner *runner, int64_t first, int64_t count, dq_sample_info *infos, dq_error *error);
// Reads picture `index` of the data into the inputs of `plan`, which has the graph and the shapes of
// runner->session.plan (dq_plan_share). A plan without a block must have memory for its inputs (dq_plan_lend or
// dq_plan_lend_input). Where a run takes runner->batch pictures, above 1, the picture is repeated in all places of the
// batch. An input that is not float32 takes memory for the elements as float32 during the call. The runner is not
// changed: any threads may call at the same time, for different plans, while no other runner changes the shapes of the
// data. Statuses as dq_data_read.
dq_status dq_runner_read_into(const dq_runner *runner, int64_t index, dq_plan *plan, dq_error *error);
// Copies the pictures that `from` has read, and not run yet, into the inputs of `to`, converted to their types. Several
// inputs are matched by name; with one input each, names do not count. DQ_BAD_INPUT: `from` lacks an input of `to`, or
// has it with another number of elements, batch included; further inputs of `from` are ignored.
dq_status dq_runner_share(dq_runner *to, const dq_runner *from, dq_error *error);
// Returns the status that dq_runner_share would, and copies nothing; no pictures need have been read.
dq_status dq_runner_check_share(const dq_runner *to, const dq_runner *from, dq_error *error);
// Runs the network on the pictures that were read. The outputs are then in runner->session.plan until the next run.
dq_status dq_runner_run(dq_runner *runner, dq_error *error);

// Called for each run with its pictures: `count` of them, `first` being the index of the first in the data;
// infos[count]. A status other than DQ_OK ends the loop.
typedef dq_status (*dq_runner_function)(void *user, int64_t first, int64_t count, const dq_sample_info *infos,
                                        dq_error *error);

typedef struct dq_picture_range {
  int64_t first, step, count; // pictures first, first + step, ..., `count` of them; step is 1 or more
  bool one_by_one;            // each picture has its own run, also where step is 1; runs with another step always do
  const char *doing;          // name of the work in reports of progress; NULL: progress is not reported
} dq_picture_range;

// A loop over pictures, through one network or through two that see the same pictures.
typedef struct dq_picture_loop {
  dq_runner *first;         // reads the pictures; a run takes first->batch of them
  dq_runner *second;        // receives the pictures that `first` has read (dq_runner_share); NULL: one network runs
  dq_runner_function run;   // runs the networks on the pictures in their inputs; NULL: `first` runs, then `second`
  dq_runner_function after; // called when both networks have run; NULL: taps or `run` do all that is needed
  void *user;               // first argument of both functions
} dq_picture_loop;

// Reads and runs all pictures of the range, batch by batch. DQ_CANCELLED: the `stop` of first->context was set, or its
// deadline passed; else statuses as dq_runner_read, dq_runner_share, dq_runner_run, and of the functions of the loop.
dq_status dq_picture_loop_run(const dq_picture_loop *loop, const dq_picture_range *range, dq_error *error);
// The loop of one network.
static inline dq_status dq_runner_each(dq_runner *runner, const dq_picture_range *range, dq_runner_function after,
                                       void *user, dq_error *error) {
  return dq_picture_loop_run(&(dq_picture_loop){.first = runner, .after = after, .user = user}, range, error);
}

// The input for the main part of the data (dq_data_main_part), to whose pictures the labels belong; owned by the
// runner.
const dq_tensor *dq_runner_main_input(const dq_runner *runner);

#endif
