// A network that gives the targets of a training.
#ifndef DQ_TRAIN_TEACHER_H
#define DQ_TRAIN_TEACHER_H

#include "lib/train/training.h"

typedef struct dq_teacher {
  dq_graph *graph; // owned: a copy whose batch is open
  dq_session session;
  double temperature;
  int outputs; // of the network; those of the features come behind them
  enum dq_teacher_output {
    DQ_TEACHER_VALUES, // the targets are output 0
    DQ_TEACHER_SCORES, // output 0 has scores y of classes; the targets are softmax(y / T)
    DQ_TEACHER_SHARES  // output 0 is the result p of a Softmax; the targets are softmax(log(p) / T)
  } output;
} dq_teacher;

typedef struct dq_teacher_options {
  const dq_graph *graph;
  bool classes;                // output 0 has scores of classes
  double temperature;          // T, above 0; of scores of classes alone
  const char *const *features; // [feature_count]: names of values that are targets of features
  int feature_count;
  const dq_feature *targets; // [feature_count]: what dq_teacher_run will write
} dq_teacher_options;

// Makes options->graph ready for batches of the shape of `input`. The targets are softmax(y / T) of scores y of classes
// (Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015, section 2), else output 0 itself;
// `targets` has their shape. The graph and the context must outlive the teacher, which the caller closes, also after a
// failure. DQ_BAD_INPUT: the graph has several inputs, or its input, its output or a feature has another shape than the
// tensors; else statuses as dq_session_open.
dq_status dq_teacher_open(dq_teacher *teacher, const dq_teacher_options *options, const dq_tensor *input,
                          const dq_tensor *targets, const dq_context *context, dq_error *error);
void dq_teacher_close(dq_teacher *teacher); // allowed on a zeroed struct

// Computes the targets of the batch `input`; both tensors are float32 and have the shapes of dq_teacher_open. With
// features the function writes targets and weights of features[] as well, in the order of options->features. Statuses
// as dq_plan_run.
dq_status dq_teacher_run(dq_teacher *teacher, const dq_tensor *input, dq_tensor *targets, const dq_feature *features,
                         dq_error *error);

#endif
