// Shell patterns on the names of nodes, as options take them.
#ifndef DQ_GRAPH_PATTERNS_H
#define DQ_GRAPH_PATTERNS_H

#include "lib/graph/graph.h"

// Whether a pattern (fnmatch) fits a node's name, or the name of its first output where the node has none.
bool dq_pattern_fits(const char *pattern, const dq_node *node);

// Every pattern fits a node of some graph; else DQ_USAGE with the nearest name. `option` is what the patterns were
// given to, without "--". NULL patterns are passed over.
dq_status dq_patterns_check(const char *option, const char *const *patterns, int count, const dq_graph *const *graphs,
                            int graph_count, dq_error *error);

#endif
