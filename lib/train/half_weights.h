// Training of weights that the model stores in float16. The training graph is float32: every float16 value is widened,
// and casts between both types are left out. A step computes with weights that float16 holds; their sums of updates are
// float32 (Micikevicius et al., Mixed Precision Training, 2018, section 3.1), and gradients pass through the rounding
// as through an identity.
#ifndef DQ_TRAIN_HALF_WEIGHTS_H
#define DQ_TRAIN_HALF_WEIGHTS_H

#include "lib/train/training_graph.h"

// Makes all float16 values of made->graph float32; made->model does not change. DQ_SYSTEM: there is no memory; else
// statuses as dq_infer.
dq_status dq_widen_halves(dq_training_graph *made, const dq_context *context, dq_error *error);

// Whether the model stores an initializer of this name in float16.
bool dq_is_stored_in_half(const dq_graph *model, const char *name);

// Sets weight->elements to the numbers of weight->master, which is not NULL, rounded to the nearest float16, ties to
// even, and limited to its finite numbers. The threads of the context do not change the result.
void dq_round_master(const dq_trained *weight, const dq_context *context);

#endif
