// What the files of the trainer share.
#ifndef DQ_TRAIN_LOOP_TRAINER_INTERNAL_H
#define DQ_TRAIN_LOOP_TRAINER_INTERNAL_H

#include "lib/train/loop/batches.h"
#include "lib/train/loop/checkpoint.h"
#include "lib/train/teacher.h"
#include "lib/train/loop/trainer.h"
#include "lib/train/loop/validation.h"

// Where a training is. All members have 8 bytes.
typedef struct dq_train_place {
  int64_t epoch;      // epochs that are complete
  int64_t step;       // steps made of the next one
  int64_t steps;      // made in all
  double loss, right; // sums over the steps of the next epoch
  double seconds;     // of these steps
  double start, best; // figures
  int64_t best_epoch; // 0: the start
  int64_t since_best; // epochs behind it
  double rate;        // of the options
  double memory;      // that was announced
} dq_train_place;

typedef struct dq_trainer {
  const dq_trainer_options *options;
  const dq_context *context;
  dq_context silent; // the same without messages and progress
  dq_arena *arena;   // of the caller
  dq_graph *model;
  dq_training training;
  dq_optimizer optimizer;
  dq_rate rate;
  dq_batches batches;
  dq_teacher teacher;
  dq_validation validation;
  dq_train_place place;
  float *now, *best; // states of the training: in checkpoints, and of the best epoch
  dq_checkpoint checkpoint;
  dq_train_report *report;
  double begin;  // of this call, by dq_seconds
  int64_t first; // steps that were made before this call
} dq_trainer;

// Makes everything ready but for the place. The caller closes the trainer, also after a failure.
dq_status dq_trainer_open(dq_trainer *trainer, dq_error *error);
void dq_trainer_close(dq_trainer *trainer);

// Validates the weights as they are.
dq_status dq_trainer_validate(const dq_trainer *trainer, dq_figure *figure, dq_error *error);

// Writes the place and the states to the checkpoint, if there is one, and reads them back into the training. Of several
// processes the first one does, and all have its status.
dq_status dq_trainer_save(dq_trainer *trainer, dq_error *error);
dq_status dq_trainer_load(dq_trainer *trainer, dq_error *error);

#endif
