// Running models through the public interface.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/api_internal.h"
#include "lib/kernels/conv/conv.h"
#include "lib/session/inputs.h"
#include "lib/session/session.h"

struct dq_network {
  dq_model *model;
  dq_session session;
  int64_t batch;
  float *values; // one picture of an input that is not float32, of at most `capacity` elements
  int64_t capacity;
  dq_sample_info sample;
};

static const dq_network_options network_defaults = {.batch = 1};

void dq_network_defaults(dq_network_options *options, size_t size) {
  dq_api_set_defaults(options, size, &network_defaults, sizeof *options);
}

dq_status dq_api_session(dq_session_options *settings, int64_t *batch, const dq_model *model,
                         const dq_network_options *options, dq_arena *arena, dq_error *error) {
  dq_network_options given = network_defaults;
  DQ_TRY(dq_api_read_options(&given, sizeof given, options, error));
  if (given.batch < 1 || given.batch > 65536)
    return dq_fail(error, DQ_USAGE, "batch is %" PRId64 ", expected 1 to 65536", given.batch);
  static const dq_conv_setting fastest = {.algorithm = DQ_CONV_AUTO};
  *settings =
      (dq_session_options){.plain = given.plain != 0, .convolutions = &fastest, .convolution_count = given.fast != 0};
  *batch = given.batch;
  return dq_api_shapes(given.shapes, (const dq_graph *const[]){model->graph}, 1, given.batch, arena, &settings->shapes,
                       error);
}

static dq_status open_session(dq_network *network, dq_model *model, const dq_network_options *options, dq_arena *arena,
                              dq_error *error) {
  dq_session_options settings;
  DQ_TRY(dq_api_session(&settings, &network->batch, model, options, arena, error));
  return dq_session_open(&network->session, model->graph, &settings, &model->engine->context, error);
}

dq_code dq_network_open(dq_network **network, dq_model *model, const dq_network_options *options, dq_failure *failure) {
  dq_call call;
  dq_status status = DQ_ENTER(&call, {"network", network}, {"model", model});
  if (network) *network = NULL;
  dq_network *made = calloc(1, sizeof *made);
  dq_arena *arena = dq_arena_new(0);
  if (status == DQ_OK && (!made || !arena)) status = dq_fail_memory(&call.error, sizeof *made);
  if (status == DQ_OK) status = open_session(made, model, options, arena, &call.error);
  dq_arena_free(arena);
  if (status == DQ_OK) {
    made->model = model;
    model->networks++;
    *network = made;
  } else free(made);
  return dq_api_leave(&call, status, failure);
}

void dq_network_close(dq_network *network) {
  if (!network) return;
  dq_session_close(&network->session);
  network->model->networks--;
  dq_budget_free(network->values);
  free(network);
}

// ---- Inputs and outputs ----

int dq_api_array(const dq_tensor *tensor, const char *name, dq_array *array) {
  bool known = tensor->rank >= 0;
  if (!array) return 1;
  *array = (dq_array){.name = name,
                      .type_name = dq_dtype_name(tensor->type),
                      .type = tensor->type,
                      .rank = tensor->rank,
                      .data = known ? tensor->data : NULL,
                      .bytes = known ? dq_tensor_bytes(tensor) : 0};
  if (known) memcpy(array->dims, tensor->dims, (size_t)tensor->rank * sizeof *tensor->dims);
  return 1;
}
_Static_assert(sizeof(((dq_array *)0)->dims) == sizeof(((dq_tensor *)0)->dims), "same ranks");

int dq_network_inputs(const dq_network *network) { return network ? dq_plan_input_count(network->session.plan) : 0; }

int dq_network_input(dq_network *network, int index, dq_array *array) {
  if (index < 0 || index >= dq_network_inputs(network)) return 0;
  return dq_api_array(dq_plan_input(network->session.plan, index), dq_plan_input_name(network->session.plan, index),
                      array);
}

int dq_network_outputs(const dq_network *network) { return network ? dq_plan_output_count(network->session.plan) : 0; }

int dq_network_output(const dq_network *network, int index, dq_array *array) {
  if (index < 0 || index >= dq_network_outputs(network)) return 0;
  return dq_api_array(dq_plan_output(network->session.plan, index), dq_plan_output_name(network->session.plan, index),
                      array);
}

// ---- Pictures ----

// Makes network->values large enough for one picture of `count` elements.
static dq_status reserve_values(dq_network *network, int64_t count, dq_error *error) {
  if (count <= network->capacity) return DQ_OK;
  dq_budget_free(network->values);
  network->values = dq_context_alloc(&network->model->engine->context, (size_t)count * sizeof *network->values);
  network->capacity = network->values ? count : 0;
  return network->values ? DQ_OK : dq_fail_memory(error, (size_t)count * sizeof *network->values);
}

static dq_status read_input(dq_network *network, const dq_fed_inputs *inputs, int i, int64_t index, int64_t item,
                            dq_error *error) {
  const dq_fed_input *from = &inputs->items[i];
  dq_tensor *input = dq_plan_input(network->session.plan, i);
  int64_t count = dq_tensor_product(&from->shape, 1, from->shape.rank);
  if (input->type == DQ_F32) return dq_data_read(from->data, index, (float *)input->data + item * count, NULL, error);
  DQ_TRY(reserve_values(network, count, error));
  DQ_TRY(dq_data_read(from->data, index, network->values, NULL, error));
  for (int64_t e = 0; e < count; e++) dq_tensor_set(input, item * count + e, (double)network->values[e]);
  return DQ_OK;
}

static dq_status match_inputs(dq_network *network, dq_fed_inputs *inputs, dq_data *data, dq_arena *arena,
                              dq_error *error) {
  dq_plan *plan = network->session.plan;
  DQ_TRY(dq_inputs_match(inputs, network->session.copy, data, arena, error));
  const dq_tensor **tensors = DQ_NEW_ARRAY(arena, inputs->count, const dq_tensor *);
  if (!tensors) return dq_fail_memory(error, sizeof *tensors);
  for (int i = 0; i < inputs->count; i++) tensors[i] = dq_plan_input(plan, i);
  return dq_inputs_set_shapes(inputs, tensors, network->batch, error);
}

static dq_status read_picture(dq_network *network, dq_data *data, int64_t index, int64_t item, dq_arena *arena,
                              dq_error *error) {
  dq_fed_inputs inputs;
  DQ_TRY(match_inputs(network, &inputs, data, arena, error));
  if (item < 0 || item >= inputs.batch)
    return dq_fail(error, DQ_USAGE, "item is %" PRId64 ", expected 0 to %" PRId64, item, inputs.batch - 1);
  if (index < 0 || index >= dq_data_count(data))
    return dq_fail(error, DQ_USAGE, "index is %" PRId64 ", expected 0 to %" PRId64, index, dq_data_count(data) - 1);
  for (int i = 0; i < inputs.count; i++) {
    DQ_TRY(dq_input_set_shape(&inputs, i, error));
    dq_status status = read_input(network, &inputs, i, index, item, error);
    if (status != DQ_OK) return dq_input_failed(&inputs, i, status, error);
  }
  return dq_data_read(data, index, NULL, &network->sample, error);
}

dq_code dq_network_read(dq_network *network, dq_dataset *dataset, int64_t index, int64_t item, dq_sample *sample,
                        dq_failure *failure) {
  dq_call call;
  dq_status status = DQ_ENTER(&call, {"network", network}, {"dataset", dataset});
  if (status == DQ_OK) status = dq_api_check_facts(sample, &call.error);
  dq_arena *arena = dq_arena_new(0);
  if (status == DQ_OK && !arena) status = dq_fail_memory(&call.error, sizeof *network);
  if (status == DQ_OK) status = read_picture(network, dataset->data, index, item, arena, &call.error);
  dq_arena_free(arena);
  if (status == DQ_OK) {
    const dq_sample known = {.name = network->sample.name, .label = network->sample.label};
    dq_api_copy_results(sample, &known, sizeof known);
  }
  return dq_api_leave(&call, status, failure);
}

dq_code dq_network_run(dq_network *network, dq_failure *failure) {
  dq_call call;
  dq_status status = DQ_ENTER(&call, {"network", network});
  if (status == DQ_OK) status = dq_check_stop(&network->model->engine->context, &call.error);
  if (status == DQ_OK) status = dq_plan_run(network->session.plan, &call.error);
  return dq_api_leave(&call, status, failure);
}

// ---- Memory of the program ----

static dq_status lend(dq_plan *plan, const void *const *inputs, void *const *outputs, dq_error *error) {
  for (int o = 0; outputs && o < dq_plan_output_count(plan); o++) {
    if (outputs[o] && !dq_plan_output_fixed(plan, o))
      return dq_fail(error, DQ_USAGE, "the shape of output '%s' depends on elements, expected NULL for its memory",
                     dq_plan_output_name(plan, o));
    if (outputs[o]) dq_plan_lend_output(plan, o, outputs[o]); // what is not written there is copied
  }
  for (int i = 0; inputs && i < dq_plan_input_count(plan); i++)
    if (inputs[i]) dq_plan_lend_input(plan, i, inputs[i]);
  return DQ_OK;
}

static void copy_outputs(const dq_plan *plan, void *const *outputs) {
  for (int o = 0; outputs && o < dq_plan_output_count(plan); o++) {
    const dq_tensor *output = dq_plan_output(plan, o);
    if (outputs[o] && output->data != outputs[o]) memcpy(outputs[o], output->data, dq_tensor_bytes(output));
  }
}

static void take_back(dq_plan *plan, const void *const *inputs, void *const *outputs) {
  for (int i = 0; inputs && i < dq_plan_input_count(plan); i++)
    if (inputs[i]) dq_plan_lend_input(plan, i, NULL);
  for (int o = 0; outputs && o < dq_plan_output_count(plan); o++)
    if (outputs[o]) dq_plan_lend_output(plan, o, NULL);
}

dq_code dq_network_run_on(dq_network *network, const void *const *inputs, void *const *outputs, dq_failure *failure) {
  dq_call call;
  dq_status status = DQ_ENTER(&call, {"network", network});
  if (status == DQ_OK) status = dq_check_stop(&network->model->engine->context, &call.error);
  if (status == DQ_OK) {
    dq_plan *plan = network->session.plan;
    status = lend(plan, inputs, outputs, &call.error);
    if (status == DQ_OK) status = dq_plan_run(plan, &call.error);
    if (status == DQ_OK) copy_outputs(plan, outputs);
    take_back(plan, inputs, outputs);
  }
  return dq_api_leave(&call, status, failure);
}
