// Data sets of the public interface.
#include <stdlib.h>

#include "lib/api/api_internal.h"
#include "lib/document/stored_preset.h"
#include "lib/onnx/pb_source.h"

void dq_dataset_defaults(dq_dataset_options *options, size_t size) {
  dq_api_set_defaults(options, size, &(dq_dataset_options){0}, sizeof *options);
}

static dq_status open_dataset(dq_dataset *dataset, const char *spec, const dq_dataset_options *options,
                              dq_error *error) {
  dq_dataset_options settings = {0};
  const dq_context *context = &dataset->engine->context;
  DQ_TRY(dq_api_read_options(&settings, sizeof settings, options, error));
  dq_data_options wanted = {.spec = spec,
                            .labels = settings.labels,
                            .preset = settings.preset,
                            .preprocess = settings.preprocess,
                            .norm = settings.norm,
                            .limit = settings.limit,
                            .strict = settings.strict != 0,
                            .seed = context->seed,
                            .sources = &dq_pb_source,
                            .source_count = 1};
  if (settings.model) dq_apply_stored_preset(&wanted, settings.model->graph, context);
  return dq_data_open(&dataset->data, &wanted, context, error);
}

dq_code dq_dataset_open(dq_dataset **dataset, dq_engine *engine, const char *spec, const dq_dataset_options *options,
                        dq_failure *failure) {
  dq_call call;
  dq_dataset *made = NULL;
  dq_status status = DQ_ENTER(&call, {"dataset", dataset}, {"engine", engine}, {"spec", spec});
  if (dataset) *dataset = NULL;
  if (status == DQ_OK && !(made = calloc(1, sizeof *made))) status = dq_fail_memory(&call.error, sizeof *made);
  if (status == DQ_OK) {
    made->engine = engine;
    status = open_dataset(made, spec, options, &call.error);
  }
  if (status == DQ_OK) *dataset = made;
  else dq_dataset_close(made);
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
