#include "lib/decode/text/class_names.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/file.h"
#include "lib/text/utf8.h"

void dq_names_deinit(dq_names *names) {
  dq_budget_free(names->items);
  *names = (dq_names){0};
}

// Allocates `count` names, none of which is set, with `bytes` bytes for texts and a zero byte behind them; returns
// where the texts begin. NULL: there is no memory.
static char *allocate(dq_names *names, int64_t count, size_t bytes, const dq_context *context, dq_error *error) {
  const size_t size = (size_t)count * sizeof *names->items + bytes + 1;
  names->items = dq_context_alloc(context, size);
  if (!names->items) {
    dq_fail_memory(error, size);
    return NULL;
  }
  names->count = count;
  return (char *)(names->items + count);
}

static dq_status check_length(size_t size, dq_error *error) {
  if (size <= DQ_LONGEST_NAMES) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "%zu bytes of names, expected at most %d", size, DQ_LONGEST_NAMES);
}

dq_status dq_names_parse(dq_names *names, const char *text, const dq_context *context, dq_error *error) {
  int64_t count = 0;
  *names = (dq_names){0};
  DQ_TRY(check_length(strlen(text), error));
  DQ_TRY(dq_literal_count(text, &count, error));
  // A text is never longer than its literal with the marks around it.
  char *texts = allocate(names, count, strlen(text), context, error);
  if (!texts) return DQ_SYSTEM;
  dq_status status = dq_literal_store(text, names->items, texts, error);
  char *const none = texts + strlen(text); // the last byte, which is 0
  for (int64_t i = 0; i < count; i++)
    if (!names->items[i]) names->items[i] = none;
  if (status != DQ_OK) dq_names_deinit(names);
  return status;
}

// Whether `size` bytes are UTF-8 without zero bytes; else *line receives the line, from 1, of the first other byte.
static bool is_text(const char *text, size_t size, int64_t *line) {
  char rest[8] = {0}; // the last bytes with zeros behind them
  *line = 1;
  for (size_t i = 0; i < size;) {
    int32_t code;
    const char *at = text + i;
    if (size - i < 4) {
      memset(rest, 0, sizeof rest);
      memcpy(rest, at, size - i);
      at = rest;
    }
    const int length = dq_utf8_next(at, &code);
    if (code <= 0) return false;
    *line += code == '\n';
    i += (size_t)length;
  }
  return true;
}

static int64_t count_lines(const char *text, size_t size) {
  int64_t count = 0;
  for (size_t i = 0; i < size; i++) count += text[i] == '\n';
  return count + (size && text[size - 1] != '\n');
}

dq_status dq_names_of_lines(dq_names *names, const char *text, size_t size, const dq_context *context,
                            dq_error *error) {
  int64_t line;
  *names = (dq_names){0};
  DQ_TRY(check_length(size, error));
  if (!is_text(text, size, &line))
    return dq_fail(error, DQ_BAD_INPUT, "line %" PRId64 " is not UTF-8, or has a zero byte", line);
  if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) text += 3, size -= 3;
  const int64_t count = count_lines(text, size);
  if (count > DQ_MOST_NAMES)
    return dq_fail(error, DQ_BAD_INPUT, "%" PRId64 " lines, expected at most %d", count, DQ_MOST_NAMES);
  char *to = allocate(names, count, size, context, error);
  if (!to) return DQ_SYSTEM;
  const char *end = text + size;
  for (int64_t i = 0; i < count; i++) {
    const char *stop = memchr(text, '\n', (size_t)(end - text)), *next = stop ? stop + 1 : end;
    if (!stop) stop = end;
    if (stop > text && stop[-1] == '\r') stop--;
    names->items[i] = to;
    memcpy(to, text, (size_t)(stop - text));
    to += stop - text;
    *to++ = 0; // in the place of the end of the line; behind a last line without one there is a byte more
    text = next;
  }
  return DQ_OK;
}

dq_status dq_names_read(dq_names *names, const char *path, const dq_context *context, dq_error *error) {
  dq_file file;
  *names = (dq_names){0};
  DQ_TRY(dq_file_open(&file, path, error));
  dq_status status = dq_names_of_lines(names, (const char *)file.data, file.size, context, error);
  dq_file_close(&file);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s", path);
}

dq_status dq_names_of_model(dq_names *names, const dq_metadata *metadata, const dq_context *context, dq_error *error) {
  const char *property = metadata->names ? "names" : "character";
  dq_status status = DQ_OK;
  *names = (dq_names){0};
  if (metadata->names) status = dq_names_parse(names, metadata->names, context, error);
  else if (metadata->character)
    status = dq_names_of_lines(names, metadata->character, strlen(metadata->character), context, error);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "metadata property '%s'", property);
}
