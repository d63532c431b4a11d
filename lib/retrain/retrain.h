// The retraining hook: a command of the user gets a converted model and writes a better one, which is accepted only
// when it still is that network.
#ifndef DQ_RETRAIN_RETRAIN_H
#define DQ_RETRAIN_RETRAIN_H

#include "lib/schedule/infer.h"

typedef struct dq_retrain_options {
  const char *command; // the shell runs it
  // Trains a copy of the graph in place; it replaces the command. NULL: the command is run. A failure other than
  // DQ_CANCELLED and DQ_SYSTEM is one of the hook.
  dq_status (*train)(void *user, dq_graph *graph, dq_error *error);
  void *user;               // first argument of `train`
  const char *spec;         // JSON text on what the conversion did, the contents of the file DQ_SPEC
  const char *original;     // path of the model before the conversion, for DQ_ORIGINAL
  const char *data;         // text for DQ_DATA; NULL: ""
  double time_limit;        // seconds after which the command is ended; 0: none
  const char *const *nodes; // [node_count]: names of nodes whose constant inputs must keep type and shape
  int node_count;
  const dq_shape_request *shapes; // sizes that the model leaves open; NULL: none
} dq_retrain_options;

// Runs the hook on `graph`, which has been written to `path` ("-" is not possible: DQ_USAGE), and
// puts what it wrote in the place of `path`. The hook works in the current folder with these
// variables, all paths absolute: DQ_MODEL (a copy of `path`), DQ_ORIGINAL, DQ_OUTPUT (the file it
// must write), DQ_DATA, DQ_SPEC. The folder of DQ_MODEL, DQ_OUTPUT and DQ_SPEC stands beside `path`
// and is removed with everything in it.
//
// A model is accepted when it loads, has the same inputs and outputs (names, types, shapes), the listed nodes with
// constant inputs of the same type and shape, no NaN or infinity in a weight, and finite outputs for noise (this is
// left out, with a warning, when dq cannot run the converted model). DQ_CONDITION, with the reason: the command failed
// or its model is not accepted; `path` stays as it was. DQ_CANCELLED. DQ_SYSTEM: the folder cannot be made, or the
// model cannot be written. One hook runs in a process at a time.
dq_status dq_retrain(const dq_graph *graph, const char *path, const dq_retrain_options *options,
                     const dq_context *context, dq_error *error);

// Checks whether dq_retrain would accept the model `made` of the hook. DQ_OK: it would; else the reason, with the
// status of the check that failed (mostly DQ_BAD_INPUT). A warning reports that the model could not be run.
dq_status dq_retrain_check(const dq_graph *graph, const dq_graph *made, const dq_retrain_options *options,
                           const dq_context *context, dq_error *error);

// Lists the names of all nodes with a name that read an initializer in (*names)[*count], in the arena: the nodes that a
// hook must keep in a model whose weights it may change, but not its operators. DQ_SYSTEM: there is no memory.
dq_status dq_retrain_nodes(const dq_graph *graph, dq_arena *arena, const char *const **names, int *count,
                           dq_error *error);

#endif
