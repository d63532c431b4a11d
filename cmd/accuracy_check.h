// Accuracy before and after, for commands that convert a model.
#ifndef DQ_CMD_ACCURACY_CHECK_H
#define DQ_CMD_ACCURACY_CHECK_H

#include "cmd/data.h"
#include "lib/eval/accuracy.h"

// What is measured with, and what was found.
typedef struct dq_accuracy_check {
  dq_data *data;   // NULL: there are no labels
  dq_data *opened; // owned: what --eval names
  dq_accuracy_options options;
  bool asked;              // --eval or --task was given: labels that do not fit are an error
  dq_result before, after; // count 0: not measured
} dq_accuracy_check;

// What --eval and --eval-limit say.
typedef struct dq_eval_arguments {
  const char *spec; // NULL: not given
  int64_t limit;    // pictures, 0: all
} dq_eval_arguments;

// Opens what --eval names, or takes `data`, which may be NULL, when it has labels. `arguments` say how pictures are
// read, the task and the decoder.
dq_status dq_accuracy_check_open(dq_accuracy_check *check, dq_data *data, const dq_data_arguments *arguments,
                                 const dq_eval_arguments *eval, const dq_common_options *common,
                                 const dq_context *context, dq_error *error);
void dq_accuracy_check_close(dq_accuracy_check *check); // safe on a zeroed struct

// Measures the model as it was. Labels of calibration pictures that do not fit the model (other
// classes, say) are said in a warning, and nothing is measured.
dq_status dq_accuracy_check_before(dq_accuracy_check *check, const dq_graph *graph, const char *path,
                                   const dq_context *context, dq_error *error);
// Measures what became of it on the same pictures; nothing when `before` was not measured.
dq_status dq_accuracy_check_after(dq_accuracy_check *check, const dq_graph *graph, const dq_context *context,
                                  dq_error *error);

// DQ_CONDITION when the first figure fell by more than `most` percentage points.
dq_status dq_accuracy_check_drop(const dq_accuracy_check *check, double most, const char *path, dq_error *error);

#endif
