#include "cmd/shared/convolutions.h"

#include <string.h>

#include "lib/kernels/conv/conv.h"

// Where the names of ALGORITHM start: behind the last '=', node names may hold others.
static const char *algorithms_of(const char *text) {
  const char *equals = strrchr(text, '=');
  return equals ? equals + 1 : text;
}

const char *dq_convolutions_name(int index) { return dq_conv_choice_name((dq_conv_choice)index); }

static dq_status unknown(const char *name, size_t length, dq_error *error) {
  dq_status status = dq_fail(error, DQ_USAGE, "option '--conv': there is no algorithm '%.*s'", (int)length, name);
  char list[300] = "";
  for (int i = DQ_CONV_SAME_BITS; i < DQ_CONV_CHOICES; i++) {
    if (i > DQ_CONV_SAME_BITS) strcat(list, ", ");
    strcat(list, dq_conv_choice_name((dq_conv_choice)i));
  }
  dq_error_hint(error, "one of %s", list);
  return status;
}

// The algorithm whose name stands at *text up to a comma; *text moves past it.
static dq_status read_name(const char **text, int *algorithm, dq_error *error) {
  const char *name = *text;
  size_t length = strcspn(name, ",");
  *text = name + length + (name[length] == ',');
  for (int i = DQ_CONV_SAME_BITS; i < DQ_CONV_CHOICES; i++) {
    const char *known = dq_conv_choice_name((dq_conv_choice)i);
    if (strlen(known) != length || memcmp(known, name, length)) continue;
    *algorithm = i;
    return DQ_OK;
  }
  return unknown(name, length, error);
}

static dq_status read_patterns(const dq_option_list *texts, dq_arena *arena, dq_conv_setting *settings, int *count,
                               dq_error *error) {
  for (int i = 0; i < texts->count; i++) {
    const char *text = texts->items[i], *name = algorithms_of(text);
    if (name == text) continue;
    dq_conv_setting *setting = &settings[(*count)++];
    setting->pattern = dq_arena_strndup(arena, text, (size_t)(name - text) - 1);
    if (!setting->pattern) return dq_fail_memory(error, strlen(text));
    DQ_TRY(read_name(&name, &setting->algorithm, error));
    if (*name) return dq_fail(error, DQ_USAGE, "option '--conv': '%s' names more than one algorithm", text);
  }
  return DQ_OK;
}

static int count_names(const dq_option_list *texts) {
  int count = 0;
  for (int i = 0; i < texts->count; i++)
    if (!strchr(texts->items[i], '='))
      for (const char *at = texts->items[i]; at; at = strchr(at + 1, ',')) count++;
  return count;
}

dq_status dq_read_convolutions(const dq_option_list *texts, const char *usual, dq_arena *arena,
                               dq_convolutions **result, int *count, dq_error *error) {
  dq_option_list only = {&usual, 1};
  const dq_option_list *names = count_names(texts) ? texts : &only;
  int most = texts->count + 1, patterns = 0, made = 0;
  dq_conv_setting *shared = DQ_NEW_ARRAY(arena, most, dq_conv_setting);
  dq_convolutions *ways = DQ_NEW_ARRAY(arena, count_names(names), dq_convolutions);
  if (!shared || !ways) return dq_fail_memory(error, 0);
  DQ_TRY(read_patterns(texts, arena, shared, &patterns, error));
  for (int i = 0; i < names->count; i++)
    for (const char *at = names->items[i]; !strchr(names->items[i], '=') && *at;) {
      dq_convolutions *way = &ways[made++];
      way->settings = DQ_NEW_ARRAY(arena, patterns + 1, dq_conv_setting);
      if (!way->settings) return dq_fail_memory(error, 0);
      DQ_TRY(read_name(&at, &way->settings[0].algorithm, error));
      memcpy(way->settings + 1, shared, (size_t)patterns * sizeof *shared);
      way->name = dq_conv_choice_name((dq_conv_choice)way->settings[0].algorithm);
      way->count = patterns + 1;
    }
  *result = ways;
  *count = made;
  return DQ_OK;
}
