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

// The shape of the input where neither the model nor the user gives it: channels, height and width
// of the pictures, or height, width and channels where the model has its channels last.
static void complete_shape(const dq_value *input, const dq_data *data,
                           const dq_runner_options *options, dq_input_shape *shape) {
  int channels, height, width;
  *shape = (dq_input_shape){.name = input->name};
  if (options->shapes.input_count || input->rank != 4 ||
      !dq_data_natural_shape(data, &channels, &height, &width))
    return;
  for (int i = 1; i < 4; i++) shape->dims[i] = input->dims[i].size;
  bool open = false, last = dq_channels_last(4, shape->dims);
  const int64_t natural[] = {last ? height : channels, last ? width : height, last ? channels : width};
  for (int i = 1; i < 4; i++) {
    open |= shape->dims[i] < 0;
    if (shape->dims[i] < 0) shape->dims[i] = natural[i - 1];
  }
  bool fixed = input->dims[0].size >= 0;
  shape->dims[0] = fixed ? input->dims[0].size : options->batch > 0 ? options->batch : 1;
  if (open) shape->rank = 4;
}

static dq_status open_runner(dq_runner *runner, const dq_graph *graph, dq_data *data,
                             const dq_runner_options *options, dq_error *error) {
  const dq_value *input = NULL;
  DQ_TRY(only_input(graph, &input, error));
  dq_input_shape shape;
  complete_shape(input, data, options, &shape);
  dq_session_options session = {
      .shapes = options->shapes, .taps = options->taps, .tap_count = options->tap_count};
  if (options->batch > 0) session.shapes.batch = options->batch;
  if (shape.rank) session.shapes.inputs = &shape, session.shapes.input_count = 1;
  DQ_TRY(dq_session_open(&runner->session, graph, &session, runner->context, error));
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
