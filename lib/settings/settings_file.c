#include "lib/settings/settings_file.h"

#include <string.h>

static dq_status check_schema(const json_t *root, const char *schema, int version, dq_error *error) {
  if (!schema) return DQ_OK;
  const char *found = json_string_value(json_object_get(root, "schema"));
  if (!found || strcmp(found, schema) != 0)
    return dq_fail(error, DQ_BAD_INPUT, "schema is '%.100s', expected '%s'", found ? found : "", schema);
  const json_t *number = json_object_get(root, "version");
  if (!json_is_integer(number)) return dq_fail(error, DQ_BAD_INPUT, "'version' is missing, expected %d", version);
  if (json_integer_value(number) != version)
    return dq_fail(error, DQ_BAD_INPUT, "version is %lld, expected %d", (long long)json_integer_value(number), version);
  return DQ_OK;
}

dq_status dq_settings_open(dq_settings_file *settings, const char *path, const char *schema, int version,
                           dq_error *error) {
  *settings = (dq_settings_file){.path = path};
  DQ_TRY(dq_file_open(&settings->file, path, error));
  json_error_t where;
  settings->root = json_loadb((const char *)settings->file.data, settings->file.size, JSON_REJECT_DUPLICATES, &where);
  dq_status status = settings->root ? check_schema(settings->root, schema, version, error)
                                    : dq_fail(error, DQ_BAD_INPUT, "line %d: %s", where.line, where.text);
  if (status == DQ_OK) return DQ_OK;
  dq_settings_close(settings);
  return dq_error_prefix(error, status, "%s", path);
}

void dq_settings_close(dq_settings_file *settings) {
  json_decref(settings->root);
  dq_file_close(&settings->file);
  settings->root = NULL;
}

// Whether `key` in quotes and a colon stand at `text`.
static bool is_key(const char *text, const char *end, const char *key) {
  size_t length = strlen(key);
  if ((size_t)(end - text) < length + 3 || *text != '"' || memcmp(text + 1, key, length) || text[length + 1] != '"')
    return false;
  for (text += length + 2; text < end && strchr(" \t\r\n", *text); text++) continue;
  return text < end && *text == ':';
}

int dq_settings_line(const dq_settings_file *settings, const char *key) {
  const char *text = (const char *)settings->file.data, *end = text + settings->file.size;
  for (int line = 1; text < end; text++) {
    if (is_key(text, end, key)) return line;
    line += *text == '\n';
  }
  return 0;
}

dq_status dq_settings_fail(const dq_settings_file *settings, const char *key, const char *what, const char *about,
                           dq_error *error) {
  int line = dq_settings_line(settings, key);
  if (line) return dq_fail(error, DQ_BAD_INPUT, "%s: line %d: %s '%.200s'%s", settings->path, line, what, key, about);
  return dq_fail(error, DQ_BAD_INPUT, "%s: %s '%.200s'%s", settings->path, what, key, about);
}

dq_status dq_settings_check_name(const char *what, const char *name, dq_error *error) {
  json_t *text = json_string(name), *unchecked = text ? NULL : json_string_nocheck(name);
  bool memory = text || unchecked;
  json_decref(text), json_decref(unchecked);
  if (text) return DQ_OK;
  return memory ? dq_fail(error, DQ_BAD_INPUT, "%s '%s': its name is not UTF-8", what, name) : dq_fail_memory(error, 0);
}

dq_status dq_settings_save(json_t *root, const char *path, dq_error *error) {
  if (!root) return dq_fail_memory(error, 0);
  dq_output output;
  dq_status status = dq_output_open(&output, path, error);
  if (status == DQ_OK) {
    bool written = !json_dumpf(root, output.stream, JSON_INDENT(2)) && fputc('\n', output.stream) != EOF;
    status = written ? dq_output_commit(&output, error) : dq_fail_errno(error, path);
    if (!written) dq_output_discard(&output);
  }
  json_decref(root);
  return status;
}
