// Reading and writing ranks per layer as JSON.
#include "decomp/ranks_file.h"

#include <jansson.h>
#include <string.h>

#include "lib/base/file.h"

static const char SCHEMA[] = "dq-ranks";
enum { VERSION = 1 };

static dq_status read_rank(const json_t *ranks, const char *layer, const char *key, int64_t *rank,
                           dq_error *error) {
  const json_t *value = json_object_get(ranks, key);
  if (!json_is_integer(value) || json_integer_value(value) < 1)
    return dq_fail(error, DQ_BAD_INPUT, "layer '%s': '%s' is not a positive integer", layer, key);
  *rank = json_integer_value(value);
  return DQ_OK;
}

static dq_status read_layers(json_t *root, dq_arena *arena, dq_layer_ranks **layers, int *count,
                             dq_error *error) {
  const char *schema = json_string_value(json_object_get(root, "schema"));
  if (!schema || strcmp(schema, SCHEMA) != 0)
    return dq_fail(error, DQ_BAD_INPUT, "schema is '%s', expected '%s'", schema ? schema : "",
                   SCHEMA);
  if (json_integer_value(json_object_get(root, "version")) != VERSION)
    return dq_fail(error, DQ_BAD_INPUT, "version is not %d", VERSION);
  json_t *all = json_object_get(root, "layers"), *ranks;
  size_t size = json_object_size(all);
  if (!size) return dq_fail(error, DQ_BAD_INPUT, "no layers");
  *layers = DQ_NEW_ARRAY(arena, size, dq_layer_ranks);
  if (!*layers) return dq_fail_memory(error, size * sizeof **layers);
  const char *name;
  json_object_foreach(all, name, ranks) {
    dq_layer_ranks *layer = &(*layers)[(*count)++];
    layer->layer = dq_arena_strdup(arena, name);
    if (!layer->layer) return dq_fail_memory(error, strlen(name));
    DQ_TRY(read_rank(ranks, name, "out", &layer->ranks.out, error));
    DQ_TRY(read_rank(ranks, name, "in", &layer->ranks.in, error));
  }
  return DQ_OK;
}

dq_status dq_ranks_load(const char *path, dq_arena *arena, dq_layer_ranks **layers, int *count,
                        dq_error *error) {
  *count = 0;
  dq_file file;
  DQ_TRY(dq_file_open(&file, path, error));
  json_error_t where;
  json_t *root = json_loadb((const char *)file.data, file.size, JSON_REJECT_DUPLICATES, &where);
  dq_file_close(&file);
  if (!root) return dq_fail(error, DQ_BAD_INPUT, "%s: line %d: %s", path, where.line, where.text);
  dq_status status = read_layers(root, arena, layers, count, error);
  json_decref(root);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s", path);
}

static json_t *make_json(const dq_tucker_report *report) {
  json_t *layers = json_object();
  for (int i = 0; i < report->count; i++) {
    const dq_tucker_layer *layer = &report->layers[i];
    if (layer->reason[0]) continue;
    json_t *ranks = json_pack("{s:I, s:I}", "out", (json_int_t)layer->ranks.out, "in",
                              (json_int_t)layer->ranks.in);
    if (json_object_set_new(layers, layer->name, ranks)) {
      json_decref(layers);
      return NULL;
    }
  }
  return json_pack("{s:s, s:i, s:o}", "schema", SCHEMA, "version", VERSION, "layers", layers);
}

dq_status dq_ranks_save(const char *path, const dq_tucker_report *report, dq_error *error) {
  json_t *root = make_json(report);
  if (!root) return dq_fail_memory(error, (size_t)report->count * sizeof(dq_layer_ranks));
  dq_output output;
  dq_status status = dq_output_open(&output, path, error);
  if (status == DQ_OK) {
    bool written =
        !json_dumpf(root, output.stream, JSON_INDENT(2)) && fputc('\n', output.stream) >= 0;
    status = written ? dq_output_commit(&output, error) : dq_fail_errno(error, path);
    if (!written) dq_output_discard(&output);
  }
  json_decref(root);
  return status;
}
