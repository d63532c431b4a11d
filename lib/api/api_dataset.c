// Data sets of the public interface.
#include <stdlib.h>

#include "lib/api/api_internal.h"
#include "lib/base/sizes.h"
#include "lib/document/stored_preset.h"
#include "lib/onnx/pb_source.h"

void dq_dataset_defaults(dq_dataset_options *options, size_t size) {
  dq_api_set_defaults(options, size, &(dq_dataset_options){0}, sizeof *options);
}

// Opens what `wanted` names or has, with the options of the caller.
static dq_status open_dataset(dq_dataset *dataset, dq_data_options *wanted, const dq_dataset_options *options,
                              dq_error *error) {
  dq_dataset_options settings = {0};
  const dq_context *context = &dataset->engine->context;
  DQ_TRY(dq_api_read_options(&settings, sizeof settings, options, error));
  if (settings.labels && wanted->array_labels)
    return dq_fail(error, DQ_USAGE, "labels are given twice: as an array, and as an option");
  wanted->labels = settings.labels;
  wanted->preset = settings.preset;
  wanted->preprocess = settings.preprocess;
  wanted->norm = settings.norm;
  wanted->limit = settings.limit;
  wanted->strict = settings.strict != 0;
  wanted->seed = context->seed;
  wanted->sources = &dq_pb_source;
  wanted->source_count = 1;
  if (settings.model) dq_apply_stored_preset(wanted, settings.model->graph, context);
  return dq_data_open(&dataset->data, wanted, context, error);
}

// *dataset is NULL after a failure.
static dq_status make_dataset(dq_dataset **dataset, dq_engine *engine, dq_data_options *wanted,
                              const dq_dataset_options *options, dq_error *error) {
  dq_dataset *made = calloc(1, sizeof *made);
  if (!made) return dq_fail_memory(error, sizeof *made);
  made->engine = engine;
  dq_status status = open_dataset(made, wanted, options, error);
  if (status == DQ_OK) *dataset = made;
  else dq_dataset_close(made);
  return status;
}

dq_code dq_dataset_open(dq_dataset **dataset, dq_engine *engine, const char *spec, const dq_dataset_options *options,
                        dq_failure *failure) {
  dq_call call;
  dq_status status = DQ_ENTER(&call, {"dataset", dataset}, {"engine", engine}, {"spec", spec});
  if (dataset) *dataset = NULL;
  if (status == DQ_OK) status = make_dataset(dataset, engine, &(dq_data_options){.spec = spec}, options, &call.error);
  return dq_api_leave(&call, status, failure);
}

// ---- Arrays in memory ----

static dq_status read_array(dq_tensor *tensor, const dq_array *array, const char *name, dq_error *error) {
  int64_t count = 1, bytes;
  const int64_t width = (int64_t)dq_dtype_size(array->type);
  if (!width) return dq_fail(error, DQ_USAGE, "%s: elements of type %d are no numbers", name, array->type);
  if (array->rank < 1 || array->rank > DQ_MAX_RANK)
    return dq_fail(error, DQ_USAGE, "%s: %d dimensions, expected 1 to %d", name, array->rank, DQ_MAX_RANK);
  *tensor = (dq_tensor){.type = array->type, .rank = array->rank, .data = array->data};
  for (int i = 0; i < array->rank; i++) {
    tensor->dims[i] = array->dims[i];
    if (array->dims[i] < 1 || !dq_mul_i64(count, array->dims[i], &count))
      return dq_fail(error, DQ_USAGE, "%s: dimension %d is %lld, expected 1 or more, and elements that fit memory",
                     name, i, (long long)array->dims[i]);
  }
  if (!dq_mul_i64(count, width, &bytes) || (uint64_t)bytes != array->bytes || !array->data)
    return dq_fail(error, DQ_USAGE, "%s: %llu bytes, expected %lld elements of %lld bytes", name,
                   array->data ? (unsigned long long)array->bytes : 0, (long long)count, (long long)width);
  return DQ_OK;
}

static dq_status read_arrays(dq_data_array *made, const dq_array *arrays, int count, dq_error *error) {
  for (int i = 0; i < count; i++) {
    if (!arrays[i].name && count > 1)
      return dq_fail(error, DQ_USAGE, "array %d of %d has no name, expected that of an input", i, count);
    made[i].name = arrays[i].name;
    DQ_TRY(read_array(&made[i].values, &arrays[i], arrays[i].name ? arrays[i].name : "array", error));
  }
  return DQ_OK;
}

static dq_status make_of_arrays(dq_dataset **dataset, dq_engine *engine, const dq_array *arrays, int count,
                                const dq_array *labels, const dq_dataset_options *options, dq_error *error) {
  if (count < 1 || count > 4096) return dq_fail(error, DQ_USAGE, "%d arrays, expected 1 to 4096", count);
  dq_tensor label_tensor;
  if (labels) DQ_TRY(read_array(&label_tensor, labels, "labels", error));
  dq_data_array *made = calloc((size_t)count, sizeof *made);
  if (!made) return dq_fail_memory(error, (size_t)count * sizeof *made);
  dq_data_options wanted = {
      .spec = "array", .arrays = made, .array_count = count, .array_labels = labels ? &label_tensor : NULL};
  dq_status status = read_arrays(made, arrays, count, error);
  if (status == DQ_OK) status = make_dataset(dataset, engine, &wanted, options, error);
  free(made);
  return status;
}

dq_code dq_dataset_of_arrays(dq_dataset **dataset, dq_engine *engine, const dq_array *arrays, int count,
                             const dq_array *labels, const dq_dataset_options *options, dq_failure *failure) {
  dq_call call;
  dq_status status = DQ_ENTER(&call, {"dataset", dataset}, {"engine", engine}, {"arrays", arrays});
  if (dataset) *dataset = NULL;
  if (status == DQ_OK) status = make_of_arrays(dataset, engine, arrays, count, labels, options, &call.error);
  return dq_api_leave(&call, status, failure);
}

void dq_dataset_close(dq_dataset *dataset) {
  if (!dataset) return;
  dq_data_free(dataset->data);
  free(dataset);
}

int64_t dq_dataset_count(const dq_dataset *dataset) { return dataset ? dq_data_count(dataset->data) : 0; }

int64_t dq_dataset_skipped(const dq_dataset *dataset) { return dataset ? dq_data_skipped(dataset->data) : 0; }

const char *dq_dataset_class_name(const dq_dataset *dataset, int64_t label) {
  return dataset ? dq_data_class_name(dataset->data, label) : NULL;
}
