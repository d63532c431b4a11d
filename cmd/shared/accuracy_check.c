#include "cmd/shared/accuracy_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/verdict/drop_bound.h"

static bool is_labelled(dq_data *data) { return data && dq_data_labelled(data) != DQ_LABEL_NONE; }

dq_status dq_open_eval(dq_data **opened, const dq_data_arguments *arguments, const dq_eval_arguments *eval,
                       const dq_common_options *common, const dq_context *context, dq_error *error) {
  *opened = NULL;
  if (!eval->spec) return DQ_OK;
  dq_data_arguments other = *arguments;
  other.data = eval->spec;
  other.limit = eval->limit, other.sample = 0;
  if (arguments->data) other.labels = NULL; // they belong to --data
  DQ_TRY(dq_open_data(opened, &other, common->seed, context, error));
  if (!is_labelled(*opened))
    dq_message(context, DQ_NOTE, "%s: no labels: the outputs are compared with those of the float network", eval->spec);
  return DQ_OK;
}

dq_accuracy_change dq_accuracy_check_of(dq_data *eval, dq_data *data, const dq_data_arguments *arguments,
                                        const dq_common_options *common) {
  dq_data *pictures = eval ? eval : data;
  const bool measured = is_labelled(pictures) && arguments->task != DQ_CHOICE_TASK_NONE;
  return (dq_accuracy_change){.data = measured ? pictures : NULL,
                              .asked = eval || dq_option_given(common, "task") || dq_option_given(common, "max-drop"),
                              .options = {.task = dq_task_of(arguments), .decode = arguments->decode}};
}

dq_status dq_accuracy_check_drop(const dq_accuracy_change *check, double most, const char *path, dq_error *error) {
  if (!check->before.count || !check->after.count) return DQ_OK;
  double drop = dq_accuracy_drop(&check->before, &check->after);
  if (drop <= most + 1e-9) return DQ_OK;
  dq_fail(error, DQ_CONDITION, "%s fell by %.4g points, more than %.4g (--max-drop)", check->before.figures[0].name,
          drop, most);
  dq_error_hint(error, "%s is written all the same", path);
  return DQ_CONDITION;
}

void dq_accuracy_check_others(const dq_accuracy_change *check, const dq_result *after, double most,
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
