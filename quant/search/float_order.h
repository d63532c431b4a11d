// In which order the nodes of a network are best left in float.
#ifndef DQ_QUANT_FLOAT_ORDER_H
#define DQ_QUANT_FLOAT_ORDER_H

#include "quant/search/sensitivity.h"

typedef struct dq_float_order {
  int *nodes; // places in dq_sensitivity.nodes, each once
  int *ends;  // by step: how many of `nodes` are left in float after it
  int steps;  // the last leaves them all
} dq_float_order;

// A result is rounded as long as one node that writes or reads it is in 8 bits; weights are as long as their product
// is. So a step leaves all that stands around one result, or one product, and spares what is no longer rounded
// then: that which spares the most noise of the outputs for what it leaves. A node costs its share of the nodes
// plus its share of the multiply-accumulates. Noises (of dq_sensitivity_layer.weights and .activations, over the
// signal) are taken to add up. What spares nothing comes in one last step. Equal ones in the order of the network. In
// the arena.
dq_status dq_float_order_find(dq_float_order *order, const dq_sensitivity *found, dq_arena *arena, dq_error *error);

#endif
