// The ranges that were chosen for the values of a network, beside what the values are on data.
#ifndef DQ_CALIB_CHOSEN_H
#define DQ_CALIB_CHOSEN_H

#include "calib/calib.h"

typedef struct dq_chosen {
  const char **values; // names of values of the graph, in its order
  dq_range_pair *ranges;
  int count;
} dq_chosen;

// What each QuantizeLinear of a graph with one constant scale and zero point can represent,
// [scale (qmin - zero_point), scale (qmax - zero_point)], for the value it reads. Only float32 values. In the
// arena.
dq_status dq_chosen_of(dq_chosen *chosen, const dq_graph *graph, dq_arena *arena, dq_error *error);

#endif
