// Checks of all nodes of a graph that was not made here, before anything is changed in it.
#ifndef DQ_SCHEDULE_CHECK_NODES_H
#define DQ_SCHEDULE_CHECK_NODES_H

#include "lib/graph/graph.h"
#include "lib/ops/operator.h"

// Refuses the first node, in the order of the graph, that its operator cannot be: counts and required inputs, types
// and values of attributes, shapes of constants, all by the operator's row (dq_operator.check). Shapes of other values
// are not known here. Sessions begin with it, and so does every transform, so that passes may rely on what it says;
// passes that make constants call it again, since new constants tell more. DQ_BAD_INPUT names the node. What is not
// supported passes: commands that need not run it carry it through, a plan refuses it. DQ_UNSUPPORTED: a version that
// is not supported, of another form than those that are.
dq_status dq_check_nodes(const dq_graph *graph, const dq_context *context, dq_error *error);

#endif
