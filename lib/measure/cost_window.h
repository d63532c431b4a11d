// The window of a node that moves one over its input: convolutions and pools.
#ifndef DQ_MEASURE_COST_WINDOW_H
#define DQ_MEASURE_COST_WINDOW_H

#include "lib/base/tensor.h"
#include "lib/graph/graph.h"

typedef struct dq_cost_window {
  const char *kernel;   // "3x3", "" when the node has no window or its size is not known
  const char *stride;   // "2", "2x1" when axes differ; "" when it is 1 everywhere
  const char *dilation; // likewise
  int64_t groups;       // number of groups of channels; 0: the node has one group, or no window
} dq_cost_window;

// Describes a node. `tensors` are those of dq_infer; the texts are in the arena. False: there is no memory.
bool dq_cost_window_of(dq_cost_window *window, const dq_node *node, const dq_tensor *tensors, dq_arena *arena);

#endif
