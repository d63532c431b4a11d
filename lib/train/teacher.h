// A network that gives the targets of a training.
#ifndef DQ_TRAIN_TEACHER_H
#define DQ_TRAIN_TEACHER_H

#include "lib/session/session.h"

typedef struct dq_teacher {
  dq_graph *graph; // owned: a copy whose batch is open
  dq_session session;
  double temperature;
  enum { DQ_TEACHER_VALUES, DQ_TEACHER_SCORES, DQ_TEACHER_SHARES } output;
} dq_teacher;

typedef struct dq_teacher_options {
  const dq_graph *graph;
  bool classes; // output 0 has scores of classes
  double temperature;
} dq_teacher_options;

// Makes the graph ready for batches of the input's shape. Of scores of classes the targets are softmax(y / T) at
// the temperature T, else output 0 itself. The graph and the context must outlive the teacher, which the caller closes,
// also after a failure. DQ_BAD_INPUT: the graph has several inputs, or an input or output of
// another shape than the tensors; else statuses as dq_session_open.
dq_status dq_teacher_open(dq_teacher *teacher, const dq_teacher_options *options, const dq_tensor *input,
                          const dq_tensor *targets, const dq_context *context, dq_error *error);
void dq_teacher_close(dq_teacher *teacher); // allowed on a zeroed struct

// Computes the targets of a batch. Statuses as dq_plan_run.
dq_status dq_teacher_run(dq_teacher *teacher, const dq_tensor *input, dq_tensor *targets, dq_error *error);

#endif
