#include "lib/multi/arrival_trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/file.h"
#include "lib/text/nearest.h"

typedef struct reader {
  const char *const *names;
  int count;
  dq_arena *arena;
  dq_arrival_trace *trace;
  double last;
} reader;

static dq_status unknown_name(const reader *from, const char *name, dq_error *error) {
  dq_nearest nearest = dq_nearest_begin(name);
  for (int i = 0; i < from->count; i++) dq_nearest_offer(&nearest, from->names[i]);
  dq_fail(error, DQ_BAD_INPUT, "there is no network '%.200s'", name);
  if (nearest.name) dq_error_hint(error, "did you mean '%s'?", nearest.name);
  else dq_error_hint(error, "the first network is '%s'; name= gives another name", from->names[0]);
  return DQ_BAD_INPUT;
}

// `line` is cut at its end. Lines without a request change nothing.
static dq_status read_line(reader *from, char *line, dq_error *error) {
  char *end, *text = line + strspn(line, " \t\r");
  if (!*text || *text == '#') return DQ_OK;
  double seconds = strtod(text, &end);
  size_t blanks = strspn(end, " \t");
  if (end == text || !blanks || !isfinite(seconds))
    return dq_fail(error, DQ_BAD_INPUT, "'%.200s' is not a time in seconds and a name, such as '0.25 camera'", text);
  char *name = end + blanks;
  name[strcspn(name, " \t\r")] = 0;
  if (seconds < 0 || seconds > 1e9) return dq_fail(error, DQ_BAD_INPUT, "the time is %g s, expected 0 to 1e9", seconds);
  if (seconds < from->last)
    return dq_fail(error, DQ_BAD_INPUT, "the time is %g s, after %g s in a line before; expected times in order",
                   seconds, from->last);
  int source = 0;
  while (source < from->count && strcmp(from->names[source], name) != 0) source++;
  if (source == from->count) return unknown_name(from, name, error);
  from->trace->arrivals[from->trace->count++] = (dq_arrival){seconds, source};
  from->last = seconds;
  return DQ_OK;
}

// A text ends at its first zero byte, so that lines behind it would be left out.
static dq_status check_text(const dq_file *file, dq_error *error) {
  const uint8_t *zero = file->size ? memchr(file->data, 0, file->size) : NULL;
  int64_t line = 1;
  if (!zero) return DQ_OK;
  for (const uint8_t *c = file->data; c < zero; c++) line += *c == '\n';
  return dq_fail(error, DQ_BAD_INPUT, "line %" PRId64 " has a zero byte, expected text", line);
}

static dq_status read_lines(reader *from, const dq_file *file, dq_error *error) {
  DQ_TRY(check_text(file, error));
  char *text = dq_arena_strndup(from->arena, (const char *)file->data, file->size), *rest = text;
  if (!text) return dq_fail_memory(error, file->size);
  int64_t lines = 1, number = 0;
  for (const char *c = text; *c; c++) lines += *c == '\n';
  from->trace->arrivals = DQ_NEW_ARRAY(from->arena, lines, dq_arrival);
  if (!from->trace->arrivals) return dq_fail_memory(error, (size_t)lines * sizeof *from->trace->arrivals);
  for (char *line; (line = strsep(&rest, "\n"));) {
    number++;
    dq_status status = read_line(from, line, error);
    if (status != DQ_OK) return dq_error_prefix(error, status, "line %" PRId64, number);
  }
  return from->trace->count ? DQ_OK : dq_fail(error, DQ_BAD_INPUT, "no line has a request");
}

dq_status dq_arrival_trace_read(dq_arrival_trace *trace, const char *path, const char *const *names, int count,
                                dq_arena *arena, dq_error *error) {
  dq_file file;
  *trace = (dq_arrival_trace){0};
  DQ_TRY(dq_file_open(&file, path, error));
  reader from = {.names = names, .count = count, .arena = arena, .trace = trace};
  dq_status status = read_lines(&from, &file, error);
  dq_file_close(&file);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s", path);
}
