// Shell patterns on the names of nodes, as options take them.
#ifndef DQ_GRAPH_PATTERNS_H
#define DQ_GRAPH_PATTERNS_H

#include "lib/graph/graph.h"

// Whether a pattern (POSIX fnmatch without flags) matches the name of a node, or the name of its first output where the
// node has no name.
bool dq_pattern_fits(const char *pattern, const dq_node *node);

// DQ_USAGE, with the most similar name as the hint, when a pattern matches no node of any of the graphs. `option` is
// the name of the option, without "--", that has the patterns as its values. NULL patterns count as matching.
dq_status dq_patterns_check(const char *option, const char *const *patterns, int count, const dq_graph *const *graphs,
                            int graph_count, dq_error *error);

#endif
