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

// `vertices` counts the two terminals. Everything lives in the arena. NULL: no memory.
dq_min_cut *dq_min_cut_new(dq_arena *arena, int vertices);
// An edge from -> to, and one back when `both`. Capacities are 0 or more; those of all edges that are not
// DQ_CUT_NEVER add up to less than that. DQ_SYSTEM: no memory.
dq_status dq_min_cut_edge(dq_min_cut *cut, int from, int to, int64_t capacity, bool both);
// What the cheapest cut costs. at_source[vertex] is true on the source's side; among equal cuts it is the
// one with the most vertices there (the minimum cut next to the sink is unique, so the order of vertices
// and edges does not matter). DQ_SYSTEM: no memory.
dq_status dq_min_cut_solve(dq_min_cut *cut, bool *at_source, int64_t *cost);

#endif
