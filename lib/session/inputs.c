#include "lib/session/inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/text/nearest.h"

// ---- Which data are for which input ----

static int list_inputs(const dq_graph *graph, dq_fed_input *items) {
  int count = 0;
  for (int i = 0; i < graph->input_count; i++)
    if (!graph->inputs[i]->constant) items[count++].value = graph->inputs[i];
  return count;
}

// "'left', 'right'", or the beginning of a long list.
static const char *input_names(const dq_fed_inputs *inputs, char *text, size_t size) {
  size_t used = 0;
  *text = 0;
  for (int i = 0; i < inputs->count && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s'%s'", i ? ", " : "", inputs->items[i].value->name);
  return text;
}

// "left=SPEC, right=SPEC".
static const char *how_to_give(const dq_fed_inputs *inputs, char *text, size_t size) {
  size_t used = 0;
  *text = 0;
  for (int i = 0; i < inputs->count && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s=SPEC", i ? ", " : "", inputs->items[i].value->name);
  return text;
}

enum { NAMES_TEXT = 300 };

static dq_status fail_count(const dq_fed_inputs *inputs, int found, dq_error *error) {
  char names[NAMES_TEXT], words[NAMES_TEXT];
  dq_fail(error, DQ_BAD_INPUT, "the model has %d input%s, %s; the data are for %d", inputs->count,
          inputs->count == 1 ? "" : "s", input_names(inputs, names, sizeof names), found);
  if (inputs->count > 1)
    dq_error_hint(error, "give the option once for each: %s", how_to_give(inputs, words, sizeof words));
  return DQ_BAD_INPUT;
}

static dq_status fail_name(const dq_fed_inputs *inputs, const char *name, dq_error *error) {
  char names[NAMES_TEXT];
  dq_nearest nearest = dq_nearest_begin(name);
  for (int i = 0; i < inputs->count; i++) dq_nearest_offer(&nearest, inputs->items[i].value->name);
  dq_fail(error, DQ_USAGE, "data for input '%s': the model has no such input", name);
  if (nearest.name) dq_error_hint(error, "did you mean '%s'?", nearest.name);
  else
    dq_error_hint(error, "its input%s %s", inputs->count == 1 ? " is" : "s are",
                  input_names(inputs, names, sizeof names));
  return DQ_USAGE;
}

static dq_fed_input *find_input(const dq_fed_inputs *inputs, const char *name) {
  for (int i = 0; i < inputs->count; i++)
    if (!strcmp(inputs->items[i].value->name, name)) return &inputs->items[i];
  return NULL;
}

static dq_status match(dq_fed_inputs *inputs, dq_data *data, dq_error *error) {
  int parts = dq_data_part_count(data);
  if (!dq_data_part_name(data, 0)) {
    if (parts != inputs->count) return fail_count(inputs, parts, error);
    for (int i = 0; i < parts; i++) inputs->items[i].data = dq_data_part(data, i);
    return DQ_OK;
  }
  for (int p = 0; p < parts; p++) {
    dq_fed_input *input = find_input(inputs, dq_data_part_name(data, p));
    if (!input) return fail_name(inputs, dq_data_part_name(data, p), error);
    input->data = dq_data_part(data, p);
  }
  for (int i = 0; i < inputs->count; i++) {
    const char *name = inputs->items[i].value->name;
    if (inputs->items[i].data) continue;
    dq_fail(error, DQ_USAGE, "input '%s' has no data", name);
    dq_error_hint(error, "give the option once more, with %s=SPEC", name);
    return DQ_USAGE;
  }
  return DQ_OK;
}

dq_status dq_inputs_match(dq_fed_inputs *inputs, const dq_graph *graph, dq_data *data, dq_arena *arena,
                          dq_error *error) {
  *inputs = (dq_fed_inputs){.items = DQ_NEW_ARRAY(arena, graph->input_count + 1, dq_fed_input)};
  if (!inputs->items) return dq_fail_memory(error, sizeof *inputs->items);
  inputs->count = list_inputs(graph, inputs->items);
  if (!inputs->count) return dq_fail(error, DQ_BAD_INPUT, "the model has no inputs, pictures need one");
  return match(inputs, data, error);
}

// ---- Which dimensions count samples ----

// The first dimension of the inputs that have more than one, or what was wished for; 0: they differ.
static int64_t common_batch(const dq_tensor *const *tensors, int count, int64_t wish) {
  int64_t batch = -1;
  for (int i = 0; i < count; i++)
    if (tensors[i]->rank >= 2 && batch < 0) batch = tensors[i]->dims[0];
  if (batch < 0) batch = wish;
  for (int i = 0; i < count; i++)
    if (tensors[i]->rank < 1 || tensors[i]->dims[0] != batch) return 0;
  return batch;
}

static dq_status fail_whole(const dq_fed_inputs *inputs, const dq_tensor *const *tensors, int64_t batch,
                            dq_error *error) {
  char shape[DQ_SHAPE_TEXT], names[NAMES_TEXT];
  if (inputs->count == 1)
    dq_fail(error, DQ_UNSUPPORTED, "input '%s' is %s %s, no dimension of it counts samples, expected %" PRId64,
            inputs->items[0].value->name, dq_dtype_name(tensors[0]->type),
            dq_tensor_shape_text(tensors[0], shape, sizeof shape), batch);
  else
    dq_fail(error, DQ_UNSUPPORTED,
            "inputs %s have no common first dimension that counts samples, expected %" PRId64 " in each",
            input_names(inputs, names, sizeof names), batch);
  dq_error_hint(error, "use --batch 1");
  return DQ_UNSUPPORTED;
}

static dq_status set_shape(dq_fed_input *input, const dq_tensor *tensor, bool whole, dq_error *error) {
  char shape[DQ_SHAPE_TEXT];
  input->shape = *tensor;
  if (dq_tensor_count(tensor) < 1 || (whole && tensor->rank == DQ_MAX_RANK))
    return dq_fail(error, DQ_UNSUPPORTED, "input '%s' is %s %s, %s", input->value->name, dq_dtype_name(tensor->type),
                   dq_tensor_shape_text(tensor, shape, sizeof shape),
                   tensor->rank == DQ_MAX_RANK ? "data need a first dimension of their number" : "it has no elements");
  if (!whole || (tensor->rank > 0 && tensor->dims[0] == 1)) return DQ_OK;
  for (int d = 0; d < tensor->rank; d++) input->shape.dims[d + 1] = tensor->dims[d];
  input->shape.dims[0] = 1;
  input->shape.rank = tensor->rank + 1;
  return DQ_OK;
}

// Whether the input is declared as one picture in colour, C x H x W or H x W x C.
static bool is_one_picture(const dq_value *value) {
  return value->rank == 3 && (value->dims[0].size == 3 || (value->dims[0].size != 1 && value->dims[2].size == 3));
}

// Whether a sample has all sizes of the input: then no dimension of it counts samples.
static bool is_whole(const dq_fed_input *input, const dq_tensor *tensor) {
  dq_tensor sample;
  if (!input->data) return false;
  if (dq_data_is_pictures(input->data)) return is_one_picture(input->value);
  return tensor->rank > 0 && tensor->dims[0] != 1 && dq_data_sample_shape(input->data, &sample) &&
         dq_tensor_same_shape(&sample, tensor);
}

dq_status dq_inputs_set_shapes(dq_fed_inputs *inputs, const dq_tensor *const *tensors, int64_t batch, dq_error *error) {
  int64_t wish = batch > 0 ? batch : 1, common = common_batch(tensors, inputs->count, wish);
  for (int i = 0; i < inputs->count; i++)
    if (is_whole(&inputs->items[i], tensors[i])) common = 0;
  for (int i = 0; i < inputs->count; i++) DQ_TRY(set_shape(&inputs->items[i], tensors[i], !common, error));
  if (!common && wish > 1) return fail_whole(inputs, tensors, wish, error);
  inputs->batch = common ? common : 1;
  return DQ_OK;
}

dq_status dq_inputs_open(dq_fed_inputs *inputs, const dq_graph *graph, const dq_shape_request *shapes, dq_data *data,
                         dq_arena *arena, dq_error *error) {
  DQ_TRY(dq_inputs_match(inputs, graph, data, arena, error));
  dq_tensor *tensors = DQ_NEW_ARRAY(arena, inputs->count, dq_tensor);
  const dq_tensor **pointers = DQ_NEW_ARRAY(arena, inputs->count, const dq_tensor *);
  if (!tensors || !pointers) return dq_fail_memory(error, sizeof *tensors);
  for (int i = 0; i < inputs->count; i++) {
    DQ_TRY(dq_input_tensor(graph, inputs->items[i].value, shapes, &tensors[i], error));
    pointers[i] = &tensors[i];
  }
  return dq_inputs_set_shapes(inputs, pointers, shapes ? shapes->batch : 0, error);
}

dq_status dq_input_failed(const dq_fed_inputs *inputs, int i, dq_status status, dq_error *error) {
  bool named = status != DQ_OK && inputs->count > 1;
  return named ? dq_error_prefix(error, status, "input '%s'", inputs->items[i].value->name) : status;
}

dq_status dq_input_set_shape(const dq_fed_inputs *inputs, int i, dq_error *error) {
  const dq_fed_input *input = &inputs->items[i];
  return dq_input_failed(inputs, i, dq_data_set_shape(input->data, &input->shape, error), error);
}
