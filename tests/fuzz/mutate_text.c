// Mutations of settings, tables and lists: numbers, words, members and lines of a text.
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

typedef struct span {
  size_t at, size;
} span;

// A number, a quoted text, a line, or whatever a pair of brackets holds; the first one from a random place on.
static int is_number(int c) { return isdigit(c) || c == '-' || c == '.'; }

static span find_number(const uint8_t *data, size_t size, size_t from) {
  while (from < size && !is_number(data[from])) from++;
  span found = {from, 0};
  while (from + found.size < size && is_number(data[from + found.size])) found.size++;
  return found;
}

static span find_quoted(const uint8_t *data, size_t size, size_t from) {
  while (from < size && data[from] != '"') from++;
  span found = {from, from < size};
  while (found.size && from + found.size < size && data[from + found.size++] != '"') continue;
  return found;
}

static span find_line(const uint8_t *data, size_t size, size_t from) {
  while (from && data[from - 1] != '\n') from--;
  span found = {from, 0};
  while (from + found.size < size && data[from + found.size++] != '\n') continue;
  return found;
}

static span find_member(const uint8_t *data, size_t size, size_t from) { // from a bracket to its end, or up to a comma
  while (from < size && !strchr("{[,:=", data[from])) from++;
  if (from < size && data[from] != '{' && data[from] != '[') from++;
  span found = {from, 0};
  for (int depth = 0; from + found.size < size; found.size++) {
    int c = data[from + found.size];
    if (c == '{' || c == '[') depth++;
    if ((c == '}' || c == ']') && --depth <= 0) return (span){from, found.size + (depth == 0)};
    if (c == ',' && depth == 0) return found;
  }
  return found;
}

static span (*const finders[])(const uint8_t *, size_t, size_t) = {find_number, find_quoted, find_line, find_member};

static size_t replace(uint8_t *data, size_t size, size_t capacity, span place, const void *text, size_t length) {
  if (size - place.size + length > capacity) return size;
  memmove(data + place.at + length, data + place.at + place.size, size - place.at - place.size);
  memcpy(data + place.at, text, length);
  return size - place.size + length;
}

static size_t new_number(const uint8_t *data, span place, char *text, size_t room, dq_random *random) {
  char old[32] = "";
  memcpy(old, data + place.at, place.size < sizeof old ? place.size : sizeof old - 1);
  if (dq_random_below(random, 2)) return (size_t)snprintf(text, room, "%" PRId64, fuzz_integer(random, atoll(old)));
  return (size_t)snprintf(text, room, "%.9g", fuzz_real(random));
}

static size_t new_text(char *text, size_t room, dq_random *random) {
  static const char *const words[] = {
      "\"\"",  "null", "true", "{}", "[]", "0",     "1e999", "\"\\u0000\"",  "\"x\"", "[[[[[[[[",
      "-",     "nan",  "inf",  ",",  ":",  "\n\n",  "\r\n",  "\xef\xbb\xbf", "\xff",  "\"layers\": {}",
      "0x1p3", " ",    "#",    "=",  "/",  "../..", "%s%n",  "1;2",          "\t",    "\"version\": 2"};
  uint64_t which = dq_random_below(random, sizeof words / sizeof *words + 1);
  if (which < sizeof words / sizeof *words) return (size_t)snprintf(text, room, "%s", words[which]);
  memset(text, 'a', room);
  return 1 + (size_t)dq_random_below(random, room);
}

static size_t change(uint8_t *data, size_t size, size_t capacity, const uint8_t *other, size_t other_size,
                     dq_random *random) {
  char text[600];
  size_t kind = (size_t)dq_random_below(random, sizeof finders / sizeof *finders);
  span place = finders[kind](data, size, (size_t)dq_random_below(random, size));
  switch (dq_random_below(random, 6)) {
  case 0: return replace(data, size, capacity, place, "", 0);
  case 1: // twice
    memcpy(text, data + place.at, place.size < sizeof text ? place.size : sizeof text);
    return replace(data, size, capacity, (span){place.at, 0}, text,
                   place.size < sizeof text ? place.size : sizeof text);
  case 2: return replace(data, size, capacity, place, text, new_text(text, sizeof text, random));
  case 3:
    if (other_size) { // the like of it in the other text
      span from = finders[kind](other, other_size, (size_t)dq_random_below(random, other_size));
      return replace(data, size, capacity, place, other + from.at, from.size);
    }
    return size;
  default:
    place = find_number(data, size, (size_t)dq_random_below(random, size));
    return replace(data, size, capacity, place, text, new_number(data, place, text, sizeof text, random));
  }
}

size_t fuzz_mutate_text(uint8_t *data, size_t size, size_t capacity, const uint8_t *other, size_t other_size,
                        dq_random *random) {
  if (!dq_random_below(random, 5)) size = fuzz_mutate_bytes(data, size, capacity, other, other_size, random);
  for (uint64_t left = 1 + dq_random_below(random, 3); left && size; left--)
    size = change(data, size, capacity, other, other_size, random);
  return size;
}
