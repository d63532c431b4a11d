// The option --retrain CMD of commands: the retraining hook (lib/retrain/retrain.h).
#ifndef DQ_CMD_HOOK_H
#define DQ_CMD_HOOK_H

#include "cmd/options/options.h"
#include "lib/retrain/retrain.h"
#include "lib/train/loop/builtin.h"

// Checks the use of --retrain before any work; `data` is the value of --data. DQ_USAGE: the path of the input or of the
// output is "-"; the command is "builtin" and there is no data (NULL), or the text has another form than
// dq_builtin_parse reads. `command` NULL (not given): DQ_OK.
dq_status dq_hook_check(const char *command, const char *data, const char *input, const char *output, dq_error *error);

// DQ_USAGE: there is a command (not NULL), and this is one of several processes of a job.
dq_status dq_hook_alone(const char *command, const dq_context *context, dq_error *error);

// Where hook->command is "builtin": sets hook->train, and the settings of the text in *builtin, which has the rest of
// its options and must live as long as the hook. `judging` is the option that gives pictures to judge epochs on.
// Statuses as dq_builtin_parse.
dq_status dq_hook_builtin(dq_retrain_options *hook, dq_builtin *builtin, const char *judging, dq_error *error);

// Returns `status`, the result of dq_retrain. Of DQ_CONDITION it sets the hint that `path` still holds the model before
// retraining, which `what` names ("the quantized model").
dq_status dq_hook_end(dq_status status, const char *path, const char *what, dq_error *error);

// Calls dq_retrain on the model that was written to `path`, and dq_hook_end with its status.
dq_status dq_hook_run(const dq_graph *graph, const char *path, const dq_retrain_options *hook, const char *what,
                      const dq_context *context, dq_error *error);

#endif
