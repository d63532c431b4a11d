// The output head of a network: the nodes between its last products and its outputs that only move or combine elements.
// In detectors, boxes and scores with different ranges meet there.
#ifndef DQ_QUANT_OUTPUT_HEAD_H
#define DQ_QUANT_OUTPUT_HEAD_H

#include "lib/graph/graph.h"

// Stores in (*in_head)[value index] whether only the output head reads a value; the array is in the arena. A graph
// output belongs to the output head. What a Relu or Clip reads does not, because these narrow the range of the product
// in front of them. DQ_BAD_INPUT: the graph has a cycle; DQ_SYSTEM: there is no memory.
dq_status dq_output_head_values(const dq_graph *graph, bool **in_head, dq_arena *arena, dq_error *error);

// Which values are computed from the result of a product, by operators that are no products, and read by no product,
// neither directly nor through other values; by value index, in the arena. DQ_BAD_INPUT: the graph has a cycle;
// DQ_SYSTEM: there is no memory.
dq_status dq_behind_products(const dq_graph *graph, bool **behind, dq_arena *arena, dq_error *error);

#endif
