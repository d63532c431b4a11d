// A pool of threads with a static split of work: which thread does what depends only on the counts,
// so results never depend on timing.
#ifndef DQ_BASE_POOL_H
#define DQ_BASE_POOL_H

#include <stdint.h>

typedef struct dq_pool dq_pool;

// `threads` workers including the caller; NULL when there is no memory or a thread cannot start.
dq_pool *dq_pool_new(int threads);
void dq_pool_free(dq_pool *pool); // NULL is fine
int dq_pool_threads(const dq_pool *pool); // 1 for NULL

// Calls work(argument, i, thread) for every i in [0, count), contiguous blocks per thread, and
// returns when all are done. `thread` is in [0, threads). Not reentrant: work must not call it.
void dq_pool_run(dq_pool *pool, int64_t count, void (*work)(void *argument, int64_t i, int thread),
                 void *argument);

int dq_processors(void); // those this process may use

#endif
