#include "cmd/hook.h"

#include <string.h>

dq_status dq_hook_check(const char *command, const char *input, const char *output, dq_error *error) {
  if (!command) return DQ_OK;
  if (!strcmp(command, "builtin"))
    return dq_fail(error, DQ_UNSUPPORTED, "--retrain builtin is not supported yet; give a command that retrains");
  if (!strcmp(output, "-") || !strcmp(input, "-"))
    return dq_fail(error, DQ_USAGE, "--retrain needs files to read and to write, not '-'");
  return DQ_OK;
}

dq_status dq_hook_end(dq_status status, const char *path, const char *what, dq_error *error) {
  if (status == DQ_CONDITION) dq_error_hint(error, "%s holds %s", path, what);
  return status;
}

dq_status dq_hook_run(const dq_graph *graph, const char *path, const dq_retrain_options *hook, const char *what,
                      const dq_context *context, dq_error *error) {
  return dq_hook_end(dq_retrain(graph, path, hook, context, error), path, what, error);
}
