// Names of classes in the metadata.
#include <string.h>

#include "lib/decode/head.h"

// Moves behind a quoted text, in which a backslash takes the meaning from the character behind it; `at` is at the
// opening quote. Text without a closing one ends at the end.
static const char *skip_quoted(const char *at) {
  const char quote = *at++;
  while (*at && *at != quote) at += at[0] == '\\' && at[1] ? 2 : 1;
  return *at ? at + 1 : at;
}

int64_t dq_class_count(const dq_decode_options *options) {
  int64_t count = 0;
  bool entry = false; // something stands behind the last comma
  const char *at = options->metadata.names;
  if (!at) return 0;
  at += strspn(at, " \t\r\n");
  if (*at != '{' && *at != '[') return 0;
  for (at++; *at && *at != '}' && *at != ']';) {
    if (*at == ',') count += entry, entry = false;
    else entry = entry || !strchr(" \t\r\n", *at);
    at = *at == '"' || *at == '\'' ? skip_quoted(at) : at + 1;
  }
  return count + entry;
}
