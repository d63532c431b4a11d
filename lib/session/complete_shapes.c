#include "lib/session/complete_shapes.h"

#include <string.h>

#include "lib/base/context.h"
#include "lib/session/inputs.h"

// ---- Sizes that the graph leaves open ----

// The sizes of pictures for an input of rank 4, where the model leaves them open and remembers none.
static bool picture_shape(const dq_value *input, const dq_data *data, dq_input_shape *shape) {
  int channels, height, width;
  int64_t sizes[4];
  if (input->rank != 4 || !dq_data_natural_shape(data, &channels, &height, &width)) return false;
  for (int i = 0; i < 4; i++) sizes[i] = input->dims[i].size;
  bool open = false, last = dq_channels_last(4, sizes);
  const int64_t natural[] = {-1, last ? height : channels, last ? width : height, last ? channels : width};
  *shape = (dq_input_shape){.name = input->name, .rank = 4};
  for (int i = 0; i < 4; i++) {
    bool known = sizes[i] >= 0 || (input->usual && input->usual[i] > 0);
    shape->dims[i] = known ? -1 : natural[i];
    open |= shape->dims[i] >= 0;
  }
  return open;
}

// The sizes of arrays, which cannot be brought to another size. An array of the rank of the input is one sample as a
// whole; a first dimension of 1 says nothing about the batch.
static bool array_shape(const dq_value *input, const dq_tensor *sample, dq_input_shape *shape) {
  const int rank = input->rank < 0 ? sample->rank + 1 : input->rank, counted = rank - sample->rank;
  if (rank > DQ_MAX_RANK || counted < 0 || counted > 1) return false;
  bool open = false;
  *shape = (dq_input_shape){.name = input->name, .rank = rank};
  for (int i = 0; i < rank; i++) {
    int64_t size = i < counted ? -1 : sample->dims[i - counted];
    bool is_open = input->rank < 0 || input->dims[i].size < 0;
    shape->dims[i] = is_open && (i > 0 || size > 1) ? size : -1;
    open |= shape->dims[i] >= 0;
  }
  return open;
}

static bool natural_shape(const dq_value *input, const dq_data *data, dq_input_shape *shape) {
  dq_tensor sample;
  return dq_data_sample_shape(data, &sample) ? array_shape(input, &sample, shape) : picture_shape(input, data, shape);
}

// ---- The batch that the graph declares ----

// The batch that all inputs have under the request; 0: they have none in common, or the request gives it.
static int64_t declared_batch(dq_fed_inputs *inputs, const dq_graph *graph, const dq_shape_request *request,
                              dq_data *data, dq_arena *arena) {
  if (dq_inputs_open(inputs, graph, request, data, arena, NULL) != DQ_OK) return 0;
  for (int i = 0; i < inputs->count; i++)
    if (dq_input_given(graph, inputs->items[i].value, request, 0) >= 0) return 0;
  return inputs->batch;
}

// Whether a value at batch `one` is what it is at batch `other`, for another number of samples.
static bool is_proportional(const dq_tensor *at_one, int64_t one, const dq_tensor *at_other, int64_t other) {
  if (at_one->rank != at_other->rank || at_one->rank < 0 || at_one->type != at_other->type) return false;
  if (dq_tensor_same_shape(at_one, at_other)) return at_one->data && at_other->data;
  if (at_one->dims[0] % one || at_other->dims[0] % other || at_one->dims[0] / one != at_other->dims[0] / other)
    return false;
  for (int d = 1; d < at_one->rank; d++)
    if (at_one->dims[d] != at_other->dims[d]) return false;
  return true;
}

// Whether the graph runs under `freed` as under `request`, at another batch.
static bool runs_at_any_batch(const dq_graph *graph, const dq_shape_request *request, int64_t declared,
                              const dq_shape_request *freed, dq_arena *arena) {
  dq_tensor *before, *after;
  const dq_context context = {0}; // what shapes tell of the graph is reported when it is made ready to run
  if (dq_infer_at(graph, request, DQ_INFER_ALL, &context, arena, &before, NULL) != DQ_OK) return false;
  if (dq_infer_at(graph, freed, DQ_INFER_ALL, &context, arena, &after, NULL) != DQ_OK) return false;
  for (int i = 0; i < graph->value_count; i++) {
    const dq_value *value = graph->values[i];
    if (!value->constant && (value->is_input || value->producer) &&
        !is_proportional(&after[i], freed->batch, &before[i], declared))
      return false;
  }
  return true;
}

// Adds to the request that the inputs may have any batch, where the graph runs so. The array of the request has room.
static void free_batch(dq_shape_request *request, dq_input_shape *shapes, const dq_graph *graph, dq_data *data,
                       dq_arena *arena) {
  dq_fed_inputs inputs;
  dq_shape_request freed = *request;
  const int64_t declared = declared_batch(&inputs, graph, request, data, arena);
  freed.batch = request->batch > 0 ? request->batch : 1;
  if (declared <= 1 || declared == freed.batch) return;
  for (int i = 0; i < inputs.count; i++)
    shapes[freed.input_count++] =
        (dq_input_shape){.name = inputs.items[i].value->name, .any_batch = true, .last = true};
  if (runs_at_any_batch(graph, request, declared, &freed, arena)) request->input_count = freed.input_count;
}

// Copies the shapes of the request, and adds the natural ones. *shapes has room for another one for each input.
static dq_status complete(dq_shape_request *request, dq_input_shape **shapes, const dq_graph *graph, dq_data *data,
                          dq_arena *arena, dq_error *error) {
  dq_fed_inputs inputs;
  *shapes = NULL;
  if (!data || dq_inputs_match(&inputs, graph, data, arena, NULL) != DQ_OK) return DQ_OK; // said by dq_runner_open
  *shapes = DQ_NEW_ARRAY(arena, request->input_count + 2 * inputs.count, dq_input_shape);
  if (!*shapes) return dq_fail_memory(error, sizeof **shapes);
  if (request->input_count) memcpy(*shapes, request->inputs, (size_t)request->input_count * sizeof **shapes);
  for (int i = 0; i < inputs.count; i++) // behind what the user gave, which wins
    if (natural_shape(inputs.items[i].value, inputs.items[i].data, &(*shapes)[request->input_count]))
      request->input_count++;
  request->inputs = *shapes;
  return DQ_OK;
}

dq_status dq_complete_sizes(dq_shape_request *request, const dq_graph *graph, dq_data *data, dq_arena *arena,
                            dq_error *error) {
  dq_input_shape *shapes;
  return complete(request, &shapes, graph, data, arena, error);
}

dq_status dq_complete_shapes(dq_shape_request *request, const dq_graph *graph, dq_data *data, dq_arena *arena,
                             dq_error *error) {
  dq_input_shape *shapes;
  DQ_TRY(complete(request, &shapes, graph, data, arena, error));
  dq_arena *passing = shapes ? dq_arena_beside(arena) : NULL;
  if (passing) free_batch(request, shapes, graph, data, passing);
  dq_arena_free(passing);
  return DQ_OK;
}
