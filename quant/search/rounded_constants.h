// The constants of layers in 8 bits and back, as a network with everything else in float reads them.
#ifndef DQ_QUANT_ROUNDED_CONSTANTS_H
#define DQ_QUANT_ROUNDED_CONSTANTS_H

#include "quant/int8/stages.h"

// The input of a node of the job's graph that is a constant in 8 bits: the weight of a product, or an operand of an
// addition or multiplication whose elements differ (8 bits keep a single number); -1: none.
int dq_constant_in_8_bits(const dq_int8_job *job, const dq_node *node);

// Puts the constant in 8 bits (dq_constant_in_8_bits) of one node of `copy`, a copy of the job's graph, through 8 bits
// and back. The node computes the value with index `value` and must have such a constant. A weight gets scales of its
// own, another operand has the parameters of the job. The caller indexes the copy again. DQ_SYSTEM: there is no memory;
// else as dq_quantize_weight.
dq_status dq_round_constant(const dq_int8_job *job, dq_graph *copy, int value);

#endif
