// The retraining hook as commands offer it: --retrain CMD.
#ifndef DQ_CMD_HOOK_H
#define DQ_CMD_HOOK_H

#include "cmd/options.h"
#include "lib/retrain/retrain.h"

// Usage that the table of options cannot tell, before any work. NULL `command`: fine.
dq_status dq_hook_check(const char *command, const char *input, const char *output, dq_error *error);

// How a run of the hook on the model at `path` ended: a failed one leaves that and says which model it is: "the
// quantized model".
dq_status dq_hook_end(dq_status status, const char *path, const char *what, dq_error *error);

// Runs the hook on the model that was written to `path`, and ends it as above.
dq_status dq_hook_run(const dq_graph *graph, const char *path, const dq_retrain_options *hook, const char *what,
                      const dq_context *context, dq_error *error);

#endif
