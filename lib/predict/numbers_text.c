#include "lib/predict/numbers_text.h"

#include <inttypes.h>
#include <stdio.h>

enum { LONGEST_NUMBER = 21 }; // with a space

dq_status dq_numbers_text(char **text, const dq_ctc *ctc, const dq_context *context, dq_error *error) {
  const size_t size = (size_t)ctc->count * LONGEST_NUMBER + 1;
  size_t at = 0;
  *text = dq_context_alloc(context, size);
  if (!*text) return dq_fail_memory(error, size);
  for (int64_t i = 0; i < ctc->count; i++)
    at += (size_t)snprintf(*text + at, size - at, "%s%" PRId64, i ? " " : "", ctc->classes[i]);
  return DQ_OK;
}
