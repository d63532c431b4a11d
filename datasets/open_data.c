// Opening data: of one specification, or of one for each input of a network (NAME=SPEC;NAME=SPEC).
#include <inttypes.h>
#include <string.h>

#include "datasets/files.h"
#include "datasets/reader.h"

static size_t name_length(const char *text) { return strcspn(text, "="); }

// A folder or list whose path has a '=' is what it was before inputs had names.
static bool names_inputs(const dq_data_options *options) {
  const char *spec = options->spec;
  if (!spec || !strchr(spec, '=') || dq_has_kind(spec, options)) return false;
  return name_length(spec) > 0 && !dq_is_folder(spec) && !dq_is_file(spec);
}

// "left=npy:left.npy" in its two pieces, which stay in `text`.
static dq_status split_part(char *text, const char **name, const char **spec, dq_error *error) {
  char *equals = strchr(text, '=');
  if (!equals || equals == text || !equals[1])
    return dq_fail(error, DQ_USAGE, "data '%s': expected NAME=SPEC, NAME being an input of the model", text);
  *equals = 0;
  *name = text;
  *spec = equals + 1;
  return DQ_OK;
}

static dq_status check_names(const dq_data *data, dq_error *error) {
  for (int i = 0; i < data->part_count; i++)
    for (int k = 0; k < i; k++)
      if (!strcmp(data->parts[i]->name, data->parts[k]->name))
        return dq_fail(error, DQ_USAGE, "data for input '%s' are given twice", data->parts[i]->name);
  return DQ_OK;
}

// What is said of samples is what their main part says.
static void copy_facts(dq_data *data) {
  while (data->main_part < data->part_count && data->parts[data->main_part]->kind == DQ_LABEL_NONE) data->main_part++;
  if (data->main_part == data->part_count) data->main_part = 0;
  const dq_data *from = data->parts[data->main_part];
  data->found = from->found, data->count = from->count;
  data->kind = from->kind;
  data->classes = from->classes, data->classes_exact = from->classes_exact;
  data->class_names = from->class_names, data->class_name_count = from->class_name_count;
  data->preprocess_text = from->preprocess_text;
}

// A part before it is opened.
typedef struct part_request {
  const char *name;
  dq_data_options options;
} part_request;

// The request for a part: of all parts, or none, a picture is left out.
static part_request request_of(const dq_data_options *options, int part) {
  part_request request = {.options = *options};
  request.options.strict = true;
  if (part) request.options.labels = NULL, request.options.array_labels = NULL;
  return request;
}

static dq_status check_counts(const dq_data *data, const part_request *requests, dq_error *error) {
  const dq_data *first = data->parts[0];
  for (int i = 1; i < data->part_count; i++) {
    const dq_data *part = data->parts[i];
    if (part->found == first->found) continue;
    return dq_fail(error, DQ_BAD_INPUT,
                   "input '%s' has %" PRId64 " samples (%s), input '%s' has %" PRId64 " (%s); expected equal numbers",
                   first->name, first->found, requests[0].options.spec, part->name, part->found,
                   requests[i].options.spec);
  }
  return DQ_OK;
}

static dq_status open_part(dq_data *data, const part_request *request, dq_error *error) {
  dq_data **part = &data->parts[data->part_count];
  DQ_TRY(dq_data_new(part, data->context, error));
  (*part)->beside = data->part_count++ > 0;
  if (!((*part)->name = dq_arena_strdup((*part)->arena, request->name))) return dq_fail_memory(error, 0);
  dq_status status = dq_data_find(*part, &request->options, error);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "data for input '%s'", request->name);
}

static dq_status open_parts(dq_data *data, const part_request *requests, int count, dq_error *error) {
  bool spread = false;
  data->parts = DQ_NEW_ARRAY(data->arena, count, dq_data *);
  if (!data->parts) return dq_fail_memory(error, 0);
  for (int i = 0; i < count; i++) {
    DQ_TRY(open_part(data, &requests[i], error));
    spread |= data->parts[i]->spread_limit;
  }
  DQ_TRY(check_names(data, error));
  DQ_TRY(check_counts(data, requests, error));
  for (int i = 0; i < count; i++) {
    dq_status status = dq_data_choose(data->parts[i], &requests[i].options, spread, error);
    if (status != DQ_OK) return dq_error_prefix(error, status, "data for input '%s'", data->parts[i]->name);
  }
  copy_facts(data);
  return DQ_OK;
}

static dq_status open_specs(dq_data *data, const dq_data_options *options, dq_error *error) {
  char **texts;
  int count = dq_split(data->arena, options->spec, ';', &texts);
  part_request *requests = count < 0 ? NULL : DQ_NEW_ARRAY(data->arena, count, part_request);
  if (!requests) return dq_fail_memory(error, 0);
  for (int i = 0; i < count; i++) {
    requests[i] = request_of(options, i);
    DQ_TRY(split_part(texts[i], &requests[i].name, &requests[i].options.spec, error));
  }
  return open_parts(data, requests, count, error);
}

static dq_status open_arrays(dq_data *data, const dq_data_options *options, dq_error *error) {
  part_request *requests = DQ_NEW_ARRAY(data->arena, options->array_count, part_request);
  if (!requests) return dq_fail_memory(error, 0);
  for (int i = 0; i < options->array_count; i++) {
    requests[i] = request_of(options, i);
    requests[i].name = options->arrays[i].name;
    requests[i].options.arrays = &options->arrays[i];
  }
  return open_parts(data, requests, options->array_count, error);
}

static dq_status open_all(dq_data *data, const dq_data_options *options, dq_error *error) {
  if (options->arrays && options->arrays[0].name) return open_arrays(data, options, error);
  if (!options->arrays && names_inputs(options)) return open_specs(data, options, error);
  DQ_TRY(dq_data_find(data, options, error));
  DQ_TRY(dq_data_choose(data, options, data->spread_limit, error));
  for (int i = 0; i < data->part_count; i++) data->parts[i]->count = data->count;
  return DQ_OK;
}

dq_status dq_data_open(dq_data **data, const dq_data_options *options, const dq_context *context, dq_error *error) {
  dq_data *opened;
  *data = NULL;
  DQ_TRY(dq_data_new(&opened, context, error));
  dq_status status = open_all(opened, options, error);
  if (status == DQ_OK) *data = opened;
  else dq_data_free(opened);
  return status;
}
