// The figure of a model in training, on pictures that it is not trained on.
#ifndef DQ_TRAIN_LOOP_VALIDATION_H
#define DQ_TRAIN_LOOP_VALIDATION_H

#include "lib/eval/accuracy.h"
#include "lib/graph/graph.h"

typedef struct dq_validation {
  dq_data *data;
  const dq_graph *teacher; // for pictures without labels that suit the model; NULL: none
  int64_t classes;         // of the scores of the model; 0: it has no scores of classes
  dq_shape_request shapes;
  int64_t batch;
} dq_validation;

// The figure of a model, of which a larger one is better: of labelled pictures the first one of its task (top-1), else
// the SQNR of output 0 in dB against the teacher's. DQ_BAD_INPUT: there are neither class labels nor a teacher; else
// statuses as dq_accuracy_run and dq_runner_open.
dq_status dq_validate(const dq_validation *validation, const dq_graph *model, dq_figure *figure,
                      const dq_context *context, dq_error *error);

#endif
