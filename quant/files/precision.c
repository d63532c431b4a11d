#include "quant/files/precision.h"

#include <string.h>

#include "lib/settings/settings_file.h"
#include "lib/text/find_row.h"
#include "lib/text/nearest.h"

static const char SCHEMA[] = "dq-precision";
enum { VERSION = 1 };

static const struct precision_row {
  const char *name;
  int bytes;
} rows[] = {
#define DQ_PRECISION_ROW(symbol, name, bytes) {name, bytes},
#include "quant/files/precisions.def"
};

const char *dq_precision_name(dq_precision precision) { return rows[precision].name; }
int dq_precision_bytes(dq_precision precision) { return rows[precision].bytes; }

dq_status dq_layer_names(dq_name_list *names, const dq_graph *graph, dq_arena *arena, dq_error *error) {
  if (!dq_name_list_new(names, 2 * graph->node_count, arena)) return dq_fail_memory(error, 0);
  for (int n = 0; n < graph->node_count; n++) {
    const dq_node *node = graph->nodes[n];
    const dq_value *output = dq_node_output(node, 0);
    if (node->name[0]) dq_name_list_add(names, node->name, n);
    if (output) dq_name_list_add(names, output->name, n);
  }
  dq_name_list_sort(names);
  return DQ_OK;
}

dq_status dq_precision_index_make(dq_precision_index *index, const dq_precision_map *map, dq_arena *arena,
                                  dq_error *error) {
  *index = (dq_precision_index){.map = map};
  if (!map) return DQ_OK;
  if (!dq_name_list_new(&index->layers, map->count, arena)) return dq_fail_memory(error, 0);
  for (int i = 0; i < map->count; i++) dq_name_list_add(&index->layers, map->layers[i].layer, i);
  dq_name_list_sort(&index->layers);
  return DQ_OK;
}

// The first entry that has one of both names.
const dq_layer_precision *dq_precision_find(const dq_precision_index *index, const dq_node *node) {
  const dq_value *output = dq_node_output(node, 0);
  int named = node->name[0] ? dq_name_list_find(&index->layers, node->name) : -1;
  int made = output ? dq_name_list_find(&index->layers, output->name) : -1;
  int found = made < 0 || (named >= 0 && named < made) ? named : made;
  return found < 0 ? NULL : &index->map->layers[found];
}

// ---- Reading ----

static dq_status check_layer(const dq_settings_file *settings, const char *layer, const dq_name_list *known,
                             const dq_graph *graph, dq_error *error) {
  dq_nearest nearest = dq_nearest_begin(layer);
  if (dq_name_list_find(known, layer) >= 0) return DQ_OK;
  for (int n = 0; n < graph->node_count; n++) dq_nearest_offer(&nearest, dq_node_name(graph->nodes[n]));
  dq_settings_fail(settings, layer, "unknown layer", "", error);
  if (nearest.name) dq_error_hint(error, "did you mean '%s'?", nearest.name);
  return DQ_BAD_INPUT;
}

static dq_status read_precision(const dq_settings_file *settings, const char *layer, const json_t *value,
                                dq_precision *precision, dq_error *error) {
  const char *text = json_string_value(value);
  const int found = text ? dq_find_row(text, rows, sizeof *rows, DQ_PRECISIONS) : -1;
  if (found >= 0) {
    *precision = (dq_precision)found;
    return DQ_OK;
  }
  char about[160];
  snprintf(about, sizeof about, ": unknown precision%s%.40s%s, expected int8, fp16 or fp32", text ? " '" : "",
           text ? text : "", text ? "'" : "");
  return dq_settings_fail(settings, layer, "layer", about, error);
}

dq_status dq_precision_read(dq_precision_map *map, const dq_settings_file *settings, json_t *layers,
                            const dq_graph *graph, dq_arena *arena, dq_error *error) {
  json_t *value;
  *map = (dq_precision_map){0};
  if (!json_object_size(layers))
    return dq_fail(error, DQ_BAD_INPUT, "%s: 'layers' has no layer, expected the precision of one or more",
                   settings->path);
  map->layers = DQ_NEW_ARRAY(arena, json_object_size(layers), dq_layer_precision);
  if (!map->layers) return dq_fail_memory(error, 0);
  const char *name;
  dq_name_list known;
  DQ_TRY(dq_layer_names(&known, graph, arena, error));
  json_object_foreach(layers, name, value) {
    dq_layer_precision *layer = &map->layers[map->count++];
    if (!(layer->layer = dq_arena_strdup(arena, name))) return dq_fail_memory(error, strlen(name));
    DQ_TRY(check_layer(settings, name, &known, graph, error));
    DQ_TRY(read_precision(settings, name, value, &layer->precision, error));
  }
  return DQ_OK;
}

dq_status dq_precision_load(dq_precision_map *map, const char *path, const dq_graph *graph, dq_arena *arena,
                            dq_error *error) {
  dq_settings_file settings;
  DQ_TRY(dq_settings_open(&settings, path, SCHEMA, VERSION, error));
  dq_status status = dq_precision_read(map, &settings, json_object_get(settings.root, "layers"), graph, arena, error);
  dq_settings_close(&settings);
  return status;
}

// ---- Writing ----

json_t *dq_precision_json(const dq_precision_map *map) {
  json_t *layers = json_object();
  bool done = true;
  for (int i = 0; i < map->count && done; i++)
    done = !json_object_set_new(layers, map->layers[i].layer, json_string(rows[map->layers[i].precision].name));
  if (!done) json_decref(layers);
  return done ? layers : NULL;
}

dq_status dq_precision_save(const dq_precision_map *map, const char *path, dq_error *error) {
  for (int i = 0; i < map->count; i++) DQ_TRY(dq_settings_check_name("layer", map->layers[i].layer, error));
  return dq_settings_save(
      json_pack("{s:s, s:i, s:o}", "schema", SCHEMA, "version", VERSION, "layers", dq_precision_json(map)), path,
      error);
}
