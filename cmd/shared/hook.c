#include "cmd/shared/hook.h"

#include <string.h>

#include "lib/train/loop/builtin.h"

static dq_status check_files(const char *input, const char *output, dq_error *error) {
  if (strcmp(output, "-") && strcmp(input, "-")) return DQ_OK;
  return dq_fail(error, DQ_USAGE, "--retrain needs files to read and to write, not '-'");
}

dq_status dq_hook_check(const char *command, const char *data, const char *input, const char *output, dq_error *error) {
  dq_builtin builtin = {0};
  if (!command) return DQ_OK;
  if (dq_is_builtin(command) && !data)
    return dq_fail(error, DQ_USAGE, "--retrain builtin needs the pictures of --data");
  if (dq_is_builtin(command)) DQ_TRY(dq_builtin_parse(&builtin, command, error));
  return check_files(input, output, error);
}

dq_status dq_hook_alone(const char *command, const dq_context *context, dq_error *error) {
  if (!command || dq_process_count(context->processes) == 1) return DQ_OK;
  return dq_fail(error, DQ_USAGE,
                 "--retrain is the work of one process, and this is a job of %d; leave out one of both, and retrain "
                 "with dq-train, which divides its work",
                 context->processes->count);
}

dq_status dq_hook_builtin(dq_retrain_options *hook, dq_builtin *builtin, const char *judging, dq_error *error) {
  if (!dq_is_builtin(hook->command)) return DQ_OK;
  hook->train = dq_builtin_train;
  hook->user = builtin;
  const dq_trainer_options *options = &builtin->options; // with `quantized` no option gives others
  if (options->validation == options->data && !options->training.quantized)
    dq_message(builtin->context, DQ_NOTE, "the epochs are judged on the pictures of --data; %s gives others", judging);
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
