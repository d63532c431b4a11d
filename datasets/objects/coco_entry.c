// Entries of the arrays of a file of COCO: their JSON, their members, and finding one by its id.
#include "datasets/objects/coco.h"

// The largest entry of an array; the JSON of an entry takes less than EXPANSION times its text.
enum { LARGEST_ENTRY = 4 << 20, EXPANSION = 24 };

dq_status dq_coco_parse(json_t **json, dq_json_span span, dq_budget *budget, dq_error *error) {
  json_error_t where;
  *json = NULL;
  if (span.size > LARGEST_ENTRY)
    return dq_fail(error, DQ_BAD_INPUT, "has %zu bytes, expected at most %d", span.size, LARGEST_ENTRY);
  if (!dq_budget_reserve(budget, EXPANSION * span.size)) return dq_fail_memory(error, EXPANSION * span.size);
  *json = json_loadb(span.text, span.size, JSON_REJECT_DUPLICATES, &where);
  dq_budget_release(budget, EXPANSION * span.size);
  if (json_is_object(*json)) return DQ_OK;
  if (*json) dq_fail(error, DQ_BAD_INPUT, "not an object");
  else dq_fail(error, DQ_BAD_INPUT, "%s", where.text);
  json_decref(*json);
  return DQ_BAD_INPUT;
}

dq_status dq_coco_integer(const json_t *entry, const char *name, int64_t *value, dq_error *error) {
  const json_t *number = json_object_get(entry, name);
  *value = json_integer_value(number);
  if (json_is_integer(number)) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, number ? "'%s' is not a whole number" : "'%s' is missing", name);
}

int64_t dq_coco_find(const dq_coco_entry *entries, int64_t count, int64_t id) {
  int64_t low = 0, high = count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (entries[middle].id < id) low = middle + 1;
    else high = middle;
  }
  return low < count && entries[low].id == id ? low : -1;
}
