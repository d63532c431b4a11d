// The border between the program and the library: arguments, locale and failures of a call.
#include <string.h>

#include "lib/api/api_internal.h"

// The locale that the program gave to the thread, while the thread is inside of the library. A callback may call the
// library again, and may change the locale.
static _Thread_local locale_t program_locale;

static dq_status check_arguments(const char *function, const dq_argument *needed, dq_error *error) {
  for (; needed->name; needed++)
    if (!needed->value) return dq_fail(error, DQ_USAGE, "%s: the argument '%s' is NULL", function, needed->name);
  return DQ_OK;
}

dq_status dq_api_enter(dq_call *call, const char *function, const dq_argument *needed) {
  *call = (dq_call){.outer = program_locale};
  program_locale = dq_locale_enter();
  return check_arguments(function, needed, &call->error);
}

dq_code dq_api_leave(const dq_call *call, dq_status status, dq_failure *failure) {
  dq_locale_leave(program_locale);
  program_locale = call->outer;
  if (status == DQ_OK || !failure) return (dq_code)status;
  failure->code = (dq_code)status;
  memcpy(failure->message, call->error.message, sizeof failure->message);
  memcpy(failure->hint, call->error.hint, sizeof failure->hint);
  return failure->code;
}

locale_t dq_api_callback_begin(void) { return uselocale(program_locale); }

void dq_api_callback_end(locale_t inner) { program_locale = uselocale(inner); }
