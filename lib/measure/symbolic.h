// Shapes with the sizes that a model leaves open as symbols: Nx64xH/4xW/4. What a dimension depends on is found by
// inferring shapes again with one size after the other doubled.
#ifndef DQ_EVAL_SYMBOLIC_H
#define DQ_EVAL_SYMBOLIC_H

#include "lib/schedule/open_sizes.h"

typedef struct dq_symbolic {
  const dq_sizes *sizes;
  dq_tensor *at;     // by value, at the sizes
  dq_tensor **twice; // of each open size: by value, with that size doubled; NULL: it is shown as a number
} dq_symbolic;

// Infers the shapes of the graph at `sizes` under the request that they were found with. Sizes that are given, and
// those behind the first six, are numbers in shapes. Where shapes do not fit (sizes->fit is false) what contradicts
// itself is left unknown. Arrays are in the arena. Else as dq_infer.
dq_status dq_symbolic_infer(dq_symbolic *symbolic, const dq_graph *graph, const dq_sizes *sizes,
                            const dq_shape_request *given, const dq_context *context, dq_arena *arena, dq_error *error);

// The shape of a value, in the arena; NULL: no memory. A dimension is a number; a product of open sizes, times or by a
// number (64N, H/2, 21H*W/1024); one size, perhaps by a number up to 1024, plus a number (H/2-1); or, when it
// depends on sizes in another way, its number with "~" in front. Where shapes could not be inferred the declared one;
// "?" when there is none, "scalar" for rank 0.
const char *dq_symbolic_shape(const dq_symbolic *symbolic, const dq_value *value, dq_arena *arena);

#endif
