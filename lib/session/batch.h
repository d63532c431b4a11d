// Runs of several pictures, and the part of each picture in the values of such a run.
#ifndef DQ_SESSION_BATCH_H
#define DQ_SESSION_BATCH_H

#include "lib/session/runner.h"

// Infers the shapes of all values in a run of one picture, by value index, into *tensors, in the arena. Sizes that the
// model leaves open come from `shapes`, then from the data. A model that fixes its batch, above 1, is inferred at that
// batch, by which first dimensions are divided. Statuses as dq_infer.
dq_status dq_infer_alone(const dq_graph *graph, const dq_shape_request *shapes, dq_data *data,
                         const dq_context *context, dq_arena *arena, dq_tensor **tensors, dq_error *error);
// Sets *part to the part of picture `picture` (from 0) in `tensor`, a value of a run of `batch` pictures; `alone` is
// the same value of dq_infer_alone. The part points into `tensor`. It is all of `tensor` when the value is constant or
// when batch is 1 (then `alone` may be NULL). DQ_UNSUPPORTED, with `name` in the message: the value does not consist of
// one part for each picture along dimension 0.
dq_status dq_batch_part(dq_tensor *part, const dq_tensor *tensor, const dq_tensor *alone, int64_t batch,
                        int64_t picture, const char *name, dq_error *error);
// Sets *batch to 1, and reports this in a note, when the model fixes its batch, to *batch or another. Nothing happens
// when *batch is 0 or 1 or `data` is NULL. Statuses as dq_inputs_open.
dq_status dq_settle_batch(int64_t *batch, const dq_graph *graph, const dq_shape_request *shapes, dq_data *data,
                          const dq_context *context, dq_error *error);

#endif
