// Names of operators as options and settings files take them.
#ifndef DQ_OPS_OPERATOR_NAMES_H
#define DQ_OPS_OPERATOR_NAMES_H

#include "lib/graph/graph.h"

typedef enum dq_operator_match { DQ_MATCH_NAME, DQ_MATCH_PATTERN } dq_operator_match;

// Whether an operator of the graph, of the table or otherwise of ONNX has this name, or fits it as a shell pattern.
// Where none does, *nearest is the name that is closest to it, or NULL.
bool dq_operator_is_known(const char *name, dq_operator_match match, const dq_graph *graph, const char **nearest);

// DQ_USAGE for the first name that is not known, with the nearest one. `option` is what the names were given to,
// without "--".
dq_status dq_operators_check(const char *option, const char *const *names, int count, dq_operator_match match,
                             const dq_graph *graph, dq_error *error);

#endif
