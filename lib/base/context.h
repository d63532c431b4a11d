// What every piece of work is given: processor features, threads, memory bound, where messages go.
#ifndef DQ_BASE_CONTEXT_H
#define DQ_BASE_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/cpu.h"
#include "lib/base/pool.h"
#include "lib/base/status.h"

typedef enum dq_severity { DQ_NOTE, DQ_WARNING, DQ_DETAIL } dq_severity;

typedef struct dq_context {
  unsigned cpu;      // features kernels may use: detected and not masked
  bool half_sums;    // convolutions in float16 also add in float16 (docs/NUMERICS.md), else in float32
  dq_pool *pool;     // NULL: one thread
  dq_budget *budget; // of memory; NULL: no limit
  uint64_t seed;
  void (*message)(void *user, dq_severity severity, const char *text);         // NULL: dropped
  void (*progress)(void *user, const char *what, int64_t done, int64_t total); // NULL: dropped
  void *user;                                                                  // handed to both
  const atomic_bool *stop; // set by other threads and by signal handlers of any thread; NULL: never
  double deadline;         // by dq_seconds; 0: none
} dq_context;

// A signal handler may use what is atomic only where that takes no lock.
_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "dq_context.stop is set by signal handlers");

dq_status dq_context_init(dq_context *context, int threads, unsigned cpu_mask, dq_error *error);
void dq_context_deinit(dq_context *context);

void dq_message(const dq_context *context, dq_severity severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void dq_progress(const dq_context *context, const char *what, int64_t done, int64_t total);

bool dq_deadline_passed(const dq_context *context);

// Whether the user asked to stop; false without a context.
bool dq_is_stopped(const dq_context *context);
// DQ_CANCELLED once the user asked to stop or the deadline has passed.
dq_status dq_check_stop(const dq_context *context, dq_error *error);

// A new arena on the context's budget; the context may be NULL.
dq_arena *dq_context_arena(const dq_context *context);
// Zeroed memory on it, for dq_budget_free; NULL where there is none left.
void *dq_context_alloc(const dq_context *context, size_t bytes);

// The failure that a piece of work needs `bytes` more than the budget has left; DQ_OK when they fit. Nothing
// is counted: the allocation does that.
dq_status dq_check_memory(const dq_context *context, size_t bytes, const char *what, dq_error *error);

#endif
