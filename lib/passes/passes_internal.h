// Helpers the passes share.
#ifndef DQ_PASSES_INTERNAL_H
#define DQ_PASSES_INTERNAL_H

#include "lib/passes/passes.h"

#define DQ_PASS(symbol, name, help)                                                                \
  dq_status dq_pass_##symbol(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,        \
                             dq_error *error);
#include "lib/passes/passes.def"
#undef DQ_PASS

// True when `value` is read by exactly one node and by nothing else, so that it may vanish.
static inline bool dq_is_private(const dq_value *value) {
  return value && value->user_count == 1 && !value->is_output && !value->is_captured;
}

// The elements of a constant value; NULL when it is none or its type cannot be computed with.
static inline const dq_tensor *dq_constant_of(const dq_value *value) {
  return value && value->constant && value->constant->data ? value->constant : NULL;
}

// True for a float32 constant with elements.
static inline bool dq_is_float_constant(const dq_value *value) {
  const dq_tensor *tensor = dq_constant_of(value);
  return tensor && tensor->type == DQ_F32;
}

// The only user of a private value, or NULL.
static inline dq_node *dq_only_user(const dq_value *value) {
  return dq_is_private(value) ? value->users[0] : NULL;
}

// Relu, Clip with constant bounds or LeakyRelu, as FusedConv has them.
typedef struct dq_found_activation {
  const char *kind;
  float low, high, alpha;
} dq_found_activation;
bool dq_find_activation(const dq_node *node, dq_found_activation *found); // false: it is none
// Writes attributes that begin with `what`; false: no memory.
bool dq_set_activation(dq_graph *copy, dq_node *conv, const char *what, const dq_found_activation *found);
// A Conv or FusedConv by kernels: constant weight of one of `types`, at most two spatial axes.
bool dq_is_kernel_convolution(const dq_node *node, unsigned types);

// `node` writes to `output` in place of what it wrote as output 0.
static inline void dq_take_output(dq_node *node, dq_value *output) {
  node->outputs[0] = output;
  output->producer = node;
}

#endif
