#include "quant/int8/hook_spec.h"

#include <jansson.h>
#include <stdlib.h>

#include "lib/settings/settings_file.h"

static json_t *describe(const char *layer, dq_precision precision) {
  return json_pack("{s:s, s:s}", "layer", layer, "precision", dq_precision_name(precision));
}

// Takes `layers`.
static dq_status write_spec(const char *tool, json_t *layers, dq_arena *arena, const char **text, dq_error *error) {
  json_t *root = json_pack("{s:s, s:i, s:s, s:o}", "schema", "dq-hook", "version", 1, "tool", tool, "layers", layers);
  char *made = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
  *text = made ? dq_arena_printf(arena, "%s\n", made) : NULL;
  free(made);
  json_decref(root);
  return *text ? DQ_OK : dq_fail_memory(error, 0);
}

dq_status dq_int8_spec(const dq_int8_report *report, dq_arena *arena, const char **text, dq_error *error) {
  for (int i = 0; i < report->count; i++) DQ_TRY(dq_settings_check_name("layer", report->layers[i].label, error));
  json_t *layers = json_array();
  for (int i = 0; i < report->count; i++)
    json_array_append_new(layers, describe(report->layers[i].label, report->layers[i].precision));
  return write_spec("dq-int8", layers, arena, text, error);
}

dq_status dq_amp_spec(const dq_amp_report *report, dq_arena *arena, const char **text, dq_error *error) {
  for (int i = 0; i < report->count; i++) DQ_TRY(dq_settings_check_name("node", report->nodes[i].name, error));
  json_t *layers = json_array();
  for (int i = 0; i < report->count; i++) {
    const dq_amp_node *node = &report->nodes[i];
    dq_precision precision = node->half ? DQ_PRECISION_FP16 : DQ_PRECISION_FP32;
    if (!node->neutral && node->name[0]) json_array_append_new(layers, describe(node->name, precision));
  }
  return write_spec("dq-amp", layers, arena, text, error);
}
