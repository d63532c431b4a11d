// The functions that bodies of steps call, as rows of helpers.def: which a set needs, and their texts.
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/emit/emitted_text.h"

enum { MOST_NEEDS = 4, MOST_TYPES = 3 };

typedef enum source { NOTHING, SECTION, TYPES, FUNCTION } source;

static const struct {
  dq_emit_kind kind;
  source source;
  const char *text, *wide;
  dq_emit_helper needs[MOST_NEEDS + 1];
} rows[DQ_EMIT_HELPERS] = {
#define DQ_EMIT_HELPER(id, kind, source, text, ...)                                                                    \
  [DQ_EMIT_##id] = {DQ_EMIT_##kind, source, text, DQ_ROW(__VA_ARGS__, 0)},
#define DQ_ROW(wide, ...)                                                                                              \
  wide, { __VA_ARGS__ }
#include "lib/ops/emit/helpers.def"
#undef DQ_EMIT_HELPER
};

void dq_emit_need(dq_emission *to, dq_emit_helper helper) { to->helpers[helper] = true; }

dq_emit_helper dq_emit_helper_named(const char *word, size_t length, const char **wide) {
  for (int h = DQ_EMIT_NONE + 1; h < DQ_EMIT_HELPERS; h++)
    if (strlen(rows[h].text) == length && !memcmp(rows[h].text, word, length) && length) {
      *wide = rows[h].wide;
      return (dq_emit_helper)h;
    }
  return DQ_EMIT_NONE;
}

void dq_emit_add_needs(bool *helpers) {
  for (int h = DQ_EMIT_HELPERS - 1; h > DQ_EMIT_NONE; h--) // each stands behind what it needs
    for (int n = 0; helpers[h] && rows[h].needs[n]; n++) helpers[rows[h].needs[n]] = true;
}

bool dq_emit_has_kind(const bool *helpers, dq_emit_kind kind, bool printed) {
  for (int h = DQ_EMIT_NONE + 1; h < DQ_EMIT_HELPERS; h++)
    if (helpers[h] && rows[h].kind == kind && (rows[h].source != NOTHING || !printed)) return true;
  return false;
}

// The section `name`, of `length` letters, and in *end its end; NULL: there is none.
static const char *section_of(const char *name, const char **end) {
  char opening[64];
  snprintf(opening, sizeof opening, "// ==== %s\n", name);
  const char *at = strstr(dq_emitted_text, opening);
  if (!at) return NULL;
  at += strlen(opening);
  *end = strstr(at, "// ====");
  return *end ? at : NULL;
}

static void print_section(FILE *to, const char *name) {
  const char *end, *at = section_of(name, &end);
  if (at) fwrite(at, 1, (size_t)(end - at), to);
}

// Prints the section T_NAME with the words of `types` in place of T_NAME, T_WEIGHT and T_DATA.
static void print_with_types(FILE *to, const char *types) {
  static const char *const places[MOST_TYPES] = {"T_NAME", "T_WEIGHT", "T_DATA"};
  const char *words[MOST_TYPES] = {types}, *end, *at = section_of(places[0], &end);
  for (int i = 1; i < MOST_TYPES; i++) words[i] = strchr(words[i - 1], ' ') + 1;
  while (at && at < end) {
    int found = 0;
    while (found < MOST_TYPES && strncmp(at, places[found], strlen(places[found])) != 0) found++;
    if (found < MOST_TYPES) fwrite(words[found], 1, strcspn(words[found], " "), to);
    else fputc(*at, to);
    at += found < MOST_TYPES ? strlen(places[found]) : 1;
  }
}

// Prints the definition of a function of the headers that emitted_text.h names, which are static inline there.
static void print_function(FILE *to, const char *name) {
  char opening[64];
  snprintf(opening, sizeof opening, " %s(", name);
  const char *at = strstr(dq_emitted_text, opening), *end = at ? strstr(at, "\n}\n") : NULL;
  const char *line_end = at ? strchr(at, '\n') : NULL;
  if (!end || !line_end) return;
  if (line_end[-1] == '}') end = line_end - 2; // of one line
  while (at > dq_emitted_text && at[-1] != '\n') at--;
  fputs("static ", to);
  at += strlen("static inline ");
  fwrite(at, 1, (size_t)(end + 3 - at), to);
  fputc('\n', to);
}

void dq_emit_print_helpers(FILE *to, const bool *helpers, bool integers) {
  for (int h = DQ_EMIT_NONE + 1; h < DQ_EMIT_HELPERS; h++) {
    if (!helpers[h] || (rows[h].kind == DQ_EMIT_INTEGERS) != integers) continue;
    if (rows[h].source == SECTION) print_section(to, rows[h].text);
    if (rows[h].source == TYPES) print_with_types(to, rows[h].text);
    if (rows[h].source == FUNCTION) print_function(to, rows[h].text);
  }
}
