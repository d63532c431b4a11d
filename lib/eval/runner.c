// From pictures to a plan's input.
#include "lib/eval/runner.h"

#include <inttypes.h>
#include <string.h>

static dq_status only_input(const dq_graph *graph, const dq_value **input, dq_error *error) {
  int count = 0;
  for (int i = 0; i < graph->input_count; i++) {
    if (graph->inputs[i]->constant) continue;
    *input = graph->inputs[i];
    count++;
  }
  if (count == 1) return DQ_OK;
  if (!count) return dq_fail(error, DQ_BAD_INPUT, "the model has no inputs, pictures need one");
  return dq_fail(error, DQ_UNSUPPORTED, "the model has %d inputs, pictures need just one", count);
}

// The sizes of pictures for an input of rank 4, where the model leaves them open and remembers none.
static bool natural_shape(const dq_value *input, const dq_data *data, dq_input_shape *shape) {
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

dq_status dq_complete_shapes(dq_shape_request *request, const dq_graph *graph, const dq_data *data,
                             dq_arena *arena, dq_error *error) {
  const dq_value *input = NULL;
  dq_input_shape shape;
  if (!data || only_input(graph, &input, NULL) != DQ_OK || !natural_shape(input, data, &shape)) return DQ_OK;
  dq_input_shape *shapes = DQ_NEW_ARRAY(arena, request->input_count + 1, dq_input_shape);
  if (!shapes) return dq_fail_memory(error, sizeof *shapes);
  if (request->input_count) memcpy(shapes, request->inputs, (size_t)request->input_count * sizeof *shapes);
  shapes[request->input_count++] = shape; // behind what the user gave, which wins
  request->inputs = shapes;
  return DQ_OK;
}

static dq_status open_runner(dq_runner *runner, const dq_graph *graph, dq_data *data,
                             const dq_runner_options *options, dq_error *error) {
  const dq_value *input = NULL;
  DQ_TRY(only_input(graph, &input, error));
  dq_session_options session = {
      .shapes = options->shapes, .taps = options->taps, .tap_count = options->tap_count};
  if (options->batch > 0) session.shapes.batch = options->batch;
  dq_arena *arena = dq_context_arena(runner->context);
  dq_status status = arena ? dq_complete_shapes(&session.shapes, graph, data, arena, error) : dq_fail_memory(error, 0);
  if (status == DQ_OK) status = dq_session_open(&runner->session, graph, &session, runner->context, error);
  dq_arena_free(arena);
  DQ_TRY(status);
  const dq_tensor *tensor = dq_plan_input(runner->session.plan, 0);
  if (tensor->rank < 2 || tensor->dims[0] < 1)
    return dq_fail(error, DQ_UNSUPPORTED, "input '%s' has %d dimensions, expected Nx...",
                   input->name, tensor->rank);
  runner->batch = tensor->dims[0];
  if (options->batch > 0 && options->batch != runner->batch)
    dq_message(runner->context, DQ_NOTE, "the model fixes its batch to %" PRId64, runner->batch);
  return dq_data_set_shape(data, tensor, error);
}

dq_status dq_runner_open(dq_runner *runner, const dq_graph *graph, dq_data *data,
                         const dq_runner_options *options, const dq_context *context,
                         dq_error *error) {
  *runner = (dq_runner){.context = context};
  dq_status status = open_runner(runner, graph, data, options, error);
  if (status != DQ_OK) dq_runner_close(runner);
  return status;
}

void dq_runner_close(dq_runner *runner) {
  dq_session_close(&runner->session);
  *runner = (dq_runner){0};
}

int64_t dq_runner_elements(const dq_runner *runner) {
  const dq_tensor *tensor = dq_plan_input(runner->session.plan, 0);
  return dq_tensor_product(tensor, 1, tensor->rank);
}

void dq_runner_fill(dq_runner *runner, const float *values, int64_t count) {
  dq_tensor *tensor = dq_plan_input(runner->session.plan, 0);
  int64_t elements = count * dq_runner_elements(runner);
  memset(tensor->data, 0, dq_tensor_bytes(tensor)); // a run may overwrite its input
  if (tensor->type == DQ_F32) memcpy(tensor->data, values, (size_t)elements * sizeof *values);
  else
    for (int64_t i = 0; i < elements; i++) dq_tensor_set(tensor, i, (double)values[i]);
}

dq_status dq_runner_run(dq_runner *runner, const float *values, int64_t count, dq_error *error) {
  dq_runner_fill(runner, values, count);
  return dq_plan_run(runner->session.plan, error);
}
