// What every longer computation is given: features of the processor, threads, the memory budget, the receiver of
// messages, and the request to stop.
#ifndef DQ_BASE_CONTEXT_H
#define DQ_BASE_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/cpu.h"
#include "lib/base/pool.h"
#include "lib/base/processes.h"
#include "lib/base/status.h"

typedef enum dq_severity { DQ_NOTE, DQ_WARNING, DQ_DETAIL } dq_severity;

typedef struct dq_context {
  unsigned cpu;      // set of features (lib/base/cpu.h) that kernels may use
  bool half_sums;    // convolutions in float16 also add in float16 (docs/NUMERICS.md), else in float32
  dq_pool *pool;     // NULL: one thread
  dq_budget *budget; // of memory; NULL: no limit
  uint64_t seed;
  const struct dq_wisdom *wisdom; // choices for the steps of plans (lib/wisdom); NULL: every step has its usual choice
  void (*message)(void *user, dq_severity severity, const char *text);         // NULL: messages are dropped
  void (*progress)(void *user, const char *what, int64_t done, int64_t total); // NULL: progress is not reported
  void *user;                                                                  // first argument of both callbacks
  const atomic_bool *stop;       // another thread or a signal handler sets it to end the work; NULL: never
  const dq_processes *processes; // processes that run the same work; NULL: this one alone
  const dq_picture_part
      *part;       // pictures of a training batch that plans compute (lib/ops/common/picture_sums.h); NULL: all
  double deadline; // the work ends at this value of dq_seconds(); 0: none
} dq_context;

// A signal handler may use what is atomic only where that takes no lock.
_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "dq_context.stop is set by signal handlers");

// Zeroes the context, detects the features of the processor and keeps those in `cpu_mask`, and starts `threads` - 1
// threads (1 or less: none). DQ_SYSTEM: the threads cannot be started.
dq_status dq_context_init(dq_context *context, int threads, unsigned cpu_mask, dq_error *error);
// Ends the threads. The owner of the budget and of the other members frees these.
void dq_context_deinit(dq_context *context);

// `context` may be NULL in all functions of this header from here on: then nothing is reported, limited or stopped.

// Formats a message of at most 1023 bytes and passes it to context->message. Characters that could command a terminal
// or turn the direction of writing become ?.
void dq_message(const dq_context *context, dq_severity severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Reports that `done` of `total` steps of the work `what` are finished.
void dq_progress(const dq_context *context, const char *what, int64_t done, int64_t total);

// The processes that run the same work: context->processes; NULL: this one alone.
static inline const dq_processes *dq_processes_of(const dq_context *context) {
  return context ? context->processes : NULL;
}

// The budget that memory counts against: context->budget; NULL: no limit.
static inline dq_budget *dq_budget_of(const dq_context *context) { return context ? context->budget : NULL; }

bool dq_deadline_passed(const dq_context *context); // whether the deadline has passed; false without a deadline

// Whether context->stop is set; the deadline does not count.
bool dq_is_stopped(const dq_context *context);
// DQ_CANCELLED once context->stop is set or the deadline has passed, else DQ_OK.
dq_status dq_check_stop(const dq_context *context, dq_error *error);

// A new arena on the budget of the context; NULL when there is no memory.
dq_arena *dq_context_arena(const dq_context *context);
// Zeroed memory on the budget of the context, which the caller frees with dq_budget_free; NULL when there is none left.
void *dq_context_alloc(const dq_context *context, size_t bytes);

// DQ_SYSTEM, with `what` in the message, when `bytes` are more than the budget has left; else DQ_OK. The function
// reserves nothing; the allocation that follows does.
dq_status dq_check_memory(const dq_context *context, size_t bytes, const char *what, dq_error *error);

#endif
