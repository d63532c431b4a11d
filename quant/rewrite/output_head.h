// The output head of a network: the nodes between its last products and its outputs that only move or combine elements.
// In detectors, boxes and scores with different ranges meet there.
#ifndef DQ_QUANT_OUTPUT_HEAD_H
#define DQ_QUANT_OUTPUT_HEAD_H

#include "lib/graph/graph.h"

// Makes the array *in_head[value_count of the graph] in the arena, by value index: whether all that read a value
// belongs to the output head. True for a graph output that nothing else reads, and for a value that is read by nodes
// alone which only move or combine elements and whose results are such values. What a Relu or Clip reads does not
// belong to the output head, because these narrow the range of the product in front of them. Takes one pass over the
// nodes. DQ_BAD_INPUT: the graph has a cycle; DQ_SYSTEM: there is no memory.
dq_status dq_output_head_values(const dq_graph *graph, bool **in_head, dq_arena *arena, dq_error *error);

// Makes the array *behind[value_count of the graph] in the arena, by value index: whether a value is computed from the
// result of a product (directly or through other values), is not the result of a product itself, and is read by no
// product, neither directly nor through other values. False for inputs and initializers. Takes one pass over the nodes.
// DQ_BAD_INPUT: the graph has a cycle; DQ_SYSTEM: there is no memory.
dq_status dq_behind_products(const dq_graph *graph, bool **behind, dq_arena *arena, dq_error *error);

#endif
