// Inner values of a network in training that are compared with those of its teacher.
#ifndef DQ_TRAIN_FEATURES_H
#define DQ_TRAIN_FEATURES_H

#include "lib/train/training_nodes.h"

// Adds the comparison of options->features to made->loss, with an input for the targets and one for the weights of
// each, in made->features; sets training->features except their tensors. `tensors`, by value, have the shapes.
// DQ_BAD_INPUT: the model has no value of the name of a feature, or it is not float32 with pictures first; DQ_SYSTEM:
// there is no memory.
dq_status dq_compare_features(dq_training_graph *made, dq_training *training, const dq_tensor *tensors,
                              const dq_training_options *options, dq_error *error);

#endif
