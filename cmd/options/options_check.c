// Faults of the option tables themselves: what a compiler cannot see.
#include <stdlib.h>
#include <string.h>

#include "cmd/options/options_internal.h"

static dq_status check_letters(const dq_option *row, dq_error *error) {
  if (!row->name || !*row->name) return dq_fail(error, DQ_USAGE, "a row has no name");
  if (strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(row->name))
    return dq_fail(error, DQ_USAGE, "'%s': names are lower case with '-' between words", row->name);
  if (row->aliases && strchr(row->aliases, '_'))
    return dq_fail(error, DQ_USAGE, "'%s': write aliases with '-', '_' is understood", row->name);
  if (!row->help || !*row->help || row->help[strlen(row->help) - 1] == '.')
    return dq_fail(error, DQ_USAGE, "'%s': help is one line without a period", row->name);
  return DQ_OK;
}

static dq_status check_row(const dq_option_place *place, size_t options_size, dq_error *error) {
  const dq_option *row = place->row;
  DQ_TRY(check_letters(row, error));
  if (row->size != dq_option_type_size(row->type))
    return dq_fail(error, DQ_USAGE, "'%s': target has %zu bytes, its type needs %zu", row->name, row->size,
                   dq_option_type_size(row->type));
  if (place->offset + row->size > options_size)
    return dq_fail(error, DQ_USAGE, "'%s': target lies outside the options struct", row->name);
  if (row->type == DQ_OPTION_ENUM && !dq_option_has_choices(row))
    return dq_fail(error, DQ_USAGE, "'%s': no choices", row->name);
  if (row->minimum > row->maximum) return dq_fail(error, DQ_USAGE, "'%s': minimum over maximum", row->name);
  if (row->clears && row->type != DQ_OPTION_FLAG)
    return dq_fail(error, DQ_USAGE, "'%s': only a flag clears its target", row->name);
  if (!row->preset) return DQ_OK;
  if (row->type == DQ_OPTION_LIST || row->type == DQ_OPTION_FLAG)
    return dq_fail(error, DQ_USAGE, "'%s': lists and flags have no preset", row->name);
  union {
    double number;
    int64_t whole;
    const char *text;
  } target;
  dq_status status = dq_option_value(row, row->preset, &target, error);
  return status ? dq_error_prefix(error, status, "preset of '%s'", row->name) : DQ_OK;
}

// Whether `name` is a whole word of the space-separated `list`.
static bool has_word(const char *list, const char *name) {
  size_t length = strlen(name);
  for (; list && *list; list += strcspn(list, " "), list += strspn(list, " "))
    if (strcspn(list, " ") == length && !strncmp(list, name, length)) return true;
  return false;
}

static dq_status check_pair(const dq_option *a, const dq_option *b, dq_error *error) {
  if (a->letter && a->letter == b->letter)
    return dq_fail(error, DQ_USAGE, "'%s' and '%s' have the same letter", a->name, b->name);
  if (!strcmp(a->name, b->name) || has_word(a->aliases, b->name) || has_word(b->aliases, a->name))
    return dq_fail(error, DQ_USAGE, "'%s' and '%s' share a name", a->name, b->name);
  return DQ_OK;
}

static bool is_known(const dq_option_place *places, int count, const char *name, size_t length) {
  for (int i = 0; i < count; i++)
    if (strlen(places[i].row->name) == length && !strncmp(places[i].row->name, name, length)) return true;
  return false;
}

// Every word of a row's `needs` has an alternative that the command offers.
static dq_status check_needs(const dq_option_place *places, int count, const dq_option *row, dq_error *error) {
  bool found = true;
  for (const char *name = row->needs ? row->needs : "", *start = name; *name;) {
    size_t length = strcspn(name, "| ");
    if (name == start) found = false;
    found = found || is_known(places, count, name, length);
    name += length;
    if (*name == '|') {
      name++;
      continue;
    }
    if (!found)
      return dq_fail(error, DQ_USAGE, "'%s' needs '%.*s', which is no option", row->name, (int)(name - start), start);
    start = name += strspn(name, " ");
  }
  return DQ_OK;
}

static dq_status check_rule(const dq_option_place *places, int count, const dq_option_rule *rule, dq_error *error) {
  for (const char *name = rule->names + strspn(rule->names, " "); *name;) {
    size_t length = strcspn(name, " ");
    if (!is_known(places, count, name, length))
      return dq_fail(error, DQ_USAGE, "a rule names unknown '%.*s'", (int)length, name);
    name += length;
    name += strspn(name, " ");
  }
  return DQ_OK;
}

dq_status dq_options_check(const dq_command *command, dq_error *error) {
  dq_option_group groups[DQ_OPTION_GROUPS];
  int rows = 0;
  for (int i = dq_option_groups(command, groups) - 1; i >= 0; i--) rows += groups[i].count;
  if (rows > DQ_OPTION_ROWS) return dq_fail(error, DQ_USAGE, "%d options, at most %d", rows, DQ_OPTION_ROWS);
  if (command->options_size < sizeof(dq_common_options))
    return dq_fail(error, DQ_USAGE, "the options struct must begin with dq_common_options");
  dq_option_place places[DQ_OPTION_ROWS];
  int count = dq_option_places(command, places);
  for (int i = 0; i < count; i++) {
    DQ_TRY(check_row(&places[i], command->options_size, error));
    if ((command->shared & DQ_WITH_PROCESSES) && places[i].row->type == DQ_OPTION_FILE && !places[i].row->job)
      return dq_fail(error, DQ_USAGE, "'%s': what of the file must be the same in all processes?", places[i].row->name);
    DQ_TRY(check_needs(places, count, places[i].row, error));
    for (int k = 0; k < i; k++) DQ_TRY(check_pair(places[k].row, places[i].row, error));
  }
  for (int i = 0; i < DQ_OPTION_RULES && command->rules[i].names; i++)
    DQ_TRY(check_rule(places, count, &command->rules[i], error));
  return DQ_OK;
}
