#include "lib/graph/min_cut.h"

#include <string.h>

// Edges come in pairs: 2k and 2k + 1 are each other's reverse. `left` is the residual capacity.
typedef struct edge {
  int to, next; // next: of the same vertex, -1 at the end
  int64_t left;
} edge;

struct dq_min_cut {
  dq_arena *arena;
  int vertices;
  int *first; // edge by vertex, -1: none
  edge *edges;
  int count, capacity;
};

dq_min_cut *dq_min_cut_new(dq_arena *arena, int vertices) {
  dq_min_cut *cut = DQ_NEW(arena, dq_min_cut);
  if (!cut || !(cut->first = DQ_NEW_ARRAY(arena, vertices, int))) return NULL;
  cut->arena = arena;
  cut->vertices = vertices;
  for (int v = 0; v < vertices; v++) cut->first[v] = -1;
  return cut;
}

static void link_edge(dq_min_cut *cut, int from, int to, int64_t capacity) {
  cut->edges[cut->count] = (edge){to, cut->first[from], capacity};
  cut->first[from] = cut->count++;
}

dq_status dq_min_cut_edge(dq_min_cut *cut, int from, int to, int64_t capacity, bool both) {
  if (cut->count + 2 > cut->capacity) {
    int grown = cut->capacity ? cut->capacity * 2 : 256;
    edge *edges = DQ_NEW_ARRAY(cut->arena, grown, edge);
    if (!edges) return DQ_SYSTEM;
    if (cut->count) memcpy(edges, cut->edges, (size_t)cut->count * sizeof *edges);
    cut->edges = edges;
    cut->capacity = grown;
  }
  link_edge(cut, from, to, capacity);
  link_edge(cut, to, from, both ? capacity : 0);
  return DQ_OK;
}

typedef struct search {
  dq_min_cut *cut;
  int *level;   // distance from the source, -1: not reached
  int *current; // edge that the depth-first search looks at next, by vertex
  int *queue;   // also the path of edges
} search;

// Distances over edges with capacity left; whether the sink is reached.
static bool find_levels(const search *s) {
  const dq_min_cut *cut = s->cut;
  for (int v = 0; v < cut->vertices; v++) s->level[v] = -1;
  int head = 0, tail = 0;
  s->level[DQ_CUT_SOURCE] = 0;
  s->queue[tail++] = DQ_CUT_SOURCE;
  while (head < tail) {
    int v = s->queue[head++];
    for (int e = cut->first[v]; e >= 0; e = cut->edges[e].next) {
      int to = cut->edges[e].to;
      if (!cut->edges[e].left || s->level[to] >= 0) continue;
      s->level[to] = s->level[v] + 1;
      s->queue[tail++] = to;
    }
  }
  return s->level[DQ_CUT_SINK] >= 0;
}

// Sends what fits along the path of edges; returns the amount and, in *kept, how many edges of the path come before
// the first that is full now.
static int64_t send(const search *s, int length, int *kept) {
  edge *edges = s->cut->edges;
  int64_t amount = INT64_MAX;
  for (int i = 0; i < length; i++)
    if (edges[s->queue[i]].left < amount) amount = edges[s->queue[i]].left;
  *kept = length;
  for (int i = length; i-- > 0;) {
    edges[s->queue[i]].left -= amount;
    edges[s->queue[i] ^ 1].left += amount;
    if (!edges[s->queue[i]].left) *kept = i;
  }
  return amount;
}

// A blocking flow: depth first along rising levels, without recursion (networks are deep).
static int64_t block(const search *s) {
  const dq_min_cut *cut = s->cut;
  memcpy(s->current, cut->first, (size_t)cut->vertices * sizeof(int));
  int64_t sent = 0;
  int length = 0, v = DQ_CUT_SOURCE;
  while (true) {
    if (v == DQ_CUT_SINK) {
      sent += send(s, length, &length);
      v = cut->edges[s->queue[length] ^ 1].to; // where the first full edge begins
    }
    int e = s->current[v];
    if (e < 0) { // a dead end: back, and past the edge that led here
      if (!length) return sent;
      v = cut->edges[s->queue[--length] ^ 1].to;
      s->current[v] = cut->edges[s->current[v]].next;
    } else if (cut->edges[e].left && s->level[cut->edges[e].to] == s->level[v] + 1) {
      s->queue[length++] = e;
      v = cut->edges[e].to;
    } else {
      s->current[v] = cut->edges[e].next;
    }
  }
}

// Whatever the sink cannot be reached from any more is on the source's side.
static void mark_source_side(const search *s, bool *at_source) {
  const dq_min_cut *cut = s->cut;
  for (int v = 0; v < cut->vertices; v++) at_source[v] = true;
  int head = 0, tail = 0;
  at_source[DQ_CUT_SINK] = false;
  s->queue[tail++] = DQ_CUT_SINK;
  while (head < tail) {
    int v = s->queue[head++];
    for (int e = cut->first[v]; e >= 0; e = cut->edges[e].next) {
      int from = cut->edges[e].to; // the reverse of e leads from there to v
      if (!cut->edges[e ^ 1].left || !at_source[from]) continue;
      at_source[from] = false;
      s->queue[tail++] = from;
    }
  }
}

dq_status dq_min_cut_solve(dq_min_cut *cut, bool *at_source, int64_t *cost) {
  search s = {.cut = cut,
              .level = DQ_NEW_ARRAY(cut->arena, cut->vertices, int),
              .current = DQ_NEW_ARRAY(cut->arena, cut->vertices, int),
              .queue = DQ_NEW_ARRAY(cut->arena, cut->vertices, int)};
  if (!s.level || !s.current || !s.queue) return DQ_SYSTEM;
  *cost = 0;
  while (find_levels(&s)) *cost += block(&s);
  mark_source_side(&s, at_source);
  return DQ_OK;
}
