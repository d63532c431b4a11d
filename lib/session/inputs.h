// The inputs of a network and the data for each of them.
#ifndef DQ_SESSION_INPUTS_H
#define DQ_SESSION_INPUTS_H

#include "datasets/datasets.h"
#include "lib/schedule/infer.h"

typedef struct dq_fed_input {
  const dq_value *value; // the input, of the graph
  dq_data *data;         // the part of the data for it, owned by the data
  // Type and shape, whose first dimension counts samples. For an input without such a dimension, which is one sample as
  // a whole, a dimension of 1 stands in front of its sizes.
  dq_tensor shape;
} dq_fed_input;

typedef struct dq_fed_inputs {
  dq_fed_input *items; // [count], in the order of the graph; in the arena
  int count;
  int64_t batch; // samples in a run
} dq_fed_inputs;

// Finds for each input that is not constant its part of the data: by name, or by place where the data name no inputs.
// Sets `items` except `shape`. DQ_BAD_INPUT: the network has no inputs, or another number of inputs than data without
// names; DQ_USAGE: the data name an input that the network does not have, lack one, or are for one input of several;
// DQ_SYSTEM: there is no memory.
dq_status dq_inputs_match(dq_fed_inputs *inputs, const dq_graph *graph, dq_data *data, dq_arena *arena,
                          dq_error *error);
// Sets the shapes (tensors[i] is that of items[i]) and inputs->batch. The first dimensions of the inputs count samples
// when all are equal; otherwise none does, and every input is one sample. None does either where the array of a sample
// has all sizes of an input, or an input declared as C x H x W or H x W x C with 3 channels gets pictures. `batch` is
// the number of samples that the caller asks for. DQ_UNSUPPORTED: an input has no elements, or `batch` is above 1 and
// no dimension counts samples.
dq_status dq_inputs_set_shapes(dq_fed_inputs *inputs, const dq_tensor *const *tensors, int64_t batch, dq_error *error);
// Calls dq_inputs_match and dq_inputs_set_shapes, with the shapes that the inputs of the graph have under the request
// `shapes` (dq_input_tensor, whose statuses it returns too).
dq_status dq_inputs_open(dq_fed_inputs *inputs, const dq_graph *graph, const dq_shape_request *shapes, dq_data *data,
                         dq_arena *arena, dq_error *error);
// Calls dq_data_set_shape for input `i`, whose statuses it returns by dq_input_failed.
dq_status dq_input_set_shape(const dq_fed_inputs *inputs, int i, dq_error *error);
// Puts the name of input `i` in front of the message when `status` is a failure and there are several inputs. Returns
// `status`.
dq_status dq_input_failed(const dq_fed_inputs *inputs, int i, dq_status status, dq_error *error);

#endif
