// Unusual weights: those that are hard to convert, or that show that training went wrong.
#ifndef DQ_MEASURE_WEIGHTS_H
#define DQ_MEASURE_WEIGHTS_H

#include "lib/graph/graph.h"

// One float initializer (float32, float16, float64) for which a count below is not 0.
typedef struct dq_odd_weight {
  const char *name;
  int64_t elements;
  int64_t nan, infinite;           // numbers of such elements
  int64_t denormal;                // elements other than 0 with |x| below the smallest normal number of the type
  int64_t channels, zero_channels; // size of dimension 0, and the channels with no element other than 0
  double outlier;                  // largest |x| divided by the second largest, where that is over DQ_OUTLIER; else 0
} dq_odd_weight;

// A ratio of 32 lets all other elements fall on the lowest four of the 127 steps of an int8 scale.
enum { DQ_OUTLIER = 32 };

// Lists the unusual weights in (*odd)[*count], in the order of the initializers of the graph, in the arena. Zero
// channels and outliers are looked for in tensors of at least two dimensions, because a bias of zeros is usual.
// Constant nodes are left out. Reads every element once. DQ_SYSTEM: there is no memory.
dq_status dq_weights_find_odd(const dq_graph *graph, dq_arena *arena, dq_odd_weight **odd, int *count, dq_error *error);

#endif
