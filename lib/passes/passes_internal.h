// Helpers the passes share.
#ifndef DQ_PASSES_INTERNAL_H
#define DQ_PASSES_INTERNAL_H

#include "lib/passes/passes.h"

#define DQ_PASS(symbol, name, help)                                                                                    \
  dq_status dq_pass_##symbol(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,                \
                             dq_error *error);
#include "lib/passes/passes.def"
#undef DQ_PASS

// Relu, Clip with constant bounds or LeakyRelu, as FusedConv has them.
typedef struct dq_found_activation {
  const char *kind;
  float low, high, alpha;
} dq_found_activation;
bool dq_find_activation(const dq_node *node, dq_found_activation *found); // false: it is none
// Describes an activation in attributes of `conv`: `what` ("activation" or "sum_activation") gets its kind, WHAT_alpha
// the slope of a LeakyRelu, WHAT_low and WHAT_high the bounds of a Clip. The arena of `copy` owns the attributes.
// False: there is no memory.
bool dq_set_activation(dq_graph *copy, dq_node *conv, const char *what, const dq_found_activation *found);
// A Conv or FusedConv by kernels: constant weight of one of `types`, at most two spatial axes.
bool dq_is_kernel_convolution(const dq_node *node, unsigned types);

#endif
