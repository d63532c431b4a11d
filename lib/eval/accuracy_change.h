// Accuracy before and after a conversion, on the same pictures.
#ifndef DQ_EVAL_ACCURACY_CHANGE_H
#define DQ_EVAL_ACCURACY_CHANGE_H

#include "lib/eval/accuracy.h"

typedef struct dq_accuracy_change {
  dq_data *data; // labelled pictures; NULL: nothing is measured
  dq_accuracy_options options;
  bool asked;              // accuracy was asked for, so that labels that do not fit are an error
  dq_result before, after; // count 0: not measured
} dq_accuracy_change;

// Measures the model before the conversion, into change->before, and sets the task of the options to the one that was
// measured. When the labels do not fit the model (such as those of other classes) and accuracy was not asked for, a
// warning reports it and nothing is measured. Statuses as dq_accuracy_run.
dq_status dq_accuracy_before(dq_accuracy_change *change, const dq_graph *graph, const dq_context *context,
                             dq_error *error);
// Measures the converted model on the same pictures, into change->after; nothing when `before` was not measured.
// Statuses as dq_accuracy_run.
dq_status dq_accuracy_after(dq_accuracy_change *change, const dq_graph *graph, const dq_context *context,
                            dq_error *error);

#endif
