// Measures the quality of a model on labelled data.
#ifndef DQ_EVAL_ACCURACY_H
#define DQ_EVAL_ACCURACY_H

#include "lib/eval/eval.h"
#include "lib/schedule/infer.h"

typedef struct dq_accuracy_options {
  const char *task;   // a row of tasks.def; NULL: chosen by the outputs of the model and the labels
  const char *decode; // how to read boxes (see dq_task_options); NULL: as the metadata property `decode` says
  int64_t batch;      // pictures per run; 0: 1
  dq_shape_request shapes;
} dq_accuracy_options;

// Runs the graph on all pictures and compares its outputs with the labels. The figures do not depend on the batch or
// the number of threads, but for the rounding of sums. Of several processes (context->processes) all call it and have
// the same result. For data without labels (task "none") nothing runs, and `result` has no figures. Statuses are those
// of opening a session and a task and of reading pictures, and DQ_UNSUPPORTED when an output has no dimension of
// pictures.
dq_status dq_accuracy_run(dq_result *result, const dq_graph *graph, dq_data *data, const dq_accuracy_options *options,
                          const dq_context *context, dq_error *error);

// Percentage points that the first figure fell by; negative when it rose.
double dq_accuracy_drop(const dq_result *before, const dq_result *after);

#endif
