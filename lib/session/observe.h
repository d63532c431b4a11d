// Runs a network on pictures and passes values of it to a callback.
#ifndef DQ_SESSION_OBSERVE_H
#define DQ_SESSION_OBSERVE_H

#include "lib/session/runner.h"

// Called for every picture and every name (`slot` is its index in the list) whose value was computed, with the part of
// that picture, row-major, or what a dq_measure_function made of it; its elements hold during the call only. For each
// name the calls are in the order of the pictures; the order of the names is not defined. All calls come from the
// thread of dq_observe. A status other than DQ_OK ends the run.
typedef dq_status (*dq_observe_function)(void *user, int slot, const dq_tensor *tensor, dq_error *error);

// Makes *measured, such as sums by channel, of the value of one picture; its elements hold until the next call, and
// without elements nothing is passed on. Of several processes (context->processes) each runs a part of the pictures and
// measures there; what was measured is then passed on in all processes, so that all have the results of one.
typedef dq_status (*dq_measure_function)(void *user, int slot, const dq_tensor *tensor, dq_tensor *measured,
                                         dq_error *error);

// A further receiver of values in the same runs.
typedef struct dq_listener {
  const char *const *names; // [count]: names of float32 values of the graph
  int count;
  dq_observe_function on_value;
  void *user;
  dq_measure_function measure;    // NULL: on_value gets the values
  const struct dq_listener *next; // NULL: the last receiver
} dq_listener;

enum { DQ_MOST_LISTENERS = 2 }; // beside the names of the observation

typedef struct dq_observation {
  const dq_graph *graph;
  const dq_shape_request *shapes; // of inputs that the model leaves open
  const char *const *names;       // [count]: names of float32 values of the graph, or others with `any_float`
  int count;
  dq_data *data;
  int64_t first, pictures;     // the pictures first to first + pictures - 1
  const char *doing;           // name of the work in reports of progress
  int64_t batch;               // pictures that one run takes; 0: 1. A model that fixes its batch keeps that.
  bool any_float;              // values may be float16 or float64 as well, which on_value gets as float32
  dq_measure_function measure; // NULL: on_value gets the values
  const dq_listener *also;     // DQ_MOST_LISTENERS at most, each with the next; NULL: there are none
} dq_observation;

// Runs the graph on the pictures and calls on_value, and those of what->also. Of several processes all call it with the
// same arguments. DQ_BAD_INPUT: a named value does not exist or has another type, or the data do not fit;
// DQ_UNSUPPORTED: `batch` is above 1 and a value does not consist of one part for each picture; also statuses of
// dq_runner_open, dq_runner_each and on_value.
dq_status dq_observe(const dq_observation *what, dq_observe_function on_value, void *user, const dq_context *context,
                     dq_error *error);

#endif
