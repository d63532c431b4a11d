// Reading and writing ranks per layer as JSON.
#include "decomp/tucker/ranks_file.h"

#include <string.h>

#include "lib/settings/settings_file.h"

static const char SCHEMA[] = "dq-ranks";
enum { VERSION = 1 };

static dq_status read_rank(const json_t *ranks, const char *layer, const char *key, int64_t *rank, dq_error *error) {
  const json_t *value = json_object_get(ranks, key);
  if (!json_is_integer(value) || json_integer_value(value) < 1)
    return dq_fail(error, DQ_BAD_INPUT, "layer '%s': '%s' is not a positive integer", layer, key);
  *rank = json_integer_value(value);
  return DQ_OK;
}

static dq_status read_layers(json_t *root, dq_arena *arena, dq_layer_ranks **layers, int *count, dq_error *error) {
  json_t *all = json_object_get(root, "layers"), *ranks;
  size_t size = json_object_size(all);
  if (!json_is_object(all))
    return dq_fail(error, DQ_BAD_INPUT, "'layers' is no object, expected the ranks of each layer by its name");
  *layers = DQ_NEW_ARRAY(arena, size + 1, dq_layer_ranks);
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

dq_status dq_ranks_load(const char *path, dq_arena *arena, dq_layer_ranks **layers, int *count, dq_error *error) {
  *count = 0;
  dq_settings_file settings;
  DQ_TRY(dq_settings_open(&settings, path, SCHEMA, VERSION, error));
  dq_status status = read_layers(settings.root, arena, layers, count, error);
  dq_settings_close(&settings);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s", path);
}

static json_t *make_json(const dq_tucker_report *report) {
  json_t *layers = json_object();
  for (int i = 0; i < report->count; i++) {
    const dq_tucker_layer *layer = &report->layers[i];
    if (layer->reason[0]) continue;
    json_t *ranks = json_pack("{s:I, s:I}", "out", (json_int_t)layer->ranks.out, "in", (json_int_t)layer->ranks.in);
    if (json_object_set_new(layers, layer->name, ranks)) {
      json_decref(layers);
      return NULL;
    }
  }
  return json_pack("{s:s, s:i, s:o}", "schema", SCHEMA, "version", VERSION, "layers", layers);
}

dq_status dq_ranks_save(const char *path, const dq_tucker_report *report, dq_error *error) {
  for (int i = 0; i < report->count; i++)
    if (!report->layers[i].reason[0]) DQ_TRY(dq_settings_check_name("layer", report->layers[i].name, error));
  return dq_settings_save(make_json(report), path, error);
}
