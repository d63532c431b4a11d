// Settings files: JSON objects with the members `schema` and `version`, such as calibration tables, precisions, ranks
// and policies.
#ifndef DQ_SETTINGS_SETTINGS_FILE_H
#define DQ_SETTINGS_SETTINGS_FILE_H

#include <jansson.h>

#include "lib/base/file.h"

typedef struct dq_settings_file {
  const char *path;
  dq_file file; // its bytes
  json_t *root;
} dq_settings_file;

// Reads a file and checks its schema and version; `schema` NULL: does not check. `path` must outlive the struct. After
// success the caller calls dq_settings_close. DQ_SYSTEM: the file cannot be read; DQ_BAD_INPUT, with the path and where
// possible the line: the file is not JSON, has a key twice, or has another schema or version.
dq_status dq_settings_open(dq_settings_file *settings, const char *path, const char *schema, int version,
                           dq_error *error);
// Releases the JSON and the bytes of the file; texts that point into `root` are gone then. A zeroed struct is allowed.
void dq_settings_close(dq_settings_file *settings);

// The number of the first line, from 1, on which `key` stands as a key; 0 when none is found, as for keys that the file
// writes with escapes.
int dq_settings_line(const dq_settings_file *settings, const char *key);

// Returns DQ_BAD_INPUT with the message "PATH: line N: WHAT 'KEY'ABOUT"; without the line where none is found.
dq_status dq_settings_fail(const dq_settings_file *settings, const char *key, const char *what, const char *about,
                           dq_error *error);

// DQ_BAD_INPUT, with `what` ("layer") and the name in the message: the name of something in a model is not UTF-8, so
// that JSON cannot hold it; DQ_SYSTEM: there is no memory.
dq_status dq_settings_check_name(const char *what, const char *name, dq_error *error);

// Writes the JSON to a file, which appears under its name when it is complete, and releases the caller's reference to
// `root`, also after a failure. DQ_SYSTEM: writing failed, or `root` is NULL (there was no memory to build it).
dq_status dq_settings_save(json_t *root, const char *path, dq_error *error);

#endif
