// Accuracy before and after, for commands that convert a model.
#ifndef DQ_CMD_ACCURACY_CHECK_H
#define DQ_CMD_ACCURACY_CHECK_H

#include "cmd/shared/data.h"
#include "lib/eval/accuracy_change.h"

// The values of --eval and --eval-limit.
typedef struct dq_eval_arguments {
  const char *spec; // NULL: not given
  int64_t limit;    // number of pictures; 0: all
} dq_eval_arguments;

// Opens the data of --eval into *opened, which the caller frees by dq_data_free; NULL: the option was not given.
// `arguments` give preprocessing. A note reports that the data have no labels, so that there is nothing to measure
// accuracy on. Statuses as dq_open_data.
dq_status dq_open_eval(dq_data **opened, const dq_data_arguments *arguments, const dq_eval_arguments *eval,
                       const dq_common_options *common, const dq_context *context, dq_error *error);

// What accuracy is measured on: the data of --eval, else `data` (both may be NULL), where they have labels. They must
// outlive the result. `arguments` give task and decoder.
dq_accuracy_change dq_accuracy_check_of(dq_data *eval, dq_data *data, const dq_data_arguments *arguments,
                                        const dq_common_options *common);

// DQ_CONDITION: the first figure fell by more than `most` percentage points. `path` is that of the converted model,
// which the hint names.
dq_status dq_accuracy_check_drop(const dq_accuracy_change *check, double most, const char *path, dq_error *error);
// Reports, where the first figure fell by no more than `most` percentage points (dq_accuracy_check_drop), how much
// other pictures may lose, and where that may be more how many pictures would tell (dq_drop_bound_of). `after`: of the
// answer.
void dq_accuracy_check_others(const dq_accuracy_change *check, const dq_result *after, double most,
                              const dq_context *context);

#endif
