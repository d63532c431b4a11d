// How good a model is on labelled data.
#ifndef DQ_EVAL_ACCURACY_H
#define DQ_EVAL_ACCURACY_H

#include "lib/eval/eval.h"
#include "lib/schedule/infer.h"

typedef struct dq_accuracy_options {
  const char *task;   // NULL: guessed from the outputs and the labels
  const char *decode; // of a detector; NULL: the model's metadata property `decode`
  int64_t batch;      // pictures per run, 0: 1
  dq_shape_request shapes;
} dq_accuracy_options;

// Runs the graph on all pictures. The figures do not depend on batch or threads beyond the rounding
// of sums. A task without labels ("none") runs nothing and has no figures.
dq_status dq_accuracy_run(dq_result *result, const dq_graph *graph, dq_data *data, const dq_accuracy_options *options,
                          const dq_context *context, dq_error *error);

// Percentage points that the first figure fell by; negative when it rose.
double dq_accuracy_drop(const dq_result *before, const dq_result *after);

#endif
