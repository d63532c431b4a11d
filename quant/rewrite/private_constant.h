// Weights that a step of quantization changes: the node gets a copy of its own.
#ifndef DQ_QUANT_PRIVATE_CONSTANT_H
#define DQ_QUANT_PRIVATE_CONSTANT_H

#include "lib/graph/graph.h"

// Replaces input `input` of a node, which must be a float32 initializer, by a copy that only this node reads, unless it
// is such a copy already. Returns the tensor of the copy, which the graph owns and the caller may change; NULL: there
// is no memory. Other readers keep the old initializer. The copy of X is called X_adjusted, with a number where that
// name is taken; a copy of X_adjusted gets no second ending, because names are part of the file.
dq_tensor *dq_private_constant(dq_graph *graph, dq_node *node, int input);

// Whether more than four nodes read a constant, so that a copy in 8 bits for each takes more than the constant in
// float32. Such a weight gets no copies, and stands in the file once.
static inline bool dq_is_widely_shared(const dq_value *constant) { return constant->user_count > 4; }

// Frees the elements of such a copy; the next dq_graph_drop_constants removes `value` from the graph. Nothing may read
// the value any more, also in no copy of the graph. Nothing happens when `value` is not such a copy.
void dq_private_constant_release(dq_graph *graph, dq_value *value);

#endif
