// The loop over data: epochs of steps, validation, checkpoints, and the choice of the epoch whose weights are kept.
#ifndef DQ_TRAIN_LOOP_TRAINER_H
#define DQ_TRAIN_LOOP_TRAINER_H

#include "lib/eval/eval.h"
#include "lib/train/loop/augment.h"
#include "lib/train/training.h"

typedef struct dq_trainer_options {
  dq_training_options training; // its loss is set by the model and the teacher
  dq_optimizer optimizer;       // its kind and numbers
  dq_rate rate;                 // its course, rate and power
  double warmup;                // epochs in which the rate grows
  int64_t epochs;
  double label_smoothing;
  dq_augmentation augmentation;
  dq_data *data, *validation; // with class labels, or with a teacher any
  const dq_graph *teacher;    // its output 0 gives the targets in place of the labels; NULL: none
  bool match;                 // the outputs themselves are compared with the teacher's, in loss and validation
  int64_t patience;           // the training ends after this number of epochs without a better one; 0: never
  bool last;                  // the model of the last epoch is kept, not the best
  const char *checkpoint;     // folder, which is made; NULL: no checkpoint is written
  int64_t checkpoint_every;   // steps between two checkpoints, beside that of each epoch; 0: none
  bool resume;                // goes on from the checkpoint, if there is one
  double time_limit;          // seconds; the training then ends after a step; 0: none
} dq_trainer_options;

// One epoch. All members have 8 bytes, for checkpoints.
typedef struct dq_train_epoch {
  int64_t steps; // made in this epoch; fewer than the others where the time limit ended it
  double rate;   // of the last step
  double loss;   // mean over its steps
  double right;  // percent of its pictures whose highest score is that of the highest target, as they were trained on;
                 // NaN without classes
  double figure; // of the validation behind it
  double seconds;
} dq_train_epoch;

typedef struct dq_train_report {
  dq_figure figure;       // that is validated: name, unit; its value is that of the model that was kept
  double start;           // the figure before the training
  dq_train_epoch *epochs; // [count]
  int64_t count;
  int64_t kept;     // number of the epoch whose model was kept; 0: the model is as it was
  int64_t batch;    // pictures in a step
  int64_t resumed;  // steps that the checkpoint already had; 0: none
  double memory;    // bytes that were announced
  bool out_of_time; // the time limit ended the training
  bool out_of_patience;
  char diverged[1024]; // why the training ended; "": it did not diverge
} dq_train_report;

// Trains `model` and leaves the kept weights in it. Batches, and with them all results, depend on the seed of the
// context and not on its threads. The arena owns the tables of the report; both, and all data, must outlive the call.
// Checkpoints are DIR/checkpoint.
//
// DQ_CONDITION: the training diverged, or the model that should be kept is worse than it was at the start, and is
// therefore as it was; *report is filled. DQ_CANCELLED: context->stop was set; the checkpoint holds all steps that were
// made. DQ_BAD_INPUT: pictures, labels, teacher or checkpoint do not fit; DQ_USAGE: a pattern of `frozen` fits no node,
// or a checkpoint of an unfinished training is there and `resume` is not set; DQ_UNSUPPORTED: an operator has no
// gradient, or the model has several outputs; DQ_SYSTEM: no memory, or a file cannot be written.
dq_status dq_train(dq_graph *model, const dq_trainer_options *options, dq_train_report *report, dq_arena *arena,
                   const dq_context *context, dq_error *error);

#endif
