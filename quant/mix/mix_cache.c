// What was measured, as a file (docs/FORMATS.md): costs of units and conversions, and points.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "lib/base/sizes.h"
#include "lib/document/origin.h"
#include "lib/settings/settings_file.h"
#include "quant/mix/mix_internal.h"
#include "version.h"

static const char SCHEMA[] = "dq-mix";
enum { VERSION = 5, HASH_TEXT = 17, PLACE_TEXT = DQ_MACHINE_TEXT + 64 };

// ---- What the measurements are of ----

typedef struct cache_key {
  char network[HASH_TEXT], data[HASH_TEXT];
  char eval[128], place[PLACE_TEXT];
  char settings[128];
} cache_key;

// Hashes the choices that steps of plans have by wisdom: another choice gives other times.
static uint64_t hash_of_wisdom(const dq_wisdom *wisdom) {
  uint64_t hash = 0;
  for (int i = 0; wisdom && i < dq_wisdom_count(wisdom); i++) {
    const dq_record *record = dq_wisdom_at(wisdom, i);
    char choice[DQ_CHOICE_TEXT];
    if (record->tried) continue;
    dq_choice_text(&record->choice, choice);
    hash = XXH3_64bits_withSeed(record->run, strlen(record->run), hash + record->withdrawn);
    hash = XXH3_64bits_withSeed(choice, strlen(choice), hash);
  }
  return hash;
}

static uint64_t hash_of_shapes(const dq_shape_request *shapes) {
  uint64_t hash = (uint64_t)shapes->batch;
  for (int i = 0; i < shapes->input_count; i++) {
    const dq_input_shape *shape = &shapes->inputs[i];
    hash = XXH3_64bits_withSeed(shape->name, strlen(shape->name), hash);
    hash = XXH3_64bits_withSeed(shape->dims, (size_t)shape->rank * sizeof *shape->dims, hash + shape->last);
  }
  return hash;
}

// What else a time or a noise depends on.
static void describe_settings(const dq_mix_options *options, const dq_context *context, char *text, size_t size) {
  const dq_int8_options *int8 = options->int8;
  snprintf(text, size,
           "batch %" PRId64 ", seed %" PRIu64 ", %s sums, decoder %s, shapes %016" PRIx64 ", wisdom %016" PRIx64,
           int8->batch, context->seed, context->half_sums ? "float16" : "float32", int8->decode ? int8->decode : "auto",
           hash_of_shapes(&int8->shapes), hash_of_wisdom(context->wisdom));
}

static void find_key(const dq_mix_search_state *search, cache_key *key) {
  const dq_mix_options *options = search->options;
  char machine[DQ_MACHINE_TEXT];
  dq_data *eval = options->eval ? options->eval : options->data;
  snprintf(key->network, sizeof key->network, "%016" PRIx64, dq_origin_hash(search->graph));
  snprintf(key->data, sizeof key->data, "%016" PRIx64, search->data);
  snprintf(key->eval, sizeof key->eval, "%lld %s %.16g", (long long)dq_data_count(eval),
           options->labelled ? options->before->figures[0].key : "agreement", options->before->figures[0].value);
  snprintf(key->place, sizeof key->place, "%s %s %d", dq_wisdom_build(),
           dq_wisdom_machine(search->context->cpu, machine), dq_pool_threads(search->context->pool));
  describe_settings(options, search->context, key->settings, sizeof key->settings);
}

static dq_status check_text(const dq_settings_file *file, const char *name, const char *expected, const char *what,
                            dq_error *error) {
  const char *text = json_string_value(json_object_get(file->root, name));
  if (text && !strcmp(text, expected)) return DQ_OK;
  dq_fail(error, DQ_BAD_INPUT, "%s: '%s' is '%.100s', expected '%.300s': the file is of %s", file->path, name,
          text ? text : "", expected, what);
  dq_error_hint(error, "without --resume the file is written anew");
  return DQ_BAD_INPUT;
}

// Another place; a file of version 0.1.0 does not name its program.
static dq_status check_place(const dq_settings_file *file, const cache_key *key, dq_error *error) {
  const char *program = json_string_value(json_object_get(file->root, "program"));
  char what[160];
  snprintf(what, sizeof what, "another machine, build of dq or number of threads (dq %.40s wrote it, this is dq %s)",
           program ? program : "0.1.0", DQ_VERSION);
  return check_text(file, "place", key->place, what, error);
}

static dq_status check_key(const dq_settings_file *file, const cache_key *key, dq_error *error) {
  DQ_TRY(check_text(file, "network", key->network, "another network", error));
  DQ_TRY(check_text(file, "data", key->data, "other data", error));
  DQ_TRY(check_text(file, "eval", key->eval, "other pictures to judge on", error));
  DQ_TRY(check_place(file, key, error));
  return check_text(file, "settings", key->settings, "another --batch, --seed, --shape, --decode or --wisdom", error);
}

// ---- Numbers ----

static json_t *means_json(const dq_mix_mean *means, int count) {
  json_t *list = json_array();
  for (int i = 0; i < count; i++) {
    json_array_append_new(list, json_real(means[i].sum));
    json_array_append_new(list, json_integer(means[i].count));
  }
  return list;
}

static json_t *numbers_json(const double *numbers, int count) {
  json_t *list = json_array();
  for (int i = 0; i < count; i++) json_array_append_new(list, json_real(isfinite(numbers[i]) ? numbers[i] : 1e300));
  return list;
}

static dq_status fail_member(const dq_settings_file *file, const char *name, const char *expected, dq_error *error) {
  return dq_fail(error, DQ_BAD_INPUT, "%s: '%s' is missing or broken, expected %s", file->path, name, expected);
}

static bool is_number(const json_t *value) { return json_is_number(value) && fabs(json_number_value(value)) <= 1e300; }

// Whole numbers of things and bytes fit a double exactly.
static const char COUNTS[] = "counts of 0 to 1e15";
static bool is_count(double number) { return number >= 0 && number <= 1e15; }

// A list of `count` numbers of a file; NULL: the file has none, and *error is set.
static const json_t *list_of(const dq_settings_file *file, const json_t *from, const char *name, int count,
                             dq_error *error) {
  const json_t *list = json_object_get(from, name);
  char expected[64];
  bool good = json_is_array(list) && json_array_size(list) == (size_t)count;
  for (int i = 0; i < count && good; i++) good = is_number(json_array_get(list, (size_t)i));
  snprintf(expected, sizeof expected, "%d numbers", count);
  if (!good) fail_member(file, name, expected, error);
  return good ? list : NULL;
}

static double number_at(const json_t *list, int i) { return json_number_value(json_array_get(list, (size_t)i)); }

static dq_status read_numbers(const dq_settings_file *file, const json_t *from, const char *name, double *numbers,
                              int count, dq_error *error) {
  const json_t *list = list_of(file, from, name, count, error);
  if (!list) return DQ_BAD_INPUT;
  for (int i = 0; i < count; i++) numbers[i] = number_at(list, i);
  return DQ_OK;
}

static dq_status read_means(const dq_settings_file *file, const json_t *from, const char *name, dq_mix_mean *means,
                            int count, dq_error *error) {
  const json_t *list = list_of(file, from, name, 2 * count, error);
  if (!list) return DQ_BAD_INPUT;
  for (int i = 0; i < count; i++) {
    double times = number_at(list, 2 * i + 1);
    if (!is_count(times)) return fail_member(file, name, COUNTS, error);
    means[i] = (dq_mix_mean){number_at(list, 2 * i), (int64_t)times};
  }
  return DQ_OK;
}

// ---- Costs ----

typedef struct cost_member {
  const char *name;
  dq_mix_mean *means; // NULL: numbers
  double *numbers;
  int count;
} cost_member;

enum { COST_MEMBERS = 10 };

static void list_members(dq_mix_costs *costs, cost_member members[COST_MEMBERS]) {
  int units = costs->network->unit_count * DQ_PRECISIONS, values = costs->network->value_count * DQ_PRECISIONS;
  const cost_member all[COST_MEMBERS] = {
      {"unit_seconds", costs->unit_seconds, NULL, units},
      {"value_seconds", costs->value_seconds, NULL, values * DQ_PRECISIONS},
      {"per_element", costs->per_element[0], NULL, DQ_PRECISIONS * DQ_PRECISIONS},
      {"other_seconds", &costs->other_seconds, NULL, 1},
      {"float32", NULL, &costs->float32, 1},
      {"other_noise", NULL, &costs->other_noise, 1},
      {"unit_noise", NULL, costs->unit_noise, units},
      {"value_noise", NULL, costs->value_noise, values},
      {"unit_alone", NULL, costs->unit_alone, units},
      {"value_alone", NULL, costs->value_alone, values},
  };
  memcpy(members, all, sizeof all);
}

static json_t *costs_json(dq_mix_costs *costs) {
  cost_member members[COST_MEMBERS];
  json_t *object = json_object();
  list_members(costs, members);
  for (int m = 0; m < COST_MEMBERS; m++)
    json_object_set_new(object, members[m].name,
                        members[m].means ? means_json(members[m].means, members[m].count)
                                         : numbers_json(members[m].numbers, members[m].count));
  return object;
}

static dq_status read_costs(dq_mix_search_state *search, const dq_settings_file *file) {
  const json_t *object = json_object_get(file->root, "costs");
  cost_member members[COST_MEMBERS];
  DQ_TRY(dq_mix_costs_open(&search->report->costs, &search->report->network, search->arena, search->error));
  list_members(&search->report->costs, members);
  for (int m = 0; m < COST_MEMBERS; m++) {
    const cost_member *member = &members[m];
    if (member->means) DQ_TRY(read_means(file, object, member->name, member->means, member->count, search->error));
    else DQ_TRY(read_numbers(file, object, member->name, member->numbers, member->count, search->error));
  }
  search->has_costs = true;
  return DQ_OK;
}

// ---- Points ----

// Places in `numbers` of a point that have whole numbers, and how many numbers there are.
enum { PREDICTED_BYTES = 3, BYTES = 9, PICTURES = 14, NUMBERS };

// A digit for each unit; where layers of a unit have different precisions, those of all layers by name.
static json_t *choice_json(const dq_mix_point *point, int units) {
  char choice[units + 1];
  if (!point->choice) return dq_precision_json(&point->map);
  for (int u = 0; u < units; u++) choice[u] = (char)('0' + point->choice[u]);
  choice[units] = 0;
  return json_string(choice);
}

static json_t *point_json(const dq_mix_point *point, int units) {
  const double figure = point->figures.count ? point->figures.figures[0].value : 0;
  const double numbers[] = {point->predicted.seconds,
                            point->predicted.noise,
                            point->predicted.conversions,
                            (double)point->predicted.bytes,
                            point->seconds,
                            point->ratio.median,
                            point->ratio.low,
                            point->ratio.high,
                            point->noise,
                            (double)point->bytes,
                            figure,
                            point->figures.points,
                            point->other_noise,
                            point->foreseen,
                            (double)point->figures.pictures};
  return json_pack("{s:s, s:i, s:i, s:o, s:f, s:o}", "name", point->name, "kind", (int)point->kind, "round",
                   point->changed, "choice", choice_json(point, units), "drop", point->drop, "numbers",
                   numbers_json(numbers, DQ_COUNT(numbers)));
}

static json_t *points_json(const dq_mix_report *report) {
  json_t *list = json_array();
  bool done = true;
  for (int p = 0; p < report->count && done; p++)
    if (report->points[p].measured)
      done = !json_array_append_new(list, point_json(&report->points[p], report->network.unit_count));
  if (!done) json_decref(list);
  return done ? list : NULL;
}

static dq_status read_choice(const dq_mix_search_state *search, const dq_settings_file *file, const char *text,
                             uint8_t *choice) {
  const dq_mix_network *network = &search->report->network;
  bool good = text && strlen(text) == (size_t)network->unit_count;
  for (int u = 0; good && u < network->unit_count; u++) {
    choice[u] = (uint8_t)(text[u] - '0');
    good = choice[u] < DQ_PRECISIONS && dq_mix_allows(network, u, (dq_precision)choice[u]);
  }
  return good ? DQ_OK : fail_member(file, "choice", "a digit for each unit", search->error);
}

static dq_status add_units(dq_mix_search_state *search, const dq_settings_file *file, const dq_mix_point *read,
                           const char *text, dq_mix_point **added) {
  uint8_t choice[search->report->network.unit_count];
  DQ_TRY(read_choice(search, file, text, choice));
  return dq_mix_add_choice(search, read->name, read->kind, choice, added);
}

static dq_status add_layers(dq_mix_search_state *search, const dq_settings_file *file, const dq_mix_point *read,
                            json_t *layers, dq_mix_point **added) {
  dq_precision_map map;
  if (read->kind != DQ_MIX_NAMED) return fail_member(file, "choice", "a digit for each unit", search->error);
  DQ_TRY(dq_precision_read(&map, file, layers, search->graph, search->arena, search->error));
  return dq_mix_add_map(search, &(dq_mix_named){read->name, &map}, added);
}

static void take_numbers(dq_mix_point *point, const double *n, const dq_result *before) {
  point->predicted =
      (dq_mix_prediction){.seconds = n[0], .noise = n[1], .conversions = n[2], .bytes = (int64_t)n[PREDICTED_BYTES]};
  point->seconds = n[4];
  point->ratio = (dq_time_ratio){.median = n[5], .low = n[6], .high = n[7]};
  point->noise = n[8];
  point->bytes = (int64_t)n[BYTES];
  point->figures = *before, point->figures.has_parts = false;
  point->figures.count = 1;
  point->figures.figures[0].value = n[10];
  point->figures.points = n[11];
  point->other_noise = n[12];
  point->foreseen = n[13];
  point->figures.pictures = (int64_t)n[PICTURES];
}

// An integer of 0 to `most`; -1: something else, or nothing.
static int read_index(const json_t *value, int most) {
  json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
  return number < 0 || number > most ? -1 : (int)number;
}

static dq_status read_point(dq_mix_search_state *search, const dq_settings_file *file, const json_t *from) {
  double numbers[NUMBERS];
  dq_mix_point *point;
  json_t *choice = json_object_get(from, "choice");
  const json_t *drop = json_object_get(from, "drop");
  const int kind = read_index(json_object_get(from, "kind"), DQ_MIX_BLIND);
  const dq_mix_point read = {.name = json_string_value(json_object_get(from, "name")),
                             .kind = (dq_mix_kind)kind,
                             .changed = read_index(json_object_get(from, "round"), search->rounds)};
  if (!read.name || !json_is_number(drop) || kind < 0 || read.changed < 0)
    return fail_member(file, "points", "a name, a kind, a round and a drop", search->error);
  DQ_TRY(read_numbers(file, from, "numbers", numbers, NUMBERS, search->error));
  if (!is_count(numbers[PREDICTED_BYTES]) || !is_count(numbers[BYTES]) || !is_count(numbers[PICTURES]))
    return fail_member(file, "numbers", COUNTS, search->error);
  DQ_TRY(json_is_object(choice) ? add_layers(search, file, &read, choice, &point)
                                : add_units(search, file, &read, json_string_value(choice), &point));
  if (!point) return fail_member(file, "points", "each choice once", search->error);
  take_numbers(point, numbers, search->options->before);
  point->changed = read.changed;
  point->drop = json_number_value(drop);
  point->measured = true;
  return point->choice ? dq_mix_observe(search, &(dq_mix_observation){point->choice, point->noise, point->foreseen})
                       : DQ_OK;
}

static dq_status read_points(dq_mix_search_state *search, const dq_settings_file *file) {
  const json_t *list = json_object_get(file->root, "points"), *rounds = json_object_get(file->root, "rounds");
  double pictures[2] = {0};
  if (!json_is_array(list)) return fail_member(file, "points", "a list", search->error);
  if (!json_is_integer(rounds) || json_integer_value(rounds) < 0 || json_integer_value(rounds) > 3)
    return fail_member(file, "rounds", "0 to 3", search->error);
  search->rounds = (int)json_integer_value(rounds);
  for (size_t p = 0; p < json_array_size(list); p++) DQ_TRY(read_point(search, file, json_array_get(list, p)));
  double three[3] = {0};
  DQ_TRY(read_numbers(file, file->root, "pictures", pictures, 2, search->error));
  if (!is_count(pictures[0]) || !is_count(pictures[1])) return fail_member(file, "pictures", COUNTS, search->error);
  DQ_TRY(read_numbers(file, file->root, "control", three, 3, search->error));
  DQ_TRY(read_numbers(file, file->root, "gap", &search->report->exact_gap, 1, search->error));
  dq_mix_report *report = search->report;
  report->tried = (int64_t)pictures[0];
  report->others = (int64_t)pictures[1];
  report->control = (dq_time_ratio){.median = three[0], .low = three[1], .high = three[2]};
  return DQ_OK;
}

// ---- The files ----

dq_status dq_mix_cache_load(dq_mix_search_state *search) {
  const dq_mix_options *options = search->options;
  dq_settings_file file;
  cache_key key;
  if (!options->cache || !options->resume || access(options->cache, F_OK)) return DQ_OK;
  find_key(search, &key);
  DQ_TRY(dq_settings_open(&file, options->cache, SCHEMA, VERSION, search->error));
  dq_status status = check_key(&file, &key, search->error);
  if (status == DQ_OK) status = read_costs(search, &file);
  if (status == DQ_OK) status = read_points(search, &file);
  dq_settings_close(&file);
  return status;
}

static const char *table_path(const dq_mix_search_state *search) {
  return dq_arena_printf(search->arena, "%s.table", search->options->cache);
}

dq_status dq_mix_cache_load_table(dq_mix_search_state *search, bool *found) {
  const dq_mix_options *options = search->options;
  *found = false;
  if (!options->cache) return DQ_OK;
  const char *path = table_path(search);
  dq_calibration_table *table = &search->maker.whole.table;
  if (!path) return dq_fail_memory(search->error, 0);
  DQ_TRY(dq_data_hash(&search->data, search->graph, &options->int8->shapes, options->data, search->error));
  if (!options->resume || access(path, F_OK)) return DQ_OK;
  DQ_TRY(dq_calibration_table_load(table, path, search->arena, search->error));
  *found = true;
  dq_status status =
      dq_calibration_table_check(table, path, dq_origin_hash(search->graph), &search->data, search->error);
  if (status == DQ_BAD_INPUT) dq_error_hint(search->error, "without --resume the file is written anew");
  return status;
}

dq_status dq_mix_cache_save(dq_mix_search_state *search) {
  const dq_mix_options *options = search->options;
  const dq_mix_report *report = search->report;
  cache_key key;
  if (!options->cache) return DQ_OK;
  const double control[] = {report->control.median, report->control.low, report->control.high};
  const double pictures[] = {(double)report->tried, (double)report->others};
  const char *path = table_path(search);
  if (!path) return dq_fail_memory(search->error, 0);
  find_key(search, &key);
  search->maker.whole.table.preprocess = dq_data_preprocess_text(options->data);
  search->maker.whole.table.data = search->data;
  DQ_TRY(dq_calibration_table_save(&search->maker.whole.table, path, search->error));
  json_t *root =
      json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o}", "schema", SCHEMA, "version",
                VERSION, "program", DQ_VERSION, "network", key.network, "data", key.data, "eval", key.eval, "place",
                key.place, "settings", key.settings, "rounds", search->rounds, "pictures", numbers_json(pictures, 2),
                "control", numbers_json(control, 3), "gap", numbers_json(&report->exact_gap, 1), "points",
                points_json(report), "costs", costs_json(&search->report->costs));
  return dq_settings_save(root, options->cache, search->error);
}
