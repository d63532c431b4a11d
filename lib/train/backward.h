// The gradient of a network: nodes behind it that compute the derivatives of a loss by reverse mode differentiation (A.
// Griewank, A. Walther, Evaluating Derivatives, 2nd edition, 2008, section 3.2).
#ifndef DQ_TRAIN_BACKWARD_H
#define DQ_TRAIN_BACKWARD_H

#include "lib/schedule/infer.h"

typedef struct dq_derivatives {
  dq_value *loss;       // a float32 or float64 scalar
  dq_value *const *by;  // [count]: the values by which the loss is differentiated
  dq_value **gradients; // [count]: receives the derivatives, a value of the shape of by[i]; NULL: the loss does not
                        // depend on by[i]
  int count;
} dq_derivatives;

// Adds to an indexed and sorted graph the nodes that compute derivatives. `tensors`, by value index, are those of
// dq_infer for the graph. The graph has to be indexed, and its shapes inferred, again afterwards, also after a failure,
// which may leave some of the nodes. Terms of a value that several nodes read are added in the order from the last
// reader to the first. DQ_UNSUPPORTED: the operator of a node between one of the values and the loss has no gradient,
// or none with the attributes of the node; the message names the last such node. DQ_SYSTEM: there is no memory.
dq_status dq_backward(dq_graph *graph, dq_tensor *tensors, const dq_derivatives *derivatives, const dq_context *context,
                      dq_error *error);

#endif
