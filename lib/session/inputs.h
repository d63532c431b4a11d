// The inputs of a network and the data for each of them.
#ifndef DQ_SESSION_INPUTS_H
#define DQ_SESSION_INPUTS_H

#include "datasets/datasets.h"
#include "lib/schedule/infer.h"

typedef struct dq_fed_input {
  const dq_value *value; // of the graph
  dq_data *data;         // a part of what was given
  // The input as the data see it: its first dimension counts samples. An input without such a dimension is one sample
  // as a whole, and has 1 in front of its sizes.
  dq_tensor shape;
} dq_fed_input;

typedef struct dq_fed_inputs {
  dq_fed_input *items; // in the order of the graph; in the arena
  int count;
  int64_t batch; // samples in a run
} dq_fed_inputs;

// Finds for each input that is not constant its part of the data: by name, or by place where the data name no inputs.
// DQ_BAD_INPUT: the network has no inputs, or not as many as data without names are for; DQ_USAGE: a name that is no
// input, an input without data, data for one input of several.
dq_status dq_inputs_match(dq_fed_inputs *inputs, const dq_graph *graph, dq_data *data, dq_arena *arena,
                          dq_error *error);
// Takes the shapes of the inputs (tensors[i] of items[i]) and finds out which of their first dimensions count samples:
// all, where they are equal; else none does, and every input is one sample. `batch`: the samples wished for in a run.
// DQ_UNSUPPORTED: an input without elements, or a batch above 1 where no dimension counts samples.
dq_status dq_inputs_set_shapes(dq_fed_inputs *inputs, const dq_tensor *const *tensors, int64_t batch, dq_error *error);
// Both, with the shapes that the graph's inputs have under a request.
dq_status dq_inputs_open(dq_fed_inputs *inputs, const dq_graph *graph, const dq_shape_request *shapes, dq_data *data,
                         dq_arena *arena, dq_error *error);
// Tells the data its input's shape. Behind a failure the name of the input, where there are several.
dq_status dq_input_tell(const dq_fed_inputs *inputs, int i, dq_error *error);
dq_status dq_input_failed(const dq_fed_inputs *inputs, int i, dq_status status, dq_error *error);

#endif
