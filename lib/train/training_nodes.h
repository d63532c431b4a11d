// Values and nodes that are added to a training graph.
#ifndef DQ_TRAIN_TRAINING_NODES_H
#define DQ_TRAIN_TRAINING_NODES_H

#include "lib/train/training.h"

enum { DQ_MARK_QUANTIZER = 1 }; // dq_node.mark of each dq.FakeQuantize in a training graph

typedef struct dq_training_graph {
  dq_graph *graph;       // a copy of `model`, which dq_training_graph_make changes
  const dq_graph *model; // owns names and first elements
  dq_arena *arena;       // owns the arrays
  dq_shape_request shapes;
  const dq_picture_part *part; // of the training
  dq_value *input, *targets, *scores, *loss;
  const dq_tensor **first;    // [trained_count]: the elements of the weights in the model
  dq_value **gradients;       // [trained_count]
  dq_value *(*statistics)[2]; // [statistics_count]: mean and variance of the batch
  dq_value *(*features)[2];   // [feature_count]: targets and weights
} dq_training_graph;

// Makes `value`, an initializer of made->graph whose name the model has as well, an input of that graph with the type
// and shape of `first`, and appends it to training->trained and made->first. Training begins from the elements of
// `first`, float32, which is not copied and must hold until dq_training_open returns. Of the new row the function sets
// name (that of the model), layer (the label of `reader`, in made->arena) and `decays` (rank 2 and more); the caller
// may set grid, units and is_scale, and dq_training_open sets the rest. The caller has allocated training->trained and
// made->first with a place for it. DQ_SYSTEM: there is no memory.
dq_status dq_train_value(dq_training_graph *made, dq_training *training, dq_value *value, const dq_tensor *first,
                         const dq_node *reader, dq_error *error);

// Adds a node of ai.onnx as the last one, with inputs[count] and one output; `output` NULL: a new value. Returns its
// output; NULL: an input is NULL, or there is no memory.
dq_value *dq_training_node(dq_training_graph *made, const char *op_type, int count, dq_value *const *inputs,
                           dq_value *output);

// The value times a number, and the sum of all elements times a number. NULL as dq_training_node.
dq_value *dq_training_multiply(dq_training_graph *made, dq_value *value, double factor);
dq_value *dq_training_sum(dq_training_graph *made, dq_value *terms, double factor);

// Pictures of a step, over all processes.
int64_t dq_training_pictures(const dq_training_graph *made);

// Whether the weights of the node are not trained.
bool dq_is_frozen(const dq_node *node, const dq_training_options *options);

#endif
