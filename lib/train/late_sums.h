// Sums over the pictures of several processes that nothing waits for before the end of a step, such as the gradients of
// weights: processes exchange them together, while the next steps run (lib/ops/gradient/exchange_nodes.c).
#ifndef DQ_TRAIN_LATE_SUMS_H
#define DQ_TRAIN_LATE_SUMS_H

#include "lib/train/training_nodes.h"

// Changes the nodes of made->graph that add over processes (dq_mark_picture_sums) where no node that computes pictures
// depends on their sum: such a node gives only the blocks of its process (DQ_BLOCKS_OF_PROCESSES), and new nodes
// dq.StartSums and dq.FinishSums exchange the blocks of all processes and compute the sums. `tensors`, by value index,
// have types and shapes; `pictures[.]`, by value index: whether the value has pictures along its first dimension.
// Nothing changes where there is no such node. DQ_SYSTEM: there is no memory.
dq_status dq_add_sums_late(dq_training_graph *made, dq_tensor *tensors, const bool *pictures, const dq_context *context,
                           dq_error *error);

#endif
