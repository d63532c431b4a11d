#include "lib/decode/text/dictionary.h"

#include <inttypes.h>
#include <string.h>

// Takes the lines into the dictionary, or frees them.
static dq_status open(dq_dictionary *dictionary, dq_names *lines, int64_t classes, dq_error *error) {
  const int64_t missing = classes ? classes - lines->count : 0;
  if (missing >= 0 && missing <= 2 && lines->count) {
    *dictionary = (dq_dictionary){*lines, classes, missing > 0};
    return DQ_OK;
  }
  dq_fail(error, DQ_BAD_INPUT, "a dictionary of %" PRId64 " lines for %" PRId64 " classes", lines->count, classes);
  dq_error_hint(error, "expected a line for each class, or one fewer (the blank in front), or two fewer (and a space "
                       "behind)");
  dq_names_deinit(lines);
  return DQ_BAD_INPUT;
}

dq_status dq_dictionary_of_model(dq_dictionary *dictionary, const dq_metadata *metadata, int64_t classes,
                                 const dq_context *context, dq_error *error) {
  dq_names lines;
  const char *text = metadata->character;
  *dictionary = (dq_dictionary){0};
  if (!text) return dq_fail(error, DQ_BAD_INPUT, "the model has no metadata property 'character' with a dictionary");
  dq_status status = dq_names_of_lines(&lines, text, strlen(text), context, error);
  if (status == DQ_OK) status = open(dictionary, &lines, classes, error);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "metadata property 'character'");
}

dq_status dq_dictionary_read(dq_dictionary *dictionary, const char *path, int64_t classes, const dq_context *context,
                             dq_error *error) {
  dq_names lines;
  *dictionary = (dq_dictionary){0};
  DQ_TRY(dq_names_read(&lines, path, context, error));
  dq_status status = open(dictionary, &lines, classes, error);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s", path);
}

void dq_dictionary_deinit(dq_dictionary *dictionary) {
  dq_names_deinit(&dictionary->lines);
  *dictionary = (dq_dictionary){0};
}

const char *dq_dictionary_text(const dq_dictionary *dictionary, int64_t class) {
  const int64_t line = class - dictionary->in_front;
  if (line >= 0 && line < dictionary->lines.count) return dictionary->lines.items[line];
  if (class < 0 || class >= dictionary->classes) return NULL;
  return line < 0 ? "" : " ";
}
