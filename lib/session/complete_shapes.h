// Sizes of inputs that the data give.
#ifndef DQ_SESSION_COMPLETE_SHAPES_H
#define DQ_SESSION_COMPLETE_SHAPES_H

#include "datasets/datasets.h"
#include "lib/schedule/infer.h"

// Adds to the request, behind what it has, the sizes that the data tell of the inputs of the graph: the natural size of
// pictures (dq_data_natural_shape), for sizes that neither the graph nor dq_value.usual gives, and the sizes of arrays
// (dq_data_sample_shape), for sizes that the graph leaves open. `data` may be NULL, and then nothing is added.
// request->inputs is a new array in the arena. DQ_SYSTEM: there is no memory.
dq_status dq_complete_sizes(dq_shape_request *request, const dq_graph *graph, dq_data *data, dq_arena *arena,
                            dq_error *error);
// Does what dq_complete_sizes does. Where the graph declares a batch above 1 for all inputs, and the request gives
// none, also adds that the inputs may have any batch, if the graph runs as well at the batch of the request (0: 1):
// each value then has a first dimension in proportion to the batch, or depends on shapes alone. Takes the time of two
// inferences of shapes where the graph declares such a batch. DQ_SYSTEM: there is no memory.
dq_status dq_complete_shapes(dq_shape_request *request, const dq_graph *graph, dq_data *data, dq_arena *arena,
                             dq_error *error);

#endif
