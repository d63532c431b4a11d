// The head of a network: what lies between its last products and its outputs, and only moves or
// combines elements. Boxes and scores of unlike range meet there.
#ifndef DQ_QUANT_HEAD_H
#define DQ_QUANT_HEAD_H

#include "lib/graph/graph.h"

// Which values nothing but a head reads, by value index (in the arena). A graph output belongs to the
// head; what a Relu or Clip reads does not, which narrow the range of the product in front of them.
dq_status dq_head_values(const dq_graph *graph, bool **in_head, dq_arena *arena, dq_error *error);

// Marks all values that are computed from `value`, which is in the head.
void dq_head_mark_behind(const dq_value *value, bool *marked);

#endif
