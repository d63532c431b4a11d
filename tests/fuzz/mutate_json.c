// Mutations of JSON after which it is still JSON: numbers, texts, members and elements at any depth.
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

typedef struct place {
  json_t *parent; // an object or an array; NULL: there is no place
  const char *key;
  size_t index; // of an array
  json_t *value;
} place;

// Any member or element below `parent`, each with the same probability. `seen`: how many came before; at first 0.
static void pick(place *chosen, json_t *parent, uint64_t *seen, dq_random *random) {
  void *member = json_object_iter(parent);
  size_t count = json_is_object(parent) ? json_object_size(parent) : json_array_size(parent);
  for (size_t i = 0; i < count; i++, member = json_object_iter_next(parent, member)) {
    json_t *value = member ? json_object_iter_value(member) : json_array_get(parent, i);
    if (!dq_random_below(random, ++*seen))
      *chosen = (place){parent, member ? json_object_iter_key(member) : NULL, i, value};
    pick(chosen, value, seen, random);
  }
}

// The outermost members are mostly left alone: with another schema or version nothing of the rest is read.
static place some_place(json_t *root, dq_random *random) {
  place chosen = {NULL};
  for (int left = 3; root && left && (!chosen.parent || chosen.parent == root); left--) {
    uint64_t seen = 0;
    pick(&chosen, root, &seen, random);
  }
  return chosen;
}

// Takes over `value`; with NULL the place goes.
static void put(const place *at, json_t *value) {
  if (at->key) value ? json_object_set_new(at->parent, at->key, value) : json_object_del(at->parent, at->key);
  else value ? json_array_set_new(at->parent, at->index, value) : json_array_remove(at->parent, at->index);
}

static json_t *odd_value(dq_random *random) {
  static const char *const values[] = {"null",
                                       "true",
                                       "false",
                                       "{}",
                                       "[]",
                                       "[[]]",
                                       "\"\"",
                                       "\"x\"",
                                       "0",
                                       "-1",
                                       "1e308",
                                       "5e-324",
                                       "9223372036854775807",
                                       "-9223372036854775808",
                                       "\"*\"",
                                       "\"\\n\""};
  return json_loads(values[dq_random_below(random, sizeof values / sizeof *values)], JSON_DECODE_ANY, NULL);
}

// A text that stands somewhere else, or a member's name where `name` says so or the place holds no text.
static const char *some_text(json_t *root, bool name, dq_random *random) {
  const place at = some_place(root, random);
  if (json_is_string(at.value) && !(name && at.key)) return json_string_value(at.value);
  return at.key ? at.key : "";
}

// Of the same type as the old one, where that is a number or a text.
static json_t *like_value(json_t *root, const json_t *old, dq_random *random) {
  const double real = fuzz_real(random);
  if (json_is_string(old)) return json_string(some_text(root, false, random));
  if (!json_is_number(old)) return odd_value(random);
  if (json_is_integer(old) && dq_random_below(random, 4))
    return json_integer(fuzz_integer(random, json_integer_value(old)));
  return json_real(isfinite(real) ? real : json_number_value(old) * 2);
}

static void rename_or_repeat(json_t *root, const place *at, dq_random *random) {
  json_t *copy = json_deep_copy(at->value);
  if (!at->key) {
    json_array_append_new(at->parent, copy);
    return;
  }
  char *name = strdup(some_text(root, true, random));
  if (dq_random_below(random, 2)) put(at, NULL);
  json_object_set_new(at->parent, name, copy);
  free(name);
}

static void change(json_t *root, json_t *other, dq_random *random) {
  const place at = some_place(root, random);
  if (!at.parent) return;
  switch (dq_random_below(random, 8)) {
  case 0: put(&at, NULL); return;
  case 1: put(&at, odd_value(random)); return;
  case 2: {
    const place from = some_place(other && dq_random_below(random, 2) ? other : root, random);
    if (from.value) put(&at, json_deep_copy(from.value));
    return;
  }
  case 3: rename_or_repeat(root, &at, random); return;
  default: put(&at, like_value(root, at.value, random));
  }
}

size_t fuzz_mutate_json(uint8_t *data, size_t size, size_t capacity, const uint8_t *other, size_t other_size,
                        dq_random *random) {
  json_t *root = json_loadb((const char *)data, size, 0, NULL);
  if (!root || !dq_random_below(random, 8)) {
    json_decref(root);
    return fuzz_mutate_text(data, size, capacity, other, other_size, random);
  }
  json_t *from = other_size ? json_loadb((const char *)other, other_size, 0, NULL) : NULL;
  for (uint64_t left = 1 + dq_random_below(random, 3); left; left--) change(root, from, random);
  char *text = json_dumps(root, JSON_COMPACT);
  const size_t length = text ? strlen(text) : 0;
  if (text && length <= capacity) memcpy(data, text, size = length);
  free(text);
  json_decref(root);
  json_decref(from);
  return size;
}
