#include "lib/eval/accuracy_change.h"

dq_status dq_accuracy_before(dq_accuracy_change *change, const dq_graph *graph, const dq_context *context,
                             dq_error *error) {
  if (!change->data) return DQ_OK;
  dq_error reason = {0};
  dq_status status = dq_accuracy_run(&change->before, graph, change->data, &change->options, context, &reason);
  if (status == DQ_OK) {
    change->options.task = change->before.task; // as guessed, which need not be said twice
    return DQ_OK;
  }
  if (change->asked || status == DQ_SYSTEM || status == DQ_CANCELLED) {
    if (error) *error = reason;
    return status;
  }
  dq_message(context, DQ_WARNING, "accuracy is not measured: %s", reason.message);
  change->before = (dq_result){0};
  return DQ_OK;
}

dq_status dq_accuracy_after(dq_accuracy_change *change, const dq_graph *graph, const dq_context *context,
                            dq_error *error) {
  if (!change->before.count) return DQ_OK;
  return dq_accuracy_run(&change->after, graph, change->data, &change->options, context, error);
}
