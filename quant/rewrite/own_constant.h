// Weights that a step of quantization changes: the node gets a copy of its own.
#ifndef DQ_QUANT_OWN_CONSTANT_H
#define DQ_QUANT_OWN_CONSTANT_H

#include "lib/graph/graph.h"

// Makes input `input` of a node, a float32 initializer, a copy that this node alone reads, unless it is one
// already, and returns its tensor, owned by the graph; NULL: memory. The other readers keep the old one. The
// copy of X is called X_adjusted, with a number when that is taken; a copy of a copy (which a copied graph
// makes, as it shares elements with its original) is not longer, as names are part of the file.
dq_tensor *dq_own_constant(dq_graph *graph, dq_node *node, int input);

// Gives back the elements of such a copy, which nothing reads any more, nor any copy of the graph; other
// constants stay.
void dq_own_constant_release(dq_graph *graph, dq_value *value);

#endif
