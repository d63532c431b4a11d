// Minimum s-t cuts of directed graphs with capacities, by maximum flow: E. A. Dinic, Algorithm for solution
// of a problem of maximum flow in networks with power estimation, Soviet Math. Doklady 11 (1970).
#ifndef DQ_GRAPH_MIN_CUT_H
#define DQ_GRAPH_MIN_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"

typedef struct dq_min_cut dq_min_cut;

enum { DQ_CUT_SOURCE, DQ_CUT_SINK }; // the vertices every cut has
#define DQ_CUT_NEVER (INT64_MAX / 4) // capacity of an edge that no cut may contain

// A graph of vertices 0 to `vertices` - 1, of which the first two are the terminals. The arena owns it. NULL: there is
// no memory.
dq_min_cut *dq_min_cut_new(dq_arena *arena, int vertices);
// Adds an edge from -> to, and with `both` an edge to -> from of the same capacity. A capacity is 0 or more; the sum of
// all capacities other than DQ_CUT_NEVER must be less than DQ_CUT_NEVER. DQ_SYSTEM: there is no memory.
dq_status dq_min_cut_edge(dq_min_cut *cut, int from, int to, int64_t capacity, bool both);
// Finds a minimum cut. *cost is the sum of the capacities of its edges, and at_source[vertex], an array of the caller,
// is true for vertices on the side of the source. Of several minimum cuts the function gives the one with the most
// vertices at the source; that cut is unique, so the order of vertices and edges does not matter. The time is at most
// O(vertices^2 edges). DQ_SYSTEM: there is no memory.
dq_status dq_min_cut_solve(dq_min_cut *cut, bool *at_source, int64_t *cost);

#endif
