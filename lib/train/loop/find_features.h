// The inner values of a model that are trained towards those of its teacher.
#ifndef DQ_TRAIN_LOOP_FIND_FEATURES_H
#define DQ_TRAIN_LOOP_FIND_FEATURES_H

#include "lib/train/loop/trainer_internal.h"

// Sets the features of `training` and `teacher`, when training->feature_loss is above 0, to the values with equal
// orders of channels that dq_match_layers matches and that a convolution or matrix product of the teacher reads as its
// first input. The names are those of the graphs; the arena of the trainer owns the arrays. DQ_BAD_INPUT: there is no
// such value; else statuses as dq_match_layers.
dq_status dq_find_features(const dq_trainer *trainer, dq_training_options *training, dq_teacher_options *teacher,
                           dq_error *error);

#endif
