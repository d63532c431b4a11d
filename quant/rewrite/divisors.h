// Divisors: values that others are divided by, or that a logarithm is taken of. 8 bits round small numbers to 0, which
// an epsilon beside them does not survive either.
#ifndef DQ_QUANT_DIVISORS_H
#define DQ_QUANT_DIVISORS_H

#include "lib/graph/graph.h"

// Whether the node divides by the value: Div and Mod by their second operand, Reciprocal, Log, or Pow with a constant
// exponent below 0.
bool dq_divides_by(const dq_node *node, const dq_value *value);

// Makes the array *divides[value_count of the graph] in the arena, by value index: whether nodes do nothing with a
// value but divide by it, directly or by what functions of each element, moves, sums and means make of it. False for
// inputs, initializers and outputs of the graph. Takes one pass over the nodes. DQ_BAD_INPUT: the graph has a cycle;
// DQ_SYSTEM: there is no memory.
dq_status dq_divisor_values(const dq_graph *graph, bool **divides, dq_arena *arena, dq_error *error);

#endif
