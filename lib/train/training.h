// A network in training: its graph with a loss and the gradients behind it, bound to run steps on batches. The weights
// are inputs of that plan, which a step reads and its update writes.
#ifndef DQ_TRAIN_TRAINING_H
#define DQ_TRAIN_TRAINING_H

#include "lib/session/session.h"
#include "lib/train/optimizer.h"

// The loss, which a training minimizes: the mean over the pictures of a batch of
typedef enum dq_loss {
  DQ_LOSS_CROSS_ENTROPY, // -sum(t log softmax(y)), with targets t that sum to 1, of scores y, pictures x classes
  DQ_LOSS_SQUARED_ERROR, // the mean of (t - y)^2 over the elements of an output y of a picture
} dq_loss;

typedef struct dq_training_options {
  dq_loss loss;              // on output 0; a Softmax or LogSoftmax at its end is left out of the cross entropy
  double temperature;        // T: the loss is T^2 times the cross entropy of the scores y / T; 0: T is 1
  int64_t batch;             // pictures in a step, 1 or more, over all processes of the context
  dq_shape_request shapes;   // further sizes that the model leaves open
  const char *const *frozen; // [frozen_count]: shell patterns on nodes whose weights are not trained
  int frozen_count;
  bool frozen_statistics; // BatchNormalization uses its stored statistics, as in inference
  // Weights, biases and scales of a QDQ model are trained; dq_training_store writes weights and biases as integers.
  // Batch normalization that is left uses stored statistics.
  bool quantized;
  // Values of the model that are compared with those of a teacher, each element by element: the loss grows by
  // feature_loss times the mean, over pictures and features, of |s - t|^2 / |t|^2 (0 where t is 0).
  const char *const *features; // [feature_count]
  int feature_count;
  double feature_loss; // 0 or more
} dq_training_options;

// A value that is compared with that of a teacher; the caller writes both before every step.
typedef struct dq_feature {
  dq_tensor *targets; // t, of the shape of the value, pictures first
  dq_tensor *weights; // 1 / |t|^2 of each picture, of shape pictures x 1 x ... x 1
} dq_feature;

// A weight that is trained. Its elements are in the plan; the gradient holds until the next step.
typedef struct dq_trained {
  const char *name;  // of the initializer in the model
  const char *layer; // of the node that reads it, for messages
  dq_tensor *elements;
  // The float32 numbers of which `elements` are rounded, of a weight that the model stores in float16; else NULL.
  dq_tensor *master;
  const dq_tensor *gradient;
  bool decays;                       // weight decay is for matrices and kernels, not for vectors
  bool is_scale;                     // of a quantizer: no update lowers it below a thousandth of its first value
  const struct dq_stored_grid *grid; // of integers in the model; NULL: they are float32 there as well
  const dq_tensor *scale;            // with `grid`, of a weight: its scales in the plan
  const float *units;                // [elements]: dq_update.units
} dq_trained;

// Running statistics of a BatchNormalization that is trained: `running` move towards those of each batch, with the
// share 1 - momentum.
typedef struct dq_statistics {
  const char *names[2]; // of the initializers of mean and variance in the model
  const char *layer;    // of the node, for messages
  dq_tensor *running[2];
  const dq_tensor *batch[2];
  double momentum;
} dq_statistics;

typedef struct dq_training {
  dq_session session;
  dq_graph *graph;             // the model with loss and gradients; owned
  dq_arena *arena;             // owned
  const dq_context *context;   // of the plan
  const dq_picture_part *part; // the pictures of a batch that are computed here; NULL: all
  dq_trained *trained;         // [trained_count]
  int trained_count;
  dq_statistics *statistics; // [statistics_count]
  int statistics_count;
  dq_tensor *input;     // float32, batch first; written by the caller before every step
  dq_tensor *targets;   // the same, of the shape of the scores
  dq_feature *features; // [feature_count], in the order of the options
  int feature_count;
  const dq_tensor *scores, *loss;
  int64_t step; // steps that were made
} dq_training;

// Fills *training, whatever it held: makes a model with one input and weights of float32 or float16 ready for training;
// those of float16 are rounded to it in every step (lib/train/half_weights.h). The model and the context must outlive
// the training; the model is not changed; `options` are read during the call. A batch that the model fixes is replaced
// by that of the options. All activations of the batch that gradients read, the gradients, and the weights a second
// time are in memory until the training is closed (dq_plan_memory_of, dq_schedule_bytes of its session). The caller
// closes the training, also after a failure. DQ_UNSUPPORTED: the model has several inputs; or the message names a node
// between a trained weight and the loss whose operator has no gradient, or which combines pictures of different
// processes. DQ_BAD_INPUT: the model has no input, no output or no weight that is trained, or the output does not suit
// the loss; DQ_USAGE: the batch is too small for the processes; else statuses as dq_session_open.
//
// Of several processes (context->processes) each computes a part of the batch, whole shards of it
// (lib/kernels/reference/shards.h), and is given the pictures of its part; all processes make the same steps. A step
// does not look at context->stop then.
dq_status dq_training_open(dq_training *training, const dq_graph *model, const dq_training_options *options,
                           const dq_context *context, dq_error *error);
void dq_training_close(dq_training *training); // allowed on a zeroed struct

// Makes zeroed moments of the optimizer for all trained weights; the training owns them. DQ_SYSTEM: there is no memory.
dq_status dq_training_optimizer(const dq_training *training, dq_optimizer *optimizer, dq_error *error);

// Runs the batch that was written to training->input and training->targets, and updates the weights and the running
// statistics. *loss receives the mean loss of the batch before the update. DQ_CONDITION: the loss, a gradient or a
// statistic of the batch is not finite; the message has the layer, and nothing is updated. Else statuses as
// dq_plan_run, after which nothing is updated either.
dq_status dq_training_step(dq_training *training, dq_optimizer *optimizer, double rate, double *loss, dq_error *error);

// The state of a training: the elements of all trained weights and running statistics, one after the other.
// dq_training_elements is their number; dq_training_save copies them to state[dq_training_elements], and
// dq_training_restore copies them back.
int64_t dq_training_elements(const dq_training *training);
void dq_training_save(const dq_training *training, float *state);
void dq_training_restore(dq_training *training, const float *state);

// Writes the weights and running statistics to the initializers of `model`, whose graph must be the one that the
// training was opened with or a copy of it. DQ_SYSTEM: there is no memory.
dq_status dq_training_store(const dq_training *training, dq_graph *model, dq_error *error);

#endif
