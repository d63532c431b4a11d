#include "lib/base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/text/utf8.h"

dq_status dq_fail(dq_error *error, dq_status status, const char *format, ...) {
  if (!error) return status;
  char message[sizeof error->message]; // error->message may be among the arguments
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  dq_utf8_one_line(message);
  error->status = status;
  error->hint[0] = 0;
  memcpy(error->message, message, sizeof message);
  return status;
}

dq_status dq_error_prefix(dq_error *error, dq_status status, const char *format, ...) {
  if (!error) return status;
  char prefixed[sizeof error->message];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(prefixed, sizeof prefixed, format, arguments);
  va_end(arguments);
  if (length < 0) return status;
  size_t used = (size_t)length < sizeof prefixed - 3 ? (size_t)length : sizeof prefixed - 3;
  prefixed[used++] = ':';
  prefixed[used++] = ' ';
  size_t available = sizeof prefixed - used - 1, rest = strlen(error->message);
  if (rest > available) rest = available;
  memcpy(prefixed + used, error->message, rest);
  prefixed[used + rest] = 0;
  error->status = status;
  memcpy(error->message, prefixed, sizeof prefixed);
  dq_utf8_one_line(error->message);
  return status;
}

void dq_error_hint(dq_error *error, const char *format, ...) {
  if (!error) return;
  char hint[sizeof error->hint];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(hint, sizeof hint, format, arguments);
  va_end(arguments);
  dq_utf8_one_line(hint);
  memcpy(error->hint, hint, sizeof hint);
}

dq_status dq_fail_memory(dq_error *error, size_t bytes) {
  if (!bytes) return dq_fail(error, DQ_SYSTEM, "out of memory");
  return dq_fail(error, DQ_SYSTEM, "out of memory: %zu bytes needed", bytes);
}

dq_status dq_fail_errno(dq_error *error, const char *path) {
  return dq_fail(error, DQ_SYSTEM, "%s: %s", path, strerror(errno));
}
