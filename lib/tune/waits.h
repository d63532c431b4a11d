// How long the threads of a pool waited for a processor because other threads had it, as the system counts it.
#ifndef DQ_TUNE_WAITS_H
#define DQ_TUNE_WAITS_H

#include "lib/base/context.h"

typedef struct dq_wait_thread {
  int file;            // /proc/thread-self/schedstat of the thread; -1: the system has none
  int64_t nanoseconds; // that the thread had waited when it was last read
} dq_wait_thread;

typedef struct dq_waits {
  dq_pool *pool;
  dq_wait_thread *threads; // [dq_pool_threads(pool)]
  int64_t begin;           // nanoseconds of dq_nanoseconds
  bool known; // false: the system does not count waits, or not for every thread; no clock is read, and all waits are 0
} dq_waits;

// Opens *waits for a pool with threads of its own; the caller closes it also after a failure. NULL is allowed, a pool
// of one thread. DQ_SYSTEM: there is no memory.
dq_status dq_waits_open(dq_waits *waits, dq_pool *pool, dq_arena *arena, dq_error *error);
void dq_waits_close(dq_waits *waits); // allowed on a zeroed struct

// Returns when every thread of the pool has a processor, and begins to count.
void dq_waits_begin(dq_waits *waits);
// The time that the threads of the pool have waited for a processor since dq_waits_begin, all together, over the time
// that has passed. A thread that still waits is waited for, which is no time that has passed: the result may be large.
// Threads that have nothing to do and sleep do not wait.
double dq_waits_end(dq_waits *waits);

#endif
