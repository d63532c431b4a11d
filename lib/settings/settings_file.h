// Settings files: JSON objects with `schema` and `version`, written by searches and replayed.
#ifndef DQ_EVAL_SETTINGS_FILE_H
#define DQ_EVAL_SETTINGS_FILE_H

#include <jansson.h>

#include "lib/base/file.h"

typedef struct dq_settings_file {
  const char *path;
  dq_file file; // as it was read
  json_t *root;
} dq_settings_file;

// Reads a file and checks schema and version (schema NULL: not). DQ_SYSTEM: it cannot be read; DQ_BAD_INPUT with path
// and line: not JSON or a key twice; with the path: another schema or version. Close after success.
dq_status dq_settings_open(dq_settings_file *settings, const char *path, const char *schema, int version,
                           dq_error *error);
void dq_settings_close(dq_settings_file *settings);

// The line on which `key` stands as a key, from 1; 0 when it is written in another way (escapes).
int dq_settings_line(const dq_settings_file *settings, const char *key);

// DQ_BAD_INPUT with "path: line N: WHAT 'key'ABOUT", without the line where it cannot be found.
dq_status dq_settings_fail(const dq_settings_file *settings, const char *key, const char *what, const char *about,
                           dq_error *error);

// Writes `root` atomically, and takes the reference to it; NULL is a failure of memory.
dq_status dq_settings_save(json_t *root, const char *path, dq_error *error);

#endif
