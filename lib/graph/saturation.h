// Functions at the end of a network whose results hardly change any more when their arguments do.
#ifndef DQ_GRAPH_SATURATION_H
#define DQ_GRAPH_SATURATION_H

#include "lib/graph/graph.h"

// Softmax, LogSoftmax and Sigmoid, then NULL: what a network loses is measured at their arguments where they compute
// its outputs, as shares of nearly certain classes show no error until an answer changes.
extern const char *const dq_saturating_functions[];

// The node of ai.onnx, one of `functions` (which end with NULL), that computes a value of an indexed graph, through
// nodes that only move or convert elements. NULL: another operator computes the value, or the argument is an input of
// the network.
const dq_node *dq_function_behind(const dq_value *value, const char *const *functions);
// Its argument; NULL likewise.
dq_value *dq_before_function(const dq_value *value, const char *const *functions);

// Makes the arguments of `functions` outputs of an indexed graph in place of their results, but for an argument that is
// an output already. All nodes stay.
void dq_show_arguments(dq_graph *graph, const char *const *functions);

#endif
