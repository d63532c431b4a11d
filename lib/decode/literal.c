#include "lib/decode/literal.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "lib/text/utf8.h"

// Reading goes over the text twice: first it counts, then it stores.
typedef struct literal {
  const char *at;
  char **items; // NULL: texts are not stored
  char *to;     // where the next byte of a text goes
  int64_t count;
} literal;

static void skip_spaces(literal *l) {
  while (isspace((unsigned char)*l->at)) l->at++;
}

static bool skip_mark(literal *l, char mark) {
  skip_spaces(l);
  if (*l->at != mark) return false;
  l->at++;
  return true;
}

static void put(literal *l, int byte) {
  if (l->items) *l->to++ = (char)byte;
}

static void put_code(literal *l, uint32_t code) {
  if (code < 0x80) {
    put(l, (int)code);
    return;
  }
  const int following = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const uint32_t leads[] = {0, 0xc0, 0xe0, 0xf0};
  put(l, (int)(leads[following] | code >> (6 * following)));
  for (int i = following; i-- > 0;) put(l, (int)(0x80 | (code >> (6 * i) & 0x3f)));
}

static bool read_hexadecimal(literal *l, int digits, uint32_t *code) {
  *code = 0;
  for (int i = 0; i < digits; i++, l->at++) {
    const int digit = tolower((unsigned char)*l->at);
    if (!isxdigit(digit)) return false;
    *code = *code << 4 | (uint32_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
  }
  return true;
}

// A character by the number of `digits` digits at l->at; JSON writes one above U+FFFF as two halves.
static bool read_code(literal *l, int digits) {
  uint32_t code, low;
  if (!read_hexadecimal(l, digits, &code)) return false;
  if (digits == 4 && code >= 0xd800 && code < 0xdc00) {
    if (l->at[0] != '\\' || l->at[1] != 'u') return false;
    l->at += 2;
    if (!read_hexadecimal(l, 4, &low) || low < 0xdc00 || low > 0xdfff) return false;
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  if (!code || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
  put_code(l, code);
  return true;
}

// What stands behind a backslash.
static bool read_escape(literal *l) {
  static const char marks[] = "\\'\"/nrtbf", bytes[] = "\\'\"/\n\r\t\b\f";
  const char mark = *l->at;
  if (!mark) return false;
  l->at++;
  if (mark == 'x') return read_code(l, 2);
  if (mark == 'u') return read_code(l, 4);
  if (mark == 'U') return read_code(l, 8);
  const char *found = strchr(marks, mark);
  if (!found) return false;
  put(l, bytes[found - marks]);
  return true;
}

static bool read_text(literal *l) {
  skip_spaces(l);
  const char quote = *l->at;
  if (quote != '"' && quote != '\'') return false;
  for (l->at++; *l->at != quote;) {
    int32_t code;
    const int length = dq_utf8_next(l->at, &code);
    if (code <= 0 || code == '\n') return false;
    if (code == '\\') {
      l->at++;
      if (!read_escape(l)) return false;
    } else
      for (int i = 0; i < length; i++) put(l, *l->at++);
  }
  l->at++;
  put(l, 0);
  return true;
}

// A number of a class, which JSON writes as a text.
static bool read_key(literal *l, int64_t *key) {
  skip_spaces(l);
  const char quote = *l->at;
  const bool quoted = quote == '"' || quote == '\'';
  l->at += quoted;
  if (!isdigit((unsigned char)*l->at)) return false;
  for (*key = 0; isdigit((unsigned char)*l->at) && *key < DQ_MOST_NAMES; l->at++) *key = 10 * *key + (*l->at - '0');
  if (*key >= DQ_MOST_NAMES || (quoted && *l->at++ != quote)) return false;
  return skip_mark(l, ':');
}

static bool read_entry(literal *l, bool keys, int64_t index) {
  int64_t key = index;
  if (keys && !read_key(l, &key)) return false;
  if (key >= DQ_MOST_NAMES) return false;
  if (key >= l->count) l->count = key + 1;
  if (l->items) {
    if (l->items[key]) return false;
    l->items[key] = l->to;
  }
  return read_text(l);
}

static bool read_entries(literal *l) {
  const bool keys = skip_mark(l, '{');
  const char end = keys ? '}' : ']';
  if (!keys && !skip_mark(l, '[')) return false;
  for (int64_t i = 0; !skip_mark(l, end); i++) {
    if (!read_entry(l, keys, i)) return false;
    if (!skip_mark(l, ',') && *l->at != end) return false; // Python allows a comma behind the last one
  }
  skip_spaces(l);
  return !*l->at;
}

static dq_status read_literal(literal *l, const char *text, dq_error *error) {
  l->at = text;
  if (read_entries(l)) return DQ_OK;
  dq_fail(error, DQ_BAD_INPUT, "byte %zu: cannot be read at '%.20s'", (size_t)(l->at - text), l->at);
  dq_error_hint(error, "expected the names of at most %d classes, each once: {0: 'person', 1: 'bicycle'}",
                DQ_MOST_NAMES);
  return DQ_BAD_INPUT;
}

dq_status dq_literal_count(const char *text, int64_t *count, dq_error *error) {
  literal l = {0};
  DQ_TRY(read_literal(&l, text, error));
  *count = l.count;
  return DQ_OK;
}

dq_status dq_literal_store(const char *text, char **items, char *texts, dq_error *error) {
  literal l = {.items = items, .to = texts};
  return read_literal(&l, text, error);
}
