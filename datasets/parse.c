// Small text helpers of the readers.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/reader.h"
#include "lib/base/file.h"

bool dq_parse_integer(const char *text, int64_t *value) {
  char *end;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (end == text || *end || errno) return false;
  *value = number;
  return true;
}

bool dq_parse_number(const char *text, double *value) {
  char *end;
  double number = strtod(text, &end);
  if (end == text || *end || !isfinite(number)) return false;
  *value = number;
  return true;
}

int dq_split(dq_arena *arena, const char *text, char separator, char ***parts) {
  size_t count = 1;
  for (const char *at = text; *at; at++) count += *at == separator;
  char *copy = dq_arena_strdup(arena, text);
  char **list = DQ_NEW_ARRAY(arena, count, char *);
  if (!copy || !list || count > INT32_MAX) return -1;
  for (size_t i = 0; i < count; i++) {
    list[i] = copy;
    copy = strchr(copy, separator);
    if (copy) *copy++ = 0;
  }
  *parts = list;
  return (int)count;
}

void dq_sample_name(dq_sample_info *info, const char *name) {
  size_t length = strlen(name), capacity = sizeof info->name - 1;
  if (length > capacity) name += length - capacity;
  memcpy(info->name, name, strlen(name) + 1);
}

dq_status dq_read_class_names(dq_data *data, const char *path, dq_error *error) {
  dq_file file;
  char **lines;
  DQ_TRY(dq_file_open(&file, path, error));
  char *text = dq_arena_strndup(data->arena, (const char *)file.data, file.size);
  dq_file_close(&file);
  int count = text ? dq_split(data->arena, text, '\n', &lines) : -1;
  if (count < 0) return dq_fail_memory(error, 0);
  if (count && !*lines[count - 1]) count--; // after the last newline
  for (int i = 0; i < count; i++) lines[i][strcspn(lines[i], "\r")] = 0;
  data->class_names = (const char *const *)lines;
  data->class_name_count = count;
  return DQ_OK;
}
