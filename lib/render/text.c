#include "lib/render/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The ranges of Unicode's East Asian Width W and F, and of combining marks, that names are likely to
// have; a wrong width only moves a column.
int dq_utf8_columns(int32_t code) {
  if ((code >= 0x300 && code < 0x370) || (code >= 0x200b && code < 0x2010) || (code >= 0xfe00 && code < 0xfe10) ||
      (code >= 0x20d0 && code < 0x2100) || code == 0xfeff)
    return 0;
  if ((code >= 0x1100 && code < 0x1160) || (code >= 0x2e80 && code < 0xa4d0 && code != 0x303f) ||
      (code >= 0xac00 && code < 0xd7a4) || (code >= 0xf900 && code < 0xfb00) || (code >= 0xfe30 && code < 0xfe70) ||
      (code >= 0xff00 && code < 0xff61) || (code >= 0xffe0 && code < 0xffe7) || (code >= 0x1f300 && code < 0x1f650) ||
      (code >= 0x1f680 && code < 0x1f700) || (code >= 0x1f900 && code < 0x1fb00) || (code >= 0x20000 && code < 0x3fffe))
    return 2;
  return 1;
}

int dq_text_columns(const char *text) {
  int columns = 0;
  for (int32_t code; *text; columns += dq_utf8_columns(code)) text += dq_utf8_next(text, &code);
  return columns;
}

// One character as it is shown.
typedef struct piece {
  char text[12]; // a character of up to 4 bytes, or \x and its code in hexadecimal
  int columns;
} piece;

static int next_piece(const char *text, piece *shown) {
  int32_t code;
  int length = dq_utf8_next(text, &code);
  const bool control = dq_utf8_is_control(code), direction = dq_utf8_is_direction(code);
  if (code < 0 || direction) snprintf(shown->text, sizeof shown->text, "?");
  else if (code == '\n' || code == '\t' || code == '\r')
    snprintf(shown->text, sizeof shown->text, "\\%c", code == '\n' ? 'n' : code == '\t' ? 't' : 'r');
  else if (control) snprintf(shown->text, sizeof shown->text, code < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)code);
  else snprintf(shown->text, sizeof shown->text, "%.*s", length, text);
  shown->columns = control ? (int)strlen(shown->text) : direction || code < 0 ? 1 : dq_utf8_columns(code);
  return length;
}

// Appends pieces of `text` up to `columns` and to what fits into `fitted`; returns how far it came.
static const char *copy_head(const char *text, int columns, char *fitted, size_t size) {
  size_t used = 0;
  *fitted = 0;
  while (*text) {
    piece shown;
    int length = next_piece(text, &shown);
    size_t bytes = strlen(shown.text);
    if (shown.columns > columns || used + bytes >= size) break;
    memcpy(fitted + used, shown.text, bytes + 1);
    used += bytes;
    columns -= shown.columns;
    text += length;
  }
  return text;
}

// The place from which the rest of `text` is at most `columns` wide and `size` bytes as shown.
static const char *find_tail(const char *text, int columns, size_t size) {
  size_t length = strlen(text), reach = 4 * (size_t)columns + 4;
  const char *start = length > reach ? text + length - reach : text;
  while ((*start & 0xc0) == 0x80) start++;
  for (;; start++) {
    if ((*start & 0xc0) == 0x80 && start > text) continue;
    char rest[1024];
    if (size > sizeof rest) size = sizeof rest;
    if (!*copy_head(start, columns, rest, size)) return start;
  }
}

const char *dq_text_fit(const char *text, int columns, char *fitted, size_t size) {
  if (columns < 4) columns = 4;
  if (!*copy_head(text, columns, fitted, size)) return fitted;
  int head = (columns - 3 + 1) / 2, tail = columns - 3 - head;
  size_t head_room = (size - 3) / 2;
  copy_head(text, head, fitted, head_room);
  size_t used = strlen(fitted);
  memcpy(fitted + used, "...", 4);
  used += 3;
  copy_head(find_tail(text, tail, size - used), tail, fitted + used, size - used);
  return fitted;
}

static bool not_finite(double value, char *text, size_t size) {
  if (isfinite(value)) return false;
  snprintf(text, size, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  return true;
}

const char *dq_format_fixed(double value, int decimals, char *text, size_t size) {
  if (not_finite(value, text, size)) return text;
  if (fabs(value) >= 1e15) {
    snprintf(text, size, "%.6g", value);
    return text;
  }
  snprintf(text, size, "%.*f", decimals, value);
  // A value that rounds to zero has no sign.
  if (*text == '-' && !text[1 + strspn(text + 1, "0.")]) memmove(text, text + 1, strlen(text));
  return text;
}

const char *dq_format_significant(double value, int digits, char *text, size_t size) {
  if (not_finite(value, text, size)) return text;
  snprintf(text, size, "%.*g", digits > 0 ? digits : 6, value);
  return text;
}

const char *dq_format_exact(double value, char *text, size_t size) {
  if (not_finite(value, text, size)) return text;
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, size, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  return text;
}

const char *dq_format_percent(double percent, int decimals, char *text, size_t size) {
  if (not_finite(percent, text, size)) return text;
  dq_format_fixed(percent, decimals, text, size);
  size_t used = strlen(text);
  snprintf(text + used, size - used, " %%");
  return text;
}

// `value` in the largest unit of `base` in which it is 1 or more after rounding.
static const char *scaled(double value, double base, const char *const *units, int decimals, char *text, size_t size) {
  if (not_finite(value, text, size)) return text;
  int unit = 0;
  double step = decimals == 2 ? 0.005 : 0.05;
  while (unit < 5 && fabs(value) >= base - (unit ? step : 0.5)) {
    value /= base;
    unit++;
  }
  bool whole = unit == 0 && value == floor(value);
  dq_format_fixed(value, whole ? 0 : decimals, text, size);
  size_t used = strlen(text);
  snprintf(text + used, size - used, "%s%s", *units[unit] ? " " : "", units[unit]);
  return text;
}

const char *dq_format_count(double count, char *text, size_t size) {
  static const char *const units[] = {"", "k", "M", "G", "T", "P"};
  return scaled(count, 1000, units, 2, text, size);
}

const char *dq_format_bytes(double bytes, char *text, size_t size) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return scaled(bytes, 1024, units, 1, text, size);
}
