// The retraining hook: a command of the user gets a converted model and writes a better one, which
// is taken only when it still is that network.
#ifndef DQ_EVAL_RETRAIN_H
#define DQ_EVAL_RETRAIN_H

#include "lib/schedule/infer.h"

typedef struct dq_retrain_options {
  const char *command;      // run by the shell
  const char *spec;         // JSON text that says what was done: the file DQ_SPEC
  const char *original;     // path of the model before the conversion: DQ_ORIGINAL
  const char *data;         // DQ_DATA, NULL: empty
  double time_limit;        // seconds, 0: none
  const char *const *nodes; // names of nodes whose constant inputs keep type and shape
  int node_count;
  const dq_shape_request *shapes; // sizes the model leaves open, or NULL
} dq_retrain_options;

// Runs the hook on `graph`, which has been written to `path` ("-" is not possible: DQ_USAGE), and
// puts what it wrote in the place of `path`. The hook works in the current folder with these
// variables, all paths absolute: DQ_MODEL (a copy of `path`), DQ_ORIGINAL, DQ_OUTPUT (the file it
// must write), DQ_DATA, DQ_SPEC. The folder of DQ_MODEL, DQ_OUTPUT and DQ_SPEC stands beside `path`
// and is removed with everything in it.
//
// Taken is a model that loads, has the same inputs and outputs (names, types, shapes), the nodes
// listed with constant inputs of the same type and shape, no NaN or infinity in a weight, and finite
// outputs for noise (that is left out, with a warning, when the converted model itself cannot be
// run). Anything else is DQ_CONDITION with the reason, and `path` stays as it was. DQ_CANCELLED;
// DQ_SYSTEM when the folder cannot be made or the model not be written.
dq_status dq_retrain(const dq_graph *graph, const char *path, const dq_retrain_options *options,
                     const dq_context *context, dq_error *error);

// What dq_retrain asks of the hook's model `made`: DQ_OK or the reason.
dq_status dq_retrain_check(const dq_graph *graph, const dq_graph *made, const dq_retrain_options *options,
                           const dq_context *context, dq_error *error);

// The names of all nodes that have one and read an initializer, into the arena: what a hook must keep of a
// model in which every weight may be trained and no operator may change.
dq_status dq_retrain_nodes(const dq_graph *graph, dq_arena *arena, const char *const **names, int *count,
                           dq_error *error);

#endif
