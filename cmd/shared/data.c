#include "cmd/shared/data.h"

#include <string.h>
#include <sys/stat.h>

#include "lib/document/stored_preset.h"
#include "lib/onnx/onnx.h"
#include "lib/onnx/pb_source.h"

dq_data_options dq_data_options_of(const dq_data_arguments *arguments, int64_t seed) {
  return (dq_data_options){.spec = arguments->data,
                           .labels = arguments->labels,
                           .preset = arguments->preset,
                           .preprocess = arguments->preprocess,
                           .norm = arguments->norm,
                           .limit = arguments->sample ? arguments->sample : arguments->limit,
                           .random = arguments->sample > 0,
                           .strict = arguments->strict,
                           .seed = (uint64_t)seed,
                           .sources = &dq_pb_source,
                           .source_count = 1};
}

dq_status dq_open_data(dq_data **data, const dq_data_arguments *arguments, int64_t seed, const dq_context *context,
                       dq_error *error) {
  dq_data_options options = dq_data_options_of(arguments, seed);
  return dq_data_open(data, &options, context, error);
}

const char *dq_task_of(const dq_data_arguments *arguments) {
  static const char *const tasks[] = {NULL, "classify", "segment", "detect", "none"};
  return tasks[arguments->task];
}

void dq_recall_preset(dq_data_arguments *arguments, const dq_graph *graph, const dq_context *context) {
  dq_data_options options = dq_data_options_of(arguments, 0);
  dq_apply_stored_preset(&options, graph, context);
  arguments->preprocess = options.preprocess;
}

dq_status dq_read_shapes(const dq_option_list *texts, const dq_graph *graph, int64_t batch, dq_arena *arena,
                         dq_shape_request *request, dq_error *error) {
  *request = (dq_shape_request){.batch = batch};
  return dq_input_shapes_read(request, texts->items, texts->count, &graph, graph ? 1 : 0, arena, error);
}

dq_status dq_verify_model(const char *path, const dq_context *context, dq_error *error) {
  struct stat info;
  if (!strcmp(path, "-") || (!stat(path, &info) && !S_ISREG(info.st_mode))) return DQ_OK;
  dq_graph *again = NULL;
  dq_status status = dq_onnx_load(&again, path, context, error);
  dq_graph_free(again);
  return status;
}

dq_status dq_split_names(const dq_option_list *texts, dq_arena *arena, const char *const **names, int *count,
                         dq_error *error) {
  *count = 0;
  for (int i = 0; i < texts->count; i++) {
    ++*count;
    for (const char *c = texts->items[i]; *c; c++) *count += *c == ',';
  }
  const char **list = DQ_NEW_ARRAY(arena, *count, const char *);
  if (!list) return dq_fail_memory(error, 0);
  int n = 0;
  for (int i = 0; i < texts->count; i++)
    for (const char *at = texts->items[i];; at++) {
      size_t length = strcspn(at, ",");
      if (!(list[n++] = dq_arena_strndup(arena, at, length))) return dq_fail_memory(error, length);
      at += length;
      if (!*at) break;
    }
  *names = list;
  return DQ_OK;
}
