// The order in which nodes of a network should be left in float.
#ifndef DQ_QUANT_FLOAT_ORDER_H
#define DQ_QUANT_FLOAT_ORDER_H

#include "quant/search/sensitivity.h"

typedef struct dq_float_order {
  int *nodes; // indices into dq_sensitivity.nodes, each at most once
  int *ends;  // [steps]: number of `nodes`, from the first on, that are in float after the step
  int steps;  // without a budget all nodes are in float after the last step
} dq_float_order;

// The most that the steps of an order may leave in float together.
typedef struct dq_float_budget {
  int nodes;
  double macs;  // share of the multiply-accumulates of all nodes, 0 to 1
  double bytes; // share of the bytes of the weights of all nodes, 0 to 1
  double share; // a layer that makes less than this share of the noise of all layers avoids none; 0 to 1
} dq_float_budget;

// Orders the nodes of a network by the noise that leaving them in float avoids. `found` is a result of
// dq_sensitivity_measure with `ranking`, whose effects of weights and of activations are read; an effect of 0, such as
// one that was not measured, avoids no noise. The order is in the arena. DQ_SYSTEM: there is no memory.
//
// A result is rounded while any node that writes or reads it is in 8 bits, and weights are rounded while their product
// is in 8 bits. One step therefore leaves in float either all nodes around one result, or one product, and avoids the
// noise of everything that is then no longer rounded. Each step is the one with the highest ratio of avoided noise to
// cost. The noise is the relative noise of the outputs (dq_sensitivity_effect), and noises are assumed to add; the cost
// of a node is its share of the nodes plus its shares of the multiply-accumulates and of the bytes of the weights. Of
// equal steps the first in the network is taken. The last step has all nodes that avoid no noise.
//
// With a budget (NULL: none) a step that would exceed it is passed over and the next best one that fits is taken, until
// none fits; the last step is left out then, and `nodes` has those of the steps alone. Each step
// takes time in proportion to the number of layers times the number of layers and nodes.
dq_status dq_float_order_find(dq_float_order *order, const dq_sensitivity *found, const dq_float_budget *budget,
                              dq_arena *arena, dq_error *error);

#endif
