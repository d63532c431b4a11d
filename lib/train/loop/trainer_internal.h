// What the files of the trainer share.
#ifndef DQ_TRAIN_LOOP_TRAINER_INTERNAL_H
#define DQ_TRAIN_LOOP_TRAINER_INTERNAL_H

#include "lib/train/loop/batches.h"
#include "lib/train/loop/checkpoint.h"
#include "lib/train/teacher.h"
#include "lib/train/loop/trainer.h"
#include "lib/train/loop/validation.h"

// The progress of a training. All members have 8 bytes.
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

// Makes all members of the trainer ready for steps, except its place. The caller closes the trainer, also after a
// failure.
dq_status dq_trainer_open(dq_trainer *trainer, dq_error *error);
void dq_trainer_close(dq_trainer *trainer);

// Computes the figure of the present weights on the validation pictures. Statuses as dq_validate.
dq_status dq_trainer_validate(const dq_trainer *trainer, dq_figure *figure, dq_error *error);

// dq_trainer_save writes the place and the states of the training to the checkpoint; dq_trainer_load sets them from the
// checkpoint. Without options->checkpoint both do nothing. Of several processes the first one writes or reads, and all
// return its status. Statuses as dq_checkpoint_save and dq_checkpoint_load.
dq_status dq_trainer_save(dq_trainer *trainer, dq_error *error);
dq_status dq_trainer_load(dq_trainer *trainer, dq_error *error);

#endif
