// Functions at the end of a network whose results hardly change any more when their arguments do.
#ifndef DQ_GRAPH_SATURATION_H
#define DQ_GRAPH_SATURATION_H

#include "lib/graph/graph.h"

// The argument of the function that computes a value of an indexed graph, through nodes that only move or convert
// elements. `functions` lists operators of ai.onnx and ends with NULL. NULL: another operator computes the value, or
// the argument is an input of the network.
dq_value *dq_before_function(const dq_value *value, const char *const *functions);

#endif
