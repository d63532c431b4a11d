#include "lib/session/runner.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/budget.h"

static dq_status open_session(dq_runner *runner, const dq_graph *graph, const dq_runner_options *options,
                              dq_error *error) {
  dq_session_options session = options->session;
  if (options->batch > 0) session.shapes.batch = options->batch;
  DQ_TRY(dq_complete_shapes(&session.shapes, graph, runner->data, runner->arena, error));
  return dq_session_open(&runner->session, graph, &session, runner->context, error);
}

static dq_status open_part(dq_runner *runner, const dq_graph *graph, const dq_runner_options *options,
                           dq_error *error) {
  if (!(runner->part = dq_graph_copy(graph))) return dq_fail_memory(error, 0);
  return dq_graph_restrict_to(runner->part, options->ends, options->end_count, error);
}

// Room for the pictures of an input whose type is not float32.
static dq_status open_values(dq_runner *runner, int i, dq_error *error) {
  const dq_tensor *input = dq_plan_input(runner->session.plan, i);
  size_t bytes = (size_t)dq_tensor_count(input) * sizeof **runner->values;
  if (input->type == DQ_F32) return DQ_OK;
  runner->values[i] = dq_context_alloc(runner->context, bytes);
  return runner->values[i] ? DQ_OK : dq_fail_memory(error, bytes);
}

static dq_status open_inputs(dq_runner *runner, const dq_runner_options *options, dq_error *error) {
  int count = runner->inputs.count;
  const dq_tensor **tensors = DQ_NEW_ARRAY(runner->arena, count, const dq_tensor *);
  runner->values = DQ_NEW_ARRAY(runner->arena, count, float *);
  if (!tensors || !runner->values) return dq_fail_memory(error, sizeof *tensors);
  for (int i = 0; i < count; i++) tensors[i] = dq_plan_input(runner->session.plan, i);
  DQ_TRY(dq_inputs_set_shapes(&runner->inputs, tensors, options->batch, error));
  runner->batch = runner->inputs.batch;
  if (options->batch > 0 && options->batch != runner->batch)
    dq_message(runner->context, DQ_NOTE, "the model fixes its batch to %" PRId64, runner->batch);
  for (int i = 0; i < count; i++) {
    DQ_TRY(open_values(runner, i, error));
    DQ_TRY(dq_input_set_shape(&runner->inputs, i, error));
  }
  return DQ_OK;
}

static dq_status open_runner(dq_runner *runner, const dq_graph *graph, const dq_runner_options *options,
                             dq_error *error) {
  if (!(runner->arena = dq_context_arena(runner->context))) return dq_fail_memory(error, 0);
  if (options->end_count) DQ_TRY(open_part(runner, graph, options, error));
  if (runner->part) graph = runner->part;
  DQ_TRY(dq_inputs_match(&runner->inputs, graph, runner->data, runner->arena, error));
  DQ_TRY(open_session(runner, graph, options, error));
  return open_inputs(runner, options, error);
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
  for (int i = 0; runner->values && i < runner->inputs.count; i++) dq_budget_free(runner->values[i]);
  dq_arena_free(runner->arena);
  *runner = (dq_runner){0};
}

static float *values_of(const dq_runner *runner, int i) {
  return runner->values[i] ? runner->values[i] : dq_plan_input(runner->session.plan, i)->data;
}

static void set_elements(dq_tensor *input, const float *values) {
  for (int64_t e = 0; e < dq_tensor_count(input); e++) dq_tensor_set(input, e, (double)values[e]);
}

static void convert_values(dq_runner *runner, int i) {
  if (runner->values[i]) set_elements(dq_plan_input(runner->session.plan, i), runner->values[i]);
}

// Repeats the first `count` of `batch` pictures of `size` elements in the rest of the batch.
static void fill_batch(float *values, int64_t size, int64_t count, int64_t batch) {
  for (int64_t p = count; p < batch; p++)
    memcpy(values + p * size, values + p % count * size, (size_t)size * sizeof *values);
}

static int64_t picture_size(const dq_fed_input *input) {
  return dq_tensor_product(&input->shape, 1, input->shape.rank);
}

static dq_status read_input(dq_runner *runner, int i, dq_sample_info *infos, dq_error *error) {
  const dq_fed_input *input = &runner->inputs.items[i];
  const int64_t count = runner->count;
  float *values = values_of(runner, i);
  DQ_TRY(dq_input_set_shape(&runner->inputs, i, error)); // another network may have told it another one
  dq_status status = dq_data_read_batch(input->data, runner->first, count, values, infos, error);
  if (status != DQ_OK) return dq_input_failed(&runner->inputs, i, status, error);
  fill_batch(values, picture_size(input), count, runner->batch);
  convert_values(runner, i);
  return DQ_OK;
}

static dq_status read_input_into(const dq_runner *runner, int i, int64_t index, dq_tensor *input, dq_error *error) {
  const dq_fed_input *fed = &runner->inputs.items[i];
  const size_t bytes = (size_t)dq_tensor_count(input) * sizeof(float);
  float *values = input->type == DQ_F32 ? input->data : dq_context_alloc(runner->context, bytes);
  if (!values) return dq_fail_memory(error, bytes);
  dq_status status = dq_data_read(fed->data, index, values, NULL, error);
  if (status == DQ_OK) fill_batch(values, picture_size(fed), 1, runner->batch);
  if (status == DQ_OK && values != input->data) set_elements(input, values);
  if (values != input->data) dq_budget_free(values);
  return dq_input_failed(&runner->inputs, i, status, error);
}

dq_status dq_runner_read_into(const dq_runner *runner, int64_t index, dq_plan *plan, dq_error *error) {
  for (int i = 0; i < runner->inputs.count; i++)
    DQ_TRY(read_input_into(runner, i, index, dq_plan_input(plan, i), error));
  return DQ_OK;
}

static dq_data *main_part(const dq_runner *runner) {
  return dq_data_part(runner->data, dq_data_main_part(runner->data));
}

const dq_tensor *dq_runner_main_input(const dq_runner *runner) {
  int i = 0;
  while (runner->inputs.items[i].data != main_part(runner)) i++;
  return dq_plan_input(runner->session.plan, i);
}

dq_status dq_runner_read(dq_runner *runner, int64_t first, int64_t count, dq_sample_info *infos, dq_error *error) {
  runner->first = first, runner->count = count;
  for (int i = 0; i < runner->inputs.count; i++)
    DQ_TRY(read_input(runner, i, runner->inputs.items[i].data == main_part(runner) ? infos : NULL, error));
  return DQ_OK;
}

// The input of another network that has the same pictures; -1: there is none.
static int find_input(const dq_runner *from, const dq_runner *to, int input) {
  if (from->inputs.count == 1 && to->inputs.count == 1) return 0;
  for (int i = 0; i < from->inputs.count; i++)
    if (!strcmp(from->inputs.items[i].value->name, to->inputs.items[input].value->name)) return i;
  return -1;
}

dq_status dq_runner_check_share(const dq_runner *to, const dq_runner *from, dq_error *error) {
  for (int i = 0; i < to->inputs.count; i++) {
    int other = find_input(from, to, i);
    if (other < 0)
      return dq_fail(error, DQ_BAD_INPUT, "the two networks have other inputs: only one has '%s'",
                     to->inputs.items[i].value->name);
    if (dq_tensor_count(dq_plan_input(to->session.plan, i)) !=
        dq_tensor_count(dq_plan_input(from->session.plan, other)))
      return dq_fail(error, DQ_BAD_INPUT, "the two networks have inputs of different sizes");
  }
  return DQ_OK;
}

dq_status dq_runner_share(dq_runner *to, const dq_runner *from, dq_error *error) {
  DQ_TRY(dq_runner_check_share(to, from, error));
  for (int i = 0; i < to->inputs.count; i++) {
    size_t count = (size_t)dq_tensor_count(dq_plan_input(to->session.plan, i));
    memcpy(values_of(to, i), values_of(from, find_input(from, to, i)), count * sizeof(float));
    convert_values(to, i);
  }
  return DQ_OK;
}

dq_status dq_runner_run(dq_runner *runner, dq_error *error) { return dq_plan_run(runner->session.plan, error); }

static dq_status run_batch(const dq_picture_loop *loop, int64_t first, int64_t count, dq_sample_info *infos,
                           dq_error *error) {
  DQ_TRY(dq_check_stop(loop->first->context, error));
  DQ_TRY(dq_runner_read(loop->first, first, count, infos, error));
  if (loop->second) DQ_TRY(dq_runner_share(loop->second, loop->first, error));
  if (loop->run) DQ_TRY(loop->run(loop->user, first, count, infos, error));
  else DQ_TRY(dq_runner_run(loop->first, error));
  if (!loop->run && loop->second) DQ_TRY(dq_runner_run(loop->second, error));
  return loop->after ? loop->after(loop->user, first, count, infos, error) : DQ_OK;
}

dq_status dq_picture_loop_run(const dq_picture_loop *loop, const dq_picture_range *range, dq_error *error) {
  const dq_context *context = loop->first->context;
  int64_t batch = range->one_by_one || range->step > 1 ? 1 : loop->first->batch;
  dq_sample_info *infos = dq_context_alloc(context, (size_t)batch * sizeof *infos);
  dq_status status = infos ? DQ_OK : dq_fail_memory(error, (size_t)batch * sizeof *infos);
  for (int64_t i = 0; status == DQ_OK && i < range->count; i += batch) {
    int64_t some = range->count - i < batch ? range->count - i : batch;
    status = run_batch(loop, range->first + i * range->step, some, infos, error);
    if (status == DQ_OK && range->doing) dq_progress(context, range->doing, i + some, range->count);
  }
  dq_budget_free(infos);
  return status;
}
