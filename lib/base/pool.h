// A pool of threads. Which thread does what depends on their speed: work must give the same result on any, and
// in any order.
#ifndef DQ_BASE_POOL_H
#define DQ_BASE_POOL_H

#include <stdint.h>

typedef struct dq_pool dq_pool;

// `threads` workers including the caller; NULL when there is no memory or a thread cannot start.
dq_pool *dq_pool_new(int threads);
void dq_pool_free(dq_pool *pool);         // NULL is fine
int dq_pool_threads(const dq_pool *pool); // 1 for NULL

// Calls work(argument, i, thread) for every i in [0, count), and returns when all are done. `thread` is in
// [0, threads), no two calls have the same at a time; 0 is the caller. The first thread begins with the first i, the
// last one with the last ones, so that jobs over the same data find it near. Not reentrant: work must not call it.
typedef void dq_pool_work(void *argument, int64_t i, int thread);
void dq_pool_run(dq_pool *pool, int64_t count, dq_pool_work *work, void *argument);

int dq_processors(void); // those this process may use

#endif
