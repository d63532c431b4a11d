// The graph that a training runs: a copy of the model whose weights are inputs, followed by the nodes of a loss and of
// its gradients.
#ifndef DQ_TRAIN_TRAINING_GRAPH_H
#define DQ_TRAIN_TRAINING_GRAPH_H

#include "lib/train/training_nodes.h"

// Makes the graph in *made, whose model is set, and sets training->trained and training->statistics except the tensors
// of the plan. Statuses as dq_training_open.
dq_status dq_training_graph_make(dq_training_graph *made, dq_training *training, const dq_training_options *options,
                                 const dq_context *context, dq_error *error);

// Replaces the first dimension of `input`, the number of pictures, by an open one where the graph fixes it. Nodes that
// need that number then fail in dq_infer. DQ_SYSTEM: there is no memory.
dq_status dq_open_batch(dq_graph *graph, dq_value *input, dq_error *error);

#endif
