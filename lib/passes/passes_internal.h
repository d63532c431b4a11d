// Functions that passes share.
#ifndef DQ_PASSES_INTERNAL_H
#define DQ_PASSES_INTERNAL_H

#include "lib/passes/passes.h"

#define DQ_PASS(symbol, name, help)                                                                                    \
  dq_status dq_pass_##symbol(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,                \
                             dq_error *error);
#include "lib/passes/passes.def"
#undef DQ_PASS

// An activation that a FusedConv can have: Relu, Clip with constant bounds, or LeakyRelu.
typedef struct dq_found_activation {
  const char *kind;       // the operator, as the attribute of a FusedConv names it; static
  float low, high, alpha; // bounds of a Clip; slope of a LeakyRelu below 0
} dq_found_activation;
// Reads the activation that `node` is into *found. False: `node` is none of these.
bool dq_find_activation(const dq_node *node, dq_found_activation *found);
// Describes an activation in attributes of `conv`: `what` ("activation" or "sum_activation") gets its kind, WHAT_alpha
// the slope of a LeakyRelu, WHAT_low and WHAT_high the bounds of a Clip. The arena of `copy` owns the attributes.
// False: there is no memory.
bool dq_set_activation(dq_graph *copy, dq_node *conv, const char *what, const dq_found_activation *found);
// Whether a node is a Conv or FusedConv of floats that kernels compute: it was not removed, its weight is a constant of
// one of `types` (a set of bits 1 << type, dq_dtype), and it has at most two spatial axes. `node` NULL: false.
bool dq_is_kernel_convolution(const dq_node *node, unsigned types);

#endif
