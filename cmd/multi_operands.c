#include "cmd/multi_operands.h"

#include <string.h>

#include "lib/base/sizes.h"
#include "lib/graph/names.h"
#include "lib/text/nearest.h"

// The keys, each described like an option of a command; `name` is the key.
static const dq_option keys[] = {
    {.name = "n", .type = DQ_OPTION_INT, .maximum = 10000, DQ_INTO(dq_multi_operand, instances)},
    {.name = "fps", .type = DQ_OPTION_DOUBLE, .minimum = 1e-9, .maximum = 1e6, DQ_INTO(dq_multi_operand, rate)},
    {.name = "late", .type = DQ_OPTION_ENUM, .choices = "queue|drop", DQ_INTO(dq_multi_operand, late)},
    {.name = "deadline",
     .type = DQ_OPTION_TIME,
     .maximum = 1e6,
     .open_minimum = true,
     DQ_INTO(dq_multi_operand, deadline)},
    {.name = "priority", .type = DQ_OPTION_ENUM, .choices = "low|normal|high", DQ_INTO(dq_multi_operand, priority)},
    {.name = "data", .type = DQ_OPTION_STRING, DQ_INTO(dq_multi_operand, data)},
    {.name = "preset", .type = DQ_OPTION_STRING, DQ_INTO(dq_multi_operand, preset)},
    {.name = "preprocess", .type = DQ_OPTION_STRING, DQ_INTO(dq_multi_operand, preprocess)},
    {.name = "limit", .type = DQ_OPTION_INT, .minimum = 1, .maximum = 1000000, DQ_INTO(dq_multi_operand, limit)},
    {.name = "decode", .type = DQ_OPTION_ENUM, .choices = "start|request", DQ_INTO(dq_multi_operand, decode)},
    {.name = "threads", .type = DQ_OPTION_ENUM, .choices = "one|all|auto", DQ_INTO(dq_multi_operand, threads)},
    {.name = "shape", .type = DQ_OPTION_STRING, DQ_INTO(dq_multi_operand, shape)},
    {.name = "name", .type = DQ_OPTION_STRING, DQ_INTO(dq_multi_operand, name)},
};
enum { KEYS = DQ_COUNT(keys) };

// The key that `text` begins with, with '=' behind it; -1: none.
static int key_at(const char *text) {
  size_t length = strcspn(text, "=,");
  for (int k = 0; k < KEYS && text[length] == '='; k++)
    if (strlen(keys[k].name) == length && !strncmp(keys[k].name, text, length)) return k;
  return -1;
}

// Whether the values of a key may hold commas.
static bool has_commas(int key) {
  const size_t offset = keys[key].offset;
  return offset == offsetof(dq_multi_operand, data) || offset == offsetof(dq_multi_operand, shape) ||
         offset == offsetof(dq_multi_operand, preprocess);
}

// The end of a value: a comma before another key, or the end of the text. Of values without commas the first comma is
// the end, so that a mistyped key behind it is seen.
static char *value_end(char *value, int key) {
  const bool long_one = has_commas(key);
  for (char *comma = value; (comma = strchr(comma, ',')); comma++)
    if (!long_one || key_at(comma + 1) >= 0) return comma;
  return value + strlen(value);
}

static dq_status unknown_key(const char *text, dq_error *error) {
  char word[64];
  snprintf(word, sizeof word, "%.*s", (int)strcspn(text, "=,"), text);
  dq_nearest nearest = dq_nearest_begin(word);
  for (int k = 0; k < KEYS; k++) dq_nearest_offer(&nearest, keys[k].name);
  dq_fail(error, DQ_USAGE, "unknown key '%s'", word);
  if (nearest.name) dq_error_hint(error, "did you mean '%s='?", nearest.name);
  else
    dq_error_hint(error, "keys are n, fps, late, deadline, priority, data, preset, preprocess, limit, decode, "
                         "threads, shape and name");
  return DQ_USAGE;
}

static dq_status parse_keys(dq_multi_operand *operand, char *text, dq_error *error) {
  bool given[KEYS] = {false};
  while (text) {
    int key = key_at(text);
    if (key < 0) return unknown_key(text, error);
    if (given[key]) return dq_fail(error, DQ_USAGE, "%s= is given twice", keys[key].name);
    given[key] = true;
    char *value = text + strlen(keys[key].name) + 1, *end = value_end(value, key);
    text = *end ? end + 1 : NULL;
    *end = 0;
    if (!*value) return dq_fail(error, DQ_USAGE, "%s= has no value", keys[key].name);
    dq_status status = dq_option_value(&keys[key], value, (char *)operand + keys[key].offset, error);
    if (status != DQ_OK) return dq_error_prefix(error, status, "%s=", keys[key].name);
  }
  return DQ_OK;
}

// "a/camera.onnx" is "camera".
static const char *name_of(const char *path, dq_arena *arena) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
  return dq_arena_strndup(arena, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}

// The first comma with a word and '=' behind it: commas before it are part of the path.
static char *first_key(char *text) {
  for (char *comma = text; (comma = strchr(comma, ',')); comma++) {
    size_t length = strspn(comma + 1, "abcdefghijklmnopqrstuvwxyz");
    if (length && comma[1 + length] == '=') return comma;
  }
  return NULL;
}

static dq_status parse(dq_multi_operand *operand, const char *text, dq_arena *arena, dq_error *error) {
  *operand = (dq_multi_operand){.instances = 1, .late = -1, .decode = -1, .threads = -1, .priority = 1};
  char *copy = dq_arena_strdup(arena, text);
  if (!copy) return dq_fail_memory(error, strlen(text));
  char *comma = first_key(copy);
  if (comma) *comma = 0;
  operand->path = copy;
  if (!*copy) return dq_fail(error, DQ_USAGE, "there is no model in front of the keys");
  return parse_keys(operand, comma ? comma + 1 : NULL, error);
}

static dq_status take_name(struct dq_names *taken, dq_multi_operand *operand, const char *name, dq_error *error) {
  operand->name = name;
  return dq_names_add(taken, operand) ? DQ_OK : dq_fail_memory(error, 0);
}

static dq_status set_name(struct dq_names *taken, dq_multi_operand *operand, int number, dq_arena *arena,
                          dq_error *error) {
  const char *base = name_of(operand->path, arena), *name = base;
  for (; name && dq_names_find(taken, name); number++) name = dq_arena_printf(arena, "%s#%d", base, number);
  return name ? take_name(taken, operand, name, error) : dq_fail_memory(error, 0);
}

// Names that the user gave are taken first.
static dq_status set_names(dq_multi_operand *operands, int count, dq_arena *arena, dq_error *error) {
  struct dq_names *taken = dq_names_new();
  dq_status status = taken ? DQ_OK : dq_fail_memory(error, 0);
  for (int i = 0; status == DQ_OK && i < count; i++) {
    const char *given = operands[i].name;
    if (!given) continue;
    status = dq_names_find(taken, given) ? dq_fail(error, DQ_USAGE, "two networks have the name '%s'", given)
                                         : take_name(taken, &operands[i], given, error);
  }
  for (int i = 0; status == DQ_OK && i < count; i++)
    if (!operands[i].name) status = set_name(taken, &operands[i], i + 1, arena, error);
  dq_names_free(taken);
  return status;
}

dq_status dq_multi_operands_parse(dq_multi_operand **parsed, const char *const *operands, int count, dq_arena *arena,
                                  dq_error *error) {
  *parsed = DQ_NEW_ARRAY(arena, count, dq_multi_operand);
  if (!*parsed) return dq_fail_memory(error, (size_t)count * sizeof **parsed);
  for (int i = 0; i < count; i++) {
    dq_status status = parse(&(*parsed)[i], operands[i], arena, error);
    if (status != DQ_OK) return dq_error_prefix(error, status, "%s", operands[i]);
  }
  return set_names(*parsed, count, arena, error);
}
