// The graph that a training runs: a copy of the model whose weights are inputs, with a loss and the gradients behind
// it.
#ifndef DQ_TRAIN_TRAINING_GRAPH_H
#define DQ_TRAIN_TRAINING_GRAPH_H

#include "lib/train/training_nodes.h"

// Makes the graph, and sets trained and statistics of `training` but for what lies in the plan. Statuses as
// dq_training_open.
dq_status dq_training_graph_make(dq_training_graph *made, dq_training *training, const dq_training_options *options,
                                 const dq_context *context, dq_error *error);

// Leaves the number of pictures of an input open where the graph fixes it. Nodes that need that number fail when shapes
// are inferred. DQ_SYSTEM: there is no memory.
dq_status dq_open_batch(dq_graph *graph, dq_value *input, dq_error *error);

#endif
