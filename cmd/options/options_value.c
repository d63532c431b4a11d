// One value of an option: text to number, size, time, choice or string.
#include "cmd/options/options_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text/nearest.h"

size_t dq_option_type_size(dq_option_type type) {
  switch (type) {
  case DQ_OPTION_FLAG: return sizeof(bool);
  case DQ_OPTION_INT: return sizeof(int64_t);
  case DQ_OPTION_DOUBLE:
  case DQ_OPTION_PERCENT:
  case DQ_OPTION_TIME: return sizeof(double);
  case DQ_OPTION_SIZE: return sizeof(size_t);
  case DQ_OPTION_STRING:
  case DQ_OPTION_FILE: return sizeof(const char *);
  case DQ_OPTION_ENUM: return sizeof(int);
  case DQ_OPTION_LIST: return sizeof(dq_option_list);
  }
  return 0;
}

const char *dq_option_metavar(const dq_option *row) {
  if (row->value) return row->value;
  switch (row->type) {
  case DQ_OPTION_FLAG: return NULL;
  case DQ_OPTION_SIZE: return "SIZE";
  case DQ_OPTION_TIME: return "TIME";
  case DQ_OPTION_FILE: return "FILE";
  case DQ_OPTION_LIST: return "PATTERN";
  case DQ_OPTION_ENUM: return "WORD";
  case DQ_OPTION_STRING: return "TEXT";
  default: return "N";
  }
}

static bool bounded(const dq_option *row) { return row->minimum < 0 || row->maximum != 0; }

const char *dq_option_range(const dq_option *row, char *text, size_t size) {
  const char *unit = row->type == DQ_OPTION_PERCENT ? "%" : row->type == DQ_OPTION_TIME ? " s" : "";
  char low[40], high[40];
  snprintf(low, sizeof low, "%.17g", row->minimum);
  snprintf(high, sizeof high, "%.17g", row->maximum);
  if (row->minimum != floor(row->minimum)) snprintf(low, sizeof low, "%g", row->minimum);
  if (row->maximum != floor(row->maximum)) snprintf(high, sizeof high, "%g", row->maximum);
  if (!bounded(row)) *text = 0;
  else if (row->open_minimum) snprintf(text, size, "over %s%s to %s%s", low, unit, high, unit);
  else snprintf(text, size, "%s%s to %s%s", low, unit, high, unit);
  return text;
}

static dq_status check_range(const dq_option *row, const char *text, double value, dq_error *error) {
  if (!bounded(row)) return DQ_OK;
  bool low = row->open_minimum ? !(value > row->minimum) : !(value >= row->minimum);
  if (!low && value <= row->maximum) return DQ_OK;
  char range[96];
  return dq_fail(error, DQ_USAGE, "'%s' is out of range, allowed is %s", text,
                 dq_option_range(row, range, sizeof range));
}

// The number `text` begins with, "." as decimal point; *end behind it, or at text when there is none.
static double read_number(const char *text, const char **end) {
  *end = text;
  size_t length = strspn(text, "0123456789+-.eE"); // neither spaces nor nan, inf, hexadecimal
  if (!length || length > 63) return 0;
  char copy[64];
  memcpy(copy, text, length);
  copy[length] = 0;
  char *stop;
  double value = strtod(copy, &stop);
  if (isfinite(value)) *end = text + (stop - copy);
  return value;
}

static dq_status read_int(const dq_option *row, const char *text, int64_t *value, dq_error *error) {
  size_t sign = *text == '-' || *text == '+';
  if (!text[sign] || strspn(text + sign, "0123456789") != strlen(text + sign))
    return dq_fail(error, DQ_USAGE, "'%s' is not a whole number", text);
  errno = 0;
  long long parsed = strtoll(text, NULL, 10);
  bool huge = errno == ERANGE;
  DQ_TRY(check_range(row, text, huge ? (*text == '-' ? -HUGE_VAL : HUGE_VAL) : (double)parsed, error));
  if (huge) return dq_fail(error, DQ_USAGE, "'%s' is out of range", text);
  *value = parsed;
  return DQ_OK;
}

static dq_status read_double(const dq_option *row, const char *text, double *value, dq_error *error) {
  const char *end;
  double parsed = read_number(text, &end);
  if (end != text && *end == '%' && row->type == DQ_OPTION_PERCENT) end++;
  char range[96];
  if (end == text || *end) {
    dq_option_range(row, range, sizeof range);
    return dq_fail(error, DQ_USAGE, "'%s' is not a number%s%s", text, *range ? ", allowed is " : "", range);
  }
  DQ_TRY(check_range(row, text, parsed, error));
  *value = parsed;
  return DQ_OK;
}

static dq_status read_size(const dq_option *row, const char *text, size_t *value, dq_error *error) {
  const char *end;
  double number = read_number(text, &end);
  if (end == text || number < 0) return dq_fail(error, DQ_USAGE, "'%s' is not a size such as 500M or 2G", text);
  static const char units[] = "kMGT";
  const char *unit = *end ? strchr(units, *end == 'K' ? 'k' : *end == 'm' ? 'M' : *end == 'g' ? 'G' : *end) : NULL;
  for (int i = 0; unit && i <= unit - units; i++) number *= 1024;
  if (unit) end++;
  if (unit && *end == 'i') end++;
  if (*end == 'B') end++;
  if (*end) return dq_fail(error, DQ_USAGE, "'%s' is not a size, units are k, M, G, T", text);
  DQ_TRY(check_range(row, text, number, error));
  if (number >= 0x1p63) return dq_fail(error, DQ_USAGE, "'%s' is out of range", text);
  *value = (size_t)number;
  return DQ_OK;
}

static dq_status read_time(const dq_option *row, const char *text, double *value, dq_error *error) {
  double seconds = 0;
  const char *place = text;
  do { // 1h30m: a sum; a number without unit counts seconds and must be the last
    const char *end;
    double number = read_number(place, &end);
    if (end == place || number < 0)
      return dq_fail(error, DQ_USAGE, "'%s' is not a time such as 90s, 10m or 1h30m", text);
    bool small = (*end == 'm' || *end == 'u') && end[1] == 's';
    double unit = small ? (*end == 'm' ? 1e-3 : 1e-6) : *end == 'm' ? 60 : *end == 'h' ? 3600 : 1;
    if (!small && *end && !strchr("smh", *end))
      return dq_fail(error, DQ_USAGE, "'%s' is not a time, units are us, ms, s, m, h", text);
    seconds += number * unit;
    place = end + (small ? 2 : *end != 0);
  } while (*place);
  DQ_TRY(check_range(row, text, seconds, error));
  *value = seconds;
  return DQ_OK;
}

// Choice `index` of a "a|b=other=third" list: its words with '=' between.
static bool listed_choice(const char *choices, int index, char *text, size_t size) {
  for (; index > 0; index--) {
    choices = strchr(choices, '|');
    if (!choices) return false;
    choices++;
  }
  snprintf(text, size, "%.*s", (int)strcspn(choices, "|"), choices);
  return true;
}

static bool choice_words(const dq_option *row, int index, char *text, size_t size) {
  if (!row->choice) return row->choices && listed_choice(row->choices, index, text, size);
  const char *name = row->choice(index);
  if (name) snprintf(text, size, "%s", name);
  return name != NULL;
}

bool dq_option_choice(const dq_option *row, int index, char *text, size_t size) {
  if (!choice_words(row, index, text, size)) return false;
  text[strcspn(text, "=")] = 0;
  return true;
}

const char *dq_option_choices(const dq_option *row, const char *separator, char *text, size_t size) {
  char name[64];
  size_t used = 0;
  *text = 0;
  for (int i = 0; dq_option_choice(row, i, name, sizeof name) && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", i ? separator : "", name);
  return text;
}

static dq_status read_choice(const dq_option *row, const char *text, int *value, dq_error *error) {
  char words[128], names[40][64], all[900];
  dq_nearest nearest = dq_nearest_begin(text);
  for (int i = 0; choice_words(row, i, words, sizeof words); i++) {
    char *rest = words;
    for (char *word; (word = strsep(&rest, "="));)
      if (dq_name_distance(word, text) == 0) {
        *value = i;
        return DQ_OK;
      }
    if (i < 40 && dq_option_choice(row, i, names[i], sizeof names[i])) dq_nearest_offer(&nearest, names[i]);
  }
  dq_fail(error, DQ_USAGE, "'%.80s' is not one of %s", text, dq_option_choices(row, ", ", all, sizeof all));
  if (nearest.name) dq_error_hint(error, "did you mean '%s'?", nearest.name);
  return DQ_USAGE;
}

static dq_status append(dq_option_list *list, const char *text, dq_error *error) {
  const char **larger = realloc(list->items, (size_t)(list->count + 1) * sizeof *larger);
  if (!larger) return dq_fail_memory(error, (size_t)(list->count + 1) * sizeof *larger);
  larger[list->count++] = text;
  list->items = larger;
  return DQ_OK;
}

dq_status dq_option_value(const dq_option *row, const char *text, void *target, dq_error *error) {
  if (row->type == DQ_OPTION_FLAG) {
    *(bool *)target = !row->clears;
    return DQ_OK;
  }
  if (!*text) return dq_fail(error, DQ_USAGE, "the value is empty");
  switch (row->type) {
  case DQ_OPTION_INT: return read_int(row, text, target, error);
  case DQ_OPTION_DOUBLE:
  case DQ_OPTION_PERCENT: return read_double(row, text, target, error);
  case DQ_OPTION_SIZE: return read_size(row, text, target, error);
  case DQ_OPTION_TIME: return read_time(row, text, target, error);
  case DQ_OPTION_ENUM: return read_choice(row, text, target, error);
  case DQ_OPTION_LIST: return append(target, text, error);
  default: *(const char **)target = text; return DQ_OK;
  }
}
