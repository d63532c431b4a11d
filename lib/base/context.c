#include "lib/base/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/text/utf8.h"

dq_status dq_context_init(dq_context *context, int threads, unsigned cpu_mask, dq_error *error) {
  memset(context, 0, sizeof *context);
  context->cpu = dq_cpu_detect() & cpu_mask;
  if (threads > 1) {
    context->pool = dq_pool_new(threads);
    if (!context->pool) return dq_fail(error, DQ_SYSTEM, "cannot start %d threads", threads);
  }
  return DQ_OK;
}

void dq_context_deinit(dq_context *context) {
  dq_pool_free(context->pool);
  context->pool = NULL;
}

void dq_message(const dq_context *context, dq_severity severity, const char *format, ...) {
  if (!context || !context->message) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  dq_utf8_one_line(text);
  context->message(context->user, severity, text);
}

void dq_progress(const dq_context *context, const char *what, int64_t done, int64_t total) {
  if (context && context->progress) context->progress(context->user, what, done, total);
}

bool dq_deadline_passed(const dq_context *context) {
  return context && context->deadline > 0 && dq_seconds() >= context->deadline;
}

bool dq_is_stopped(const dq_context *context) { return context && context->stop && atomic_load(context->stop); }

dq_status dq_check_stop(const dq_context *context, dq_error *error) {
  if (dq_is_stopped(context)) return dq_fail(error, DQ_CANCELLED, "interrupted");
  return dq_deadline_passed(context) ? dq_fail(error, DQ_CANCELLED, "the time limit has passed") : DQ_OK;
}

dq_arena *dq_context_arena(const dq_context *context) { return dq_arena_new(dq_budget_of(context)); }

void *dq_context_alloc(const dq_context *context, size_t bytes) {
  return dq_budget_alloc(dq_budget_of(context), bytes);
}

dq_status dq_check_memory(const dq_context *context, size_t bytes, const char *what, dq_error *error) {
  const dq_budget *budget = dq_budget_of(context);
  if (!budget || !budget->limit) return DQ_OK;
  size_t used = atomic_load(&budget->used);
  if (used <= budget->limit && bytes <= budget->limit - used) return DQ_OK;
  char beside[64] = "";
  if (used >> 20) snprintf(beside, sizeof beside, " beside %zu MiB in use", used >> 20);
  return dq_fail(error, DQ_SYSTEM, "%s needs %zu MiB of memory%s, --memory allows %zu MiB", what, (bytes >> 20) + 1,
                 beside, budget->limit >> 20);
}
