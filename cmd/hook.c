#include "cmd/hook.h"

#include <string.h>

#include "lib/train/builtin.h"

dq_status dq_hook_check(const char *command, const char *input, const char *output, bool builtin, dq_error *error) {
  if (!command) return DQ_OK;
  if (dq_is_builtin(command) && !builtin)
    return dq_fail(error, DQ_UNSUPPORTED,
                   "--retrain builtin trains float32 weights, and is there for dq-tucker only; "
                   "give a command that retrains");
  if (!strcmp(output, "-") || !strcmp(input, "-"))
    return dq_fail(error, DQ_USAGE, "--retrain needs files to read and to write, not '-'");
  return DQ_OK;
}

dq_status dq_hook_check_builtin(const char *command, const char *data, dq_error *error) {
  dq_builtin builtin = {0};
  if (!command || !dq_is_builtin(command)) return DQ_OK;
  if (!data) return dq_fail(error, DQ_USAGE, "--retrain builtin needs the pictures of --data");
  return dq_builtin_parse(&builtin, command, error);
}

dq_status dq_hook_builtin(dq_retrain_options *hook, dq_builtin *builtin, dq_error *error) {
  if (!dq_is_builtin(hook->command)) return DQ_OK;
  hook->train = dq_builtin_train;
  hook->user = builtin;
  if (builtin->options.validation == builtin->options.data)
    dq_message(builtin->context, DQ_NOTE, "the epochs are judged on the pictures of --data; --eval gives others");
  return dq_builtin_parse(builtin, hook->command, error);
}

dq_status dq_hook_end(dq_status status, const char *path, const char *what, dq_error *error) {
  if (status == DQ_CONDITION) dq_error_hint(error, "%s holds %s", path, what);
  return status;
}

dq_status dq_hook_run(const dq_graph *graph, const char *path, const dq_retrain_options *hook, const char *what,
                      const dq_context *context, dq_error *error) {
  return dq_hook_end(dq_retrain(graph, path, hook, context, error), path, what, error);
}
