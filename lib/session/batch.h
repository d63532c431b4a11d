// Several pictures in a run, and what each of them alone gives.
#ifndef DQ_SESSION_BATCH_H
#define DQ_SESSION_BATCH_H

#include "lib/session/runner.h"

// Shapes of all values, by index, where a run has one picture. Fails as dq_infer; tensors in the arena.
dq_status dq_infer_alone(const dq_graph *graph, const dq_shape_request *shapes, dq_data *data,
                         const dq_context *context, dq_arena *arena, dq_tensor **tensors, dq_error *error);
// The part that picture `picture` of a run of `batch` has in a value, which one picture alone gives as `alone`; what is
// constant is the same for all. A run of one (batch 1, alone NULL) has all of it. DQ_UNSUPPORTED: the value, called
// `name`, does not consist of one part for each picture.
dq_status dq_batch_part(dq_tensor *part, const dq_tensor *tensor, const dq_tensor *alone, int64_t batch,
                        int64_t picture, const char *name, dq_error *error);
// The batch that a network takes of the one wished for: *batch becomes 1 where the model fixes another one, which a
// note says. Fails as dq_inputs_open.
dq_status dq_settle_batch(int64_t *batch, const dq_graph *graph, const dq_shape_request *shapes, dq_data *data,
                          const dq_context *context, dq_error *error);

#endif
