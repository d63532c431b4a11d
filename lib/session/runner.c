#include "lib/session/runner.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/budget.h"

static const char no_inputs[] = "the model has no inputs, pictures need one";

static dq_status only_input(const dq_graph *graph, const dq_value **input, dq_error *error) {
  int count = 0;
  for (int i = 0; i < graph->input_count; i++) {
    if (graph->inputs[i]->constant) continue;
    *input = graph->inputs[i];
    count++;
  }
  if (count == 1) return DQ_OK;
  if (!count) return dq_fail(error, DQ_BAD_INPUT, no_inputs);
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

dq_status dq_complete_shapes(dq_shape_request *request, const dq_graph *graph, const dq_data *data, dq_arena *arena,
                             dq_error *error) {
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

dq_status dq_picture_input(dq_plan *plan, dq_tensor **input, dq_error *error) {
  int count = dq_plan_input_count(plan);
  if (!count) return dq_fail(error, DQ_BAD_INPUT, no_inputs);
  if (count > 1) return dq_fail(error, DQ_UNSUPPORTED, "the model has %d inputs, pictures need just one", count);
  dq_tensor *only = *input = dq_plan_input(plan, 0);
  char shape[DQ_SHAPE_TEXT];
  if (only->rank >= 2 && only->dims[0] >= 1) return DQ_OK;
  dq_fail(error, DQ_UNSUPPORTED, "input '%s' is %s %s, pictures need a first dimension of their number",
          dq_plan_input_name(plan, 0), dq_dtype_name(only->type), dq_tensor_shape_text(only, shape, sizeof shape));
  dq_error_hint(error, "dq-run --input runs it on arrays; dq-amp, dq-report and dq-tucker need no data");
  return DQ_UNSUPPORTED;
}

static dq_status open_session(dq_runner *runner, const dq_graph *graph, const dq_runner_options *options,
                              dq_error *error) {
  const dq_value *input = NULL;
  dq_session_options session = options->session;
  DQ_TRY(only_input(graph, &input, error));
  if (options->batch > 0) session.shapes.batch = options->batch;
  dq_arena *arena = dq_context_arena(runner->context);
  dq_status status =
      arena ? dq_complete_shapes(&session.shapes, graph, runner->data, arena, error) : dq_fail_memory(error, 0);
  if (status == DQ_OK) status = dq_session_open(&runner->session, graph, &session, runner->context, error);
  dq_arena_free(arena);
  return status;
}

static dq_status open_part(dq_runner *runner, const dq_graph *graph, const dq_runner_options *options,
                           dq_error *error) {
  if (!(runner->part = dq_graph_copy(graph))) return dq_fail_memory(error, 0);
  return dq_graph_restrict_to(runner->part, options->ends, options->end_count, error);
}

static dq_status open_runner(dq_runner *runner, const dq_graph *graph, const dq_runner_options *options,
                             dq_error *error) {
  dq_tensor *input;
  if (options->end_count) DQ_TRY(open_part(runner, graph, options, error));
  DQ_TRY(open_session(runner, runner->part ? runner->part : graph, options, error));
  DQ_TRY(dq_picture_input(runner->session.plan, &input, error));
  runner->batch = input->dims[0];
  if (options->batch > 0 && options->batch != runner->batch)
    dq_message(runner->context, DQ_NOTE, "the model fixes its batch to %" PRId64, runner->batch);
  size_t bytes = (size_t)dq_tensor_count(input) * sizeof *runner->values;
  if (input->type != DQ_F32 && !(runner->values = dq_context_alloc(runner->context, bytes)))
    return dq_fail_memory(error, bytes);
  return dq_data_set_shape(runner->data, input, error);
}

dq_status dq_runner_open(dq_runner *runner, const dq_graph *graph, dq_data *data, const dq_runner_options *options,
                         const dq_context *context, dq_error *error) {
  *runner = (dq_runner){.context = context, .data = data};
  dq_status status = open_runner(runner, graph, options, error);
  if (status != DQ_OK) dq_runner_close(runner);
  return status;
}

void dq_runner_close(dq_runner *runner) {
  dq_session_close(&runner->session);
  dq_graph_free(runner->part);
  dq_budget_free(runner->values);
  *runner = (dq_runner){0};
}

static float *values_of(const dq_runner *runner) {
  return runner->values ? runner->values : dq_plan_input(runner->session.plan, 0)->data;
}

static void convert_values(dq_runner *runner) {
  dq_tensor *input = dq_plan_input(runner->session.plan, 0);
  for (int64_t i = 0; runner->values && i < dq_tensor_count(input); i++)
    dq_tensor_set(input, i, (double)runner->values[i]);
}

dq_status dq_runner_read(dq_runner *runner, int64_t first, int64_t count, dq_sample_info *infos, dq_error *error) {
  dq_tensor *input = dq_plan_input(runner->session.plan, 0);
  int64_t size = dq_tensor_product(input, 1, input->rank);
  float *values = values_of(runner);
  DQ_TRY(dq_data_set_shape(runner->data, input, error)); // another network may have told it another one
  DQ_TRY(dq_data_read_batch(runner->data, first, count, values, infos, error));
  for (int64_t p = count; p < runner->batch; p++)
    memcpy(values + p * size, values + p % count * size, (size_t)size * sizeof *values);
  convert_values(runner);
  return DQ_OK;
}

dq_status dq_runner_share(dq_runner *to, const dq_runner *from, dq_error *error) {
  dq_tensor *input = dq_plan_input(to->session.plan, 0);
  const dq_tensor *read = dq_plan_input(from->session.plan, 0);
  if (dq_tensor_count(input) != dq_tensor_count(read))
    return dq_fail(error, DQ_BAD_INPUT, "the two networks have inputs of different sizes");
  memcpy(values_of(to), values_of(from), (size_t)dq_tensor_count(read) * sizeof(float));
  convert_values(to);
  return DQ_OK;
}

dq_status dq_runner_run(dq_runner *runner, dq_error *error) { return dq_plan_run(runner->session.plan, error); }

dq_status dq_runner_each(dq_runner *runner, const dq_picture_range *range, dq_runner_function after, void *user,
                         dq_error *error) {
  int64_t batch = range->one_by_one || range->step > 1 ? 1 : runner->batch;
  dq_sample_info *infos = dq_context_alloc(runner->context, (size_t)batch * sizeof *infos);
  dq_status status = infos ? DQ_OK : dq_fail_memory(error, (size_t)batch * sizeof *infos);
  for (int64_t i = 0; status == DQ_OK && i < range->count; i += batch) {
    int64_t some = range->count - i < batch ? range->count - i : batch, first = range->first + i * range->step;
    status = dq_check_stop(runner->context, error);
    if (status == DQ_OK) status = dq_runner_read(runner, first, some, infos, error);
    if (status == DQ_OK) status = dq_runner_run(runner, error);
    if (status == DQ_OK && after) status = after(user, first, some, infos, error);
    if (status == DQ_OK && range->doing) dq_progress(runner->context, range->doing, i + some, range->count);
  }
  dq_budget_free(infos);
  return status;
}
