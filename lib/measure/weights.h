// Weights that are out of the ordinary: what makes them hard to convert, or shows that training went wrong.
#ifndef DQ_EVAL_WEIGHTS_H
#define DQ_EVAL_WEIGHTS_H

#include "lib/graph/graph.h"

// One float initializer (float32, float16, float64) with something to say of it.
typedef struct dq_odd_weight {
  const char *name;
  int64_t elements;
  int64_t nan, infinite;           // elements
  int64_t denormal;                // elements other than 0 below the type's smallest normal number
  int64_t channels, zero_channels; // along dimension 0; zero_channels: all of whose elements are 0
  double outlier;                  // largest magnitude / the next one, where that is over DQ_OUTLIER; else 0
} dq_odd_weight;

// At 32 all other elements fall on the lowest four of the 127 steps of an int8 scale.
enum { DQ_OUTLIER = 32 };

// In the order of the graph's initializers, in the arena. Zero channels and outliers are looked for in tensors of
// two dimensions and more: a bias of zeros is ordinary. Weights in Constant nodes are left out. DQ_SYSTEM.
dq_status dq_weights_find_odd(const dq_graph *graph, dq_arena *arena, dq_odd_weight **odd, int *count, dq_error *error);

#endif
