// Products of quantized values in a training graph, computed in integers.
#ifndef DQ_TRAIN_EXACT_PRODUCTS_H
#define DQ_TRAIN_EXACT_PRODUCTS_H

#include "lib/train/training_nodes.h"

// Rewrites the forward part of a training graph so that products of quantized values compute what the execution on 8
// bits computes. To be called after dq_backward: the nodes of the gradients go on reading the float32 values.
// `tensors`, by value index, are those of the graph without gradients.
//
// A product is rewritten when its data and its weight, and its bias if it has one, are results of dq.FakeQuantize. It
// then adds up the stored integers (less their zero points) in float32, and a Mul by the scales gives the value that it
// had. A dq.FakeQuantize that reads this value, directly or through a Relu or Clip, is given the sums in its place and
// requantizes them. The values are those of the execution on 8 bits while no partial sum has a magnitude of 2^24 or
// more, up to which float32 adds integers exactly; beyond it sums are rounded. Takes one pass over the nodes; new nodes
// and arrays are in the arena of the graph. DQ_SYSTEM: there is no memory.
dq_status dq_exact_products(dq_training_graph *made, const dq_tensor *tensors, dq_error *error);

#endif
