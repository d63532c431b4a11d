// Checks of all nodes of a graph that comes from a file, before anything is changed in it.
#ifndef DQ_SCHEDULE_CHECK_NODES_H
#define DQ_SCHEDULE_CHECK_NODES_H

#include "lib/graph/graph.h"
#include "lib/ops/table/operator.h"

// Checks each node, in the order of the graph, against its operator's row (dq_operator.check): numbers of inputs and
// outputs, required inputs, types and values of attributes, shapes of constants. Shapes of other values are not known
// here. Every session and every transform begins with this check, so that passes may rely on it; passes that create
// constants call it again. DQ_BAD_INPUT names the first node that is invalid. Operators that dq does not know are no
// failure here, since commands that do not run them carry them through; a schedule refuses them. DQ_UNSUPPORTED: the
// version of an operator is not supported, and its form differs from that of the versions that are.
dq_status dq_check_nodes(const dq_graph *graph, const dq_context *context, dq_error *error);

// Checks that dq runs the operators of all nodes. DQ_UNSUPPORTED names the first node that it does not run; also
// statuses of dq_check_nodes.
dq_status dq_check_all_run(const dq_graph *graph, const dq_context *context, dq_error *error);

#endif
