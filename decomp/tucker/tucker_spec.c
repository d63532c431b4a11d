#include "decomp/tucker/tucker_spec.h"

#include <jansson.h>
#include <stdlib.h>

#include "lib/settings/settings_file.h"

static json_t *name_list(const char *const names[3]) {
  json_t *list = json_array();
  for (int i = 0; i < 3; i++)
    if (names[i]) json_array_append_new(list, json_string(names[i]));
  return list;
}

static json_t *describe(const dq_tucker_layer *layer) {
  return json_pack("{s:s, s:{s:I, s:I}, s:f, s:o, s:o}", "layer", layer->name, "ranks", "out",
                   (json_int_t)layer->ranks.out, "in", (json_int_t)layer->ranks.in, "error", layer->error, "nodes",
                   name_list(layer->nodes), "factors", name_list(layer->factors));
}

static dq_status check_names(const dq_tucker_layer *layer, dq_error *error) {
  if (layer->reason[0]) return DQ_OK;
  DQ_TRY(dq_settings_check_name("layer", layer->name, error));
  for (int i = 0; i < 3; i++) {
    if (layer->nodes[i]) DQ_TRY(dq_settings_check_name("node", layer->nodes[i], error));
    if (layer->factors[i]) DQ_TRY(dq_settings_check_name("initializer", layer->factors[i], error));
  }
  return DQ_OK;
}

dq_status dq_tucker_spec(const dq_tucker_report *report, dq_arena *arena, const char **text, dq_error *error) {
  for (int i = 0; i < report->count; i++) DQ_TRY(check_names(&report->layers[i], error));
  json_t *layers = json_array();
  for (int i = 0; i < report->count; i++)
    if (!report->layers[i].reason[0]) json_array_append_new(layers, describe(&report->layers[i]));
  json_t *root =
      json_pack("{s:s, s:i, s:s, s:o}", "schema", "dq-hook", "version", 1, "tool", "dq-tucker", "layers", layers);
  char *made = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
  *text = made ? dq_arena_printf(arena, "%s\n", made) : NULL;
  free(made);
  json_decref(root);
  return *text ? DQ_OK : dq_fail_memory(error, (size_t)report->count * sizeof *report->layers);
}

dq_status dq_tucker_nodes(const dq_tucker_report *report, dq_arena *arena, const char *const **names, int *count,
                          dq_error *error) {
  const char **list = DQ_NEW_ARRAY(arena, 3 * (report->decomposed + 1), const char *);
  if (!list) return dq_fail_memory(error, (size_t)report->decomposed * sizeof *list);
  *count = 0;
  for (int i = 0; i < report->count; i++)
    for (int part = 0; part < 3; part++)
      if (report->layers[i].nodes[part]) list[(*count)++] = report->layers[i].nodes[part];
  *names = list;
  return DQ_OK;
}
