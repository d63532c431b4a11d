// The ranges that a quantized model stores for its values, read back from its QuantizeLinear nodes.
#ifndef DQ_CALIB_CHOSEN_H
#define DQ_CALIB_CHOSEN_H

#include "calib/calib.h"

typedef struct dq_chosen {
  const char **values; // names of values of the graph, in its order
  dq_range_pair *ranges;
  int count;
} dq_chosen;

// Lists the inputs of all QuantizeLinear nodes of an indexed graph with one constant float32 scale and a constant 8-bit
// zero point (or none), each with the range that its integers represent: [scale (qmin - zero_point), scale (qmax -
// zero_point)]. The lists are in the arena, the names belong to the graph. DQ_SYSTEM: there is no memory.
dq_status dq_chosen_of(dq_chosen *chosen, const dq_graph *graph, dq_arena *arena, dq_error *error);

#endif
