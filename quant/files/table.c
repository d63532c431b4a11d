// Calibration tables: hashes, looking up, the JSON form.
#include "quant/files/table.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/settings/settings_file.h"
#include "lib/session/inputs.h"
#include "quant/files/table_internal.h"

static const char SCHEMA[] = "dq-calibration";
enum { VERSION = 1, HASH_TEXT = 17 };

// ---- Hashes ----

// All samples of one input.
static dq_status hash_input(XXH64_state_t *state, const dq_fed_inputs *inputs, int i, dq_error *error) {
  const dq_fed_input *input = &inputs->items[i];
  size_t bytes = (size_t)dq_tensor_product(&input->shape, 1, input->shape.rank) * sizeof(float);
  DQ_TRY(dq_input_set_shape(inputs, i, error));
  float *picture = malloc(bytes + 1);
  dq_status status = picture ? DQ_OK : dq_fail_memory(error, bytes);
  for (int64_t s = 0; status == DQ_OK && s < dq_data_count(input->data); s++) {
    status = dq_data_read(input->data, s, picture, NULL, error);
    if (status == DQ_OK) XXH64_update(state, picture, bytes);
    if (status == DQ_OK && dq_data_check_stop(input->data, error) == DQ_CANCELLED) {
      free(picture);
      return DQ_CANCELLED;
    }
  }
  free(picture);
  return dq_input_failed(inputs, i, status, error);
}

dq_status dq_data_hash(uint64_t *hash, const dq_graph *graph, const dq_shape_request *shapes, dq_data *data,
                       dq_error *error) {
  dq_fed_inputs inputs = {0};
  dq_arena *arena = dq_arena_new(0);
  XXH64_state_t *state = XXH64_createState();
  dq_status status = arena && state ? DQ_OK : dq_fail_memory(error, sizeof inputs);
  if (state) XXH64_reset(state, 0);
  if (status == DQ_OK) status = dq_inputs_open(&inputs, graph, shapes, data, arena, error);
  for (int i = 0; status == DQ_OK && i < inputs.count; i++) status = hash_input(state, &inputs, i, error);
  if (status == DQ_OK) *hash = XXH64_digest(state);
  XXH64_freeState(state);
  dq_arena_free(arena);
  return status;
}

// ---- Copies ----

static dq_status copy_ranges(dq_calibration_table *copy, const dq_calibration_table *table, dq_arena *arena,
                             dq_error *error) {
  copy->ranges = DQ_NEW_ARRAY(arena, table->count + 1, dq_calibration_table_range);
  for (int i = 0; copy->ranges && i < table->count; i++) {
    copy->ranges[i] = table->ranges[i];
    if (!(copy->ranges[i].value = dq_arena_strdup(arena, table->ranges[i].value))) return dq_fail_memory(error, 0);
  }
  return copy->ranges ? DQ_OK : dq_fail_memory(error, 0);
}

dq_status dq_calibration_table_copy(dq_calibration_table *copy, const dq_calibration_table *table, dq_arena *arena,
                                    dq_error *error) {
  *copy = *table;
  if (table->preprocess) copy->preprocess = dq_arena_strdup(arena, table->preprocess);
  copy->means.values = dq_input_means_copy(&table->means, arena);
  copy->absorption.values = dq_input_means_copy(&table->absorption, arena);
  if ((table->preprocess && !copy->preprocess) || !copy->means.values || !copy->absorption.values)
    return dq_fail_memory(error, 0);
  DQ_TRY(dq_equalization_copy(&copy->equalization, &table->equalization, arena, error));
  DQ_TRY(dq_input_levels_copy(&copy->levels, &table->levels, arena, error));
  return copy_ranges(copy, table, arena, error);
}

static dq_status check_hash(const char *what, const char *path, uint64_t table, uint64_t here, dq_error *error) {
  if (table == here) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "%s: the table is of another %s: %016" PRIx64 ", expected %016" PRIx64, path,
                 what, table, here);
}

dq_status dq_calibration_table_check(const dq_calibration_table *table, const char *path, uint64_t model,
                                     const uint64_t *data, dq_error *error) {
  if (table->foreign) return DQ_OK; // of no model that it names
  DQ_TRY(check_hash("model", path, table->model, model, error));
  return data ? check_hash("data", path, table->data, *data, error) : DQ_OK;
}

const dq_calibration_table_range *dq_calibration_table_find(const dq_calibration_table *table, const char *value) {
  for (int i = 0; i < table->count; i++)
    if (!strcmp(table->ranges[i].value, value)) return &table->ranges[i];
  return NULL;
}

dq_status dq_calibration_table_index(dq_name_list *index, const dq_calibration_table *table, dq_arena *arena,
                                     dq_error *error) {
  if (!dq_name_list_new(index, table->count, arena)) return dq_fail_memory(error, 0);
  for (int i = 0; i < table->count; i++) dq_name_list_add(index, table->ranges[i].value, i);
  dq_name_list_sort(index);
  return DQ_OK;
}

// Adds the ranges of `found` that `known`, the index of the table, lacks.
static dq_status add_unknown(dq_calibration_table *table, const dq_name_list *known, const dq_calibration_table *found,
                             dq_arena *arena, dq_error *error) {
  int more = 0;
  for (int i = 0; i < found->count; i++) more += dq_name_list_find(known, found->ranges[i].value) < 0;
  if (!more) return DQ_OK;
  dq_calibration_table all = *table;
  all.ranges = DQ_NEW_ARRAY(arena, table->count + more, dq_calibration_table_range);
  if (!all.ranges) return dq_fail_memory(error, 0);
  if (table->count) memcpy(all.ranges, table->ranges, (size_t)table->count * sizeof *all.ranges);
  for (int i = 0; i < found->count; i++) {
    if (dq_name_list_find(known, found->ranges[i].value) >= 0) continue;
    dq_calibration_table_range *range = &all.ranges[all.count++];
    *range = found->ranges[i];
    if (!(range->value = dq_arena_strdup(arena, range->value))) return dq_fail_memory(error, 0);
  }
  *table = all;
  return DQ_OK;
}

dq_status dq_calibration_table_add(dq_calibration_table *table, const dq_calibration_table *found, dq_arena *arena,
                                   dq_error *error) {
  dq_name_list known;
  dq_arena *own = dq_arena_beside(arena);
  dq_status status = own ? dq_calibration_table_index(&known, table, own, error) : dq_fail_memory(error, 0);
  if (status == DQ_OK) status = add_unknown(table, &known, found, arena, error);
  dq_arena_free(own);
  return status;
}

// ---- Reading ----

static dq_status read_hash(const json_t *root, const char *key, uint64_t *hash, dq_error *error) {
  const char *text = json_string_value(json_object_get(root, key));
  char *end = NULL;
  if (text) *hash = strtoull(text, &end, 16);
  if (text && strlen(text) == HASH_TEXT - 1 && !*end) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "'%s' is not a hash of %d hexadecimal digits", key, HASH_TEXT - 1);
}

static dq_status read_bound(const json_t *entry, const char *value, const char *key, float *to, dq_error *error) {
  const json_t *number = json_object_get(entry, key);
  *to = (float)json_number_value(number);
  if (json_is_number(number) && isfinite(*to)) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "value '%s': '%s' is not a finite number", value, key);
}

static dq_status read_range(const json_t *entry, const char *value, dq_range_pair *range, dq_error *error) {
  DQ_TRY(read_bound(entry, value, "low", &range->low, error));
  DQ_TRY(read_bound(entry, value, "high", &range->high, error));
  if (range->low > range->high)
    return dq_fail(error, DQ_BAD_INPUT, "value '%s': low %g is above high %g", value, (double)range->low,
                   (double)range->high);
  if (range->low == range->high && !json_is_true(json_object_get(entry, "silent")))
    return dq_fail(error, DQ_BAD_INPUT, "value '%s': the range has no width", value);
  return DQ_OK;
}

static dq_status read_ranges(dq_calibration_table *table, json_t *values, dq_arena *arena, dq_error *error) {
  const char *name;
  json_t *entry;
  if (!json_object_size(values))
    return dq_fail(error, DQ_BAD_INPUT, "'values' has no value, expected the ranges of one or more");
  table->ranges = DQ_NEW_ARRAY(arena, json_object_size(values), dq_calibration_table_range);
  if (!table->ranges) return dq_fail_memory(error, 0);
  json_object_foreach(values, name, entry) {
    dq_calibration_table_range *range = &table->ranges[table->count++];
    if (!(range->value = dq_arena_strdup(arena, name))) return dq_fail_memory(error, 0);
    range->searched = json_is_true(json_object_get(entry, "searched"));
    DQ_TRY(read_range(entry, name, &range->range, error));
  }
  return DQ_OK;
}

static dq_status read_numbers(const json_t *list, const char *value, double *to, dq_error *error) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    to[i] = json_number_value(json_array_get(list, i));
    if (!json_is_number(json_array_get(list, i)) || !isfinite(to[i]))
      return dq_fail(error, DQ_BAD_INPUT, "value '%s': channel %zu is not a finite number", value, i);
  }
  return json_array_size(list)
             ? DQ_OK
             : dq_fail(error, DQ_BAD_INPUT, "value '%s' has no channels, expected a number for each", value);
}

static dq_status read_means(dq_input_means *means, json_t *object, dq_arena *arena, dq_error *error) {
  dq_channel_means *values = DQ_NEW_ARRAY(arena, json_object_size(object), dq_channel_means);
  if (!values) return dq_fail_memory(error, 0);
  const char *name;
  json_t *list;
  json_object_foreach(object, name, list) {
    double *numbers = DQ_NEW_ARRAY(arena, json_array_size(list), double);
    dq_channel_means *to = &values[means->count++];
    *to = (dq_channel_means){dq_arena_strdup(arena, name), (int64_t)json_array_size(list), numbers};
    if (!numbers || !to->value) return dq_fail_memory(error, 0);
    DQ_TRY(read_numbers(list, name, numbers, error));
  }
  means->values = values;
  return DQ_OK;
}

// Factors are written as the means are, and checked to be positive float32.
static dq_status read_factors(dq_equalization *equalization, json_t *object, dq_arena *arena, dq_error *error) {
  dq_input_means numbers = {0};
  DQ_TRY(read_means(&numbers, object, arena, error));
  dq_equalize_site *sites = DQ_NEW_ARRAY(arena, numbers.count, dq_equalize_site);
  if (!sites) return dq_fail_memory(error, 0);
  for (int s = 0; s < numbers.count; s++) {
    const dq_channel_means *from = &numbers.values[s];
    float *factors = DQ_NEW_ARRAY(arena, from->channels, float);
    if (!factors) return dq_fail_memory(error, 0);
    for (int64_t c = 0; c < from->channels; c++) {
      factors[c] = (float)from->means[c];
      if (!(factors[c] > 0) || !isfinite(factors[c]))
        return dq_fail(error, DQ_BAD_INPUT, "value '%s': factor of channel %lld is not positive", from->value,
                       (long long)c);
    }
    sites[s] = (dq_equalize_site){from->value, from->channels, factors};
  }
  *equalization = (dq_equalization){sites, numbers.count};
  return DQ_OK;
}

static dq_status read_amounts(dq_absorption *absorption, json_t *object, dq_arena *arena, dq_error *error) {
  DQ_TRY(read_means(absorption, object, arena, error));
  for (int v = 0; v < absorption->count; v++)
    for (int64_t c = 0; c < absorption->values[v].channels; c++)
      if (!(absorption->values[v].means[c] >= 0))
        return dq_fail(error, DQ_BAD_INPUT, "value '%s': the amount of channel %lld is below 0",
                       absorption->values[v].value, (long long)c);
  return DQ_OK;
}

static const char *const rules[] = {[DQ_ACCUMULATE_AUTO] = "int32", // nothing asked of a table in the making
                                    [DQ_ACCUMULATE_INT32] = "int32",
                                    [DQ_ACCUMULATE_PAIRS] = "pairs",
                                    [DQ_ACCUMULATE_INT16] = "int16"};

// Tables without it are of models whose sums are int32.
static dq_status read_accumulator(dq_accumulator_choice *choice, const json_t *object, dq_error *error) {
  const json_t *noise = json_object_get(object, "noise");
  const char *name = json_string_value(json_object_get(object, "rule"));
  *choice = (dq_accumulator_choice){DQ_ACCUMULATE_INT32, json_number_value(noise)};
  if (!object) return DQ_OK;
  if (noise && !json_is_number(noise)) return dq_fail(error, DQ_BAD_INPUT, "'accumulator': 'noise' is not a number");
  for (int i = DQ_ACCUMULATE_INT32; name && i <= DQ_ACCUMULATE_INT16; i++)
    if (!strcmp(name, rules[i])) {
      choice->rule = (dq_accumulator)i;
      return DQ_OK;
    }
  return dq_fail(error, DQ_BAD_INPUT, "'accumulator': 'rule' is not one of int32, pairs, int16");
}

static json_t *accumulator_json(const dq_accumulator_choice *choice) {
  json_t *object = json_pack("{s:s}", "rule", rules[choice->rule]);
  if (choice->rule == DQ_ACCUMULATE_PAIRS) json_object_set_new(object, "noise", json_real(choice->pairs_noise));
  return object;
}

static dq_status read_table(dq_calibration_table *table, json_t *root, dq_arena *arena, dq_error *error) {
  const char *method = json_string_value(json_object_get(root, "method"));
  const char *preprocess = json_string_value(json_object_get(root, "preprocess"));
  table->method = dq_arena_strdup(arena, method ? method : "");
  table->preprocess = dq_arena_strdup(arena, preprocess ? preprocess : "");
  if (!table->method || !table->preprocess) return dq_fail_memory(error, 0);
  table->pictures = json_integer_value(json_object_get(root, "pictures"));
  DQ_TRY(read_hash(root, "model", &table->model, error));
  DQ_TRY(read_hash(root, "data", &table->data, error));
  DQ_TRY(read_ranges(table, json_object_get(root, "values"), arena, error));
  DQ_TRY(read_factors(&table->equalization, json_object_get(root, "equalize"), arena, error));
  DQ_TRY(read_amounts(&table->absorption, json_object_get(root, "absorb"), arena, error));
  DQ_TRY(dq_table_read_levels(&table->levels, json_object_get(root, "levels"), arena, error));
  DQ_TRY(read_accumulator(&table->accumulator, json_object_get(root, "accumulator"), error));
  DQ_TRY(dq_table_read_rounding(&table->rounding, json_object_get(root, "rounding"), arena, error));
  return read_means(&table->means, json_object_get(root, "means"), arena, error);
}

dq_status dq_calibration_table_read_dq(dq_calibration_table *table, const char *path, dq_arena *arena,
                                       dq_error *error) {
  dq_settings_file settings;
  DQ_TRY(dq_settings_open(&settings, path, SCHEMA, VERSION, error));
  dq_status status = read_table(table, settings.root, arena, error);
  dq_settings_close(&settings);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s", path);
}

// ---- Writing ----

static json_t *ranges_json(const dq_calibration_table *table) {
  json_t *values = json_object();
  for (int i = 0; i < table->count; i++) {
    const dq_calibration_table_range *range = &table->ranges[i];
    json_t *entry = json_pack("{s:f, s:f}", "low", (double)range->range.low, "high", (double)range->range.high);
    if (range->range.low == range->range.high) json_object_set_new(entry, "silent", json_true());
    if (range->searched) json_object_set_new(entry, "searched", json_true());
    json_object_set_new(values, range->value, entry);
  }
  return values;
}

static json_t *factors_json(const dq_equalization *equalization) {
  json_t *object = json_object();
  for (int s = 0; s < equalization->count; s++) {
    json_t *list = json_array();
    for (int64_t c = 0; c < equalization->sites[s].channels; c++)
      json_array_append_new(list, json_real((double)equalization->sites[s].factors[c]));
    json_object_set_new(object, equalization->sites[s].value, list);
  }
  return object;
}

static json_t *means_json(const dq_input_means *means) {
  json_t *object = json_object();
  for (int v = 0; v < means->count; v++) {
    json_t *list = json_array();
    for (int64_t c = 0; c < means->values[v].channels; c++)
      json_array_append_new(list, json_real(means->values[v].means[c]));
    json_object_set_new(object, means->values[v].value, list);
  }
  return object;
}

bool dq_calibration_table_write_dq(const dq_calibration_table *table, FILE *to) {
  char model[HASH_TEXT], data[HASH_TEXT];
  snprintf(model, sizeof model, "%016" PRIx64, table->model);
  snprintf(data, sizeof data, "%016" PRIx64, table->data);
  json_t *root = json_pack("{s:s, s:i, s:s, s:s, s:s, s:I, s:s, s:o, s:o, s:o, s:o}", "schema", SCHEMA, "version",
                           VERSION, "model", model, "data", data, "method", table->method, "pictures",
                           (json_int_t)table->pictures, "preprocess", table->preprocess, "values", ranges_json(table),
                           "equalize", factors_json(&table->equalization), "accumulator",
                           accumulator_json(&table->accumulator), "means", means_json(&table->means));
  if (table->absorption.count) json_object_set_new(root, "absorb", means_json(&table->absorption));
  if (table->levels.input) json_object_set_new(root, "levels", dq_table_levels_json(&table->levels));
  if (table->rounding.count) json_object_set_new(root, "rounding", dq_table_rounding_json(&table->rounding));
  bool written = root && !json_dumpf(root, to, JSON_INDENT(1)) && fputc('\n', to) >= 0;
  json_decref(root);
  return written;
}

dq_status dq_calibration_table_save(const dq_calibration_table *table, const char *path, dq_error *error) {
  return dq_calibration_table_export(table, dq_calibration_table_format_at(0), path, error);
}
