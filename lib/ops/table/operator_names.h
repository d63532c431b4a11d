// Checks of the names of operators in options and settings files.
#ifndef DQ_OPS_OPERATOR_NAMES_H
#define DQ_OPS_OPERATOR_NAMES_H

#include "lib/graph/graph.h"

typedef enum dq_operator_match { DQ_MATCH_NAME, DQ_MATCH_PATTERN } dq_operator_match;

// Whether an operator of the graph, of the table or otherwise of ONNX has this name, or fits it as a shell pattern
// (DQ_MATCH_PATTERN). Where none does, *nearest receives the name that is closest to it; NULL: none is close.
bool dq_operator_is_known(const char *name, dq_operator_match match, const dq_graph *graph, const char **nearest);

// DQ_USAGE, with the nearest name as a hint: one of names[count] is not known. `option` is the option that has the
// names, without "--".
dq_status dq_operators_check(const char *option, const char *const *names, int count, dq_operator_match match,
                             const dq_graph *graph, dq_error *error);

#endif
