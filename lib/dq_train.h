// dq.h: training.
#ifndef DQ_TRAIN_H
#define DQ_TRAIN_H

#include "dq_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// Training: weights and running statistics of batch normalization are fitted to pictures by the gradient of a loss. The
// loss is the cross entropy with the labels as targets, or with the predictions of a teacher; where output 0 has no
// scores of classes, it is the mean squared difference from output 0 of the teacher.

typedef enum dq_train_optimizer {
  DQ_TRAIN_SGD, // stochastic gradient descent with momentum; weight decay is added to the gradient
  DQ_TRAIN_ADAM // Adam with decoupled weight decay
} dq_train_optimizer;

// The learning rate after the warm-up, at the share s of the steps that follow it, from 0 to 1: `rate`
typedef enum dq_train_schedule {
  DQ_TRAIN_CONSTANT,
  DQ_TRAIN_STEP,   // times 1/10 from s = 1/2 on, times 1/100 from s = 3/4 on
  DQ_TRAIN_COSINE, // times (1 + cos(pi s)) / 2
  DQ_TRAIN_POLY    // times (1 - s)^2
} dq_train_schedule;

typedef struct dq_model_train_options {
  size_t size;
  dq_dataset *data;       // pictures to train on, with class labels unless there is a teacher; must be given
  dq_dataset *validation; // pictures to choose the best epoch by; must be given
  int64_t epochs;         // 1 or more; default 10
  int64_t batch; // pictures in a step, 1 to 65536; pictures left over in an epoch are others each time; default 64
  double rate;   // learning rate, above 0; default 0.01
  dq_train_schedule schedule;   // default DQ_TRAIN_COSINE
  double warmup;                // epochs in which the rate grows linearly, 0 or more; default 0
  dq_train_optimizer optimizer; // default DQ_TRAIN_SGD
  double momentum;              // of DQ_TRAIN_SGD, 0 to below 1; default 0.9
  double weight_decay;          // of weights with two dimensions or more, 0 or more; default 0
  double label_smoothing;       // share of the target that is spread over all classes, 0 to below 1; default 0
  const char *augment;          // such as "flip,crop=4,cutout=8,colour=0.2"; NULL (default): none
  const char *const *freeze;    // shell patterns on names of nodes whose weights are not trained
  int freeze_statistics;        // batch normalization uses its stored statistics, as in inference; default 0
  const dq_model *teacher;      // its output 0 gives the targets; must not be `model`; NULL (default): none
  double temperature;           // of the softmax of the scores of model and teacher, above 0; default 1
  double feature_loss;          // weight of the relative squared error of inner values, 0 or more: of those that
                                // convolutions and matrix products of the teacher read; default 0
  int64_t patience;         // ends the training after this number of epochs without a better one; 0 (default): never
  int keep_last;            // keep the model of the last epoch, not that of the best; default 0
  const char *checkpoint;   // folder for the file "checkpoint", which holds the training between two steps: it is
                            // written after every epoch; NULL (default): none
  int64_t checkpoint_every; // steps after which it is written as well; 0 (default): none
  int resume;               // go on from the checkpoint, if it is there; the result has the same bytes as that of a
                            // training that was never ended, unless the rate is another; default 0
  double time_limit;        // seconds, after which the training ends with a complete step; 0 (default): none
  const char *const *shapes;
  int quantization_aware; // the model is one that dq_model_int8 wrote: its weights, biases and scales are trained, with
                          // weights and values rounded as the model rounds them, and stay integers. DQ_TRAIN_ADAM with
                          // a rate of 0.0003 is usual, as its steps are then in proportion to the scales; default 0
} dq_model_train_options;

typedef struct dq_model_train_facts {
  size_t size;
  const char *figure, *unit; // what is validated: "top-1" of labels, else "SQNR" against the teacher; larger is better
  double before, after;      // the figure of the model as it was, and of the one that was kept
  int64_t epochs;            // number of epochs, also of rows
  int64_t kept;              // the epoch whose model was kept, from 1; 0: the model is as it was
  int64_t resumed;           // steps that the checkpoint had; 0: none
  double memory;             // bytes that the training was expected to need
  int out_of_time;           // time_limit ended the training
  int out_of_patience;       // `patience` ended the training
} dq_model_train_facts;

typedef struct dq_model_train_row {
  size_t size;
  int64_t steps; // of the epoch
  double rate;   // of its last step
  double loss;   // mean over its steps
  double right; // percent of the pictures, as they were trained on, whose highest score was that of the highest target;
                // NAN without classes
  double figure;  // on the validation pictures
  double seconds; // of its steps
} dq_model_train_row;

void dq_model_train_defaults(dq_model_train_options *options, size_t size);
// Trains the model in place. Results do not depend on the number of threads. dq_model_train_at then gives a row for
// each epoch. DQ_CODE_CONDITION: the training diverged (the failure has the layer), or the model became worse and is as
// it was; DQ_CODE_USAGE: an option is out of its range, or a checkpoint is there and `resume` is 0; DQ_CODE_BAD_INPUT:
// pictures, labels, teacher or checkpoint do not fit; DQ_CODE_UNSUPPORTED: an operator has no gradient, or the model
// has several inputs or outputs; DQ_CODE_CANCELLED: the checkpoint holds all steps that were made. A training that
// fails leaves the model as it was.
dq_code dq_model_train(dq_model *model, const dq_model_train_options *options, dq_model_train_facts *facts,
                       dq_failure *failure);
int dq_model_train_at(const dq_model *model, int index, dq_model_train_row *row);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
