// Sums over the pictures of several processes that nothing waits for before the end of a step, such as the gradients of
// weights: processes exchange them together, while the steps behind them run (lib/ops/exchange_nodes.c).
#ifndef DQ_TRAIN_LATE_SUMS_H
#define DQ_TRAIN_LATE_SUMS_H

#include "lib/train/training_nodes.h"

// Of the nodes that add over processes (dq_mark_picture_sums), lets those leave their blocks whose sums no node needs
// that computes pictures, and adds the nodes that exchange these and give the sums. `tensors`, by value, have types and
// shapes; `pictures`, by value, holds what has pictures. DQ_SYSTEM: there is no memory.
dq_status dq_add_sums_late(dq_training_graph *made, dq_tensor *tensors, const bool *pictures, const dq_context *context,
                           dq_error *error);

#endif
