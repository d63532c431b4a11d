#include "quant/amp/policy.h"

#include <string.h>

#include "lib/base/sizes.h"
#include "lib/graph/patterns.h"
#include "lib/settings/settings_file.h"
#include "lib/text/find_row.h"
#include "lib/text/nearest.h"

static const char SCHEMA[] = "dq-policy";
enum { VERSION = 1, COLOURS = 3 };
static const char *const categories[COLOURS] = {[DQ_DENY] = "deny", [DQ_ALLOW] = "allow", [DQ_FOLLOW] = "follow"};

const dq_policy_rule *dq_policy_find(const dq_policy *policy, const dq_node *node) {
  for (int i = policy->node_count; i-- > 0;)
    if (dq_pattern_fits(policy->nodes[i].name, node)) return &policy->nodes[i];
  for (int i = 0; i < policy->operator_count; i++)
    if (!strcmp(policy->operators[i].name, node->op_type)) return &policy->operators[i];
  return NULL;
}

static dq_status read_category(const dq_settings_file *settings, const char *name, const json_t *value,
                               dq_category *category, dq_error *error) {
  const char *text = json_string_value(value);
  const int found = text ? dq_find_row(text, categories, sizeof *categories, COLOURS) : -1;
  if (found < 0)
    return dq_settings_fail(settings, name, "the colour of", ": expected \"allow\", \"follow\" or \"deny\"", error);
  *category = (dq_category)found;
  return DQ_OK;
}

static dq_status read_rules(const dq_settings_file *settings, const char *field, const char *reason, dq_arena *arena,
                            dq_policy_rule **rules, int *count, dq_error *error) {
  json_t *list = json_object_get(settings->root, field), *value;
  if (!list) return DQ_OK;
  if (!json_is_object(list)) return dq_settings_fail(settings, field, "field", " is not an object", error);
  *rules = DQ_NEW_ARRAY(arena, json_object_size(list) + 1, dq_policy_rule);
  if (!*rules) return dq_fail_memory(error, 0);
  const char *name;
  json_object_foreach(list, name, value) {
    dq_policy_rule *rule = &(*rules)[(*count)++];
    rule->name = dq_arena_strdup(arena, name);
    rule->reason = dq_arena_printf(arena, "%s '%s'", reason, name);
    if (!rule->name || !rule->reason) return dq_fail_memory(error, strlen(name));
    DQ_TRY(read_category(settings, name, value, &rule->category, error));
  }
  return DQ_OK;
}

static dq_status check_fields(const dq_settings_file *settings, dq_error *error) {
  static const char *const known[] = {"schema", "version", "operators", "nodes", "others"};
  enum { KNOWN = DQ_COUNT(known) };
  const char *field;
  json_t *value;
  json_object_foreach(settings->root, field, value) {
    dq_nearest nearest = dq_nearest_begin(field);
    int i = 0;
    while (i < KNOWN && strcmp(known[i], field)) dq_nearest_offer(&nearest, known[i++]);
    if (i < KNOWN) continue;
    dq_settings_fail(settings, field, "unknown field", "", error);
    if (nearest.name) dq_error_hint(error, "did you mean '%s'?", nearest.name);
    return DQ_BAD_INPUT;
  }
  return DQ_OK;
}

static dq_status read_policy(const dq_settings_file *settings, dq_policy *policy, dq_arena *arena, dq_error *error) {
  DQ_TRY(check_fields(settings, error));
  DQ_TRY(
      read_rules(settings, "operators", "policy: operator", arena, &policy->operators, &policy->operator_count, error));
  DQ_TRY(read_rules(settings, "nodes", "policy: nodes", arena, &policy->nodes, &policy->node_count, error));
  if (!policy->operator_count && !policy->node_count)
    return dq_fail(error, DQ_BAD_INPUT, "%s: no operators and no nodes", settings->path);
  const json_t *others = json_object_get(settings->root, "others");
  const char *text = others ? json_string_value(others) : "table";
  if (!text || (strcmp(text, "table") && strcmp(text, "deny")))
    return dq_settings_fail(settings, "others", "field", ": expected \"table\" or \"deny\"", error);
  policy->complete = !strcmp(text, "deny");
  return DQ_OK;
}

dq_status dq_policy_load(dq_policy *policy, const char *path, dq_arena *arena, dq_error *error) {
  *policy = (dq_policy){.path = dq_arena_strdup(arena, path)};
  if (!policy->path) return dq_fail_memory(error, 0);
  dq_settings_file settings;
  DQ_TRY(dq_settings_open(&settings, path, SCHEMA, VERSION, error));
  dq_status status = read_policy(&settings, policy, arena, error);
  dq_settings_close(&settings);
  return status;
}
