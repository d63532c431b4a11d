// Numbers around a function of each element, a f(b x + c) + d, are a part of it: the value is rounded at the ends of
// the whole alone, as one table, and factors by channel pass around the whole.
#ifndef DQ_QUANT_FUNCTION_NUMBERS_H
#define DQ_QUANT_FUNCTION_NUMBERS_H

#include "lib/ops/table/operator.h"

// One number that does not add dimensions to what it is combined with.
bool dq_read_number(const dq_value *value, double *number);

// Whether the node is an Add, Sub or Mul with a number as its second operand.
bool dq_applies_number(const dq_node *node);
// The node, such as a function, in front of the operators with a number that stand in a row in front of `node` and
// whose results nothing else reads; without such operators the node in front of `node`. NULL: what the first of them
// (or `node`) reads is no result of a node, or others read it too. Of more than eight operators the ninth is returned.
const dq_node *dq_before_numbers(const dq_node *node);
// Likewise forwards: the node that reads the result of the last of them, and nothing else does (NULL: there is none).
const dq_node *dq_behind_numbers(const dq_node *node);

// Whether the node is a function of each element, or belongs to one: an Add, Sub or Mul with a number, or with
// constants by channel, beside it; other numbers may stand between. All of it runs in float as one table (by channel).
bool dq_is_in_function(const dq_node *node);
enum { DQ_FUNCTION_PARTS = 16 };
// Writes the nodes of the function that `node` belongs to, in the order they run, to parts[DQ_FUNCTION_PARTS] and
// returns their number. Functions of functions are one. Of a longer chain the parts begin with the seventh in front of
// `node`. dq_is_in_function(node) holds.
int dq_function_parts(const dq_node *node, const dq_node **parts);

// Makes the number the second operand of Add and Mul, where it is the first.
void dq_swap_numbers(dq_graph *graph);

#endif
