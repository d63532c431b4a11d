// Accuracy before and after, for commands that convert a model.
#ifndef DQ_CMD_ACCURACY_CHECK_H
#define DQ_CMD_ACCURACY_CHECK_H

#include "cmd/shared/data.h"
#include "lib/eval/accuracy.h"

typedef struct dq_accuracy_check {
  dq_data *data;   // labelled pictures, `opened` or the data of the caller; NULL: nothing is measured
  dq_data *opened; // owned: the data of --eval; NULL: none
  dq_accuracy_options options;
  bool asked;              // --eval or --task was given, so that labels that do not fit are an error
  dq_result before, after; // count 0: not measured
} dq_accuracy_check;

// The values of --eval and --eval-limit.
typedef struct dq_eval_arguments {
  const char *spec; // NULL: not given
  int64_t limit;    // number of pictures; 0: all
} dq_eval_arguments;

// Opens the data of --eval, or uses `data` (may be NULL) when they have labels; `data` must then outlive the check.
// `arguments` give preprocessing, task and decoder. A note reports that the data of --eval have no labels, so that
// there is nothing to measure accuracy on. The caller closes the check, also after a failure. Statuses as dq_open_data.
dq_status dq_accuracy_check_open(dq_accuracy_check *check, dq_data *data, const dq_data_arguments *arguments,
                                 const dq_eval_arguments *eval, const dq_common_options *common,
                                 const dq_context *context, dq_error *error);
void dq_accuracy_check_close(dq_accuracy_check *check); // safe on a zeroed struct

// Measures the model before the conversion, into check->before. When the labels do not fit the model (such as those of
// other classes) and were not asked for, a warning reports it and nothing is measured. `path` stands in front of
// messages. Statuses as dq_accuracy_run.
dq_status dq_accuracy_check_before(dq_accuracy_check *check, const dq_graph *graph, const char *path,
                                   const dq_context *context, dq_error *error);
// Measures the converted model on the same pictures, into check->after; nothing when `before` was not measured.
dq_status dq_accuracy_check_after(dq_accuracy_check *check, const dq_graph *graph, const dq_context *context,
                                  dq_error *error);

// DQ_CONDITION: the first figure fell by more than `most` percentage points. `path` is that of the converted model,
// which the hint names.
dq_status dq_accuracy_check_drop(const dq_accuracy_check *check, double most, const char *path, dq_error *error);
// Reports, where the first figure fell by no more than `most` percentage points (dq_accuracy_check_drop), how much
// other pictures may lose, and where that may be more how many pictures would tell (dq_drop_bound_of). `after`: of the
// answer.
void dq_accuracy_check_others(const dq_accuracy_check *check, const dq_result *after, double most,
                              const dq_context *context);

#endif
