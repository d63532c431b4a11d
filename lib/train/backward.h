// The gradient of a network: nodes behind it that compute the derivatives of a loss.
#ifndef DQ_TRAIN_BACKWARD_H
#define DQ_TRAIN_BACKWARD_H

#include "lib/schedule/infer.h"

typedef struct dq_derivatives {
  dq_value *loss;      // a float32 or float64 scalar
  dq_value *const *by; // [count]
  int count;
  dq_value *
      *gradients; // [count]: receives the derivatives by each value, of its shape; NULL: the loss does not depend on it
} dq_derivatives;

// Adds to an indexed and sorted graph the nodes that compute derivatives. `tensors` are those of dq_infer for the
// graph. The graph has to be indexed, and its shapes inferred, again afterwards, also after a failure, which may leave
// some of the nodes. Terms of a value that several nodes read are added in the order from the last reader to the first.
// DQ_UNSUPPORTED names the last node between the loss and one of the values whose operator, or whose form of it, has no
// gradient; DQ_SYSTEM: there is no memory.
dq_status dq_backward(dq_graph *graph, dq_tensor *tensors, const dq_derivatives *derivatives, const dq_context *context,
                      dq_error *error);

#endif
