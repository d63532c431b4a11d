// Products of quantized values in a training graph, computed in integers.
#ifndef DQ_TRAIN_EXACT_PRODUCTS_H
#define DQ_TRAIN_EXACT_PRODUCTS_H

#include "lib/train/training_nodes.h"

// Lets every product of two results of dq.FakeQuantize, and of such a bias or none, sum their levels, and the quantizer
// behind it, or behind its activation, requantize these sums. The values behind are then those of the execution on 8
// bits, while no sum of float32 reaches 2^24; so far gradients have been written, which stay as they are. `tensors` are
// those of the graph without gradients. DQ_SYSTEM: there is no memory.
dq_status dq_exact_products(dq_training_graph *made, const dq_tensor *tensors, dq_error *error);

#endif
