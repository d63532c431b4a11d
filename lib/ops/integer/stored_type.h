// Element types of quantized numbers, and zero points where a file leaves them out. QuantizeLinear takes its type from
// the zero point, else from the attribute output_dtype, else it is uint8; DequantizeLinear takes it from its input.
#ifndef DQ_OPS_STORED_TYPE_H
#define DQ_OPS_STORED_TYPE_H

#include "lib/graph/graph.h"

// The element type of a value of an indexed graph: of a constant, of an input of the graph, or of what computes it
// through nodes that only move elements. 0: the graph does not tell. NULL is allowed (0).
int dq_stored_type(const dq_value *value);

// Gives every QuantizeLinear and DequantizeLinear of an indexed graph that has no zero point one of zeros, for numbers
// of 8 and 16 bits with constant scales that are not in blocks. Other nodes are left as they are, also those whose type
// the graph does not tell. The caller indexes the graph again. DQ_SYSTEM: there is no memory.
dq_status dq_state_zero_points(dq_graph *graph, dq_error *error);

#endif
