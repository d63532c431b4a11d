#include "lib/session/batch.h"

#include <inttypes.h>

// Gives each value that has a part for each sample the shape of one part. `batch` is the number of samples of a run,
// which the model fixes.
static void divide_values(dq_tensor *tensors, const dq_graph *graph, int64_t batch) {
  for (int i = 0; i < graph->value_count; i++) {
    dq_tensor *tensor = &tensors[i];
    if (graph->values[i]->constant || tensor->rank < 1 || tensor->dims[0] % batch) continue;
    tensor->dims[0] /= batch;
    tensor->data = NULL;
  }
}

dq_status dq_infer_alone(const dq_graph *graph, const dq_shape_request *shapes, dq_data *data,
                         const dq_context *context, dq_arena *arena, dq_tensor **tensors, dq_error *error) {
  dq_shape_request one = *shapes;
  one.batch = 1;
  DQ_TRY(dq_complete_shapes(&one, graph, data, arena, error));
  DQ_TRY(dq_infer(graph, &one, DQ_INFER_TOLERANT, context, arena, tensors, error));
  dq_fed_inputs inputs;
  if (data && dq_inputs_open(&inputs, graph, &one, data, arena, NULL) == DQ_OK && inputs.batch > 1)
    divide_values(*tensors, graph, inputs.batch);
  return DQ_OK;
}

// Whether the first dimension, and no other, is so many times that of one picture.
static bool is_sum_of_parts(const dq_tensor *tensor, const dq_tensor *alone, int64_t batch) {
  if (alone->rank < 1 || alone->rank != tensor->rank || tensor->dims[0] != alone->dims[0] * batch) return false;
  for (int d = 1; d < alone->rank; d++)
    if (alone->dims[d] != tensor->dims[d]) return false;
  return true;
}

dq_status dq_batch_part(dq_tensor *part, const dq_tensor *tensor, const dq_tensor *alone, int64_t batch,
                        int64_t picture, const char *name, dq_error *error) {
  char shape[DQ_SHAPE_TEXT];
  *part = *tensor;
  if (batch == 1 || (alone->data && dq_tensor_same_shape(alone, tensor))) return DQ_OK;
  if (!is_sum_of_parts(tensor, alone, batch)) {
    dq_fail(error, DQ_UNSUPPORTED, "value '%s' is %s for %" PRId64 " pictures, which has no part for each", name,
            dq_tensor_shape_text(tensor, shape, sizeof shape), batch);
    dq_error_hint(error, "use --batch 1");
    return DQ_UNSUPPORTED;
  }
  part->dims[0] = alone->dims[0];
  part->data = (char *)tensor->data + (size_t)picture * dq_tensor_bytes(part);
  return DQ_OK;
}

// Sets *found to the pictures that a run takes when `batch` are asked for.
static dq_status probe_batch(int64_t *found, int64_t batch, const dq_graph *graph, const dq_shape_request *shapes,
                             dq_data *data, const dq_context *context, dq_error *error) {
  dq_fed_inputs inputs = {0};
  dq_shape_request request = *shapes;
  request.batch = batch;
  dq_arena *arena = dq_context_arena(context);
  dq_status status = arena ? dq_complete_shapes(&request, graph, data, arena, error) : dq_fail_memory(error, 0);
  if (status == DQ_OK) status = dq_inputs_open(&inputs, graph, &request, data, arena, error);
  *found = inputs.batch;
  dq_arena_free(arena);
  return status;
}

dq_status dq_settle_batch(int64_t *batch, const dq_graph *graph, const dq_shape_request *shapes, dq_data *data,
                          const dq_context *context, dq_error *error) {
  int64_t found = 0, other = 0;
  if (*batch <= 1 || !data) return DQ_OK;
  DQ_TRY(probe_batch(&found, *batch, graph, shapes, data, context, error));
  DQ_TRY(probe_batch(&other, *batch + 1, graph, shapes, data, context, error)); // the fixed batch may be the one wished
  if (found == *batch && other == *batch + 1) return DQ_OK;
  dq_message(context, DQ_NOTE, "the model fixes its batch to %" PRId64, found);
  *batch = 1;
  return DQ_OK;
}
