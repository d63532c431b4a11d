// Shapes with the sizes that a model leaves open as symbols: Nx64xH/4xW/4. What a dimension depends on is found by
// inferring shapes again with one size after the other doubled.
#ifndef DQ_MEASURE_SYMBOLIC_H
#define DQ_MEASURE_SYMBOLIC_H

#include "lib/schedule/open_sizes.h"

typedef struct dq_symbolic {
  const dq_sizes *sizes;
  dq_tensor *at;     // by value index: the shapes at these sizes
  dq_tensor **twice; // by open size: the shapes with that size doubled, by value index; NULL: the size is written as a
                     // number
} dq_symbolic;

// Infers the shapes of the graph at `sizes`, which dq_sizes_assume found under the request `given`, once and again for
// each of the first six open sizes. Sizes that are given, and those behind the first six, are written as numbers. Where
// the sizes do not fit (!sizes->fit), values that contradict each other are left unknown. Arrays are in the arena;
// `sizes` must outlive *symbolic. Other statuses as dq_infer.
dq_status dq_symbolic_infer(dq_symbolic *symbolic, const dq_graph *graph, const dq_sizes *sizes,
                            const dq_shape_request *given, const dq_context *context, dq_arena *arena, dq_error *error);

// The text of the shape of a value, such as "Nx64xH/4xW/4", in the arena; NULL: there is no memory. A dimension is a
// number; or a product of open sizes, multiplied or divided by a number (64N, H/2, 21H*W/1024); or one size, perhaps
// divided by a number up to 1024, plus a number (H/2-1); or, when it depends on sizes in another way, its number with
// "~" in front. Where the shape could not be inferred, the declared one is written; "?": there is none; "scalar": rank
// 0.
const char *dq_symbolic_shape(const dq_symbolic *symbolic, const dq_value *value, dq_arena *arena);

#endif
