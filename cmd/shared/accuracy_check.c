#include "cmd/shared/accuracy_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/verdict/drop_bound.h"

dq_status dq_accuracy_check_open(dq_accuracy_check *check, dq_data *data, const dq_data_arguments *arguments,
                                 const dq_eval_arguments *eval, const dq_common_options *common,
                                 const dq_context *context, dq_error *error) {
  const char *spec = eval->spec;
  *check = (dq_accuracy_check){.asked = spec || dq_option_given(common, "task") || dq_option_given(common, "max-drop"),
                               .options = {.task = dq_task_of(arguments), .decode = arguments->decode}};
  if (spec) {
    dq_data_arguments other = *arguments;
    other.data = spec;
    other.limit = eval->limit;
    if (arguments->data) other.labels = NULL; // they belong to --data
    DQ_TRY(dq_open_data(&check->opened, &other, common->seed, context, error));
    data = check->opened;
  }
  bool labelled = data && dq_data_labelled(data) != DQ_LABEL_NONE;
  if (spec && !labelled)
    dq_message(context, DQ_NOTE, "%s: no labels: the outputs are compared with those of the float network", spec);
  if (labelled && arguments->task != DQ_CHOICE_TASK_NONE) check->data = data;
  return DQ_OK;
}

void dq_accuracy_check_close(dq_accuracy_check *check) {
  dq_data_free(check->opened);
  check->opened = check->data = NULL;
}

dq_status dq_accuracy_check_before(dq_accuracy_check *check, const dq_graph *graph, const char *path,
                                   const dq_context *context, dq_error *error) {
  if (!check->data) return DQ_OK;
  dq_error reason = {0};
  dq_status status = dq_accuracy_run(&check->before, graph, check->data, &check->options, context, &reason);
  if (status == DQ_OK) {
    check->options.task = check->before.task; // as guessed, which need not be said twice
    return DQ_OK;
  }
  bool fatal = check->asked || status == DQ_SYSTEM || status == DQ_CANCELLED;
  if (fatal) {
    if (error) *error = reason;
    return dq_error_prefix(error, status, "%s", path);
  }
  dq_message(context, DQ_WARNING, "accuracy is not measured: %s", reason.message);
  check->before = (dq_result){0};
  return DQ_OK;
}

dq_status dq_accuracy_check_after(dq_accuracy_check *check, const dq_graph *graph, const dq_context *context,
                                  dq_error *error) {
  if (!check->before.count) return DQ_OK;
  return dq_accuracy_run(&check->after, graph, check->data, &check->options, context, error);
}

dq_status dq_accuracy_check_drop(const dq_accuracy_check *check, double most, const char *path, dq_error *error) {
  if (!check->before.count || !check->after.count) return DQ_OK;
  double drop = dq_accuracy_drop(&check->before, &check->after);
  if (drop <= most + 1e-9) return DQ_OK;
  dq_fail(error, DQ_CONDITION, "%s fell by %.4g points, more than %.4g (--max-drop)", check->before.figures[0].name,
          drop, most);
  dq_error_hint(error, "%s is written all the same", path);
  return DQ_CONDITION;
}

void dq_accuracy_check_others(const dq_accuracy_check *check, const dq_result *after, double most,
                              const dq_context *context) {
  const dq_result *before = &check->before;
  if (!before->count || !after->count || dq_accuracy_drop(before, after) > most + 1e-9) return;
  const char *figure = before->figures[0].name;
  const dq_drop_bound bound = dq_drop_bound_of(before, after, most);
  char wanted[60] = "";
  if (bound.high > most && bound.pictures < 1e9)
    snprintf(wanted, sizeof wanted, "; some %.0f pictures would tell", ceil(bound.pictures));
  if (isnan(bound.high))
    dq_message(context, DQ_NOTE, "--max-drop: what %s loses on other pictures is not known, as it has no interval%s",
               figure, after->pictures < DQ_RESULT_PARTS ? " with so few pictures" : "");
  else
    dq_message(context, DQ_NOTE,
               "--max-drop: on pictures other than these %" PRId64 " %s loses at most %.3g points (upper end of the "
               "95 %% interval), %s than %.4g%s",
               after->pictures, figure, bound.high, bound.high > most ? "which is more" : "no more", most, wanted);
}
